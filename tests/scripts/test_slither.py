"""The gate around Slither: what it lets pass and what it does not."""

from slither import place, unexplained

FOUND = {("timestamp", "Leases.close"), ("reentrancy-no-eth", "Faults.roll")}


def test_every_finding_needs_a_reason() -> None:
    accepted = [{"check": "timestamp", "where": ["*"], "reason": "by the clock"}]
    assert unexplained(FOUND, accepted) == ([("reentrancy-no-eth", "Faults.roll")], [])


def test_a_reason_holds_for_its_place_only() -> None:
    accepted = [
        {"check": "timestamp", "where": ["*"], "reason": "by the clock"},
        {"check": "reentrancy-no-eth", "where": ["Faults.recover"], "reason": "calls the pool"},
    ]
    left, idle = unexplained(FOUND, accepted)
    assert left == [("reentrancy-no-eth", "Faults.roll")]
    assert idle == [("reentrancy-no-eth", "Faults.recover")]


def test_a_place_is_a_function_of_a_contract() -> None:
    contract = {"type": "contract", "name": "Leases"}
    function = {"type": "function", "name": "close", "type_specific_fields": {"parent": contract}}
    local = {"type": "variable", "name": "until", "type_specific_fields": {"parent": function}}
    assert place({"elements": [local]}) == "Leases.close"

"""What is to be done next, in a face's own words where it has some."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leasehold.chain import Fault, FaultKind, FaultState, RoundRecord, RoundState
from leasehold.client import ROLL_AFTER, FaultView, RoundDuty
from leasehold.market import Money, format_time
from leasehold.tables import duty_line, fault_next, fault_rows, losses_table

MONEY = Money("USDT", 6)
ROUND = RoundRecord(3, 7, 1, "0xA", RoundState.REQUESTED, 0, 1_234, 0, 0, (), 0, 0, b"\0" * 32, 0, 0)
FAULT = Fault(
    id=5, machine=7, kind=FaultKind.CHALLENGED, state=FaultState.RUNNING, from_=1_000, to=0, filed_at=0,
    deadline=5_000, bps=200, rules=1, round=0, amount=2_000_000, bond=0, previous=0, pot=0, reporter=b"\0" * 32,
)  # fmt: skip
UNTIL = format_time(5_000)


def seen(state: FaultState, arbiter: str | None = "0xJ", **changes: int) -> FaultView:
    return FaultView(replace(FAULT, state=state, **changes), None, (), arbiter)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("duty", "line"),
    [
        (RoundDuty(None), "wait for block 1234"),
        (RoundDuty("draw"), "draw, for a reward"),
        (RoundDuty("commit", 5_000), f"measure it, and commit until {UNTIL}"),
        (RoundDuty("reveal", 5_000), f"reveal until {UNTIL}"),
        (RoundDuty("finalize"), "finalize"),
    ],
)
def test_of_a_round(duty: RoundDuty, line: str) -> None:
    assert duty_line(ROUND, duty) == line


def test_a_face_names_what_is_to_be_done() -> None:
    named = duty_line(ROUND, RoundDuty("draw"), lambda what, number: f"`{what} {number}`")
    assert named == "`draw 3`, for a reward"
    assert duty_line(replace(ROUND, state=RoundState.PASSED), RoundDuty(None)) == "nothing more"


@pytest.mark.parametrize(
    ("view", "now", "line"),
    [
        (seen(FaultState.RUNNING), 2_000, "runs until the machine's operator or provider recovers it"),
        (seen(FaultState.RUNNING), 1_001 + ROLL_AFTER, "anybody may file it: settle 5"),
        (
            seen(FaultState.FILED),
            4_000,
            f"the provider may appeal until {UNTIL}; tenants register what they lost",
        ),
        (
            seen(FaultState.FILED, arbiter=None),
            4_000,
            f"nobody rules on it: it stands until {UNTIL}; tenants register what they lost",
        ),
        (seen(FaultState.FILED), 6_000, "anybody may carry it out: settle 5"),
        (seen(FaultState.APPEALED), 4_000, f"0xJ may rule until {UNTIL}; silence lets it stand"),
        (seen(FaultState.UPHELD), 4_000, f"it stands; tenants register what they lost until {UNTIL}"),
        (seen(FaultState.EXECUTED, pot=1), 6_000, "tenants are still owed a part: settle 5"),
        (seen(FaultState.EXECUTED), 6_000, "nothing more"),
        (seen(FaultState.DROPPED), 6_000, "nothing more"),
    ],
)
def test_of_a_fault(view: FaultView, now: int, line: str) -> None:
    assert fault_next(view, now, "settle 5") == line


def test_where_a_slash_went_is_told_once_it_has_gone() -> None:
    assert "went to" not in dict(fault_rows(seen(FaultState.FILED), MONEY))
    rows = dict(fault_rows(seen(FaultState.EXECUTED, arbiter=None), MONEY))
    assert rows["went to"] == "tenants 0, reporters 0, burnt 0 USDT"
    assert rows["arbiter"] == "nobody"
    assert losses_table(seen(FaultState.EXECUTED), MONEY).rows == []

"""Another share of the same machine, on the same lease."""

import pytest
from signing import consent
from world import (
    CONTACT,
    DAY,
    ENDPOINT,
    HARDWARE,
    HOUR,
    MINUTE,
    OPENED,
    PER_SECOND,
    UNIT,
    LeaseRequest,
    Terms,
    at,
    cost,
    escrow,
    fault_of,
    fee,
    later,
    lease_of,
    now,
    reverts,
)

TRIAL = Terms().trial


@pytest.fixture
def later_on(running):
    """A quarter of an hour into the lease, which is past its trial. Returns when it started."""
    start = now()
    at(start + 15 * MINUTE)
    return start


def test_a_larger_share_pays_what_accrued_and_takes_the_rest(
    pool, token, provider, tenant, running, later_on
):
    """A GPU for 15 minutes, then two for 45: 0.9 + 5.4 tokens, of which 3.6 are there."""
    had = token.balanceOf(tenant)
    tx = pool.resize(running, 16, 0, {"from": tenant})
    first, second = cost(15 * MINUTE), escrow(45 * MINUTE, cells=16)
    assert tx.events["LeaseResized"] == {
        "lease": running,
        "machine": 1,
        "placement": 0x03FF,
        "settled": first,
        "paid": first - fee(first),
        "fee": fee(first),
        "deposit": first + second,
        "pulled": first + second - HOUR * PER_SECOND,
        "refunded": 0,
    }
    assert had - token.balanceOf(tenant) == 27 * UNIT // 10
    assert pool.balanceOf(provider) == first - fee(first)
    seen = pool.leaseOf(running).dict()
    assert (seen["segmentStart"], seen["segmentSettled"]) == (later_on + 15 * MINUTE, first)
    assert seen["end"] == later_on + HOUR
    assert pool.machineOf(1).dict()["leased"] == 0xFFFF


def test_a_smaller_share_gives_the_rest_back(pool, provider, tenant, running, later_on):
    """A GPU for 15 minutes, then a quarter of one for 45: 0.9 + 0.675 tokens of 3.6."""
    tx = pool.resize(running, 2, 0, {"from": tenant})
    assert tx.events["LeaseResized"]["refunded"] == pool.balanceOf(tenant) == 2025 * UNIT // 1000
    assert pool.machineOf(1).dict()["leased"] == 0x3
    at(later_on + HOUR)
    told = pool.close(running, {"from": tenant}).events["LeaseClosed"]
    billed = 1575 * UNIT // 1000
    assert (told["paid"], told["fee"], told["refunded"]) == (billed - fee(billed), fee(billed), 0)
    assert pool.balanceOf(provider) == billed - fee(billed)


def test_up_and_down_again_bills_each_second_at_its_share(pool, books, provider, tenant, running, later_on):
    for minute, share in ((15, 16), (30, 4), (45, 8)):
        at(later_on + minute * MINUTE)
        pool.resize(running, share, 0, {"from": tenant})
        books()
    at(later_on + HOUR)
    told = pool.close(running, {"from": tenant}).events["LeaseClosed"]
    assert told["paid"] + told["fee"] == sum(cost(15 * MINUTE, cells=cells) for cells in (8, 16, 4, 8))
    books()


def test_a_place_may_be_named_and_may_be_its_own(pool, tenant, running, later_on):
    pool.resize(running, 8, 0x02FF, {"from": tenant})
    assert pool.machineOf(1).dict()["leased"] == 0xFF00
    pool.resize(running, 4, 0x02F0, {"from": tenant})
    assert pool.machineOf(1).dict()["leased"] == 0xF000
    with reverts("InvalidPlacement", 0x02F0):
        pool.resize(running, 2, 0x02F0, {"from": tenant})
    with reverts("InvalidShare", 3):
        pool.resize(running, 3, 0, {"from": tenant})


def test_there_must_be_room(pool, tenant, neighbour, operator, running, later_on, rent):
    rent(neighbour, share=1)
    with reverts("NoFreeCells", 1, 0x0100):
        pool.resize(running, 16, 0, {"from": tenant})
    with reverts("NoFreeCells", 1, 0x0100):
        pool.resize(running, 8, 0x02FF, {"from": tenant})
    assert pool.machineOf(1).dict()["leased"] == 0x01FF


def test_withheld_cells_are_not_grown_into(pool, operator, tenant, running, later_on):
    pool.withhold(1, 0xFF00, {"from": operator})
    with reverts("NoFreeCells", 1, 0xFF00):
        pool.resize(running, 16, 0, {"from": tenant})


def test_only_the_tenant_resizes(pool, people, running, later_on):
    for role in set(people) - {"tenant"}:
        with reverts("NotAuthorized", people[role]):
            pool.resize(running, 4, 0, {"from": people[role]})


def test_not_inside_the_trial(pool, tenant, running):
    start = now()
    at(start + TRIAL - 1)
    with reverts("TrialRunning", running, start + TRIAL):
        pool.resize(running, 4, 0, {"from": tenant})
    at(start + TRIAL)
    pool.resize(running, 4, 0, {"from": tenant})
    with reverts("TrialOver", running, start + TRIAL):
        pool.reject(running, {"from": tenant})


def test_not_before_the_start_nor_after_the_end(pool, tenant, operator, opened):
    with reverts("WrongState", opened, OPENED):
        pool.resize(opened, 4, 0, {"from": tenant})
    pool.start(opened, ENDPOINT, {"from": operator})
    end = now() + HOUR
    at(end)
    with reverts("LeaseOver", opened, end):
        pool.resize(opened, 4, 0, {"from": tenant})


def test_not_while_the_machine_is_down(pool, faults, operator, tenant, running, later_on):
    faults.reportOutage(1, {"from": operator})
    with reverts("MachineDown", 1, now()):
        pool.resize(running, 4, 0, {"from": tenant})


def test_a_machine_that_takes_no_leases_grows_none_but_lets_them_shrink(
    pool, provider, tenant, running, later_on
):
    pool.delist(1, {"from": provider})
    with reverts("MachineDelisted", 1):
        pool.resize(running, 16, 0, {"from": tenant})
    pool.resize(running, 4, 0, {"from": tenant})


def test_a_machine_that_asks_for_other_terms_grows_no_lease_at_the_old_ones(
    pool, provider, tenant, running, later_on
):
    pool.setTerms(1, Terms(price=2 * Terms().price), {"from": provider})
    with reverts("RevisionChanged", 2):
        pool.resize(running, 16, 0, {"from": tenant})
    pool.resize(running, 4, 0, {"from": tenant})


def test_under_notice_it_may_be_resized(pool, provider, tenant, operator, rent):
    pool.deposit(provider, 10 * UNIT, {"from": provider})
    lease = rent(tenant, duration=5 * HOUR)
    later(HOUR)
    pool.terminate(lease, {"from": provider})
    pool.resize(lease, 4, 0, {"from": tenant})


def test_nobody_grows_without_the_money(pool, token, tenant, running, later_on):
    token.approve(pool, 0, {"from": tenant})
    with reverts("ERC20InsufficientAllowance", pool, 0, 27 * UNIT // 10):
        pool.resize(running, 16, 0, {"from": tenant})
    assert pool.leaseOf(running).dict()["segmentSettled"] == 0


def test_an_extension_after_a_resize_costs_the_new_share(pool, token, tenant, running, later_on):
    """0.9 tokens for the first quarter of an hour, then half a GPU for 45 + 60 minutes: 3.15."""
    pool.resize(running, 4, 0, {"from": tenant})
    tx = pool.extend(running, HOUR, {"from": tenant})
    assert tx.events["LeaseExtended"]["deposit"] == 9 * UNIT // 10 + 315 * UNIT // 100


def test_a_claim_after_a_resize_counts_from_it(pool, provider, tenant, running, later_on):
    pool.resize(running, 4, 0, {"from": tenant})
    at(later_on + 50 * MINUTE)
    tx = pool.claim([running], {"from": provider})
    assert tx.events["LeaseClaimed"]["settled"] == cost(15 * MINUTE) + cost(15 * MINUTE, cells=4)


def test_an_outage_before_a_resize_is_settled_and_after_it_is_taken_off(
    pool, faults, operator, provider, tenant, running
):
    """Dark in minutes 10 to 20, not yet taken off when the lease shrinks in minute 30: what was paid stays paid."""
    start = now()
    at(start + 10 * MINUTE)
    early = fault_of(faults.reportOutage(1, {"from": operator}))
    at(start + 20 * MINUTE)
    faults.recover(1, 0, b"", {"from": operator})
    at(start + 30 * MINUTE)
    pool.resize(running, 4, 0, {"from": tenant})
    with reverts("NothingToApply", early):
        faults.applyOutage(early, [running], {"from": tenant})
    at(start + 40 * MINUTE)
    late = fault_of(faults.reportOutage(1, {"from": operator}))
    at(start + 45 * MINUTE)
    faults.recover(1, 0, b"", {"from": operator})
    faults.applyOutage(late, [running], {"from": tenant})
    at(start + HOUR)
    told = pool.close(running, {"from": tenant}).events["LeaseClosed"]
    assert told["paid"] + told["fee"] == cost(30 * MINUTE) + cost(25 * MINUTE, cells=4)


def test_a_reused_slot_remembers_no_segment(pool, provider, operator, tenant, running, later_on):
    pool.resize(running, 4, 0, {"from": tenant})
    pool.close(running, {"from": tenant})
    again = lease_of(pool.open(LeaseRequest(1, reuse=running), {"from": tenant}))
    pool.start(again, ENDPOINT, {"from": operator})
    seen = pool.leaseOf(again).dict()
    assert (seen["segmentSettled"], seen["settled"], seen["segmentStart"]) == (0, 0, seen["start"])
    later(10 * MINUTE)
    told = pool.close(again, {"from": tenant}).events["LeaseClosed"]
    assert told["paid"] + told["fee"] == cost(10 * MINUTE)


def test_through_accounts_it_is_paid_from_the_ledger_alone(pool, tenant, execute, running, later_on):
    call = (pool, pool.resize.encode_input(running, 16, 0))
    with reverts("InsufficientBalance", tenant, 0, 27 * UNIT // 10):
        execute(tenant, call)
    pool.deposit(tenant, 27 * UNIT // 10, {"from": tenant})
    execute(tenant, call)
    assert pool.balanceOf(tenant) == 0


def test_a_lease_of_a_day_on_another_machine(pool, provider, operator, tenant, rent):
    """Two machines: a resize never leaves its own."""
    pool.register(
        Terms(), 1, 1, HARDWARE, CONTACT, operator, consent(pool, provider, operator), {"from": provider}
    )
    lease = rent(tenant, machine=2, duration=DAY, share=1)
    later(HOUR)
    with reverts("InvalidShare", 16):
        pool.resize(lease, 16, 0, {"from": tenant})
    pool.resize(lease, 8, 0, {"from": tenant})
    assert (pool.machineOf(1).dict()["leased"], pool.machineOf(2).dict()["leased"]) == (0, 0xFF)

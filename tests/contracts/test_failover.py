"""A lease whose machine is down goes on at the standby that its tenant named, and nowhere else."""

import pytest
from signing import consent
from world import (
    ACTIVE,
    CONTACT,
    DAY,
    ENDPOINT,
    HARDWARE,
    HOUR,
    MINUTE,
    OPENED,
    PER_SECOND,
    UNIT,
    WORKLOAD,
    LeaseRequest,
    Params,
    Terms,
    at,
    backup_digest,
    later,
    lease_of,
    now,
    reverts,
    word,
)

STANDBY = (2, 1, 0, WORKLOAD)


@pytest.fixture
def standby(pool, neighbour, operator):
    """Machine 2: two GPUs of the neighbour's, as machine 1."""
    pool.register(
        Terms(), 2, 1, HARDWARE, CONTACT, operator, consent(pool, neighbour, operator), {"from": neighbour}
    )


@pytest.fixture
def backed(standby, rent, tenant):
    """A lease of six hours on machine 1, with machine 2 for its standby."""
    return rent(tenant, duration=6 * HOUR, backup=backup_digest(*STANDBY))


@pytest.fixture
def dark(pool, faults, operator, backed):
    """An hour into it machine 1 goes down. Returns when that was."""
    later(HOUR)
    faults.reportOutage(1, {"from": operator})
    return now()


def fail_over(pool, lease, who, standby=STANDBY):
    return pool.failover(lease, *standby, {"from": who})


def test_the_digest_of_the_standby_is_stored_and_told(pool, standby, tenant):
    tx = pool.open(LeaseRequest(1, backup=backup_digest(*STANDBY)), {"from": tenant})
    assert tx.events["LeaseOpened"]["backup"] == backup_digest(*STANDBY)
    assert pool.leaseOf(lease_of(tx)).dict()["backup"] == backup_digest(*STANDBY)


def test_anyone_moves_it_and_the_tenant_pays_no_unit_more(pool, token, tenant, backed, dark, thief):
    had = token.balanceOf(tenant)
    at(dark + 10 * MINUTE)
    tx = fail_over(pool, backed, thief)
    backup = lease_of(tx)
    assert tx.events["FailedOver"] == {"lease": backed, "backup": backup}
    told = tx.events["LeaseClosed"]
    assert (told["end"], told["paid"] + told["fee"]) == (dark + 10 * MINUTE, HOUR * PER_SECOND)
    seen = pool.leaseOf(backup).dict()
    assert (seen["tenant"], seen["machine"], seen["state"]) == (tenant, 2, OPENED)
    assert seen["end"] == dark + 5 * HOUR  # the end that it had
    assert seen["deposit"] == (5 * HOUR - 10 * MINUTE) * PER_SECOND
    assert pool.balanceOf(tenant) == 10 * MINUTE * PER_SECOND
    assert token.balanceOf(tenant) == had
    # The standby has none of its own.
    assert int(str(seen["backup"]), 16) == 0


def test_only_while_the_machine_is_down(pool, faults, operator, backed, dark, thief):
    later(MINUTE)
    faults.recover(1, 0, b"", {"from": operator})
    with reverts("MachineNotDown", 1):
        fail_over(pool, backed, thief)


@pytest.mark.parametrize(
    "other",
    [(1, *STANDBY[1:]), (2, 2, 0, WORKLOAD), (2, 1, 0x01FF, WORKLOAD), (2, 1, 0, word("another job"))],
)
def test_nowhere_else_than_the_tenant_said(pool, backed, dark, thief, other):
    with reverts("WrongBackup", backed):
        fail_over(pool, backed, thief, other)


def test_without_a_standby_it_stays_where_it_is(pool, faults, standby, operator, running, thief):
    faults.reportOutage(1, {"from": operator})
    with reverts("WrongBackup", running):
        fail_over(pool, running, thief)


def test_only_what_runs_fails_over(pool, faults, standby, operator, tenant, thief):
    lease = lease_of(pool.open(LeaseRequest(1, backup=backup_digest(*STANDBY)), {"from": tenant}))
    faults.reportOutage(1, {"from": operator})
    with reverts("WrongState", lease, OPENED):
        fail_over(pool, lease, thief)
    pool.start(lease, ENDPOINT, {"from": operator})
    end = now() + HOUR
    at(end)
    with reverts("LeaseOver", lease, end):
        fail_over(pool, lease, thief)


def test_a_standby_in_no_state_to_serve_leaves_all_as_it_was(
    pool, faults, owner, neighbour, operator, backed, dark, thief, new_params
):
    pool.delist(2, {"from": neighbour})
    with reverts("MachineDelisted", 2):
        fail_over(pool, backed, thief)
    pool.relist(2, {"from": neighbour})
    pool.withhold(2, 0xFFFF, {"from": neighbour})
    with reverts("NoFreeCells", 2, 0xFFFF):
        fail_over(pool, backed, thief)
    pool.withhold(2, 0, {"from": neighbour})
    faults.reportOutage(2, {"from": operator})
    with reverts("MachineDown", 2, now()):
        fail_over(pool, backed, thief)
    later(1)
    faults.recover(2, 0, b"", {"from": operator})
    pool.setPaused(True, {"from": owner})
    with reverts("Paused"):
        fail_over(pool, backed, thief)
    pool.setPaused(False, {"from": owner})
    assert pool.leaseOf(backed).dict()["state"] == ACTIVE
    pool.setTerms(2, Terms(price=1), {"from": neighbour})
    with reverts("RevisionChanged", 2):
        fail_over(pool, backed, thief)


def test_a_refund_that_buys_too_little_buys_nothing(pool, faults, standby, operator, tenant, thief, rent):
    """Thirty seconds are left, and machine 2 leases nothing for less than a minute."""
    lease = rent(tenant, backup=backup_digest(*STANDBY))
    start = now()
    at(start + 10 * MINUTE)
    faults.reportOutage(1, {"from": operator})
    at(start + HOUR - 30)
    with reverts("NothingLeftFor", lease, 60, 30):
        fail_over(pool, lease, thief)


def test_a_standby_that_goes_away_too_soon_is_refused(pool, neighbour, operator, tenant, faults, rent, thief):
    today = now() // DAY
    terms = Terms(available_until_day=today)
    pool.register(
        terms, 1, 1, HARDWARE, CONTACT, operator, consent(pool, neighbour, operator), {"from": neighbour}
    )
    lease = rent(tenant, duration=3 * DAY, backup=backup_digest(*STANDBY))
    faults.reportOutage(1, {"from": operator})
    with reverts("NotAvailableUntil"):
        fail_over(pool, lease, thief)


def test_the_standby_s_longest_lease_is_the_longest(pool, neighbour, operator, tenant, faults, rent, thief):
    pool.register(
        Terms(max_duration=2 * HOUR),
        1,
        1,
        HARDWARE,
        CONTACT,
        operator,
        consent(pool, neighbour, operator),
        {"from": neighbour},
    )
    lease = rent(tenant, duration=6 * HOUR, backup=backup_digest(*STANDBY))
    faults.reportOutage(1, {"from": operator})
    backup = lease_of(fail_over(pool, lease, thief))
    seen = pool.leaseOf(backup).dict()
    assert seen["end"] - seen["start"] == 2 * HOUR
    assert pool.balanceOf(tenant) == 4 * HOUR * PER_SECOND


def test_a_place_named_for_the_standby_is_its_share(pool, standby, operator, tenant, faults, rent, thief):
    """The tenant would rather have half a GPU for twice as long as it could pay, but the end stays."""
    half = (2, 1, 0x01F0, WORKLOAD)
    lease = rent(tenant, duration=6 * HOUR, backup=backup_digest(*half))
    faults.reportOutage(1, {"from": operator})
    seen = pool.leaseOf(lease_of(fail_over(pool, lease, thief, half))).dict()
    assert seen["placement"] == 0x01F0
    assert seen["deposit"] == 3 * HOUR * PER_SECOND
    assert pool.balanceOf(tenant) == 3 * HOUR * PER_SECOND


def test_a_spot_lease_s_standby_is_spot(pool, provider, neighbour, operator, tenant, faults, rent, thief):
    spot = Terms(spot_price=UNIT)
    pool.setTerms(1, spot, {"from": provider})
    pool.register(
        Terms(), 1, 1, HARDWARE, CONTACT, operator, consent(pool, neighbour, operator), {"from": neighbour}
    )
    pool.register(
        spot, 1, 1, HARDWARE, CONTACT, operator, consent(pool, neighbour, operator), {"from": neighbour}
    )
    wishes = {"revision": 2, "spot": True, "duration": 2 * HOUR}
    bad, good = (rent(tenant, backup=backup_digest(machine), **wishes) for machine in (2, 3))
    faults.reportOutage(1, {"from": operator})
    with reverts("NotSpot", 2):
        fail_over(pool, bad, thief)
    seen = pool.leaseOf(lease_of(fail_over(pool, good, thief, (3, 1, 0, WORKLOAD)))).dict()
    assert (seen["spot"], seen["price"]) == (True, UNIT)


def test_a_standby_that_does_not_start_gives_all_back(pool, tenant, backed, dark, thief):
    backup = lease_of(fail_over(pool, backed, thief))
    later(Params().start_window + 1)
    pool.cancelUnstarted(backup, {"from": thief})
    assert pool.balanceOf(tenant) == 5 * HOUR * PER_SECOND

"""A lease fails over to its backup.

A tenant who cannot watch its job names a standby when it opens: another provider's machine, half as dear again.
When the first machine fails, anybody may bring the standby up; the tenant's wallet is not touched.
"""

import pytest
from signing import consent
from world import (
    CONTACT,
    ENDED,
    ENDPOINT,
    HARDWARE,
    HOUR,
    MINUTE,
    OPENED,
    PER_SECOND,
    SINK,
    UNIT,
    WORKLOAD,
    Params,
    Terms,
    at,
    backup_digest,
    fault_of,
    fee,
    now,
    reverts,
)

DEARER = Terms(price=54 * UNIT // 10)  # 0.0015 tokens a second
STANDBY = (2, 1, 0, WORKLOAD)  # machine, revision, anywhere on it, the job


@pytest.fixture
def standby(pool, neighbour, operator):
    """Machine 2: a GPU of the neighbour's."""
    pool.register(
        DEARER, 1, 1, HARDWARE, CONTACT, operator, consent(pool, neighbour, operator), {"from": neighbour}
    )


def test_a_lease_moves_by_itself(
    standby, pool, token, faults, books, rent, provider, operator, tenant, neighbour, thief
):
    # Six hours, 21.6 tokens.
    start = now()
    lease = rent(tenant, duration=6 * HOUR, backup=backup_digest(*STANDBY))
    had = token.balanceOf(tenant)

    # Nobody moves it while its machine is up, nor anywhere else than its tenant has said.
    at(start + 2 * HOUR)
    with reverts("MachineNotDown", 1):
        pool.failover(lease, *STANDBY, {"from": thief})
    fault = fault_of(faults.reportOutage(1, {"from": operator}))
    with reverts("WrongBackup", lease):
        pool.failover(lease, 1, 1, 0, WORKLOAD, {"from": thief})

    # Ten minutes later somebody does. Two hours are billed, 7.2 tokens, and 14.4 come back. The time that was left is
    # 3 h 50 min; at 0.0015 a second they buy 9600 s, 2 h 40 min of it.
    at(start + 2 * HOUR + 10 * MINUTE)
    tx = pool.failover(lease, *STANDBY, {"from": thief})
    backup = int(tx.events["FailedOver"]["backup"])
    assert tx.events["LeaseClosed"]["refunded"] == 4 * HOUR * PER_SECOND
    seen = pool.leaseOf(backup).dict()
    assert (seen["tenant"], seen["state"], seen["end"] - seen["start"]) == (tenant, OPENED, 9600)
    assert seen["deposit"] == 4 * HOUR * PER_SECOND
    assert (pool.balanceOf(tenant), token.balanceOf(tenant)) == (0, had)
    assert pool.leaseOf(lease).dict()["state"] == ENDED
    with reverts("WrongState", lease, ENDED):
        pool.failover(lease, *STANDBY, {"from": thief})
    books()

    # It runs to its end, and each provider has been paid for what it served.
    at(start + 2 * HOUR + 15 * MINUTE)
    pool.start(backup, ENDPOINT, {"from": operator})
    at(start + 2 * HOUR + 15 * MINUTE + 9600)
    pool.close(backup, {"from": thief})
    for who, billed in ((provider, 2 * HOUR * PER_SECOND), (neighbour, 4 * HOUR * PER_SECOND)):
        assert pool.balanceOf(who) == billed - fee(billed)
    books()

    # The first machine is back after three hours, which it had said itself: 4 % of 200 tokens. Half of the 8 are for
    # tenants: for one of two GPUs and ten of 180 minutes a 36th of that.
    at(start + 5 * HOUR)
    faults.recover(1, 0, b"", {"from": operator})
    faults.applyOutage(fault, [lease], {"from": thief})
    part = 4 * UNIT // 36
    assert faults.faultOf(fault).dict()["pot"] == part
    at(start + 5 * HOUR + Params().appeal_window + 1)
    faults.execute(fault, {"from": thief})
    faults.compensate(fault, [lease], {"from": thief})
    assert (pool.balanceOf(tenant), pool.balanceOf(SINK)) == (part, 8 * UNIT - part)
    books()

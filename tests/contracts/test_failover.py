"""A lease whose machine is down goes on at the standby that its tenant named, and nowhere else."""

import pytest
from signing import consent
from world import (
    CONTACT,
    HARDWARE,
    HOUR,
    MINUTE,
    OPENED,
    PER_SECOND,
    WORKLOAD,
    Terms,
    at,
    backup_digest,
    later,
    lease_of,
    now,
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

"""A lease goes to another tenant, who has accepted it."""

import pytest
from brownie import SmartWallet
from signing import consent, key_proof, typed_digest
from world import (
    CONTACT,
    DAY,
    ENDED,
    HARDWARE,
    HOUR,
    NOBODY,
    PER_SECOND,
    WORKLOAD,
    Terms,
    at,
    backup_digest,
    now,
    reverts,
)

ACCEPT = "AcceptTransfer(address account,address controller,uint256 lease,uint256 deadline)"
LATE = 2**40


@pytest.fixture
def accept(pool, hub, keys):
    """Somebody's acceptance of a lease."""

    def sign(lease, to, deadline=LATE, signer=None):
        return key_proof(keys[(signer or to).address], hub.acceptTransferDigest(to, pool, lease, deadline))

    return sign


def test_an_acceptance_is_typed_data_of_accounts(pool, hub, neighbour):
    digest = hub.acceptTransferDigest(neighbour, pool, 5, LATE)
    assert bytes(digest) == typed_digest(hub, ACCEPT, neighbour.address, pool.address, 5, LATE)


def test_the_new_tenant_has_the_lease_and_its_refund(pool, tenant, neighbour, running, accept):
    start = now()
    at(start + HOUR // 2)
    tx = pool.transferLease(running, neighbour, LATE, accept(running, neighbour), {"from": tenant})
    assert tx.events["LeaseTransferred"] == {"lease": running, "from": tenant, "to": neighbour}
    with reverts("NotAuthorized", tenant):
        pool.close(running, {"from": tenant})
    pool.close(running, {"from": neighbour})
    assert (pool.balanceOf(tenant), pool.balanceOf(neighbour)) == (0, HOUR // 2 * PER_SECOND)


def test_it_may_go_before_its_start_and_not_after_its_end(pool, tenant, neighbour, operator, opened, accept):
    pool.transferLease(opened, neighbour, LATE, accept(opened, neighbour), {"from": tenant})
    pool.start(opened, WORKLOAD, {"from": operator})
    at(now() + HOUR)
    pool.close(opened, {"from": tenant})
    with reverts("WrongState", opened, ENDED):
        pool.transferLease(opened, tenant, LATE, accept(opened, tenant), {"from": neighbour})


def test_only_the_tenant_gives_it_away(pool, people, neighbour, running, accept):
    for role in set(people) - {"tenant"}:
        with reverts("NotAuthorized", people[role]):
            pool.transferLease(running, neighbour, LATE, accept(running, neighbour), {"from": people[role]})


def test_nobody_gets_what_he_has_not_accepted(pool, tenant, neighbour, thief, running, accept):
    for proof in (
        b"",
        accept(running, neighbour, signer=thief),
        accept(running + 1, neighbour),
        accept(running, neighbour, deadline=LATE - 1),
        accept(running, thief),
    ):
        with reverts("WrongProof", neighbour):
            pool.transferLease(running, neighbour, LATE, proof, {"from": tenant})


@pytest.mark.parametrize(("to", "error"), [(NOBODY, "ZeroAddress"), ("the pool", "SelfTransfer")])
def test_it_goes_to_somebody(pool, tenant, running, to, error):
    with reverts(error):
        pool.transferLease(running, pool if to == "the pool" else to, LATE, b"", {"from": tenant})


def test_an_acceptance_ends(pool, tenant, neighbour, running, accept):
    until = now() + 60
    at(until + 1)
    with reverts("OfferExpired", until):
        pool.transferLease(running, neighbour, until, accept(running, neighbour, until), {"from": tenant})


def test_an_acceptance_works_once(pool, tenant, neighbour, running, accept):
    """Given on and back, a lease is not forced upon somebody a second time by what he signed the first time."""
    accepted = accept(running, neighbour)
    pool.transferLease(running, neighbour, LATE, accepted, {"from": tenant})
    pool.transferLease(running, tenant, LATE, accept(running, tenant), {"from": neighbour})
    with reverts("AcceptanceUsed"):
        pool.transferLease(running, neighbour, LATE, accepted, {"from": tenant})


def test_the_standby_of_the_old_tenant_goes(pool, faults, rent, operator, tenant, neighbour, thief, accept):
    """It would spend the new tenant's refund."""
    pool.register(
        Terms(), 1, 1, HARDWARE, CONTACT, operator, consent(pool, neighbour, operator), {"from": neighbour}
    )
    lease = rent(tenant, duration=DAY, backup=backup_digest(2))
    pool.transferLease(lease, neighbour, LATE, accept(lease, neighbour), {"from": tenant})
    assert int(str(pool.leaseOf(lease).dict()["backup"]), 16) == 0
    faults.reportOutage(1, {"from": operator})
    with reverts("WrongBackup", lease):
        pool.failover(lease, 2, 1, 0, WORKLOAD, {"from": thief})


def test_a_smart_account_accepts_by_its_own_rules(pool, hub, keys, tenant, neighbour, running):
    wallet = SmartWallet.deploy(neighbour, {"from": neighbour})
    digest = hub.acceptTransferDigest(wallet, pool, running, LATE)
    proof = b"\x02" + key_proof(keys[neighbour.address], digest)[1:]
    pool.transferLease(running, wallet, LATE, proof, {"from": tenant})
    assert pool.leaseOf(running).dict()["tenant"] == wallet

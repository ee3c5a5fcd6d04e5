"""A lease goes to another tenant, who has accepted it."""

import pytest
from signing import key_proof, typed_digest
from world import (
    HOUR,
    PER_SECOND,
    at,
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

"""A group replaces a signer.

Ada, Ben and Cy rent together: any two of them. Cy leaves, Dora comes. A group's address is made of its signers, so Ada,
Ben and Dora are another group; the old one hands over its lease, which runs on, and what is left in its ledger, in one
transaction. From then on Cy's signature opens nothing.
"""

import pytest
from world import ENDPOINT, HOUR, PER_SECOND, UNIT, LeaseRequest, at, fee, lease_of, now, reverts

FUNDS = 100 * UNIT


@pytest.fixture
def ada(tenant):
    return tenant


@pytest.fixture
def ben(neighbour):
    return neighbour


@pytest.fixture
def cy(thief):
    return thief


@pytest.fixture
def dora(owner):
    return owner


def test_a_signer_is_replaced(
    pool, hub, token, books, group, provider, operator, treasury, ada, ben, cy, dora
):
    old, new = group(2, ada, ben, cy), group(2, ada, ben, dora)
    pool.deposit(old.address, FUNDS, {"from": ada})

    # Ten hours of a GPU: 36 of the group's 100 tokens. Neither of the groups is a contract, and none needs gas.
    opening = (pool, pool.open.encode_input(LeaseRequest(1, duration=10 * HOUR)))
    lease = lease_of(old.execute(treasury, (ada, cy), opening))
    start = now()
    pool.start(lease, ENDPOINT, {"from": operator})

    # Two hours later the new group accepts, and the old one gives: the lease, and the 64 tokens in its ledger.
    at(start + 2 * HOUR)
    deadline = start + 3 * HOUR
    accepted = new.proof(hub.acceptTransferDigest(new.address, pool, lease, deadline), ben, dora)
    giving = pool.transferLease.encode_input(lease, new.address, deadline, accepted)
    handing_over = pool.transfer.encode_input(new.address, 64 * UNIT)
    tx = old.execute(treasury, (ada, ben), (pool, giving), (pool, handing_over))
    assert tx.events["LeaseTransferred"] == {"lease": lease, "from": old.address, "to": new.address}
    assert (pool.balanceOf(old.address), pool.balanceOf(new.address)) == (0, 64 * UNIT)
    books(old.address, new.address)

    # Cy and one of the others are still two of the old group, which has nothing any more, and none of the new one.
    closing = (pool, pool.close.encode_input(lease))
    with reverts("NotAuthorized", old.address):
        old.execute(treasury, (ben, cy), closing)
    with reverts("WrongGroup", new.address, old.address):
        new.execute(treasury, lambda digest: old.proof(digest, ben, cy), closing)
    with reverts("NotAuthorized", cy):
        pool.close(lease, {"from": cy})
    # What the new group accepted it accepted once.
    with reverts("NotAuthorized", old.address):
        old.execute(treasury, (ben, cy), (pool, giving))
    with reverts("AcceptanceUsed"):
        new.execute(treasury, (ada, dora), (pool, giving))

    # The new group closes after three hours: 10.8 tokens are billed, and 25.2 come back to its ledger.
    at(start + 3 * HOUR)
    new.execute(treasury, (ada, dora), closing)
    billed = 3 * HOUR * PER_SECOND
    assert pool.balanceOf(new.address) == FUNDS - billed
    assert pool.balanceOf(provider) == billed - fee(billed)
    had = token.balanceOf(dora)
    new.execute(treasury, (ben, dora), (pool, pool.withdraw.encode_input(dora, FUNDS - billed)))
    assert token.balanceOf(dora) - had == FUNDS - billed
    books(old.address, new.address)

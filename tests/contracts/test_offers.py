"""Leases at terms that a provider signed: once, for what they say, and no more."""

import pytest
from brownie import SmartWallet
from signing import consent, key_proof, typed_digest
from world import (
    CONTACT,
    HARDWARE,
    HOUR,
    UNIT,
    LeaseRequest,
    Offer,
    Params,
    Terms,
    escrow,
    later,
    lease_of,
    now,
    reverts,
)

OFFER = (
    "Offer(address account,uint32 machine,uint16 revision,uint80 price,uint8 cells,uint32 duration,bool spot,"
    "address tenant,uint256 nonce,uint64 expiresAt)"
)
WORD = 3  # of the provider's nonces


@pytest.fixture
def signed(pool, keys, provider):
    """A proof of somebody, the provider if nobody else is named, over an offer."""

    def sign(offer, signer=provider):
        return key_proof(keys[signer.address], pool.offerDigest(offer))

    return sign


@pytest.fixture
def take(pool, signed, tenant):
    """The tenant opens a lease with an offer, at the listed price at most."""

    def open_(offer, by=tenant, proof=None, **wishes):
        request = LeaseRequest(1, **wishes)
        return pool.openWithOffer(request, offer, proof or signed(offer), {"from": by})

    return open_


def test_an_offer_is_typed_data_of_the_pool(pool):
    offer = Offer(nonce=7)
    assert bytes(pool.offerDigest(offer)) == typed_digest(pool, OFFER, *offer)


def test_a_tenant_pays_what_the_provider_signed(pool, provider, tenant, take):
    offer = Offer(nonce=WORD << 8 | 5)
    tx = take(offer)
    lease = lease_of(tx)
    assert tx.events["LeaseOpened"]["price"] == offer.price
    assert tx.events["LeaseOpened"]["deposit"] == escrow(HOUR, price=offer.price)
    assert tx.events["OfferTaken"] == {"provider": provider, "nonce": offer.nonce, "lease": lease}
    assert pool.offersOf(provider, WORD) == 1 << 5
    assert pool.leaseOf(lease).dict()["tenant"] == tenant


def test_a_smart_account_s_offer_is_what_it_says_of_itself(pool, token, keys, operator, tenant, neighbour):
    wallet = SmartWallet.deploy(neighbour, {"from": neighbour})
    pool.deposit(wallet, 100 * UNIT, {"from": neighbour})
    registering = pool.register.encode_input(
        Terms(), 1, 1, HARDWARE, CONTACT, operator, consent(pool, wallet, operator)
    )
    wallet.run(pool, registering, {"from": neighbour})
    offer = Offer(account=wallet.address, machine=2)
    proof = b"\x02" + key_proof(keys[neighbour.address], pool.offerDigest(offer))[1:]
    pool.openWithOffer(LeaseRequest(2), offer, proof, {"from": tenant})
    assert pool.offersOf(wallet, 0) == 1


def test_offers_are_spoiled_by_the_word(pool, provider, thief, take):
    tx = pool.cancelOffers(WORD, 0b110, {"from": provider})
    assert tx.events["OffersCancelled"] == {"provider": provider, "word": WORD, "mask": 0b110}
    for bit in (1, 2):
        with reverts("OfferUsed", WORD << 8 | bit):
            take(Offer(nonce=WORD << 8 | bit))
    # Nobody spoils another's, and what is spoiled stays so.
    pool.cancelOffers(WORD, 0b1, {"from": thief})
    pool.cancelOffers(WORD, 0, {"from": provider})
    assert (pool.offersOf(provider, WORD), pool.offersOf(thief, WORD)) == (0b110, 0b1)
    take(Offer(nonce=WORD << 8))


def test_an_offer_asks_for_all_else_that_opening_does(
    pool, owner, provider, operator, tenant, take, faults, new_params
):
    with reverts("MachineUnverified", 1):
        take(Offer(), allow_unverified=False)
    pool.delist(1, {"from": provider})
    with reverts("MachineDelisted", 1):
        take(Offer())
    pool.relist(1, {"from": provider})
    faults.reportOutage(1, {"from": operator})
    with reverts("MachineDown", 1, now()):
        take(Offer())
    later(1)
    faults.recover(1, 0, b"", {"from": operator})
    pool.setPaused(True, {"from": owner})
    with reverts("Paused"):
        take(Offer())
    pool.setPaused(False, {"from": owner})
    pool.setTerms(1, Terms(), {"from": provider})
    with reverts("RevisionChanged", 2):
        take(Offer())
    new_params(Params(fee_bps=100))
    with reverts("ParamsOutdated", 1, 2):
        take(Offer(revision=2), revision=2)

"""Leases at terms that a provider signed: once, for what they say, and no more."""

import pytest
from brownie import SmartWallet
from signing import consent, key_proof, typed_digest
from world import (
    CONTACT,
    DAY,
    ENDPOINT,
    HARDWARE,
    HOUR,
    MINUTE,
    UNIT,
    LeaseRequest,
    Offer,
    Params,
    Terms,
    at,
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


def test_an_offer_works_once(pool, take, thief):
    take(Offer(nonce=9))
    for cheaper in (Offer(nonce=9), Offer(nonce=9, price=1)):
        with reverts("OfferUsed", 9):
            take(cheaper, by=thief)
    take(Offer(nonce=8))


def test_an_offer_may_be_beneath_and_above_what_is_listed(pool, take):
    """Neither the listed durations nor the last day bind what a provider signs; the tenant's own maximum does."""
    take(Offer(duration=30 * DAY, nonce=1), duration=30 * DAY)
    take(Offer(duration=MINUTE, nonce=2), duration=1)
    dear = Offer(price=9 * UNIT, nonce=3)
    with reverts("PriceTooHigh", 9 * UNIT, 4 * UNIT):
        take(dear)


@pytest.mark.parametrize(
    ("field", "offer", "wishes"),
    [
        ("account", Offer(account="0x" + 40 * "1"), {}),
        ("machine", Offer(machine=2), {}),
        ("revision", Offer(revision=2), {}),
        ("cells", Offer(cells=4), {}),
        ("duration", Offer(duration=HOUR - 1), {}),
        ("duration", Offer(), {"duration": 0}),
        ("spot", Offer(spot=True), {}),
        ("spot", Offer(), {"spot": True}),
        ("tenant", Offer(tenant="0x" + 40 * "1"), {}),
    ],
)
def test_what_an_offer_does_not_say_it_does_not_allow(take, field, offer, wishes):
    with reverts("OfferMismatch", field.encode()):
        take(offer, **wishes)


def test_an_offer_to_one_tenant_is_no_other_s(pool, take, tenant, thief):
    offer = Offer(tenant=tenant.address)
    with reverts("OfferMismatch", b"tenant"):
        take(offer, by=thief)
    take(offer)


def test_an_offer_expires(pool, take):
    until = now() + HOUR
    at(until)
    take(Offer(expires_at=until))
    at(until + 1)
    with reverts("OfferExpired", until):
        take(Offer(expires_at=until, nonce=1))


def test_only_the_provider_s_own_word_is_an_offer(pool, hub, keys, people, provider, signed, take):
    for role in set(people) - {"provider"}:
        with reverts("WrongProof", provider):
            take(Offer(), proof=signed(Offer(), people[role]))
    for other in (Offer(price=1), Offer(nonce=1), Offer(cells=16)):
        with reverts("WrongProof", provider):
            take(Offer(), proof=signed(other))


def test_an_offer_is_of_one_pool(create_pool, token, keys, provider, operator, tenant, signed):
    other = create_pool(token)
    other.register(
        Terms(), 2, 1, HARDWARE, CONTACT, operator, consent(other, provider, operator), {"from": provider}
    )
    with reverts("WrongProof", provider):
        other.openWithOffer(LeaseRequest(1), Offer(), signed(Offer()), {"from": tenant})


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


def test_what_was_signed_for_so_many_seconds_lasts_no_longer(pool, operator, tenant, take):
    lease = lease_of(take(Offer()))
    pool.start(lease, ENDPOINT, {"from": operator})
    later(MINUTE)
    with reverts("DurationOutOfRange", 2 * HOUR - MINUTE, 0, HOUR - MINUTE):
        pool.extend(lease, HOUR, {"from": tenant})


def test_what_was_signed_for_so_many_cells_takes_no_more(pool, operator, tenant, take):
    lease = lease_of(take(Offer(cells=4), share=4))
    pool.start(lease, ENDPOINT, {"from": operator})
    later(5 * MINUTE)
    with reverts("OfferMismatch", b"cells"):
        pool.resize(lease, 8, 0, {"from": tenant})
    pool.resize(lease, 2, 0, {"from": tenant})


def test_an_offer_may_be_spot_where_nothing_is_listed(pool, operator, take):
    lease = lease_of(take(Offer(spot=True, price=UNIT), spot=True))
    assert pool.leaseOf(lease).dict()["spot"]
    pool.start(lease, ENDPOINT, {"from": operator})
    assert pool.terminate(lease, {"from": operator}).events["LeaseTerminated"]["penalty"] == 0


def test_through_accounts_an_offer_is_the_account_s(pool, signed, tenant, thief, execute):
    pool.deposit(tenant, 10 * UNIT, {"from": tenant})
    offer = Offer(tenant=tenant.address)
    tx = execute(tenant, (pool, pool.openWithOffer.encode_input(LeaseRequest(1), offer, signed(offer))))
    assert pool.leaseOf(lease_of(tx)).dict()["tenant"] == tenant

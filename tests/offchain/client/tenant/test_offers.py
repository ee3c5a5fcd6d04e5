"""Terms between one provider and one renter: by the library alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

import leasehold
from leasehold import quote_request
from leasehold.agreements import FileRefused
from leasehold.chain.typed import Group
from leasehold.client import PlanUsed
from leasehold.errors import UnknownMachine
from leasehold.market import InvalidInput, MachineUnavailable
from leasehold.provider import CancelOffers, SignOffer, signed_offers

from .conftest import OTHER, PROVIDER, RENTER, UNIT, World


async def test_what_is_asked_is_signed_listed_and_taken_back(world: World) -> None:
    async with world.acting(RENTER) as renter, world.acting(PROVIDER) as provider:
        asked = await quote_request(renter, world.machine, 7_200, share=4, price="1.25", note="please")
        plan = await SignOffer(answering=asked).plan(provider)
        assert (plan.offer.price, plan.offer.tenant, plan.listed) == (
            125 * UNIT // 100,
            renter.account,
            2 * UNIT,
        )
        assert (plan.offer.cells, plan.offer.duration, plan.note) == (4, 7_200, "please")
        signed = (await provider.carry_out(plan)).offer
        assert signed.offer == plan.offer
        with pytest.raises(PlanUsed):
            await provider.carry_out(plan)
        with pytest.raises(FileRefused, match="shuts this one out"):  # two leases can never come of one nonce
            await provider.carry_out(replace(plan))
        dearer = await provider.carry_out(SignOffer(world.machine, "3", 3_600, lasting=60))
        assert [state for _, state in await signed_offers(provider)] == ["open", "open"]
        assert await signed_offers(renter) == []
        world.advance(100)
        await provider.index(again=True)
        await provider.carry_out(CancelOffers((signed.offer.nonce, dearer.offer.offer.nonce)))
        await provider.index(again=True)
        assert [state for _, state in await signed_offers(provider)] == ["used or cancelled"] * 2
        with pytest.raises(FileRefused, match="leave it out"):
            await provider.plan(CancelOffers((signed.offer.nonce,)))


async def test_what_nobody_may_sign(world: World) -> None:
    async with world.acting(OTHER) as other, world.acting(PROVIDER) as provider:
        with pytest.raises(MachineUnavailable, match="belongs to"):
            await other.plan(SignOffer(world.machine, "1", 3_600))
        with pytest.raises(UnknownMachine):
            await quote_request(other, 99, 3_600)
        asked = await quote_request(other, world.machine, 3_600)
        with pytest.raises(InvalidInput, match="At what price"):
            await provider.plan(SignOffer(answering=asked))
        with pytest.raises(FileRefused, match="open that pool"):
            await provider.plan(SignOffer(answering=asked.model_copy(update={"chain": 1})))
        for wish in (SignOffer(world.machine, "1"), SignOffer(None, "1", 3_600), CancelOffers(())):
            with pytest.raises(InvalidInput):
                await provider.plan(wish)


async def test_an_offer_of_nobodys_machine_for_a_group(world: World) -> None:
    """The group owns no machine: its signers are not even asked."""
    async with world.acting(OTHER, group=Group.of(1, [world.address(OTHER)])) as client:
        with pytest.raises(leasehold.LeaseholdError, match="belongs to"):
            await client.plan(SignOffer(world.machine, "1", 3_600))

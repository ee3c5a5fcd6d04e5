"""One machine whole, and machines found by what the chain remembers of them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from leasehold import Rate
from leasehold.chain import FactoryContract, Terms
from leasehold.client import pools_of, view_machine
from leasehold.client._errors import NoSuchMachine

from .conftest import OPERATOR, PROVIDER, RENTER, UNIT, World


async def test_terms_and_their_history_record_and_cost(world: World) -> None:
    world.advance(3_600)
    dearer = Terms(3 * UNIT, UNIT, 60, 30 * 86_400, 300, 60_000)
    await world.chain.pool(PROVIDER).set_terms(world.machine, dearer)
    async with world.acting(RENTER, documents_timeout=0.1) as client:
        view = await view_machine(client, world.machine)
        assert [past.terms.price for past in view.past] == [2 * UNIT, 3 * UNIT]
        assert view.past[0].since is not None
        assert view.past[1].since is not None
        assert view.past[1].since - view.past[0].since >= 3_600
        assert (view.share, view.price, view.spot_price) == (2, 2 * 3 * UNIT // 4, 2 * UNIT // 4)
        assert view.problem is None
        assert view.listing.track is not None
        assert (view.listing.track.started, view.listing.track.start_rate) == (1, Decimal("100.0"))
        told = view.to_json()
        assert told["offer"] == {
            "cells": 2,
            "duration": 7_200,
            "cost": "1.5",
            "spot_cost": "0.5",
            "problem": None,
        }
        both = await view_machine(client, world.machine, share=16, seconds=3_600)
        assert both.price == 6 * UNIT
        assert both.problem is not None  # one of its two GPUs is leased
        with pytest.raises(NoSuchMachine):
            await view_machine(client, 9)
        await world.chain.pool(PROVIDER).withhold(world.machine, (1 << 16) - 1)
        await client.index(again=True)
        withheld = (await view_machine(client, world.machine)).problem
        assert "keeps that out of sale now" in str(withheld)


async def test_machines_are_found_and_sorted_by_how_they_have_done(world: World) -> None:
    world.advance(3_600)
    await world.chain.pool(RENTER).close(world.lease)
    await (await world.chain.pool(OPERATOR).faults()).report_outage(world.machine)
    world.advance(86_400)
    async with world.acting(RENTER, documents_timeout=0.1) as client:
        await client.carry_out(Rate(world.lease, 4))
        for query, matches in (
            ("stars>=4 ratings:1 started>=99", True),
            ("stars>4", False),
            ("uptime<100", True),
            ("uptime<50", False),
            ("score>=0", True),
            ("score>999", False),
        ):
            found = await client.search(query)
            assert ([listing.id for listing in found] == [world.machine]) is matches, query
        (listing,) = await client.search("", by="-score")
        assert listing.track is not None
        assert (await client.search(""))[0].track is None  # worked out for nobody who does not ask


async def test_a_factorys_pools_are_listed(world: World) -> None:
    async with world.acting(RENTER) as client:
        (own,) = await pools_of(client)
        assert (own.own, own.controller, own.machines, own.slots) == (True, client.pool.address, 1, 1)
        deployed = client.deployment
        factory = FactoryContract(world.chain.rpc, deployed.factory, world.chain.sender(0))
        await factory.create_pool(deployed.token, world.address(0), world.address(0), await client.params(1))
        first, second = await pools_of(client)
        assert (first, second.own, second.machines) == (own, False, 0)
        assert await pools_of(client, offset=1, limit=5) == [second]
        assert second.to_json()["owner"] == world.address(0)

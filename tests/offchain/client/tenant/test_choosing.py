"""Which leases somebody means, on a real chain."""

from __future__ import annotations

import pytest

from leasehold.chain import LeaseRequest
from leasehold.client import Choice, PoolClient, Which, choose_lease, choose_leases
from leasehold.client._choosing_errors import (
    ChosenTwice,
    NoLeaseChosen,
    NoLeaseLabelled,
    NoSuchLeaseName,
    OnlyOneLease,
)
from leasehold.home import Kind

from .conftest import OTHER, RENTER, UNIT, World

FIRST, SECOND, THIRD = 1 << 16, 2 << 16, 3 << 16


def wish(world: World, workload: bytes) -> LeaseRequest:
    return LeaseRequest(
        machine=world.machine,
        revision=1,
        share=2,
        duration=7_200,
        max_price=2 * UNIT,
        workload=workload,
        allow_unverified=True,
    )


async def open_gang(world: World, workload: bytes) -> None:
    """Two leases in one transaction."""
    pool = world.chain.pool(RENTER)
    await pool.multicall([pool.encode("open", wish(world, workload)) for _ in range(2)])


async def chosen(client: PoolClient, *words: str, which: Which = Which.ANY) -> tuple[int, ...]:
    return await choose_leases(client, Choice(words), which)


async def test_numbers_names_and_gangs(world: World) -> None:
    await open_gang(world, b"g" * 32)
    async with world.acting(RENTER) as client:
        client.home.lease_names.keep(b"g" * 32, "gang of two")
        names = client.home.names(client.deployment)
        names.call(Kind.LEASE, FIRST, "train")
        assert await chosen(client, "1") == (FIRST,)
        assert await chosen(client, "99.3") == (99 << 16 | 3,)  # the verb says that there is none
        assert await chosen(client, "gang of two") == (SECOND, THIRD)
        assert await chosen(client, "gang:3") == await chosen(client, "gang:2") == (SECOND, THIRD)
        assert await chosen(client, "gang:1") == (FIRST,)
        assert await chosen(client, "3", "train", "gang:2", "1") == (THIRD, FIRST, SECOND)
        assert await choose_lease(client, "train") == FIRST
        with pytest.raises(OnlyOneLease, match="is the leases 2, 3"):
            await choose_lease(client, "gang of two")
        names.call(
            Kind.LEASE, THIRD, "train"
        )  # what was said of the lease counts more than its workload's name
        assert await chosen(client, "train") == (FIRST, THIRD)
        assert await chosen(client, "gang of two") == (SECOND,)
        await world.chain.pool(RENTER).set_workload(THIRD, b"n" * 32)
        await client.index(again=True)
        assert await chosen(client, "gang:2") == (SECOND, THIRD)
        with pytest.raises(NoSuchLeaseName, match="write `train`"):
            await chosen(client, "trian")
        with pytest.raises(NoSuchLeaseName, match="write its number"):
            await chosen(client, "quite another")


async def test_a_name_stands_for_what_runs_and_then_for_what_ran_last(world: World) -> None:
    async with world.acting(RENTER) as client:
        names = client.home.names(client.deployment)
        names.call(Kind.LEASE, FIRST, "train")
        await world.chain.pool(RENTER).close(FIRST)
        assert await chosen(client, "train") == await chosen(client, "train", which=Which.OVER) == (FIRST,)
        with pytest.raises(NoSuchLeaseName, match="no running lease of yours"):
            await chosen(client, "train", which=Which.LIVE)
        with pytest.raises(NoLeaseChosen, match="no running lease"):
            await choose_leases(client, Choice(everything=True), Which.LIVE)
        world.advance(60)
        await open_gang(world, b"g" * 32)
        await client.index(again=True)
        for lease in (SECOND, THIRD):
            names.call(Kind.LEASE, lease, "train")
        assert await chosen(client, "train") == (SECOND, THIRD)
        assert await chosen(client, "train", which=Which.OVER) == (FIRST,)
        for lease in (SECOND, THIRD):
            await world.chain.pool(RENTER).close(lease)
        await client.index(again=True)
        assert await chosen(client, "train") == (SECOND, THIRD)


async def test_labels_and_all_mean_the_accounts_own(world: World) -> None:
    await open_gang(world, b"g" * 32)
    async with world.acting(RENTER) as client, world.acting(OTHER) as other:
        names = client.home.names(client.deployment)
        names.label(Kind.LEASE, FIRST, {"project": "x", "run": "1"})
        names.label(Kind.LEASE, THIRD, {"project": "x"})
        assert await choose_leases(client, Choice(labels={"project": "x"})) == (FIRST, THIRD)
        assert await choose_leases(client, Choice(labels={"project": "x", "run": "1"})) == (FIRST,)
        assert await choose_leases(client, Choice(everything=True)) == (FIRST, SECOND, THIRD)
        with pytest.raises(NoLeaseLabelled, match="project=y"):
            await choose_leases(client, Choice(labels={"project": "y"}))
        for choice in (Choice(), Choice(everything=True), Choice(("gang:1",))):
            if choice.words:
                assert await choose_leases(other, choice) == (FIRST,)  # the verb says whose it is
            else:
                with pytest.raises(NoLeaseChosen):
                    await choose_leases(other, choice)
        for choice in (Choice(("1",), {"a": "b"}), Choice(("1",), everything=True)):
            with pytest.raises(ChosenTwice):
                await choose_leases(client, choice)

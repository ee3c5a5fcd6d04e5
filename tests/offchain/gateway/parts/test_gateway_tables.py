"""What two replicas do at once to the tables that they share: neither fails for it, and nothing is lost."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from devnet.patience import patient
from devnet.postgres import Postgres
from leasehold.errors import SettingsError
from leasehold.gateway._gateway_tables import (
    Exclusive,
    create_tables,
    metadata,
    proposals,
    put_row,
    signatures,
    state_engine,
    take_turn,
)
from leasehold.gateway._keeping import LEAST, AccountPins
from leasehold.gateway._nonces import Nonces
from leasehold.gateway._refusals import QuotaUsed, SignInRefused

REPLICAS = 4
ADA = "0x" + "aA" * 20
NOW = 1_700_000_000.0


@pytest.fixture
async def replicas(state_url: str) -> AsyncIterator[list[AsyncEngine]]:
    """Engines of several processes, which have made the tables at the same moment."""
    async with AsyncExitStack() as stack:
        engines = [state_engine(state_url) for _ in range(REPLICAS)]
        for engine in engines:
            stack.push_async_callback(engine.dispose)
        if state_url.startswith("sqlite"):  # which one gateway has for itself
            await create_tables(engines[0])
        await asyncio.gather(*map(create_tables, engines))
        yield engines


async def test_all_of_them_make_the_tables(replicas: list[AsyncEngine]) -> None:
    async with replicas[-1].connect() as connection:
        for table in metadata.sorted_tables:
            assert (await connection.execute(select(func.count()).select_from(table))).scalar() == 0


async def test_a_nonce_signs_in_once_whichever_replica_is_asked(replicas: list[AsyncEngine]) -> None:
    nonces = [Nonces(engine) for engine in replicas]
    issued = await asyncio.gather(*(one.issue(NOW) for one in nonces))
    for nonce in issued:
        for one in nonces:
            await one.check(nonce, NOW)
    tried = await asyncio.gather(*(one.spend(issued[0], NOW) for one in nonces), return_exceptions=True)
    assert sum(outcome is None for outcome in tried) == 1
    assert sum(isinstance(outcome, SignInRefused) for outcome in tried) == REPLICAS - 1


async def test_a_row_that_two_write_is_there_once(replicas: list[AsyncEngine]) -> None:
    async def written(engine: AsyncEngine, signer: str) -> None:
        async with engine.begin() as connection:
            await put_row(
                connection, proposals, {"digest": "0x1", "account": ADA, "document": "{}", "deadline": 1}
            )
            await put_row(connection, signatures, {"digest": "0x1", "signer": signer, "proofs": "0x"})

    await asyncio.gather(*(written(engine, f"0x{at % 2}") for at, engine in enumerate(replicas)))
    async with replicas[0].connect() as connection:
        assert len((await connection.execute(select(proposals))).all()) == 1
        assert len((await connection.execute(select(signatures))).all()) == 2


@pytest.mark.slow
@pytest.mark.parametrize("state_url", ["postgres"], indirect=True)
async def test_a_quota_is_one_for_all_replicas(replicas: list[AsyncEngine]) -> None:
    """Each counts what the others have noted, however many ask at once."""

    class Untouched:
        async def pin(self, cid: str) -> None:
            raise AssertionError(cid)

        async def unpin(self, cid: str) -> None:
            raise AssertionError(cid)

    async def quota_of(account: str) -> int:
        return LEAST + 4

    pins = [AccountPins(engine, Untouched(), quota_of, lambda: NOW) for engine in replicas]

    async def reserved(at: int) -> None:
        row = {"id": f"{at:022d}", "account": ADA, "name": "", "size": 6, "expires_at": int(NOW), "cid": None}
        await pins[at].reserve(ADA, 6, row, network=f"198.51.100.{at}")

    tried = await asyncio.gather(*map(reserved, range(REPLICAS)), return_exceptions=True)
    assert sum(outcome is None for outcome in tried) == 1
    assert sum(isinstance(outcome, QuotaUsed) for outcome in tried) == REPLICAS - 1


@pytest.mark.slow
async def test_who_takes_a_turn_waits_for_who_has_it(postgres: Postgres) -> None:
    engine = state_engine(postgres.make())
    entered: list[int] = []

    async def in_turn(number: int, connection: AsyncConnection) -> None:
        await take_turn(connection, Exclusive.QUOTA)
        entered.append(number)

    async with asyncio.timeout(patient(30)), engine.connect() as one, engine.connect() as other:
        await in_turn(1, one)
        waiting = asyncio.create_task(in_turn(2, other))
        async with engine.connect() as third:
            await take_turn(third, Exclusive.PROPOSALS)  # another turn is not waited for
        entered.append(0)
        await one.commit()
        await waiting
    assert entered == [1, 0, 2]
    await engine.dispose()


def test_a_database_without_its_driver_is_said_to_lack_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(SettingsError, match="driver is missing"):
        state_engine("postgres://leasehold@/none")

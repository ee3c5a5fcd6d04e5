"""A real pool, its index, and what of the one must be in the other."""

import asyncio
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from devnet.patience import patient
from devnet.pool import PoolChain
from leasehold.chain import (
    AccountsContract,
    EventWatcher,
    Indexer,
    LeaseRequest,
    LeaseState,
    MachineStatus,
    Terms,
)
from leasehold.chain._index_engine import engine_of
from leasehold.chain._tables import EVERYTHING

UNIT = 10**18
HOUR = 3_600
TERMS = Terms(
    price=2 * UNIT,
    spot_price=0,
    min_duration=60,
    max_duration=30 * 24 * HOUR,
    trial=300,
    available_until_day=60_000,
)
PROVIDER, RENTER, OTHER, OPERATOR = 1, 2, 3, 4


def url_of(path: Path) -> str:
    return f"sqlite:///{path}"


def dump(database: Path | str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, in order. database: a file, or a URL."""
    engine = engine_of(url_of(database) if isinstance(database, Path) else database)
    try:
        with engine.connect() as connection:
            return {
                table.name: [
                    tuple(row)
                    for row in connection.execute(sa.select(table).order_by(*table.primary_key.columns))
                ]
                for table in EVERYTHING
            }
    finally:
        engine.dispose()


async def index_to_head(chain: PoolChain, index: Indexer, **options: Any) -> None:
    """Runs the index until it has what the chain has now."""
    head = await chain.rpc.header()
    assert head is not None
    arrived = asyncio.Event()

    async def committed(_: object) -> None:
        cursor = await index.head()
        if cursor is not None and cursor.hash == head.hash:
            arrived.set()

    cursor = await index.head()
    if cursor is not None and cursor.hash == head.hash:
        return
    deployment = chain.deployment
    sources = await chain.pool().event_sources()
    async with EventWatcher(chain.rpc, None, sources, deployment.block, **options) as watcher:
        running = asyncio.create_task(index.run(watcher, committed))
        waiting = asyncio.create_task(arrived.wait())
        async with asyncio.timeout(patient(30)):
            await asyncio.wait((running, waiting), return_when=asyncio.FIRST_COMPLETED)
        for task in (running, waiting):
            task.cancel()
        results = await asyncio.gather(running, waiting, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result


async def register(chain: PoolChain, gpus: int = 2) -> int:
    machine, _ = await chain.pool(PROVIDER).register(
        TERMS,
        gpus,
        1,
        b"h" * 32,
        b"c" * 32,
        chain.address(OPERATOR),
        await chain.consent(PROVIDER, chain.signer(OPERATOR)),
    )
    return machine


async def approve_all(chain: PoolChain) -> None:
    for account in (PROVIDER, RENTER, OTHER):
        await chain.token(account).approve(chain.deployment.controller)


def wants(machine: int, **changes: Any) -> LeaseRequest:
    values: dict[str, Any] = {
        "machine": machine,
        "revision": 1,
        "share": 8,
        "duration": 2 * HOUR,
        "max_price": 2 * UNIT,
        "workload": b"w" * 32,
        "allow_unverified": True,
    }
    return LeaseRequest(**{**values, **changes})


async def check_against_chain(chain: PoolChain, index: Indexer) -> None:
    """Every machine, live lease and balance is what the contract's own reads say."""
    pool = chain.pool()
    machines = await index.machines()
    assert [m.machine for m in machines] == [
        await pool.machine_of(i + 1) for i in range(await pool.machine_count())
    ]
    for record in await index.leases():
        seen = await pool.lease_of(record.lease.id)
        if seen.state is LeaseState.NONE:
            continue  # its slot is in use again
        if record.lease.state.live:
            assert record.lease == seen, record
        else:
            assert (record.lease.state, record.lease.deposit) == (seen.state, seen.deposit)
            assert record.paid + record.fee + record.refunded == record.lease.deposit
    balances = await index.balances()
    for account in chain.anvil.accounts:
        balance = await pool.balance_of(account.address)
        assert balances.get(account.address, 0) == balance
        ledger = await index.ledger(account.address)
        assert ledger.balance == balance == sum(entry.amount for entry in ledger.entries)
    pool_record = await index.pool()
    assert pool_record is not None
    assert pool_record.owner == await pool.owner()
    assert pool_record.treasury == await pool.treasury()
    assert pool_record.paused == await pool.paused()
    assert pool_record.gated == await pool.gated()
    assert (await index.params())[0].params == await pool.params(1)
    await _check_faults(chain, index)
    await _check_committee(chain, index)
    await _check_the_rest(chain, index)


async def _check_faults(chain: PoolChain, index: Indexer) -> None:
    faults = await chain.pool().faults()
    records = await index.faults()
    assert [record.fault for record in records] == list(range(1, await faults.fault_count() + 1))
    for record in records:
        seen = await faults.fault_of(record.fault)
        losses = await index.losses(fault=record.fault)
        assert (record.machine, record.kind, record.state) == (seen.machine, seen.kind, seen.state)
        assert (record.from_, record.to, record.filed_at) == (seen.from_, seen.to, seen.filed_at)
        assert (record.amount, record.bps, record.rules) == (seen.amount, seen.bps, seen.rules)
        assert record.pot - record.compensated == seen.pot
        assert sum(loss.part for loss in losses) in (0, record.pot)
        assert sum(loss.amount for loss in losses) == record.compensated
    for machine in await index.machines():
        standing = await faults.challenge_of(machine.machine.id)
        open_ones = [c for c in await index.challenges(machine=machine.machine.id) if c.open]
        if machine.machine.status is not MachineStatus.RETIRED:
            assert [(c.challenger, c.bond, c.at, c.challenge) for c in open_ones] == [
                (standing.challenger, standing.bond, standing.at, standing.id)
            ] * (standing.at != 0)


async def _check_committee(chain: PoolChain, index: Indexer) -> None:
    committee = await chain.pool().committee()
    seats = await index.seats()
    assert [record.seat for record in seats] == list(range(1, await committee.seat_count() + 1))
    for record in seats:
        if record.exited:
            continue
        seen = await committee.seat_of(record.seat)
        assert (record.validator, record.stake, record.level) == (seen.validator, seen.stake, seen.level)
        assert (record.joined_at, record.leaves_at) == (seen.joined_at, seen.leaves_at)
    rounds = await index.rounds()
    assert len(rounds) == await committee.round_count()
    for verification in rounds:
        got = await committee.round_of(verification.round)
        assert (verification.state, verification.machine) == (got.state, got.machine)
        assert (verification.block, verification.misses) == (got.block_, got.misses)
        assert (verification.spec, verification.score) == (got.spec, got.score)
        assert verification.seats == await committee.drawn_for(verification.round)


async def _check_the_rest(chain: PoolChain, index: Indexer) -> None:
    pool = chain.pool()
    accounts = AccountsContract(chain.rpc, chain.deployment.accounts)
    reputation, directory = await pool.reputation(), await pool.directory()
    for rating in await index.ratings():
        assert await reputation.is_rated(rating.lease)
    for licence in await index.licences():
        held = await directory.licence_of(licence.account, licence.kind)
        assert (licence.seats, licence.expires_at) == (held.seats, held.expires_at)
    for record in await index.delegates():
        now = await accounts.delegation_of(record.account, pool.address, record.delegate)
        assert (record.cap, record.period, record.expiry) == (now.cap, now.period, now.expiry)
        assert record.spent_at(chain.anvil.timestamp) == now.spent
    for account in chain.anvil.accounts:
        for word in await index.offers(account.address):
            assert word.mask == await pool.offers_of(account.address, word.word)

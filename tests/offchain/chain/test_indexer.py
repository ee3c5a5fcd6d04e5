"""The index against a real pool: what it says is what the chain says, and any history leads to the same rows."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from devnet.pool import PoolChain
from leasehold.chain import (
    Applied,
    Block,
    EventWatcher,
    IndexBroken,
    IndexConflict,
    Indexer,
    LeaseRequest,
    LeaseStarted,
    LeaseState,
    LogMeta,
    RolledBack,
    StakeMoved,
    Terms,
)
from leasehold.chain._indexer import migrate
from leasehold.chain._tables import EVERYTHING, metadata
from leasehold.errors import ContractError, SettingsError

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


def dump(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, in order."""
    engine = sa.create_engine(url_of(path))
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
        async with asyncio.timeout(30):
            await asyncio.wait((running, waiting), return_when=asyncio.FIRST_COMPLETED)
        for task in (running, waiting):
            task.cancel()
        results = await asyncio.gather(running, waiting, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result


async def register(chain: PoolChain, gpus: int = 2) -> int:
    machine, _ = await chain.pool(PROVIDER).register(
        TERMS, gpus, b"h" * 32, b"c" * 32, chain.address(OPERATOR)
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
            assert record.lease == seen
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
    assert (await index.params())[0].params == await pool.params(1)


async def test_a_lease_from_open_to_withdrawal(chain: PoolChain, tmp_path: Path) -> None:
    await approve_all(chain)
    machine = await register(chain)
    renter, provider, operator = chain.pool(RENTER), chain.pool(PROVIDER), chain.pool(OPERATOR)
    await renter.deposit(chain.address(RENTER), UNIT)
    lease, receipt = await renter.open(wants(machine))
    async with Indexer(url_of(tmp_path / "index.db"), chain.deployment) as index:
        await index_to_head(chain, index)
        record = await index.lease(lease)
        assert record is not None
        assert record.workload == b"w" * 32
        assert record.lease.cells == 8
        (entry,) = [e for e in (await index.ledger(chain.address(RENTER))).entries if e.kind == "open"]
        assert (entry.amount, entry.balance, entry.lease, entry.machine) == (-UNIT, 0, lease, machine)
        assert (entry.block, entry.tx_hash) == (receipt.block_number, receipt.tx_hash)
        await check_against_chain(chain, index)

        await operator.start(lease, b"e" * 32)
        chain.anvil.advance(HOUR)
        await renter.extend(lease, HOUR)
        await renter.set_workload(lease, b"x" * 32)
        await provider.claim([lease])
        await operator.publish_result(lease, b"\x01\x55cid")
        await index_to_head(chain, index)
        await check_against_chain(chain, index)

        await renter.close(lease)
        await provider.pull_fees([chain.address(PROVIDER)])
        await provider.withdraw(chain.address(PROVIDER), UNIT)
        await index_to_head(chain, index)
        await check_against_chain(chain, index)
        record = await index.lease(lease)
        assert record is not None
        assert (record.workload, record.endpoint, record.result) == (b"x" * 32, b"e" * 32, b"\x01\x55cid")
        assert record.paid > 0 < record.fee
        kinds = [e.kind for e in (await index.ledger(chain.address(PROVIDER))).entries]
        assert kinds == ["earn", "earn", "withdraw"]
        assert (await index.ledger(chain.address(PROVIDER), last=1)).entries[0].kind == "withdraw"
        assert await index.leases(live=True) == []
        assert [r.lease.id for r in await index.leases(tenant=chain.address(RENTER), machine=machine)] == [
            lease
        ]
        assert await index.leases(tenant=chain.address(OTHER)) == []
        assert [m.machine.id for m in await index.machines(provider=chain.address(PROVIDER))] == [machine]
        assert await index.machine(99) is None
        assert await index.lease(99 << 16) is None


class Life:
    """Random things that the accounts of a pool do. What a contract refuses is not done."""

    def __init__(self, chain: PoolChain, seed: int) -> None:
        self._chain = chain
        self._random = random.Random(seed)
        self.done: set[str] = set()

    async def act(self) -> None:
        actions: dict[str, Callable[[], Awaitable[object]]] = {
            name.removeprefix("do_"): getattr(self, name)
            for name in sorted(dir(self))
            if name.startswith("do_")
        }
        name = self._random.choice(sorted(actions))
        try:
            await actions[name]()
        except ContractError:
            return
        self.done.add(name)

    def _account(self) -> str:
        return self._chain.address(self._random.choice((PROVIDER, RENTER, OTHER)))

    async def _machine(self) -> int:
        return self._random.randint(1, max(1, await self._chain.pool().machine_count()))

    async def _lease(self) -> int:
        slot = self._random.randint(1, max(1, await self._chain.pool().slot_count()))
        return slot << 16 | self._random.choice((0, 0, 0, 1))

    async def do_deposit(self) -> None:
        pool = self._chain.pool(self._random.choice((PROVIDER, RENTER)))
        await pool.deposit(self._account(), self._random.randint(1, 50 * UNIT))

    async def do_withdraw(self) -> None:
        account = self._random.choice((PROVIDER, RENTER))
        await self._chain.pool(account).withdraw(self._account(), self._random.randint(1, UNIT))

    async def do_transfer(self) -> None:
        account = self._random.choice((PROVIDER, RENTER))
        await self._chain.pool(account).transfer(self._account(), self._random.randint(1, UNIT))

    async def do_register(self) -> None:
        await register(self._chain, self._random.randint(1, 4))

    async def do_withhold(self) -> None:
        await self._chain.pool(OPERATOR).withhold(await self._machine(), self._random.randint(0, 255))

    async def do_contact(self) -> None:
        await self._chain.pool(OPERATOR).set_contact(await self._machine(), self._random.randbytes(32))

    async def do_hardware(self) -> None:
        await self._chain.pool(PROVIDER).set_hardware(await self._machine(), self._random.randbytes(32))

    async def do_terms(self) -> None:
        await self._chain.pool(PROVIDER).set_terms(await self._machine(), TERMS)

    async def do_operator(self) -> None:
        await self._chain.pool(PROVIDER).set_operator(await self._machine(), self._chain.address(OPERATOR))

    async def do_delist(self) -> None:
        pool, machine = self._chain.pool(PROVIDER), await self._machine()
        await (pool.delist(machine) if self._random.random() < 0.3 else pool.relist(machine))

    async def do_stake(self) -> None:
        await self._chain.pool(PROVIDER).add_stake(await self._machine(), self._random.randint(1, UNIT))

    async def do_retire(self) -> None:
        if self._random.random() < 0.2:
            await self._chain.pool(PROVIDER).retire(await self._machine())

    async def do_recover(self) -> None:
        await self._chain.pool(OPERATOR).recover(await self._machine())

    async def do_open(self) -> None:
        machine = await self._machine()
        revision = (await self._chain.pool().machine_of(machine)).revision
        share = self._random.choice((1, 2, 4, 8))
        reuse = self._random.choice((0, 0, await self._lease()))
        request = wants(machine, revision=revision, share=share, reuse=reuse)
        await self._chain.pool(RENTER).open(request)

    do_open_more = do_open

    async def do_start(self) -> None:
        await self._chain.pool(OPERATOR).start(await self._lease(), self._random.randbytes(32))

    do_start_more = do_start

    async def do_decline(self) -> None:
        await self._chain.pool(OPERATOR).decline(await self._lease(), "no-disk")

    async def do_reject(self) -> None:
        await self._chain.pool(RENTER).reject(await self._lease())

    async def do_extend(self) -> None:
        await self._chain.pool(RENTER).extend(await self._lease(), self._random.randint(60, HOUR))

    async def do_close(self) -> None:
        await self._chain.pool(RENTER).close(await self._lease())

    async def do_terminate(self) -> None:
        await self._chain.pool(PROVIDER).terminate(await self._lease())

    async def do_claim(self) -> None:
        await self._chain.pool(OTHER).claim([await self._lease()])

    async def do_cancel(self) -> None:
        await self._chain.pool(OTHER).cancel_unstarted(await self._lease())

    async def do_fees(self) -> None:
        await self._chain.pool(OTHER).pull_fees([self._chain.address(PROVIDER)])

    async def do_pause(self) -> None:
        await self._chain.pool(0).set_paused(self._random.random() < 0.2)

    async def do_treasury(self) -> None:
        await self._chain.pool(0).set_treasury(self._account())

    async def do_params(self) -> None:
        pool = self._chain.pool(0)
        if self._random.random() < 0.5:
            await pool.propose_params(await pool.params(1))
        else:
            await pool.cancel_params()

    async def do_time(self) -> None:
        self._chain.anvil.advance(self._random.choice((60, 600, HOUR)))


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_any_history_of_reorganisations_leaves_the_rows_of_a_rebuilt_index(
    chain: PoolChain, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    await approve_all(chain)
    await register(chain)
    for account in (PROVIDER, RENTER):
        await chain.pool(account).deposit(chain.address(account), 20 * UNIT)
    floor = chain.anvil.block_number
    life = Life(chain, seed)
    followed = tmp_path / "followed.db"
    undone = 0
    async with Indexer(url_of(followed), chain.deployment) as index:
        for round_ in range(12):
            for _ in range(rng.randint(1, 15)):
                await life.act()
            await index_to_head(chain, index)
            if round_ % 2:
                depth = rng.randint(1, min(12, chain.anvil.block_number - floor))
                chain.anvil.reorg(depth)
                undone += 1
                await index_to_head(chain, index)
        chain.anvil.mine(rng.randint(1, 100))
        await index_to_head(chain, index)
        await check_against_chain(chain, index)
    rebuilt = tmp_path / "rebuilt.db"
    async with Indexer(url_of(rebuilt), chain.deployment) as index:
        await index_to_head(chain, index)
    assert undone
    assert dump(followed) == dump(rebuilt)
    assert len(life.done) > 15, "the history was too tame to show anything"


async def test_rows_and_cursor_come_together_or_not_at_all(chain: PoolChain, tmp_path: Path) -> None:
    await approve_all(chain)
    path = tmp_path / "index.db"
    async with Indexer(url_of(path), chain.deployment) as index:
        await index_to_head(chain, index)
        before = dump(path)
        head = await index.head()
        assert head is not None
        block = Block(head.number + 1, "0x" + "ab" * 32, head.timestamp + 1)
        where = LogMeta(
            block.number, block.hash, "0x" + "cd" * 32, 0, chain.deployment.controller, block.timestamp
        )
        event = LeaseStarted(where, lease=7 << 16, machine=1, start=1, end=2, endpoint=bytes(32))
        with pytest.raises(IndexBroken, match="lease"):
            await index.apply([Applied(block, (event,))])
        assert dump(path) == before
        assert await index.head() == head
        await register(chain)
        await index_to_head(chain, index)  # it goes on from where it was
        await check_against_chain(chain, index)


async def test_a_second_writer_is_told_to_stop(chain: PoolChain, tmp_path: Path) -> None:
    url = url_of(tmp_path / "index.db")
    async with Indexer(url, chain.deployment) as first, Indexer(url, chain.deployment) as second:
        await index_to_head(chain, first)
        with pytest.raises(IndexConflict, match="stop one of them"):
            await index_to_head(chain, second)


async def test_one_database_holds_several_pools(chain: PoolChain, tmp_path: Path) -> None:
    url = url_of(tmp_path / "index.db")
    await approve_all(chain)
    await register(chain)
    elsewhere = replace(chain.deployment, genesis="0x" + "00" * 32)
    async with Indexer(url, chain.deployment) as here, Indexer(url, elsewhere) as there:
        await index_to_head(chain, here)
        assert len(await here.machines()) == 1
        assert await there.machines() == []
        assert await there.head() is None
        assert await there.pool() is None


async def test_reached_waits_for_a_block(chain: PoolChain, tmp_path: Path) -> None:
    async with Indexer(url_of(tmp_path / "index.db"), chain.deployment) as index:
        waiting = asyncio.create_task(index.reached(5))
        await asyncio.sleep(0)
        await index.apply([Applied(Block(4, "0x4", 4), ())])
        assert not waiting.done()
        await index.apply([Applied(Block(6, "0x6", 6), ())])
        assert (await waiting).number == 6
        await index.apply([RolledBack(Block(6, "0x6", 6))])
        assert await index.head() is None


async def test_the_migrations_make_the_tables_that_the_code_knows(chain: PoolChain, tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    async with Indexer(url_of(path), chain.deployment):
        pass
    async with Indexer(url_of(path), chain.deployment):
        pass  # a second time changes nothing
    engine = sa.create_engine(url_of(path))
    try:
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"version_table": "chain_version"})
            assert compare_metadata(context, metadata) == []
    finally:
        engine.dispose()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "nonsense"])
async def test_urls_that_cannot_work(chain: PoolChain, url: str) -> None:
    with pytest.raises(SettingsError, match="sqlite:///path"):
        Indexer(url, chain.deployment)


async def test_stake_that_a_fault_moved(chain: PoolChain, tmp_path: Path) -> None:
    """No contract emits these yet; the index is ready for them."""
    await approve_all(chain)
    machine = await register(chain)
    async with Indexer(url_of(tmp_path / "index.db"), chain.deployment) as index:
        await index_to_head(chain, index)
        head = await index.head()
        before = await index.machine(machine)
        assert head is not None
        assert before is not None
        stake = before.machine.stake
        block = Block(head.number + 1, "0x" + "ab" * 32, head.timestamp + 1)
        moved = tuple(
            StakeMoved(
                LogMeta(
                    block.number,
                    block.hash,
                    "0x" + "cd" * 32,
                    n,
                    chain.deployment.controller,
                    block.timestamp,
                ),
                machine=machine,
                to=chain.address(account),
                amount=UNIT,
                stake=stake - (n + 1) * UNIT,
            )
            for n, account in enumerate((RENTER, OTHER))
        )
        await index.apply([Applied(block, moved)])
        after = await index.machine(machine)
        assert after is not None
        assert after.machine.stake == stake - 2 * UNIT
        (entry,) = (await index.ledger(chain.address(OTHER))).entries
        assert (entry.kind, entry.amount, entry.machine, entry.log_index) == ("slash", UNIT, machine, 1)
        await index.apply([RolledBack(block)])
        assert (await index.ledger(chain.address(OTHER))).balance == 0
        restored = await index.machine(machine)
        assert restored == before


async def test_a_transfer_to_oneself_and_the_pool_s_rules(chain: PoolChain, tmp_path: Path) -> None:
    await approve_all(chain)
    me = chain.address(RENTER)
    async with Indexer(url_of(tmp_path / "index.db"), chain.deployment) as index:
        await chain.pool(RENTER).deposit(me, 5 * UNIT)
        await chain.pool(RENTER).transfer(me, 2 * UNIT)
        await index_to_head(chain, index)
        ledger = await index.ledger(me)
        assert [(e.amount, e.balance) for e in ledger.entries] == [(5 * UNIT, 5 * UNIT), (0, 5 * UNIT)]
        assert (await index.balances())[me] == 5 * UNIT
        owner = chain.pool(0)
        rules = await owner.params(1)
        await owner.propose_params(rules)
        await index_to_head(chain, index)
        await owner.cancel_params()
        await owner.transfer_ownership(chain.address(8))
        await index_to_head(chain, index)
        proposed = (await index.params())[1]
        assert (proposed.version, proposed.cancelled, proposed.params) == (2, True, rules)
        pool = await index.pool()
        assert pool is not None
        assert pool.pending_owner == chain.address(8)
        await chain.pool(8).accept_ownership()
        await index_to_head(chain, index)
        await check_against_chain(chain, index)


def test_the_migrations_go_back_to_nothing(tmp_path: Path) -> None:
    engine = sa.create_engine(url_of(tmp_path / "index.db"))
    try:
        with engine.begin() as connection:
            migrate(connection)
            assert "chain_ledger" in sa.inspect(connection).get_table_names()
        with engine.begin() as connection:
            migrate(connection, "base")
            assert sa.inspect(connection).get_table_names() == ["chain_version"]
    finally:
        engine.dispose()

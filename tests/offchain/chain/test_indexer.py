"""The index against a real pool: what it says is what the chain says, and any history leads to the same rows."""

import asyncio
import random
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from devnet.pool import PoolChain
from leasehold.chain import (
    AccountsContract,
    Applied,
    Block,
    FaultState,
    IndexBroken,
    IndexConflict,
    Indexer,
    LeaseStarted,
    LeaseState,
    LogMeta,
    RolledBack,
    StakeMoved,
    read_machines,
)
from leasehold.chain._tables import metadata
from leasehold.chain._versions import SCHEMA
from leasehold.errors import ContractError, SettingsError

from .conftest import NewDatabase
from .indexing import (
    HOUR,
    OPERATOR,
    OTHER,
    PROVIDER,
    RENTER,
    TERMS,
    UNIT,
    approve_all,
    check_against_chain,
    dump,
    index_to_head,
    register,
    url_of,
    wants,
)


async def test_a_lease_from_open_to_withdrawal(chain: PoolChain, new_database: NewDatabase) -> None:
    await approve_all(chain)
    machine = await register(chain)
    renter, provider, operator = chain.pool(RENTER), chain.pool(PROVIDER), chain.pool(OPERATOR)
    await renter.deposit(chain.address(RENTER), UNIT)
    lease, receipt = await renter.open(wants(machine))
    async with Indexer(new_database(), chain.deployment) as index:
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


OPENED, ACTIVE = LeaseState.OPENED, LeaseState.ACTIVE


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

    async def _machine(self, *, down: bool | None = None) -> int:
        """Mostly one that is down, or that is not, if there is one."""
        pool = self._chain.pool()
        every = list(range(1, 1 + await pool.machine_count())) or [1]
        fitting = [each for each in every if (await pool.machine_of(each)).down is down]
        return self._among(fitting, every)

    async def _challenged(self) -> int:
        faults = await self._chain.pool().faults()
        every = list(range(1, 1 + await self._chain.pool().machine_count())) or [1]
        return self._among([each for each in every if (await faults.challenge_of(each)).at], every)

    async def _lease(self, *states: LeaseState) -> int:
        """Mostly one in these states, if there is one."""
        pool = self._chain.pool()
        slots = range(1, 1 + max(1, await pool.slot_count()))
        every = [slot << 16 | generation for slot in slots for generation in (0, 1)]
        return self._among([each for each in every if (await pool.lease_of(each)).state in states], every)

    async def _fault(self, *states: FaultState) -> int:
        faults = await self._chain.pool().faults()
        every = list(range(1, 1 + await faults.fault_count())) or [1]
        return self._among([each for each in every if (await faults.fault_of(each)).state in states], every)

    def _among(self, fitting: list[int], every: list[int]) -> int:
        return self._random.choice(fitting if fitting and self._random.random() < 0.9 else every)

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
        if self._random.random() < 0.3:
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
        consent = await self._chain.consent(PROVIDER, self._chain.signer(OPERATOR))
        pool, operator = self._chain.pool(PROVIDER), self._chain.address(OPERATOR)
        await pool.set_operator(await self._machine(), operator, consent)

    async def do_delist(self) -> None:
        pool, machine = self._chain.pool(PROVIDER), await self._machine()
        await (pool.delist(machine) if self._random.random() < 0.3 else pool.relist(machine))

    async def do_stake(self) -> None:
        await self._chain.pool(PROVIDER).add_stake(await self._machine(), self._random.randint(1, UNIT))

    async def do_retire(self) -> None:
        if self._random.random() < 0.1:
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
        await self._chain.pool(OPERATOR).start(await self._lease(OPENED), self._random.randbytes(32))

    do_start_more = do_start

    async def do_decline(self) -> None:
        await self._chain.pool(OPERATOR).decline(await self._lease(OPENED), "no-disk")

    async def do_reject(self) -> None:
        await self._chain.pool(RENTER).reject(await self._lease(ACTIVE))

    async def do_extend(self) -> None:
        await self._chain.pool(RENTER).extend(await self._lease(ACTIVE), self._random.randint(60, HOUR))

    async def do_close(self) -> None:
        await self._chain.pool(RENTER).close(await self._lease(ACTIVE))

    async def do_terminate(self) -> None:
        await self._chain.pool(PROVIDER).terminate(await self._lease(ACTIVE))

    async def do_claim(self) -> None:
        await self._chain.pool(OTHER).claim([await self._lease(ACTIVE)])

    async def do_cancel(self) -> None:
        await self._chain.pool(OTHER).cancel_unstarted(await self._lease(OPENED))

    async def do_fees(self) -> None:
        await self._chain.pool(OTHER).pull_fees([self._chain.address(PROVIDER)])

    async def do_pause(self) -> None:
        await self._chain.pool(0).set_paused(self._random.random() < 0.1)

    async def do_treasury(self) -> None:
        await self._chain.pool(0).set_treasury(self._account())

    async def do_params(self) -> None:
        pool = self._chain.pool(0)
        if self._random.random() < 0.5:
            await pool.propose_params(await pool.params(1))
        else:
            await pool.cancel_params()

    # ----------------------------------------------------------------------------------- companions and the rest

    async def _running(self) -> tuple[int, int]:
        """A lease and its machine."""
        lease = await self._lease(ACTIVE)
        return (await self._chain.pool().lease_of(lease)).machine, lease

    async def do_resize(self) -> None:
        await self._chain.pool(RENTER).resize(
            await self._lease(ACTIVE), self._random.choice((1, 2, 4, 8, 16))
        )

    async def do_report(self) -> None:
        if self._random.random() < 0.5:
            await (await self._chain.pool(OPERATOR).faults()).report_outage(await self._machine(down=False))

    async def do_outage_end(self) -> None:
        await (await self._chain.pool(OPERATOR).faults()).recover(await self._machine(down=True))

    do_outage_end_more = do_outage_end_soon = do_outage_end

    async def do_challenge(self) -> None:
        machine, lease = await self._running()
        await (await self._chain.pool(RENTER).faults()).challenge(machine, lease)

    async def do_answer(self) -> None:
        await (await self._chain.pool(OPERATOR).faults()).answer(await self._challenged())

    async def do_prove(self) -> None:
        await (await self._chain.pool(OTHER).faults()).prove(await self._challenged())

    async def do_apply(self) -> None:
        leases = [await self._lease(ACTIVE, LeaseState.ENDED) for _ in range(3)]
        await (await self._chain.pool(OTHER).faults()).apply_outage(
            await self._fault(FaultState.FILED), leases
        )

    async def do_appeal(self) -> None:
        await (await self._chain.pool(PROVIDER).faults()).appeal(await self._fault(FaultState.FILED))

    async def do_rule(self) -> None:
        stands = self._random.random() < 0.5
        await (await self._chain.pool(0).faults()).rule(await self._fault(FaultState.APPEALED), stands)

    async def do_join(self) -> None:
        await (await self._chain.pool(PROVIDER).committee()).join(1)

    async def do_offers(self) -> None:
        await self._chain.pool(PROVIDER).cancel_offers(
            self._random.randint(0, 1), self._random.getrandbits(9)
        )

    async def do_licence(self) -> None:
        directory = await self._chain.pool(0).directory()
        await directory.issue_licence(self._account(), "provider", 1, self._random.getrandbits(32))

    async def do_announce(self) -> None:
        directory = await self._chain.pool(OTHER).directory()
        await directory.announce(self._random.choice(("ipfs", "seed")), self._random.randbytes(32), b"peer")

    async def do_rate(self) -> None:
        await (await self._chain.pool(RENTER).reputation()).rate(await self._lease(LeaseState.ENDED), 3)

    async def do_delegate(self) -> None:
        deployment = self._chain.deployment
        accounts = AccountsContract(self._chain.rpc, deployment.accounts, self._chain.sender(RENTER))
        cap = self._random.choice((0, UNIT))
        expiry = 2**39 if cap else 0
        await accounts.set_delegate(deployment.controller, self._account(), cap, HOUR, expiry)

    do_resize_more, do_apply_more, do_prove_more = do_resize, do_apply, do_prove

    async def do_time(self) -> None:
        self._chain.anvil.advance(self._random.choice((60, 400, 700, HOUR)))


@pytest.mark.parametrize(
    ("seed", "rounds"), [(1, 6), *(pytest.param(seed, 16, marks=pytest.mark.slow) for seed in (1, 2, 3))]
)
async def test_any_history_of_reorganisations_leaves_the_rows_of_a_rebuilt_index(
    chain: PoolChain, tmp_path: Path, seed: int, rounds: int
) -> None:
    rng = random.Random(seed)
    await approve_all(chain)
    await register(chain)
    for account in (PROVIDER, RENTER):
        await chain.pool(account).deposit(chain.address(account), 2_000 * UNIT)
    floor = chain.anvil.block_number
    life = Life(chain, seed)
    followed = tmp_path / "followed.db"
    undone = 0
    async with Indexer(url_of(followed), chain.deployment) as index:
        for round_ in range(rounds):
            for _ in range(rng.randint(10, 30)):
                await life.act()
            await index_to_head(chain, index)
            by_hand = read_machines(followed, chain.deployment)
            assert by_hand is not None
            assert list(map(repr, by_hand.machines)) == list(map(repr, await index.machines()))
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
    assert len(life.done) > (25 if rounds == 16 else 15), "the history was too tame to show anything"


async def test_rows_and_cursor_come_together_or_not_at_all(
    chain: PoolChain, new_database: NewDatabase
) -> None:
    await approve_all(chain)
    url = new_database()
    async with Indexer(url, chain.deployment) as index:
        await index_to_head(chain, index)
        before = dump(url)
        head = await index.head()
        assert head is not None
        block = Block(head.number + 1, "0x" + "ab" * 32, head.timestamp + 1)
        where = LogMeta(
            block.number, block.hash, "0x" + "cd" * 32, 0, chain.deployment.controller, block.timestamp
        )
        event = LeaseStarted(where, lease=7 << 16, machine=1, start=1, end=2, endpoint=bytes(32))
        with pytest.raises(IndexBroken, match="lease"):
            await index.apply([Applied(block, (event,))])
        assert dump(url) == before
        assert await index.head() == head
        await register(chain)
        await index_to_head(chain, index)  # it goes on from where it was
        await check_against_chain(chain, index)


async def test_a_second_writer_is_told_to_stop(chain: PoolChain, new_database: NewDatabase) -> None:
    url = new_database()
    async with Indexer(url, chain.deployment) as first, Indexer(url, chain.deployment) as second:
        await index_to_head(chain, first)
        with pytest.raises(IndexConflict, match="stop one of them"):
            await index_to_head(chain, second)


async def test_one_database_holds_several_pools(chain: PoolChain, new_database: NewDatabase) -> None:
    url = new_database()
    await approve_all(chain)
    await register(chain)
    elsewhere = replace(chain.deployment, genesis="0x" + "00" * 32)
    async with Indexer(url, chain.deployment) as here, Indexer(url, elsewhere) as there:
        await index_to_head(chain, here)
        assert len(await here.machines()) == 1
        assert await there.machines() == []
        assert await there.head() is None
        assert await there.pool() is None


async def test_reached_waits_for_a_block(chain: PoolChain, new_database: NewDatabase) -> None:
    async with Indexer(new_database(), chain.deployment) as index:
        waiting = asyncio.create_task(index.reached(5))
        await asyncio.sleep(0)
        await index.apply([Applied(Block(4, "0x4", 4), ())])
        assert not waiting.done()
        await index.apply([Applied(Block(6, "0x6", 6), ())])
        assert (await waiting).number == 6
        await index.apply([RolledBack(Block(6, "0x6", 6))])
        assert await index.head() is None


async def test_an_index_of_another_form_is_filled_anew(chain: PoolChain, tmp_path: Path) -> None:
    await approve_all(chain)
    await register(chain)
    path = tmp_path / "index.db"
    async with Indexer(url_of(path), chain.deployment) as index:
        await index_to_head(chain, index)
    before = dump(path)
    async with Indexer(url_of(path), chain.deployment) as index:
        assert await index.machines()  # a second time changes nothing
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(
            """
            UPDATE chain_version SET version_num = 'older';
            DROP TABLE chain_votes;
            ALTER TABLE chain_machines ADD COLUMN colour TEXT;
            CREATE TABLE others_things (id INTEGER PRIMARY KEY);
            INSERT INTO others_things VALUES (1);
            CREATE TABLE chain_links (thing INTEGER REFERENCES others_things (id));
            INSERT INTO chain_links VALUES (1);
            """
        )
    async with Indexer(url_of(path), chain.deployment) as index:
        assert await index.machines() == []
        assert await index.head() is None
        await index_to_head(chain, index)
    assert dump(path) == before
    with closing(sqlite3.connect(path)) as database:
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert database.execute(
            "SELECT thing FROM chain_links JOIN others_things ON id = thing"
        ).fetchall() == [(1,)]
    assert names - {"sqlite_stat1"} == set(metadata.tables) | {"others_things", "chain_links"}


def test_the_form_of_the_tables_has_its_name() -> None:
    """Where this fails the tables have another form than indices that are out there: give `SCHEMA` another name, so
    that they are filled anew, and write down here what that form is.
    """
    form = [
        f"{table.name}.{column.name} {type(column.type).__name__} {column.nullable} {column.primary_key}"
        for _, table in sorted(metadata.tables.items())
        for column in table.columns
    ]
    form += sorted(
        f"{table.name} {[column.name for column in index.columns]}"
        for _, table in sorted(metadata.tables.items())
        for index in table.indexes
    )
    assert (SCHEMA, sha256("\n".join(form).encode()).hexdigest()[:16]) == ("0002", "e4aeca05f7962535")


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "nonsense", "mysql://root@localhost/index"]
)
async def test_urls_that_cannot_work(chain: PoolChain, url: str) -> None:
    with pytest.raises(SettingsError, match="sqlite:///path or postgresql://"):
        Indexer(url, chain.deployment)


async def test_stake_that_a_fault_moved(chain: PoolChain, new_database: NewDatabase) -> None:
    """No contract emits these yet; the index is ready for them."""
    await approve_all(chain)
    machine = await register(chain)
    async with Indexer(new_database(), chain.deployment) as index:
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


async def test_a_transfer_to_oneself_and_the_pool_s_rules(
    chain: PoolChain, new_database: NewDatabase
) -> None:
    await approve_all(chain)
    me = chain.address(RENTER)
    async with Indexer(new_database(), chain.deployment) as index:
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

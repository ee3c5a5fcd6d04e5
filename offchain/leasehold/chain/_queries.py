"""The questions that people and programs ask of the index.

They read only what is committed, beside the one who writes. Filters that are left out leave nothing out.
"""

import asyncio
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from leasehold._postgres import READ_SECONDS
from leasehold.chain import _tables as tables
from leasehold.chain._abi import code
from leasehold.chain._changes import IndexChanges, changes_since
from leasehold.chain._deployment import Deployment
from leasehold.chain._index_engine import in_our_words, is_postgres
from leasehold.chain._index_errors import IndexConflict, IndexUnavailable
from leasehold.chain._ordered import Block
from leasehold.chain._records import (
    ChallengeRecord,
    DelegateRecord,
    FaultRecord,
    GroupRecord,
    Income,
    LeaseEvent,
    LeaseRecord,
    LeaseTotals,
    Ledger,
    LicenceRecord,
    LossRecord,
    MachineRecord,
    OfferRecord,
    ParamsRecord,
    PoolRecord,
    PriceChange,
    RatingRecord,
    RoundRecord,
    SeatRecord,
    ServiceRecord,
    VoteRecord,
)
from leasehold.chain._rows import (
    LOG_INDEX_BITS,
    coded,
    fault_record,
    group_record,
    lease_event,
    lease_record,
    ledger_entry,
    machine_record,
    only,
    params_record,
    round_record,
)
from leasehold.chain._types import LeaseState, MachineStatus
from leasehold.chain._versions import SCHEMA

T = TypeVar("T")
_ENTRIES = 4  # more than one event makes of the ledger's
_IDS_A_STATEMENT = 1_000
_BITS: Final = sa.literal(LOG_INDEX_BITS, sa.Integer)  # PostgreSQL shifts by no number as long as a place
_READERS: Final = 8  # threads that wait for a server, so that nothing else of the process waits with them


@dataclass(frozen=True, slots=True)
class Changed:
    """The ids of what events since a block named, in ascending order."""

    machines: list[int]
    leases: list[int]


class Queries:
    """What `Indexer` answers. `pool_key` is the key in `chain_pools`, of the row that says what is in `named`."""

    def __init__(self, engine: sa.Engine, deployment: Deployment) -> None:
        self._engine = engine
        self.pool_key = 0
        self.named = {
            "chain_id": deployment.chain_id,
            "genesis": deployment.genesis,
            "controller": deployment.controller,
        }
        self._served = is_postgres(engine)
        self._readers = ThreadPoolExecutor(_READERS, "leasehold-index-read") if self._served else None

    async def changes_since(self, known: Sequence[Block]) -> IndexChanges:
        """What has come since the newest of the known blocks, all of which had events, that is still on the chain."""
        return await self._beside(lambda: self._read_changes(known))

    def _read_changes(self, known: Sequence[Block]) -> IndexChanges:
        with in_our_words(self._engine), self._engine.connect() as connection:
            self.recognise(connection)
            return changes_since(connection, self.pool_key, known)

    async def machines(
        self, *, provider: str | None = None, ids: Sequence[int] | None = None
    ) -> list[MachineRecord]:
        """All machines, retired ones included, by id. ids: only these of them."""
        table = tables.machines
        if ids is not None:
            rows = await self._newest_among(table, "machine", ids)
        else:
            where = [] if provider is None else [table.c.provider == provider]
            rows = await self._newest(table, "machine", where)
        return [machine_record(row) for row in rows if provider in (None, row["provider"])]

    async def machine(self, machine: int) -> MachineRecord | None:
        table = tables.machines
        rows = await self._newest(table, "machine", [table.c.machine == machine])
        return machine_record(rows[0]) if rows else None

    async def terms_history(self, machine: int) -> list[tuple[int, MachineRecord]]:
        """The machine as each of its revisions began, oldest first, with the block in which it did."""
        table = tables.machines
        query = (
            sa.select(table)
            .where(table.c.pool == self.pool_key, table.c.machine == machine, table.c.revision > 0)
            .order_by(table.c.place)
        )
        history: list[tuple[int, MachineRecord]] = []
        for row in await self._rows(query):
            if not history or row["revision"] != history[-1][1].machine.revision:
                history.append((row["place"] >> LOG_INDEX_BITS, machine_record(row)))
        return history

    async def block_times(self, numbers: Sequence[int]) -> dict[int, int]:
        """When blocks were mined in which something of the pool happened, unix seconds; others are left out."""
        blocks = tables.blocks
        query = sa.select(blocks.c.number, blocks.c.timestamp).where(
            blocks.c.pool == self.pool_key, blocks.c.number.in_(numbers)
        )
        return {row["number"]: row["timestamp"] for row in await self._rows(query)}

    async def hardware_of(self, machine: int, revision: int) -> bytes | None:
        """The digest of what a revision of the machine was declared to be."""
        table = tables.machines
        query = (
            sa.select(table.c.hardware)
            .where(table.c.pool == self.pool_key, table.c.machine == machine, table.c.revision == revision)
            .order_by(table.c.place.desc())
            .limit(1)
        )
        rows = await self._rows(query)
        return bytes(rows[0]["hardware"]) if rows else None

    async def changed(self, first: int) -> Changed:
        """What has a version in block `first` or later; what a rollback took away is not in it."""
        rows = {
            name: await self._rows(
                sa.select(table.c[name]).where(
                    table.c.pool == self.pool_key, table.c.place >= tables.place_of(first)
                )
            )
            for name, table in (("machine", tables.machines), ("lease", tables.leases))
        }
        return Changed(*(sorted({row[name] for row in some}) for name, some in rows.items()))

    async def leases(
        self,
        *,
        machine: int | None = None,
        tenant: str | None = None,
        live: bool | None = None,
        ids: Sequence[int] | None = None,
        machines: Collection[int] | None = None,
    ) -> list[LeaseRecord]:
        """Leases by id. live: only those that hold cells, or only those that do not. ids: only these, and no other
        filter. machines: of any of these, of which there are not so many that it is better to read all.
        """
        table = tables.leases
        if ids is not None:
            return [lease_record(row) for row in await self._newest_among(table, "lease", ids)]
        where: list[sa.ColumnElement[bool]] = []
        if machine is not None:
            where.append(table.c.machine == machine)
        if machines is not None:
            where.append(table.c.machine.in_(list(machines)))
        if tenant is not None:
            where.append(table.c.tenant == tenant)
        if live is not None:
            states = [int(state) for state in LeaseState if state.live]
            where.append(table.c.state.in_(states) if live else table.c.state.not_in(states))
        found_by_index = any(wanted is not None for wanted in (machine, machines, tenant))
        rows = await self._newest(table, "lease", where, found_by_index=found_by_index)
        return [lease_record(row) for row in rows]

    async def leases_page(
        self,
        *,
        tenant: str | None = None,
        machines: Collection[int] | None = None,
        states: Collection[LeaseState] | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> list[LeaseRecord]:
        """Some leases, the newest slot's first. machines: of any of these. before: those with a lesser id than this."""
        table = tables.leases
        where = self._leases_where(tenant, machines, states)
        where += [] if before is None else [table.c.lease < before]
        query = (
            sa.select(table)
            .where(
                table.c.pool == self.pool_key, *where, table.c.place == self._newest_place(table, ("lease",))
            )
            .order_by(table.c.lease.desc())
            .limit(limit)
        )
        return [lease_record(row) for row in await self._rows(query)]

    async def leases_count(
        self,
        *,
        tenant: str | None = None,
        machines: Collection[int] | None = None,
        states: Collection[LeaseState] | None = None,
    ) -> int:
        """How many such leases there are."""
        table = tables.leases
        where = self._leases_where(tenant, machines, states)
        if not where:
            query = sa.select(sa.func.count(table.c.lease.distinct()).label("count"))
            query = query.where(table.c.pool == self.pool_key)
        else:
            query = sa.select(sa.func.count().label("count")).where(
                table.c.pool == self.pool_key, *where, table.c.place == self._newest_place(table, ("lease",))
            )
        return int((await self._rows(query))[0]["count"])

    @staticmethod
    def _leases_where(
        tenant: str | None, machines: Collection[int] | None, states: Collection[LeaseState] | None
    ) -> list[sa.ColumnElement[bool]]:
        table = tables.leases
        where: list[sa.ColumnElement[bool]] = []
        where += [] if tenant is None else [table.c.tenant == tenant]
        where += [] if machines is None else [table.c.machine.in_(list(machines))]
        where += [] if states is None else [table.c.state.in_([int(state) for state in states])]
        return where

    async def lease(self, lease: int) -> LeaseRecord | None:
        table = tables.leases
        rows = await self._newest(table, "lease", [table.c.lease == lease])
        return lease_record(rows[0]) if rows else None

    async def lease_history(self, lease: int) -> list[LeaseRecord]:
        """What the lease was after each of its events, oldest first; empty where there is no such lease."""
        table = tables.leases
        query = (
            sa.select(table)
            .where(table.c.pool == self.pool_key, table.c.lease == lease)
            .order_by(table.c.place)
        )
        return [lease_record(row) for row in await self._rows(query)]

    async def lease_events(self, lease: int) -> list[LeaseEvent]:
        """What has become of a lease, event by event, oldest first; empty where there is no such lease."""
        table, blocks = tables.leases, tables.blocks
        number = table.c.place.op(">>")(_BITS)
        query = (
            sa.select(table, blocks.c.timestamp)
            .join(blocks, sa.and_(blocks.c.pool == table.c.pool, blocks.c.number == number))
            .where(table.c.pool == self.pool_key, table.c.lease == lease)
            .order_by(table.c.place)
        )
        return [lease_event(row) for row in await self._rows(query)]

    async def workload_since(self, lease: int) -> int | None:
        """The block in which the lease's workload, as it is now, was named."""
        table = tables.leases
        query = sa.select(table.c.place, table.c.workload).where(
            table.c.pool == self.pool_key, table.c.lease == lease
        )
        rows = await self._rows(query.order_by(table.c.place.desc()))
        same = itertools.takewhile(lambda row: row["workload"] == rows[0]["workload"], rows)
        return min((row["place"] >> LOG_INDEX_BITS for row in same), default=None)

    async def ledger(self, account: str, *, last: int | None = None) -> Ledger:
        """The account's balance and its movements, or the `last` of them."""
        table = tables.ledger
        query = (
            sa.select(table)
            .where(table.c.pool == self.pool_key, sa.or_(table.c.debit == account, table.c.credit == account))
            .order_by(table.c.place.desc(), table.c.entry.desc())
            .limit(last)
        )
        rows = await self._rows(query)
        entries = tuple(ledger_entry(row, account) for row in reversed(rows))
        return Ledger(account, entries[-1].balance if entries else 0, entries)

    async def income(self, provider: str, *, since: int = 0, most: int = 10_000) -> list[Income]:
        """What a provider's leases brought and cost it, oldest first; of more than `most`, the newest."""
        table, blocks = tables.ledger, tables.blocks
        number = table.c.place.op(">>")(_BITS)
        query = (
            sa.select(table, blocks.c.timestamp)
            .join(blocks, sa.and_(blocks.c.pool == table.c.pool, blocks.c.number == number))
            .where(
                table.c.pool == self.pool_key,
                sa.or_(
                    sa.and_(table.c.credit == provider, table.c.kind == "earn"),
                    sa.and_(table.c.debit == provider, table.c.kind == "penalty"),
                ),
                blocks.c.timestamp >= since,
            )
            .order_by(table.c.place.desc(), table.c.entry.desc())
            .limit(most)
        )
        return [
            Income(row["timestamp"], ledger_entry(row, provider)) for row in reversed(await self._rows(query))
        ]

    async def price_changes(self) -> list[PriceChange]:
        """What every machine has asked since when, oldest first."""
        table, blocks = tables.machines, tables.blocks
        number = table.c.place.op(">>")(_BITS)
        query = (
            sa.select(table.c.machine, table.c.price, table.c.hardware, table.c.status, blocks.c.timestamp)
            .join(blocks, sa.and_(blocks.c.pool == table.c.pool, blocks.c.number == number))
            .where(
                table.c.pool == self.pool_key,
                table.c.event.in_(("TermsSet", "HardwareSet", "MachineRetired")),
            )
            .order_by(table.c.place)
        )
        return [
            PriceChange(
                time=row["timestamp"],
                machine=row["machine"],
                price=0 if row["status"] == MachineStatus.RETIRED else row["price"],
                hardware=row["hardware"],
            )
            for row in await self._rows(query)
        ]

    async def lease_totals(self) -> LeaseTotals:
        """Of all leases together."""
        table = tables.leases
        query = (
            sa.select(table.c.state, sa.func.count().label("count"))
            .where(table.c.pool == self.pool_key, table.c.place == self._newest_place(table, ("lease",)))
            .group_by(table.c.state)
        )
        by_state = {LeaseState(row["state"]): int(row["count"]) for row in await self._rows(query)}
        return LeaseTotals(
            sum(by_state.values()), by_state.get(LeaseState.OPENED, 0) + by_state.get(LeaseState.ACTIVE, 0)
        )

    async def balances(self) -> dict[str, int]:
        """The balance of every account that ever had one."""
        table = tables.ledger
        balances: dict[str, tuple[int, int]] = {}
        for side in ("debit", "credit"):  # the credit of a transfer to oneself comes after its debit
            account, order = table.c[side], sa.func.max(table.c.place * _ENTRIES + table.c.entry)
            newest = (
                sa.select(account.label("account"), order.label("newest"))
                .where(table.c.pool == self.pool_key, account.is_not(None))
                .group_by(account)
                .subquery()
            )
            query = sa.select(
                account.label("account"), newest.c.newest, table.c[f"{side}_balance"].label("balance")
            ).join(
                newest,
                sa.and_(
                    table.c.pool == self.pool_key,
                    account == newest.c.account,
                    table.c.place * _ENTRIES + table.c.entry == newest.c.newest,
                ),
            )
            for row in await self._rows(query):
                if row["newest"] >= balances.get(row["account"], (0, 0))[0]:
                    balances[row["account"]] = row["newest"], row["balance"]
        return {account: balance for account, (_, balance) in balances.items()}

    async def params(self) -> list[ParamsRecord]:
        """Every version of the pool's rules, proposed and cancelled ones too."""
        return [params_record(row) for row in await self._newest(tables.params, "version", [])]

    async def pool(self) -> PoolRecord | None:
        """Who runs the pool; None before its first block was indexed."""
        table = tables.states
        query = sa.select(table).where(table.c.pool == self.pool_key).order_by(table.c.place.desc()).limit(1)
        return next((PoolRecord(**only(PoolRecord, row)) for row in await self._rows(query)), None)

    async def faults(
        self, *, machine: int | None = None, machines: Collection[int] | None = None
    ) -> list[FaultRecord]:
        """Outages and other faults, by id. machines: of any of these."""
        table = tables.faults
        where = [] if machine is None else [table.c.machine == machine]
        where += [] if machines is None else [table.c.machine.in_(list(machines))]
        return [fault_record(row) for row in await self._newest(table, "fault", where)]

    async def fault(self, fault: int) -> FaultRecord | None:
        rows = await self._of(tables.faults, fault=fault)
        return fault_record(rows[0]) if rows else None

    async def losses(
        self, *, fault: int | None = None, lease: int | None = None, tenant: str | None = None
    ) -> list[LossRecord]:
        """What faults cost tenants, and what they got for it."""
        rows = await self._of(tables.losses, fault=fault, lease=lease, tenant=tenant)
        return [LossRecord(**only(LossRecord, row)) for row in rows]

    async def challenges(self, *, machine: int | None = None) -> list[ChallengeRecord]:
        """Challenges, by id."""
        table = tables.challenges
        where = [] if machine is None else [table.c.machine == machine]
        rows = await self._newest(table, "challenge", where)
        return [ChallengeRecord(**only(ChallengeRecord, row)) for row in rows]

    async def seats(self, *, validator: str | None = None) -> list[SeatRecord]:
        """Seats by id, those that have exited too."""
        rows = await self._of(tables.seats, validator=validator)
        return [SeatRecord(**only(SeatRecord, row)) for row in rows]

    async def rounds(self, *, machine: int | None = None) -> list[RoundRecord]:
        """Verifications, by id."""
        return [round_record(row) for row in await self._of(tables.rounds, machine=machine)]

    async def round(self, round_: int) -> RoundRecord | None:
        rows = await self._of(tables.rounds, round=round_)
        return round_record(rows[0]) if rows else None

    async def votes(self, round_: int) -> list[VoteRecord]:
        """What the seats of a round's committee committed and revealed, by seat."""
        return [VoteRecord(**only(VoteRecord, row)) for row in await self._of(tables.votes, round=round_)]

    async def ratings(
        self, *, provider: str | None = None, leases: Sequence[int] | None = None
    ) -> list[RatingRecord]:
        """Ratings, by lease. leases: only of these, and no other filter."""
        if leases is not None:
            rows = await self._newest_among(tables.ratings, "lease", leases)
        else:
            rows = await self._of(tables.ratings, provider=provider)
        return [RatingRecord(**only(RatingRecord, row)) for row in rows]

    async def services(self, *, kind: str | None = None) -> list[ServiceRecord]:
        """Services that are on offer, by account and kind."""
        rows = await self._of(tables.services, kind=None if kind is None else code(kind))
        return [coded(ServiceRecord, row) for row in rows if any(row["endpoint"])]

    async def licences(self, *, account: str | None = None) -> list[LicenceRecord]:
        """Licences by account and kind, those that have expired too."""
        return [coded(LicenceRecord, row) for row in await self._of(tables.licences, account=account)]

    async def delegates(self, *, account: str | None = None) -> list[DelegateRecord]:
        """Who may act for whom in this pool; those whose delegation was ended are left out."""
        rows = await self._of(tables.delegates, account=account)
        return [DelegateRecord(**only(DelegateRecord, row)) for row in rows if row["since"]]

    async def groups_of(
        self, member: str, *, after: int | None = None, limit: int = 200
    ) -> tuple[list[GroupRecord], int | None]:
        """Groups that the account signs for and somebody has deployed, the oldest first, and after which place there
        are more. Whoever deploys others in its name pushes none of those back that were there before. What was never
        deployed the chain does not tell of: its address stands for itself.
        """
        joined = (tables.groups.c.pool == tables.members.c.pool) & (
            tables.groups.c.place == tables.members.c.place
        )
        query = (
            sa.select(tables.groups)
            .join(tables.members, joined)
            .where(tables.members.c.pool == self.pool_key, tables.members.c.member == member)
            .order_by(tables.members.c.place)
            .limit(limit + 1)
        )
        rows = await self._rows(query if after is None else query.where(tables.members.c.place > after))
        page = rows[:limit]
        return [group_record(row) for row in page], page[-1]["place"] if len(rows) > limit else None

    async def group(self, account: str) -> GroupRecord | None:
        """Whose the account is, if it is a group's that somebody has deployed."""
        rows = await self._of(tables.groups, account=account)
        return group_record(rows[0]) if rows else None

    async def offers(self, provider: str) -> list[OfferRecord]:
        """Bits of the provider's offers that are used or cancelled, by word."""
        rows = await self._of(tables.offers, provider=provider)
        records = [OfferRecord(**only(OfferRecord, row)) for row in rows]
        return sorted(records, key=lambda record: record.word)  # amounts sort as texts in SQLite

    async def _of(self, table: sa.Table, **wanted: object) -> list[Mapping[str, Any]]:
        """The newest versions whose columns have the wanted values; None wants nothing."""
        where = [table.c[name] == value for name, value in wanted.items() if value is not None]
        return await self._newest(table, tables.subject_of(table), where)

    async def _newest(
        self,
        table: sa.Table,
        subject: str | tuple[str, ...],
        where: Sequence[sa.ColumnElement[bool]],
        *,
        found_by_index: bool = True,
    ) -> list[Mapping[str, Any]]:
        """The newest versions of what fulfils `where`. found_by_index: whether that is few of all versions; else it is
        quicker to look for the newest of all at once.
        """
        names = (subject,) if isinstance(subject, str) else subject
        if not where or not found_by_index:
            return await self._newest_of_all(table, names, where)
        query = (
            sa.select(table)
            .where(table.c.pool == self.pool_key, *where, table.c.place == self._newest_place(table, names))
            .order_by(*(table.c[name] for name in names))
        )
        return await self._rows(query)

    def _newest_place(self, table: sa.Table, names: Sequence[str]) -> sa.ScalarSelect[int]:
        """Of a row's subject, the place of the newest version."""
        other = table.alias()
        return (
            sa.select(sa.func.max(other.c.place))
            .where(other.c.pool == self.pool_key, *(other.c[name] == table.c[name] for name in names))
            .scalar_subquery()
        )

    async def _newest_of_all(
        self, table: sa.Table, names: Sequence[str], where: Sequence[sa.ColumnElement[bool]]
    ) -> list[Mapping[str, Any]]:
        other = table.alias()
        columns = [other.c[name] for name in names]
        newest = (
            sa.select(sa.func.max(other.c.place).label("place"))
            .where(other.c.pool == self.pool_key)
            .group_by(*columns)
            .subquery()
        )
        query = (
            sa.select(table)
            .join(newest, table.c.place == newest.c.place)
            .where(table.c.pool == self.pool_key, *where)
            .order_by(*(table.c[name] for name in names))
        )
        return await self._rows(query)

    async def _newest_among(self, table: sa.Table, name: str, ids: Sequence[int]) -> list[Mapping[str, Any]]:
        """The newest versions of these, in parts that a statement takes."""
        rows: list[Mapping[str, Any]] = []
        wanted = sorted(set(ids))
        for at in range(0, len(wanted), _IDS_A_STATEMENT):
            part = wanted[at : at + _IDS_A_STATEMENT]
            rows += await self._newest(table, name, [table.c[name].in_(part)])
        return rows

    async def _rows(self, query: sa.Select[Any]) -> list[Mapping[str, Any]]:
        return await self._beside(lambda: self._fetch(query))

    async def _beside(self, work: Callable[[], T]) -> T:
        """Beside the event loop. Raises IndexUnavailable: a server, or the queue for it, took too long."""
        try:
            async with asyncio.timeout(READ_SECONDS if self._served else None):
                return await asyncio.get_running_loop().run_in_executor(self._readers, work)
        except TimeoutError as error:
            raise IndexUnavailable(f"nothing came within {READ_SECONDS:g} s") from error

    def _fetch(self, query: sa.Select[Any]) -> list[Mapping[str, Any]]:
        with in_our_words(self._engine), self._engine.connect() as connection:
            self.recognise(connection)
            return [dict(row) for row in connection.execute(query).mappings()]

    def recognise(self, connection: sa.Connection) -> None:
        """Makes sure that what the transaction reads next is the pool's.

        Raises:
            IndexConflict: the tables were made anew since the pool was found in them, and its key may be another's.
        """
        query = (
            sa.select(tables.pools.c.id)
            .join(tables.version, tables.version.c.version_num == SCHEMA)
            .where(tables.pools.c.id == self.pool_key)
            .where(*(tables.pools.c[name] == value for name, value in self.named.items()))
        )
        if connection.execute(query).one_or_none() is None:
            raise IndexConflict

"""From events to rows: what each event makes of the machine, the lease and the balances that it names.

Pure but for `Latest`, which looks up the newest version of a row that this batch has not met yet. Balances follow
from events alone:

    Deposited             account + amount
    Withdrawn             account - amount
    Transferred           from - amount, to + amount
    FeesPulled            treasury + amount
    MachineRegistered     provider - (stake - pulled)
    StakeAdded            from - (amount - pulled)
    Unstaked              provider + amount
    StakeMoved            to + amount
    LeaseOpened           tenant - (deposit - pulled)
    LeaseExtended         payer - (deposit now - deposit before - pulled)
    LeaseClaimed          provider + (paid now - paid before)
    LeaseClosed, LeaseRejected   the same, and tenant + refunded
    LeaseDeclined, LeaseCancelled   tenant + refunded
    LeaseTerminated       provider - penalty, tenant + penalty
    LeaseResized          as LeaseClaimed, and tenant - (deposit now + refunded - deposit before - pulled) + refunded
    Charged               from - amount, companion + amount
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Protocol

import sqlalchemy as sa

from leasehold.chain import _projection_companions as companions
from leasehold.chain import _tables as tables
from leasehold.chain._generated import events as ev
from leasehold.chain._index_errors import IndexBroken
from leasehold.chain._log import Event, LogMeta
from leasehold.chain._records import PoolRecord
from leasehold.chain._rows import LOG_INDEX_BITS
from leasehold.chain._types import (
    CELLS_PER_GPU,
    ZERO_ADDRESS,
    ZERO_DIGEST,
    LeaseState,
    MachineStatus,
)
from leasehold.chain._versions import LeaseVersion, MachineVersion

SPOT = 1
_REMEMBERED = 100_000  # of each kind


_PLACE = frozenset({"pool", "place", "event", "tx_hash"})
_MACHINE = tuple(field.name for field in fields(MachineVersion))
_LEASE = tuple(field.name for field in fields(LeaseVersion))
_POOL = tuple(field.name for field in fields(PoolRecord))


class Latest(Protocol):
    """The newest versions that the database holds."""

    def machine(self, machine: int) -> MachineVersion: ...
    def lease(self, lease: int) -> LeaseVersion: ...
    def balance(self, account: str) -> int: ...
    def pool(self) -> PoolRecord | None: ...
    def params(self, version: int) -> Mapping[str, Any]: ...
    def version(self, table: sa.Table, subject: Mapping[str, object]) -> Mapping[str, Any] | None: ...


Row = dict[str, Any]


class Projection:
    """Gathers the rows that events make, table by table.

    pool: the key in `chain_pools`. controller: its address, since `Accounts` serves other pools too. empty: the
    database has nothing of the pool yet, so that there is nothing to look up until something is forgotten.
    What it remembers of the newest versions must be forgotten (`forget`) whenever the database loses some, or a
    batch was not committed.
    """

    def __init__(self, pool: int, controller: str, latest: Latest, *, empty: bool = False) -> None:
        self._pool = pool
        self._controller = controller
        self._latest = latest
        self._met_all = empty
        self._machines: dict[int, MachineVersion] = {}
        self._leases: dict[int, LeaseVersion] = {}
        self._balances: dict[str, int] = {}
        self._others: dict[tuple[object, ...], Row] = {}
        self.rows: dict[str, list[Row]] = {
            table.name: [] for table in tables.VERSIONED if table is not tables.ledger
        }
        # Nearly all rows are these: plain tuples, in the order of the table's columns, the hash as the log has it.
        self.ledger: list[tuple[Any, ...]] = []

    def look_up_in(self, latest: Latest) -> None:
        """Goes on over another connection."""
        self._latest = latest

    def forget(self) -> None:
        """Drops the gathered rows and everything remembered."""
        self._met_all = False
        for remembered in self._remembered:
            remembered.clear()
        self.drop_rows()

    def drop_rows(self) -> None:
        """Drops the gathered rows, which are in the database now."""
        self.ledger.clear()
        for rows in self.rows.values():
            rows.clear()
        for remembered in self._remembered:
            if len(remembered) > _REMEMBERED:
                self._met_all = False
                for oldest in list(itertools.islice(remembered, _REMEMBERED // 2)):
                    del remembered[oldest]

    @property
    def _remembered(self) -> tuple[dict[Any, Any], ...]:
        return self._machines, self._leases, self._balances, self._others

    def apply(self, events: Iterable[Event]) -> None:
        """Gathers what events change, in their order. One that changes nothing here is passed over."""
        handlers = _ALL_HANDLERS
        for event in events:
            handler = handlers.get(type(event))
            if handler is not None:
                handler(self, event)

    # ------------------------------------------------------------------------ rows that are found by their subject

    def version(self, table: sa.Table, **subject: object) -> Row | None:
        """The newest version of what `subject` names, without its place."""
        found = self._others.get((table.name, *subject.values()))
        if found is None and not self._met_all:
            row = self._latest.version(table, subject)
            found = None if row is None else {k: v for k, v in row.items() if k not in _PLACE}
        return found

    def put(
        self, table: sa.Table, e: Event, subject: Mapping[str, object], values: Mapping[str, Any]
    ) -> None:
        """A new version with exactly these values."""
        self._others[(table.name, *subject.values())] = dict(values)
        self._put_row(table.name, e, dict(values))

    def change(
        self, table: sa.Table, e: Event, subject: Mapping[str, object], values: Mapping[str, Any]
    ) -> Row:
        """A new version: the newest one with some values changed. Raises IndexBroken where there is none."""
        before = self.version(table, **subject)
        if before is None:
            named = ", ".join(f"{name} {value}" for name, value in subject.items())
            raise IndexBroken(f"row of {table.name} for {named}")
        after = {**before, **values}
        self.put(table, e, subject, after)
        return after

    def is_this_pool(self, pool: str) -> bool:
        return pool == self._controller

    # ------------------------------------------------------------------------------------------------- ledger

    def _move(
        self,
        log: LogMeta,
        kind: str,
        debit: str | None,
        credit: str | None,
        amount: int,
        *,
        entry: int = 0,
        lease: int | None = None,
        machine: int | None = None,
    ) -> None:
        """`amount` leaves `debit` and reaches `credit`; None is whatever is no account of the ledger."""
        if not amount:
            return
        place = log.block_number << LOG_INDEX_BITS | log.log_index  # for every move: no call
        left = None if debit is None else self._add(debit, -amount)
        reached = None if credit is None else self._add(credit, amount)
        self.ledger.append(
            (
                self._pool,
                place,
                entry,
                kind,
                debit,
                credit,
                amount,
                left,
                reached,
                lease,
                machine,
                log.tx_hash,
            )
        )

    def _add(self, account: str, amount: int) -> int:
        before = self._balances.get(account)
        if before is None:
            before = 0 if self._met_all else self._latest.balance(account)
        after = self._balances[account] = before + amount
        return after

    def _deposited(self, e: ev.Deposited) -> None:
        self._move(e.log, "deposit", None, e.account, e.amount)

    def _withdrawn(self, e: ev.Withdrawn) -> None:
        self._move(e.log, "withdraw", e.account, None, e.amount)

    def _transferred(self, e: ev.Transferred) -> None:
        self._move(e.log, "transfer", e.from_, e.to, e.amount)

    def _charged(self, e: ev.Charged) -> None:
        self._move(e.log, "charge", e.from_, e.companion, e.amount)

    def _fees_pulled(self, e: ev.FeesPulled) -> None:
        self._move(e.log, "fees", None, e.treasury, e.amount)

    # ----------------------------------------------------------------------------------------------- machines

    def _machine(self, machine: int) -> MachineVersion:
        found = self._machines.get(machine)
        return self._latest.machine(machine) if found is None else found

    def _put_machine(self, e: Event, version: MachineVersion) -> None:
        self._machines[version.machine] = version
        self._put(tables.machines.name, e, version, _MACHINE)

    def _put(self, table: str, e: Event, version: object, names: Sequence[str]) -> None:
        self._put_row(table, e, {name: getattr(version, name) for name in names})

    def _put_row(self, table: str, e: Event, row: Row) -> None:
        row["pool"] = self._pool
        row["place"] = tables.place_of(e.log.block_number, e.log.log_index)
        row["event"] = type(e).__name__
        row["tx_hash"] = bytes.fromhex(e.log.tx_hash[2:])
        self.rows[table].append(row)

    def _machine_registered(self, e: ev.MachineRegistered) -> None:
        self._move(e.log, "stake", e.provider, None, e.stake - e.pulled, machine=e.machine)
        version = MachineVersion(
            machine=e.machine,
            provider=e.provider,
            operator=e.operator,
            status=MachineStatus.UNVERIFIED,
            delisted=False,
            under_staked=False,
            stalled=False,
            gpus=e.gpus,
            smallest_share=e.smallest_share,
            revision=0,
            params=0,
            stake=e.stake,
            leased=0,
            withheld=0,
            retired_at=0,
            price=0,
            spot_price=0,
            min_duration=0,
            max_duration=0,
            trial=0,
            available_until_day=0,
            hardware=ZERO_DIGEST,
            contact=ZERO_DIGEST,
        )
        self._put_machine(e, version)

    def _terms_set(self, e: ev.TermsSet) -> None:
        self._put_machine(
            e,
            replace(
                self._machine(e.machine),
                revision=e.revision,
                params=e.params,
                price=e.terms.price,
                spot_price=e.terms.spot_price,
                min_duration=e.terms.min_duration,
                max_duration=e.terms.max_duration,
                trial=e.terms.trial,
                available_until_day=e.terms.available_until_day,
            ),
        )

    def _hardware_set(self, e: ev.HardwareSet) -> None:
        before = self._machine(e.machine)
        retired = before.status == MachineStatus.RETIRED
        status = before.status if retired else int(MachineStatus.UNVERIFIED)
        self._put_machine(e, replace(before, status=status, revision=e.revision, hardware=e.digest))

    def _contact_set(self, e: ev.ContactSet) -> None:
        self._put_machine(e, replace(self._machine(e.machine), contact=e.digest))

    def _operator_set(self, e: ev.OperatorSet) -> None:
        self._put_machine(e, replace(self._machine(e.machine), operator=e.operator))

    def _withheld(self, e: ev.Withheld) -> None:
        self._put_machine(e, replace(self._machine(e.machine), withheld=e.cells))

    def _machine_status_set(self, e: ev.MachineStatusSet) -> None:
        before = self._machine(e.machine)
        verified = e.status == MachineStatus.VERIFIED != before.status
        self._put_machine(
            e,
            replace(
                before,
                status=e.status,
                delisted=e.delisted,
                under_staked=e.under_staked,
                stalled=e.stalled,
                last_verified=e.log.timestamp if verified else before.last_verified,
            ),
        )

    def _stake_added(self, e: ev.StakeAdded) -> None:
        self._move(e.log, "stake", e.from_, None, e.amount - e.pulled, machine=e.machine)
        self._put_machine(e, replace(self._machine(e.machine), stake=e.stake))

    def _stake_moved(self, e: ev.StakeMoved) -> None:
        self._move(e.log, "slash", None, e.to, e.amount, machine=e.machine)
        self._put_machine(e, replace(self._machine(e.machine), stake=e.stake))

    def _machine_went_down(self, e: ev.MachineWentDown) -> None:
        self._put_machine(e, replace(self._machine(e.machine), down_since=e.from_))
        companions.machine_went_down(self, e)

    def _machine_came_up(self, e: ev.MachineCameUp) -> None:
        self._put_machine(e, replace(self._machine(e.machine), down_since=0))

    def _machine_held(self, e: ev.MachineHeld) -> None:
        held = replace(self._machine(e.machine), held_from=e.from_, held_to=e.to, held_until=e.until)
        self._put_machine(e, held)

    def _pending_slashes_set(self, e: ev.PendingSlashesSet) -> None:
        self._put_machine(e, replace(self._machine(e.machine), pending_slashes=e.count))

    def verified(self, e: ev.RoundFinalized, revision: int) -> None:
        """A committee has measured a machine again; the pool heeds that while it is what was measured."""
        machine = self._machine(e.machine)
        if machine.revision == revision and machine.status == MachineStatus.VERIFIED:
            self._put_machine(e, replace(machine, last_verified=e.log.timestamp))

    def _machine_retired(self, e: ev.MachineRetired) -> None:
        self._put_machine(e, replace(self._machine(e.machine), retired_at=e.retired_at))

    def _unstaked(self, e: ev.Unstaked) -> None:
        self._move(e.log, "unstake", None, e.provider, e.amount, machine=e.machine)
        self._put_machine(e, replace(self._machine(e.machine), stake=0))

    # ------------------------------------------------------------------------------------------------- leases

    def _lease(self, lease: int) -> LeaseVersion:
        found = self._leases.get(lease)
        return self._latest.lease(lease) if found is None else found

    def _put_lease(self, e: Event, version: LeaseVersion) -> None:
        self._leases[version.lease] = version
        self._put(tables.leases.name, e, version, _LEASE)

    def _occupy(self, e: Event, lease: LeaseVersion, *, free: bool = False) -> None:
        machine = self._machine(lease.machine)
        cells = cells_of(lease.placement)
        leased = machine.leased & ~cells if free else machine.leased | cells
        self._put_machine(e, replace(machine, leased=leased))

    def _lease_opened(self, e: ev.LeaseOpened) -> None:
        drawn = e.deposit - e.pulled
        self._move(e.log, "open", e.tenant, None, drawn, lease=e.lease, machine=e.machine)
        version = LeaseVersion(
            lease=e.lease,
            tenant=e.tenant,
            machine=e.machine,
            placement=e.placement,
            state=LeaseState.OPENED,
            spot=bool(e.flags & SPOT),
            noticed=False,
            opened_at=e.log.timestamp,
            start=e.log.timestamp,
            end=e.log.timestamp + e.duration,
            deposit=e.deposit,
            price=e.price,
            revision=e.revision,
            params=e.params,
            backup=e.backup,
            workload=e.workload,
            endpoint=ZERO_DIGEST,
            result=b"",
            reason=ZERO_DIGEST,
            paid=0,
            fee=0,
            refunded=0,
            author=e.tenant,
        )
        self._put_lease(e, version)
        self._occupy(e, version)

    def _lease_started(self, e: ev.LeaseStarted) -> None:
        before = self._lease(e.lease)
        self._put_lease(
            e, replace(before, state=LeaseState.ACTIVE, start=e.start, end=e.end, endpoint=e.endpoint)
        )

    def _lease_extended(self, e: ev.LeaseExtended) -> None:
        before = self._lease(e.lease)
        drawn = e.deposit - before.deposit - e.pulled
        self._move(e.log, "extend", e.payer, None, drawn, lease=e.lease, machine=e.machine)
        self._put_lease(e, replace(before, end=e.end, deposit=e.deposit))

    def _lease_resized(self, e: ev.LeaseResized) -> None:
        before = self._lease(e.lease)
        drawn = e.deposit + e.refunded - before.deposit - e.pulled
        where = {"lease": e.lease, "machine": e.machine}
        lease = self._paid(e.log, before, e.paid, e.fee)
        self._move(e.log, "resize", before.tenant, None, drawn, entry=1, **where)
        self._move(e.log, "refund", None, before.tenant, e.refunded, entry=2, **where)
        lease = replace(
            lease,
            placement=e.placement,
            deposit=e.deposit,
            paused=0,
            segment_start=e.log.timestamp,
            segment_settled=e.settled,
        )
        self._put_lease(e, lease)
        machine = self._machine(e.machine)
        leased = machine.leased & ~cells_of(before.placement) | cells_of(e.placement)
        self._put_machine(e, replace(machine, leased=leased))

    def _lease_paused(self, e: ev.LeasePaused) -> None:
        self._put_lease(e, replace(self._lease(e.lease), paused=e.paused))

    def _failed_over(self, e: ev.FailedOver) -> None:
        self._put_lease(e, replace(self._lease(e.lease), backup_lease=e.backup))

    def _lease_transferred(self, e: ev.LeaseTransferred) -> None:
        # The standby that the old tenant chose goes with him.
        self._put_lease(e, replace(self._lease(e.lease), tenant=e.to, backup=ZERO_DIGEST))

    def _workload_set(self, e: ev.WorkloadSet) -> None:
        before = self._lease(e.lease)
        self._put_lease(e, replace(before, workload=e.workload, author=before.tenant))

    def _result_published(self, e: ev.ResultPublished) -> None:
        self._put_lease(e, replace(self._lease(e.lease), result=e.cid))

    def _lease_terminated(self, e: ev.LeaseTerminated) -> None:
        before = self._lease(e.lease)
        provider = self._machine(e.machine).provider
        self._move(e.log, "penalty", provider, before.tenant, e.penalty, lease=e.lease, machine=e.machine)
        self._put_lease(e, replace(before, noticed=True, end=e.end))

    def _lease_claimed(self, e: ev.LeaseClaimed) -> None:
        self._put_lease(e, self._paid(e.log, self._lease(e.lease), e.paid, e.fee))

    def _paid(self, log: LogMeta, lease: LeaseVersion, paid: int, fee: int) -> LeaseVersion:
        provider = self._machine(lease.machine).provider
        earned = paid - lease.paid
        self._move(log, "earn", None, provider, earned, lease=lease.lease, machine=lease.machine)
        return replace(lease, paid=paid, fee=fee)

    def _ended(self, e: Event, lease: LeaseVersion, state: LeaseState, refunded: int) -> None:
        self._move(
            e.log, "refund", None, lease.tenant, refunded, entry=1, lease=lease.lease, machine=lease.machine
        )
        self._put_lease(e, replace(lease, state=state, refunded=refunded))
        self._occupy(e, lease, free=True)

    def _lease_closed(self, e: ev.LeaseClosed) -> None:
        lease = replace(self._paid(e.log, self._lease(e.lease), e.paid, e.fee), end=e.end)
        self._ended(e, lease, LeaseState.ENDED, e.refunded)

    def _lease_rejected(self, e: ev.LeaseRejected) -> None:
        lease = self._paid(e.log, self._lease(e.lease), e.paid, e.fee)
        self._ended(e, lease, LeaseState.REJECTED, e.refunded)

    def _lease_declined(self, e: ev.LeaseDeclined) -> None:
        lease = replace(self._lease(e.lease), reason=e.reason)
        self._ended(e, lease, LeaseState.CANCELLED, e.refunded)

    def _lease_cancelled(self, e: ev.LeaseCancelled) -> None:
        self._ended(e, self._lease(e.lease), LeaseState.CANCELLED, e.refunded)

    # --------------------------------------------------------------------------------------------------- pool

    def _params_proposed(self, e: ev.ParamsProposed) -> None:
        row: Row = {name: getattr(e.params, name) for name in type(e.params).__dataclass_fields__}
        row.update(version=e.version, in_force_at=e.in_force_at, cancelled=False)
        self._put_row(tables.params.name, e, row)

    def _params_cancelled(self, e: ev.ParamsCancelled) -> None:
        pending = [r for r in self.rows[tables.params.name] if r["version"] == e.version]
        before = pending[-1] if pending else self._latest.params(e.version)
        self._put_row(tables.params.name, e, {**before, "cancelled": True})

    def _pool_version(self) -> PoolRecord:
        pending = self.rows[tables.states.name]
        if pending:
            return PoolRecord(**{name: pending[-1][name] for name in _POOL})
        return self._latest.pool() or PoolRecord()

    def _put_pool(self, e: Event, **changes: object) -> None:
        after = replace(self._pool_version(), **changes)  # type: ignore[arg-type]  # named below
        self._put(tables.states.name, e, after, _POOL)

    def _gated_set(self, e: ev.GatedSet) -> None:
        self._put_pool(e, gated=e.gated)

    def _paused_set(self, e: ev.PausedSet) -> None:
        self._put_pool(e, paused=e.paused)

    def _treasury_set(self, e: ev.TreasurySet) -> None:
        self._put_pool(e, treasury=e.treasury)

    def _ownership_started(self, e: ev.OwnershipTransferStarted) -> None:
        self._put_pool(e, pending_owner=e.pending_owner)

    def _ownership_transferred(self, e: ev.OwnershipTransferred) -> None:
        self._put_pool(e, owner=e.owner, pending_owner=ZERO_ADDRESS)


def cells_of(placement: int) -> int:
    """The cells of a placement, bit `8 × gpu + cell`."""
    gpus, cells = placement >> 8, placement & 0xFF
    return sum(cells << (CELLS_PER_GPU * gpu) for gpu in range(8) if gpus >> gpu & 1)


_HANDLERS: Mapping[type[Event], Callable[[Projection, Any], None]] = {
    ev.Deposited: Projection._deposited,
    ev.Withdrawn: Projection._withdrawn,
    ev.Transferred: Projection._transferred,
    ev.FeesPulled: Projection._fees_pulled,
    ev.MachineRegistered: Projection._machine_registered,
    ev.TermsSet: Projection._terms_set,
    ev.HardwareSet: Projection._hardware_set,
    ev.ContactSet: Projection._contact_set,
    ev.OperatorSet: Projection._operator_set,
    ev.Withheld: Projection._withheld,
    ev.MachineStatusSet: Projection._machine_status_set,
    ev.StakeAdded: Projection._stake_added,
    ev.StakeMoved: Projection._stake_moved,
    ev.MachineRetired: Projection._machine_retired,
    ev.Unstaked: Projection._unstaked,
    ev.LeaseOpened: Projection._lease_opened,
    ev.LeaseStarted: Projection._lease_started,
    ev.LeaseExtended: Projection._lease_extended,
    ev.LeaseResized: Projection._lease_resized,
    ev.LeasePaused: Projection._lease_paused,
    ev.FailedOver: Projection._failed_over,
    ev.LeaseTransferred: Projection._lease_transferred,
    ev.MachineWentDown: Projection._machine_went_down,
    ev.MachineCameUp: Projection._machine_came_up,
    ev.MachineHeld: Projection._machine_held,
    ev.PendingSlashesSet: Projection._pending_slashes_set,
    ev.Charged: Projection._charged,
    ev.GatedSet: Projection._gated_set,
    ev.WorkloadSet: Projection._workload_set,
    ev.ResultPublished: Projection._result_published,
    ev.LeaseTerminated: Projection._lease_terminated,
    ev.LeaseClaimed: Projection._lease_claimed,
    ev.LeaseClosed: Projection._lease_closed,
    ev.LeaseRejected: Projection._lease_rejected,
    ev.LeaseDeclined: Projection._lease_declined,
    ev.LeaseCancelled: Projection._lease_cancelled,
    ev.ParamsProposed: Projection._params_proposed,
    ev.ParamsCancelled: Projection._params_cancelled,
    ev.PausedSet: Projection._paused_set,
    ev.TreasurySet: Projection._treasury_set,
    ev.OwnershipTransferStarted: Projection._ownership_started,
    ev.OwnershipTransferred: Projection._ownership_transferred,
}
_ALL_HANDLERS = {**companions.HANDLERS, **_HANDLERS}

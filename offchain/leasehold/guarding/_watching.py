"""A guard for others: what is to be told of an account's leases by whoever has the pool's index and none of its keys.

It looks as a guard at home does, tells each cause once as that does, and knows less: what an agent says to its tenant
alone (a command that ended, that is started again and again, a card without work) it does not hear. Of what strangers
have written (a lease's name, why a machine declined) nothing is in what it says: that goes out under the name of
whoever sends it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Self

from leasehold.chain import Indexer, Lease, LeasePurse, LeaseRecord, LeaseState
from leasehold.guarding._alerts import AlertKind, alerts_of
from leasehold.guarding._looking import SILENT_LOOKS, cheaper_than
from leasehold.guarding._settings import GuardSettings, KeepSettings
from leasehold.guarding._sights import LeaseSight, OwnSight, PastSight, Snapshot
from leasehold.guarding._telling import due, failed, queued, tell
from leasehold.home import Pending, Remembered
from leasehold.market import Listing, Money, extension_cost

if TYPE_CHECKING:
    from leasehold.client import PurseStanding

MOST_WATCHED: Final = 100
"""Live leases of one account, the newest: of more than that nobody reads so many alerts."""
MOST_NEWS: Final = 50
WATCHED_KINDS: Final = (
    AlertKind.NOTICE,
    AlertKind.END_NEAR,
    AlertKind.ESCROW_LOW,
    AlertKind.OUTAGE,
    AlertKind.NOT_STARTED,
    AlertKind.STARTED,
    AlertKind.ENDED,
    AlertKind.PRICE,
)
"""What can be told of with the index alone, and by asking whether an agent answers."""
_CHANNEL: Final = "recipient"
"""By which what waits for the one recipient is kept."""
_LIVE: Final = tuple(state for state in LeaseState if state.live)
_OVER: Final = tuple(state for state in LeaseState if not state.live and state is not LeaseState.NONE)
_PLENTY: Final = 2**63
_KEPT_SECONDS: Final = 600
_LONGEST: Final = 366 * 86_400


@dataclass(frozen=True)
class LeaseFund:
    """What is put aside to extend one lease: the rule by which that is done, and token units for it."""

    rule: KeepSettings
    left: int

    @classmethod
    def of_purse(cls, purse: LeasePurse, standing: PurseStanding, lease: Lease) -> Self | None:
        """What a purse has left for the lease, after its fee; `None` where it extends that no more."""
        if standing.returned or standing.made >= purse.count or lease.tenant != purse.tenant:
            return None
        rule = KeepSettings(by=purse.seconds, at_most=_LONGEST, budget="0")
        return cls(rule, max(0, standing.holds - purse.fee))


@dataclass(frozen=True)
class AlertWishes:
    """What somebody wants to be told of. before: how long before its end a lease is near it, seconds."""

    kinds: frozenset[AlertKind]
    before: int = 3_600

    @property
    def settings(self) -> GuardSettings:
        """As a guard at home would have it."""
        return GuardSettings(end_near=self.before, idle_after=0, gas_low="0")


@dataclass
class AgentSilences:
    """Which machines' agents say nothing, and for how long, by this process's own clock (`clock`, seconds)."""

    clock: Callable[[], float] = time.monotonic
    _silent: dict[int, tuple[float, int]] = field(default_factory=dict)
    _answer: frozenset[int] = frozenset()

    def heard(self, machines: Collection[int], answered: Mapping[int, bool]) -> None:
        """One round of questions: which of the machines have answered, of those that were asked. What was known of the
        rest stays.
        """
        now = self.clock()
        silent = {machine: known for machine, known in self._silent.items() if machine in machines}
        for machine, spoke in answered.items():
            since, looks = silent.pop(machine, (now, 0))
            if not spoke:
                silent[machine] = since, looks + 1
        self._silent = silent
        self._answer = frozenset(machine for machine, spoke in answered.items() if spoke)

    def of(self, machine: int) -> int:
        """Seconds; 0 where it speaks, or nobody can say yet that it does not."""
        since, looks = self._silent.get(machine, (0.0, 0))
        return int(self.clock() - since) if looks >= SILENT_LOOKS else 0

    def answers(self, machine: int) -> bool:
        return machine in self._answer


@dataclass(frozen=True)
class PoolSight:
    """What is the same for all who are watched. now: unix seconds. head: when the index's last block was made. down:
    since when machines are. windows: start windows by the version of the rules. silences: of agents. listings: machines
    by card, for whoever looks for cheaper ones. fund_of: what is put aside for a lease that ends soon, if anything is.
    """

    now: int
    head: int
    windows: Mapping[int, int]
    down: Mapping[int, int]
    silences: AgentSilences
    listings: Callable[[int], Sequence[Listing]] = lambda machine: ()
    fund_of: Callable[[Lease], Awaitable[LeaseFund | None]] | None = None


async def watched(
    index: Indexer, account: str, known: Remembered, wishes: AlertWishes, pool: PoolSight
) -> Snapshot:
    """How an account's leases stand, for whoever remembers `known` of them. Raises ChainError."""
    live = await index.leases_page(tenant=account, states=_LIVE, limit=MOST_WATCHED)
    ids = {record.lease.id for record in live}
    sights = [await _sight(record, known, wishes, pool) for record in live]
    past = [record async for record in _over(index, account, known, ids)]
    gone = tuple(PastSight(record.lease, "", noticed=record.lease.noticed) for record in past)
    return Snapshot(pool.now, OwnSight(_PLENTY, left=_PLENTY), tuple(sights), gone)


async def _over(
    index: Indexer, account: str, known: Remembered, live: Collection[int]
) -> AsyncIterator[LeaseRecord]:
    """Leases that are over since the last look; the first look of all knows of none."""
    if not known.looked:
        return
    seen = set(live)
    for lease in known.watched:
        if lease not in seen and (record := await index.lease(lease)) is not None:
            seen.add(lease)
            if record.lease.tenant == account and not record.lease.state.live:
                yield record
    for record in await index.leases_page(tenant=account, states=_OVER, limit=MOST_NEWS):
        if record.lease.id not in seen and record.opened_at > known.looked:
            yield record


async def _sight(record: LeaseRecord, known: Remembered, wishes: AlertWishes, pool: PoolSight) -> LeaseSight:
    lease, runs = record.lease, record.lease.state is LeaseState.ACTIVE
    fund = None
    if runs and pool.fund_of is not None and lease.end - pool.now <= wishes.before:
        fund = await pool.fund_of(lease)
    if fund is not None and AlertKind.ESCROW_LOW not in wishes.kinds:
        short = extension_cost(lease, fund.rule.by) > fund.left
        fund = None if short else fund  # who is not told of that is told of the end
    cheaper = None
    if AlertKind.PRICE in wishes.kinds and runs:
        cheaper = cheaper_than(record, pool.listings(lease.machine), wishes.settings.cheaper_by)
    return LeaseSight(
        lease,
        "",
        answers=pool.silences.answers(lease.machine),
        silent=pool.silences.of(lease.machine),
        down=pool.down.get(lease.machine, 0),
        cheaper=cheaper,
        window=pool.windows.get(lease.params, _PLENTY),
        kept=None if fund is None else fund.rule,
        aside=None if fund is None else fund.left,
        started=runs and 0 < known.looked < lease.start,
    )


def told(
    known: Remembered, snapshot: Snapshot, wishes: AlertWishes, money: Money, head: int, *, clock: int
) -> Remembered:
    """What is remembered after a look: what is new in it waits to be sent. head: as of the pool's. clock: unix s."""
    alerts = [alert for alert in alerts_of(snapshot, wishes.settings, money) if alert.kind in wishes.kinds]
    telling = tell(known.told, alerts, _unsure(snapshot), clock)
    live = tuple(sight.lease.id for sight in snapshot.leases)
    fresh = replace(
        known,
        told=telling.told,
        pending=queued(known.pending, telling.new, (_CHANNEL,), clock),
        watched=live,
    ).bounded()
    if fresh == known and known.looked and 0 <= head - known.looked < _KEPT_SECONDS:
        return known  # nothing to write down: what is news since then is told already
    return replace(fresh, looked=head)


def _unsure(snapshot: Snapshot) -> set[str]:
    """A machine that does not answer now, and of which nobody can say yet that it is silent."""
    silent = [sight for sight in snapshot.leases if not (sight.answers or sight.silent or sight.down)]
    return {f"{AlertKind.OUTAGE}:{sight.lease.id}" for sight in silent}


def next_alert(known: Remembered, clock: int) -> Pending | None:
    """What is to be sent now, if anything is. clock: unix seconds."""
    return due(known.pending, _CHANNEL, clock)


def after_sending(known: Remembered, entry: Pending, clock: int, *, taken: bool) -> Remembered:
    """What is remembered once it was tried: what was not taken is tried again, later and later, for a day."""
    left = None if taken else failed(entry, clock)
    kept = tuple(left if waiting == entry else waiting for waiting in known.pending)
    return replace(known, pending=tuple(waiting for waiting in kept if waiting is not None))

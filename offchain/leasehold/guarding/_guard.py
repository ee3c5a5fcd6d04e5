"""A guard: it looks at its account's leases again and again, tells what there is to tell, and does what is due.

One of a home acts at a time, which holds a lock that dies with it; another waits and takes over. Each term has a number
in the notes: a guard that finds a later one there stops before it sends anything more, whatever became of its lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from leasehold.client import Observer, Step
from leasehold.errors import ChainError, LeaseholdError
from leasehold.guarding._acting import Performer
from leasehold.guarding._alerts import Alert, AlertKind, alerts_of, trouble, unsure_of
from leasehold.guarding._channels import Channel
from leasehold.guarding._deeds import Deed, GuardDo, deeds_of
from leasehold.guarding._errors import GuardDeposed
from leasehold.guarding._looking import Recollection, look, silences
from leasehold.guarding._settings import GuardSettings
from leasehold.guarding._sights import Snapshot
from leasehold.guarding._telling import due, failed, failing, queued, tell
from leasehold.home import GuardNotes, Pending, Remembered
from leasehold.market import Json, Money

if TYPE_CHECKING:
    from leasehold.client import PoolClient

TAKE_OVER_EVERY = 1.0
"""Seconds between tries to take over from a guard that is gone."""


@dataclass(frozen=True)
class GuardLooked(Step):
    """What a look has found. alerts: all that there are, `new` those that were not told yet. deeds: what is done."""

    alerts: tuple[Alert, ...]
    new: tuple[Alert, ...]
    deeds: tuple[Deed, ...]
    trouble: str = ""

    def to_json(self, money: Money) -> dict[str, Json]:
        return {
            "alerts": [
                {"kind": str(alert.kind), "lease": alert.lease, "said": alert.said, "new": alert in self.new}
                for alert in self.alerts
            ],
            "deeds": [deed.to_json() for deed in self.deeds],
            "trouble": self.trouble or None,
        }


def pace(settings: GuardSettings, snapshot: Snapshot | None) -> float:
    """Seconds until the next look: so few that no checkpoint of a run is passed over."""
    jobs = snapshot.jobs if snapshot is not None and settings.recover else ()
    return max(1.0, min([settings.every, *(job.interval / 2 for job in jobs if job.interval)]))


@dataclass
class Guard:
    """Looks after the leases of one client's account. plain: the wallet for itself, where it is a delegate.

    One that is not in its term (`term_begun`) looks, and neither tells nor does anything.
    """

    client: PoolClient
    settings: GuardSettings
    channels: tuple[Channel, ...] = ()
    plain: PoolClient | None = None
    _term: int = 0
    _remembered: Remembered = field(default_factory=Remembered)
    _recollection: Recollection = field(default_factory=Recollection)
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _done: list[Alert] = field(default_factory=list)
    _pace: float = 0.0

    @property
    def notes(self) -> GuardNotes:
        return self.client.home.guard_notes(self.client.deployment, self.client.account)

    @asynccontextmanager
    async def term_begun(self, *, waits: bool = True) -> AsyncIterator[bool]:
        """Be the guard as long as the context lasts, once no other is. waits: until then; else it gives `False`."""
        with contextlib.ExitStack() as stack:
            while not stack.enter_context(self.notes.hold()):
                stack.close()
                if not waits:
                    yield False
                    return
                await asyncio.sleep(TAKE_OVER_EVERY)
            self._remembered = self.notes.load()
            self._term = self._remembered.term + 1
            self.notes.keep(replace(self._remembered, term=self._term))
            self._remembered = replace(self._remembered, term=self._term)
            try:
                yield True
            finally:
                await self._stop()
                self._term = 0

    async def seen(self) -> GuardLooked:
        """A look that tells and does nothing."""
        remembered = self.notes.load()
        looked, _, _ = await self._looked(remembered)
        return looked

    async def once(self) -> GuardLooked:
        """One look, with all that it leads to. Raises GuardDeposed."""
        looked = await self._look()
        while self._tasks:
            await asyncio.gather(*self._tasks.values())
        if self._done:  # what was done is told, too
            self._remember_told((), self._remembered.told.keys())
            self._deliver()
            await asyncio.gather(*self._tasks.values())
        return looked

    async def looks(self) -> AsyncGenerator[GuardLooked, None]:
        """A look every so often, for as long as somebody asks for more. What it leads to goes on meanwhile.

        Raises GuardDeposed.
        """
        while True:
            began = time.monotonic()
            yield await self._look()
            await asyncio.sleep(max(0.0, self._pace - (time.monotonic() - began)))

    # ------------------------------------------------------------------------------------------------ one look

    async def _look(self) -> GuardLooked:
        self._check_term()
        if not self._tasks:
            self.quiet._begun.clear()  # plans that are over: a guard makes them for months
        looked, snapshot, unsure = await self._looked(self._remembered)
        self._check_term()
        changes: dict[str, Any] = {"trouble": looked.trouble}
        if snapshot is not None:
            live = tuple(sight.lease.id for sight in snapshot.leases)
            silent = silences(self._recollection, snapshot.now)
            changes |= {"looked": snapshot.now, "watched": live, "silent": silent}
        self._pace = pace(self.settings, snapshot)
        self._remember_told(looked.alerts, unsure, **changes)
        self._deliver()
        if snapshot is not None and self.client.sender is not None:
            self._do(looked.deeds, snapshot)
        return looked

    async def _looked(self, remembered: Remembered) -> tuple[GuardLooked, Snapshot | None, set[str]]:
        try:
            snapshot = await look(self.quiet, self.settings, remembered, self._recollection)
        except ChainError as error:
            blind = trouble("chain", f"The guard cannot read the chain: {error.problem}.")
            unsure, known = set(remembered.told) - {blind.cause}, blind.cause in remembered.told
            return GuardLooked((blind,), () if known else (blind,), (), error.problem), None, unsure
        own = replace(snapshot.own, failing=failing(remembered.pending))
        snapshot = replace(snapshot, own=own)
        money, delegate = self.client.money, self.client.other is not None
        alerts = tuple(alerts_of(snapshot, self.settings, money))
        deeds = deeds_of(snapshot, self.settings, remembered.challenged, money, delegate=delegate)
        unsure = unsure_of(snapshot) | {str(AlertKind.JOB)}
        new = tuple(alert for alert in alerts if alert.cause not in remembered.told)
        return GuardLooked(alerts, new, tuple(deeds)), snapshot, unsure

    @cached_property
    def quiet(self) -> PoolClient:
        """The client that looks and acts: it tells nobody each time that it does."""
        return replace(self.client, observer=Observer(), _begun=[], _index=None)

    # ------------------------------------------------------------------------------------------------ telling

    def _remember_told(self, alerts: tuple[Alert, ...], unsure: Any, **changes: Any) -> None:
        """Note what is told before anything is sent. What was done since the last look is among it."""
        now, done = int(time.time()), tuple(self._done)
        self._done.clear()
        telling = tell(self._remembered.told, (*alerts, *done), unsure, now)
        names = [channel.name for channel in self.channels]
        pending = queued(self._remembered.pending, telling.new, names, now)
        self._remember(told=telling.told, pending=pending, **changes)

    def _remember(self, **changes: Any) -> None:
        """Raises GuardDeposed. A disk that is full is no reason to look after nothing."""
        self._check_term()
        self._remembered = replace(self._remembered, **changes).bounded()
        with contextlib.suppress(OSError):
            self.notes.keep(self._remembered)

    def _check_term(self) -> None:
        if not self._term or self.notes.load().term > self._term:
            raise GuardDeposed()

    def _deliver(self) -> None:
        """Have each channel take what waits for it, beside everything else."""
        for channel in self.channels:
            self._begin(f"channel {channel.name}", partial(self._delivering, channel))

    async def _delivering(self, channel: Channel) -> None:
        while (entry := due(self._remembered.pending, channel.name, int(time.time()))) is not None:
            left: Pending | None = None
            try:
                await channel.send(entry.alert)
            except (LeaseholdError, OSError):
                left = failed(entry, int(time.time()))
            rest = [left if one == entry else one for one in self._remembered.pending]
            kept = tuple(one for one in rest if one is not None)
            self._remember(pending=kept)
            if left is not None:
                return

    # -------------------------------------------------------------------------------------------------- doing

    def _do(self, deeds: tuple[Deed, ...], snapshot: Snapshot) -> None:
        known = self._recollection
        performer = Performer(self.quiet, self.settings, self.plain, known.runs, known.turns, known.unkept)
        sights = {sight.lease.id: sight for sight in snapshot.leases}
        self._begin("runs", performer.settle_runs)
        for deed in deeds:
            if deed.do is GuardDo.CHALLENGE:  # before it: whoever takes over does not challenge twice
                self._remember(challenged={**self._remembered.challenged, deed.machine: snapshot.now})
            key = f"{deed.do} {deed.lease or deed.machine or deed.run}"
            self._begin(key, partial(self._performing, performer, deed, sights.get(deed.lease)))

    async def _performing(self, performer: Performer, deed: Deed, sight: Any) -> None:
        self._check_term()
        self._done += await performer.perform(deed, sight)

    def _begin(self, key: str, doing: Callable[[], Awaitable[None]]) -> None:
        """One of each at a time: what takes longer than a look is not begun twice."""
        if key in self._tasks:
            return
        task = asyncio.create_task(self._guarded(doing))
        self._tasks[key] = task
        task.add_done_callback(lambda _: self._tasks.pop(key, None))

    async def _guarded(self, doing: Callable[[], Awaitable[None]]) -> None:
        """What goes on beside the looks ends with its term, and never ends them. The next look says what is wrong."""
        with contextlib.suppress(GuardDeposed, LeaseholdError, OSError):
            await doing()

    async def _stop(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

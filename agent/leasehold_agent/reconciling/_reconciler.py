"""The one loop: look at the chain and at the containers, plan, act; at every event and every few seconds.

A lease has at most one action in progress. What fails for want of the engine, IPFS or the chain is tried again after
a pause that doubles; a lease that is over does not wait for its own bringing up, which is cut off.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from leasehold.chain import LeaseState, format_lease
from leasehold.errors import AgentError, ContractError, LeaseholdError
from leasehold.workload import Restart
from leasehold_agent._backoff import Backoff
from leasehold_agent._errors import Declined, EngineDown, LimitNotHeld
from leasehold_agent._runtime import Seen
from leasehold_agent.chain import Desired, Duties, Told
from leasehold_agent.engine import ContainerFacts
from leasehold_agent.host import DISK_TROUBLE
from leasehold_agent.reconciling._bring_up import bring_up
from leasehold_agent.reconciling._changes import Changes
from leasehold_agent.reconciling._closing import Closing, standing_order
from leasehold_agent.reconciling._ending import Ending
from leasehold_agent.reconciling._host import Host
from leasehold_agent.reconciling._leases import Record
from leasehold_agent.reconciling._plan import (
    Action,
    Actual,
    BeginAnew,
    BringUp,
    Clear,
    CloseForTenant,
    Decline,
    Delete,
    DiskRoom,
    FitContainer,
    HandOver,
    Publish,
    Replace,
    Rest,
    Rules,
    SendStart,
    Stop,
    Tell,
    finished,
    gives_way,
    plan,
)
from leasehold_agent.reconciling._results import Publishing
from leasehold_agent.reconciling._start_or_decline import Starting
from leasehold_agent.store import (
    Hand,
    Notes,
    count_end,
    read_notice,
    read_warning,
    read_word,
    told_of_cards,
    words_on,
)

_log = structlog.get_logger("leasehold_agent")
_LOOKS = 3
_HEALTHY_SECONDS = 10
_SIGKILLED = 128 + signal.SIGKILL
"""A command that ran so long is started again at once when it ends."""
_MORE = 16 << 20
"""Beside twice what there was before, outputs that did not fit are taken again: so often, and no more."""
_CLEARING_SECONDS = 10
"""Before another lease makes way: file systems give the room of what was removed back in their own time."""
_PUBLISHING_SECONDS = 900
"""After the end of a command: so long its lease waits for its results, before it is closed without them."""
_FOR_EVER = frozenset({"workload-invalid", "unsupported"})


@dataclass
class _Work:
    """A lease's action in progress, and how often the last kind of it has failed in a row."""

    task: asyncio.Task[None] | None = None
    action: Action | None = None
    backoff: Backoff = field(default_factory=Backoff)

    @property
    def busy(self) -> bool:
        return self.task is not None and not self.task.done()


@dataclass
class Reconciler:
    host: Host
    told: Told = field(default_factory=Told)
    containers: dict[int, ContainerFacts] = field(default_factory=dict)
    networks: set[str] = field(default_factory=set)
    _work: dict[int, _Work] = field(default_factory=dict)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _engine_down: bool = False
    _serves: bool = False
    _clearing_until: float = float("-inf")
    _forgetting: asyncio.Task[bool] | None = None
    _duties: Duties = field(init=False)

    def __post_init__(self) -> None:
        host = self.host
        chain, containers, leases, supplies = host.chain, host.containers, host.leases, host.supplies
        self._duties = Duties(chain, host.clock)
        self._results = Publishing(chain, containers, leases, supplies, host.facts)
        self._starting = Starting(chain, containers, leases, supplies.ipfs, host.endpoint)
        self._closing = Closing(chain, leases, host.facts.settings.close_cost)
        parts = (
            chain,
            containers,
            leases,
            host.volumes,
            host.carrying,
            host.checkpoints,
            host.committing,
            self._results,
            host.devices,
        )
        self._changes = Changes(*parts)
        self._ending = Ending(*parts, host.readers, host.clock)

    def wake(self) -> None:
        """Look again now."""
        self._wake.set()

    async def run(self) -> None:
        """Until cancelled. Containers are left as they are."""
        try:
            while True:
                self._wake.clear()
                try:
                    await self.tick()
                except Exception:  # noqa: BLE001 - a full disk, no descriptor left: the next look may find it better
                    _log.exception("tick")
                # Not `wait_for`: before Python 3.12 it loses a cancellation that meets the event.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.host.facts.settings.tick_seconds):
                        await self._wake.wait()
        finally:
            await self._drop_all()

    async def tick(self) -> list[Action]:
        """One look and what follows from it; returns the plan. Actions go on in tasks of their own."""
        host = self.host
        host.snapshot = await host.chain.snapshot(self._known())
        starts = False
        self.told.machines = host.snapshot.machines
        with contextlib.suppress(LimitNotHeld):  # the log has it, and nothing starts meanwhile
            await host.containers.limits.mend()
            starts = True
        self.told.serves = starts and host.reachable()
        try:
            boot = await self._look_well()
            await host.guard()
        except AgentError as error:
            if not self._engine_down:
                _log.warning("engine", problem=str(error))
            self._engine_down, self._serves = True, False
            return []
        if self._engine_down:
            _log.info("engine", problem=None)
        self._engine_down = False
        here, rules = self._actual(), replace(self.rules(), boot=boot, room=self._forget_images(self._room()))
        actions = plan(host.snapshot, here, rules)
        if rules.room and gives_way(host.snapshot, here, rules, rules.room):
            self._clearing_until = host.clock() + _CLEARING_SECONDS
        host.kept = {
            room: gives_way(host.snapshot, here, rules, room) for room in (DiskRoom.WANTED, DiskRoom.SHORT)
        }
        host.readers.sweep(wanted=bool(rules.room))
        if host.estranged is not None:
            actions = [action for action in actions if isinstance(action, Decline)]
        await host.idle.look(
            {device for c in self.containers.values() for device in c.devices if not c.exited}
        )
        self._forget_others({action.lease for action in actions})
        for action in actions:
            self._begin(action)
        if host.estranged is None and host.snapshot.current:
            host.checkpoints.look(host.snapshot, self.containers, rules.windows)
        # The engine has answered, and every network is closed off as it should be.
        serves = starts and host.reachable()
        self._serves = serves and host.estranged is None and host.snapshot.current
        self._duties.begin(host.snapshot, serves=serves, is_well=host.estranged is None)
        await host.supplies.uploads.sweep(host.chain.standbys)
        await asyncio.to_thread(host.supplies.code.sweep)
        return actions

    def seen(self) -> Seen:
        """What the last look was at, for whoever is told of it."""
        snapshot, running = self.host.snapshot, sum(c.running for c in self.containers.values())
        return Seen(snapshot.block, snapshot.block_hash, self._serves and self.told.serves, running)

    async def settle(self) -> None:
        """Wait until the actions that are in progress have ended."""
        await asyncio.gather(*(w.task for w in self._work.values() if w.task), return_exceptions=True)
        await self._duties.settle()

    # ------------------------------------------------------------------------------------------------ looking

    def _known(self) -> set[int]:
        return set(self.host.leases.folders()) | self.containers.keys()

    async def _look_well(self) -> str:
        """What is here, and the run of the engine that all of it was seen under: an engine that began anew meanwhile
        has ended what ran when it was seen.
        """
        for _ in range(_LOOKS):
            boot = self.host.facts.boot
            await self._look()
            await self._judge(boot)
            if self.host.facts.boot == boot:
                return boot
        raise EngineDown("The Docker engine begins anew again and again.")

    async def _look(self) -> None:
        """Which containers of the pool are here. Those of a machine that this agent neither has nor had belong to
        another agent on the same engine.
        """
        here: dict[int, ContainerFacts] = {}
        folders = self.host.leases.folders()
        for container in await self.host.containers.engine.containers(self.host.containers.names.filter):
            named = self.host.containers.names.lease_of(container.labels)
            if named is not None and (named[1] in self.host.snapshot.machines or named[0] in folders):
                here[named[0]] = container
                if container.exited:
                    self.host.containers.engine.streams.ended(container.id)
        self.containers = here
        self.networks = set(await self.host.containers.engine.networks(self.host.containers.names.filter))

    async def _judge(self, boot: str) -> None:
        """Of containers that run, note under which run of the engine; of those that ended, by whose hand."""
        host = self.host
        await asyncio.to_thread(host.memory.look, host.clock())
        for lease, container in self.containers.items():
            record, folder = host.leases.record(lease), host.leases.folder(lease)
            notes = folder.load()
            if container.running and notes.launched and not notes.stopped and notes.boot != boot:
                notes.boot = boot
                folder.save(notes)
            end = (container.id, container.finished_at)
            if not container.exited or not notes.launched or notes.stopped or record.end == end:
                continue
            await self._judge_end(record, notes, container)
            if record.killed:
                whose = "the host's memory ran out" if record.starved else "by a hand on the host"
                _log.warning("killed", lease=format_lease(lease), container=container.name, why=whose)
            if container.finished_at - container.started_at >= _HEALTHY_SECONDS:
                record.again.reset()
            record.again.failed(host.clock())
            record.end, record.ends, record.ended_at = end, record.ends + 1, host.clock()
            hand: Hand = "command"
            if record.starved or (notes.boot != boot and not record.killed):
                hand = "host"
            elif record.killed:
                hand = "hand"
            with contextlib.suppress(*DISK_TROUBLE):  # a count is no reason to fall silent
                count_end(folder.path, f"{container.id}:{container.finished_at}", hand)
            self._count_crash(
                lease, container, finished(Actual(notes, container, killed=record.killed), boot)
            )

    async def _judge_end(self, record: Record, notes: Notes, container: ContainerFacts) -> None:
        """Whether it ended by itself, or a hand on the host or the kernel ended it for want of the host's memory."""
        host, by_sigkill = self.host, container.exit_code == _SIGKILLED
        record.starved = not notes.ended and by_sigkill and host.memory.took_from(container.id, host.clock())
        record.killed = record.starved or (
            not notes.ended and await host.containers.engine.killed_from_outside(container)
        )

    def _count_crash(self, lease: int, container: ContainerFacts, by_itself: bool) -> None:
        """Note how often in a row a command that is paid for has ended by itself within seconds: each end once,
        whatever becomes of this process.
        """
        desired, folder = self.host.snapshot.leases.get(lease), self.host.leases.folder(lease)
        notes = folder.load()
        billed = desired is not None and desired.state is LeaseState.ACTIVE
        if not billed or not by_itself or notes.crashed_at == container.finished_at:
            return
        quick = container.finished_at - container.started_at < _HEALTHY_SECONDS
        notes.crashes, notes.crashed_at = (notes.crashes + 1) * quick, container.finished_at
        folder.save(notes)

    def _actual(self) -> dict[int, Actual]:
        here, held = {}, self.host.volumes.held()
        folders = self.host.leases.folders()
        for lease in folders.keys() | self.containers.keys() | held.keys():
            record, workload = self.host.leases.record(lease), self.host.leases.workload(lease)
            notes, desired = self.host.leases.folder(lease).load(), self.host.snapshot.leases.get(lease)
            here[lease] = Actual(
                notes=notes,
                container=self.containers.get(lease),
                told=read_notice(self.host.leases.folder(lease).told),
                warned=read_warning(self.host.leases.folder(lease).told),
                ready=record.ready,
                waiting=record.waiting,
                killed=record.killed,
                restart=workload.restart if workload is not None else Restart.NEVER,
                resting=self.host.clock() < record.again.until,
                roomier=notes.lacked is not None
                and self.host.facts.room_for_outputs() > 2 * notes.lacked + _MORE,
                networked=self.host.containers.names.network(lease) in self.networks,
                ordered=desired is not None and self._ordered(desired),
                overdue=self.host.clock() - record.ended_at >= _PUBLISHING_SECONDS,
                ailing=self._ailing(lease),
                attached=lease in held,
                held=lease in self.host.checkpoints.holding,
                word=read_word(self.host.leases.folder(lease).word, notes.workload),
            )
        for lease in self.host.snapshot.leases.keys() - here.keys():
            if lease in self.host.leases.records:
                here[lease] = Actual(
                    self.host.leases.folder(lease).load(), waiting=self.host.leases.record(lease).waiting
                )
        return here

    def _ordered(self, desired: Desired) -> bool:
        """Whether the lease is to be closed for its tenant when its job is done."""
        closes = self.host.facts.settings.close_for_tenant
        return closes and standing_order(self.host.leases, desired) is not None

    def _ailing(self, lease: int) -> bool:
        """Whether there is something to tell of the lease's cards."""
        desired = self.host.snapshot.leases.get(lease)
        if desired is None or desired.state is not LeaseState.ACTIVE:
            return False
        words = words_on(self.host.facts.ailments(desired))
        return words != told_of_cards(self.host.leases.folder(lease))

    def rules(self) -> Rules:
        """The host's part of the decision, where it has room enough."""
        settings = self.host.facts.settings
        return Rules(
            boot=self.host.facts.boot,
            confirmations=settings.confirmations,
            start_margin=settings.start_margin,
            retention_min=settings.retention_min,
            retention_max=settings.retention_max,
            close_after=settings.close_after,
            windows=settings.maintenance_windows,
        )

    def _forget_images(self, room: DiskRoom) -> DiskRoom:
        """Images and datasets that nobody needs go first; returns what leases are to make room for."""
        if self._forgetting is None:
            if room:
                self._forgetting = asyncio.create_task(self._forget_image())
            return DiskRoom.ENOUGH
        if not self._forgetting.done():
            return DiskRoom.ENOUGH
        gone, self._forgetting = self._forgetting.result(), None
        if gone:
            self._clearing_until = self.host.clock() + _CLEARING_SECONDS
        return DiskRoom.ENOUGH if gone else room

    async def _forget_image(self) -> bool:
        try:
            return await self.host.supplies.forget_unused(
                self._images(), self.host.datasets_in_use(), self.host.facts.engine.root
            )
        except (LeaseholdError, OSError) as error:
            _log.warning("images", problem=str(error))
            return False

    def _images(self) -> set[str]:
        """Those that live leases need, whether they have a container yet or not."""
        live = {
            lease
            for lease, desired in self.host.snapshot.leases.items()
            if desired.live_at(self.host.snapshot.now)
        }
        workloads = (self.host.leases.workload(lease) for lease in live)
        return {workload.image for workload in workloads if workload is not None}

    def _room(self) -> DiskRoom:
        """What the disk has left, for those that begin too. It is short before the last of it goes, and what was
        removed takes a while to be room.
        """
        host, snapshot = self.host, self.host.snapshot
        if host.clock() < self._clearing_until:
            return DiskRoom.ENOUGH
        if host.facts.room(host.facts.settings.disk_reserve):
            return DiskRoom.SHORT
        live = (lease for lease, desired in snapshot.leases.items() if desired.live_at(snapshot.now))
        left = DiskRoom.ENOUGH
        for record in (host.leases.records[lease] for lease in live if lease in host.leases.records):
            if record.wants is not None and not (room := host.facts.room(record.wants)):
                record.wants = None  # it has what it bought, and fills it by itself
            elif record.wants is not None:
                left = max(left, room)
        return left

    # ------------------------------------------------------------------------------------------------- acting

    def _begin(self, action: Action) -> None:
        work = self._work.setdefault(action.lease, _Work())
        same = type(work.action) is type(action)
        if work.busy:
            cut_off = isinstance(work.action, BringUp | SendStart) and not same
            cut_off = cut_off and not isinstance(action, BringUp | SendStart)
            # Nor do outputs that never get anywhere hold the disk, or the bill.
            stuck = isinstance(work.action, Publish) and isinstance(action, Delete | CloseForTenant)
            if (cut_off or stuck) and work.task:
                work.task.cancel()
            return
        if not same:
            work.backoff.reset()
        if self.host.clock() < work.backoff.until:
            return
        work.action = action
        work.task = asyncio.create_task(self._perform(action, work))

    async def _perform(self, action: Action, work: _Work) -> None:
        """One action, with what goes wrong turned into a note, a pause or a line in the log."""
        record = self.host.leases.record(action.lease)
        try:
            await self._act(action)
            if isinstance(action, Publish | CloseForTenant):
                record.trouble = None
            if isinstance(action, SendStart | Publish | Decline | CloseForTenant):
                # The index will tell what came of it; one that is stuck must not spin the loop.
                self._pause(work)
            else:
                work.backoff.failures = 0
        except Declined as error:
            self._note_failure(action, error, work)
        except ContractError as error:
            # The state on the chain is another than the index knows: it will tell in a moment.
            _log.info("refused", lease=format_lease(action.lease), problem=str(error))
            self._pause(work)
        except (LeaseholdError, OSError, TimeoutError) as error:
            record.trouble = str(error)
            _log.warning("retry", lease=format_lease(action.lease), action=_name(action), problem=str(error))
            self._pause(work)
        except Exception:  # noqa: BLE001 - an action's outermost level: one lease's trouble is not the others'
            record.trouble = "internal error"
            _log.exception("failed", lease=format_lease(action.lease), action=_name(action))
            self._pause(work)
        self.wake()

    async def _act(self, action: Action) -> None:
        host, lease = self.host, action.lease
        desired = host.snapshot.leases.get(lease)
        match action:
            case Stop():
                await self._ending.stop(action, host.snapshot)
                self._used(lease)
            case Clear():
                await self._ending.clear(lease)
            case Delete():
                await self._ending.delete(lease)
            case _ if desired is None:
                return
            case Decline():
                await self._starting.decline(desired, action)
            case BringUp():
                await bring_up(host, desired)
            case SendStart():
                await self._starting.start(desired)
            case Publish():
                await self._results.publish(desired, host.share(desired))
            case CloseForTenant():
                await self._closing.close(desired)
            case Replace():
                await self._changes.replace(desired, host.share(desired))
            case Rest():
                await self._changes.rest(desired)
            case BeginAnew():
                await self._changes.begin_anew(desired)
            case HandOver():
                await self._changes.hand_over(desired)
            case FitContainer():
                made_for = replace(desired, placement=host.leases.folder(lease).load().placement)
                await self._changes.resize(desired, host.share(made_for), host.share(desired))
            case Tell():
                await self._changes.tell(desired, action.window, host.facts.ailments(desired))

    def _used(self, lease: int) -> None:
        """What it ran on is what others of its tenant may want next: it is the last to make room."""
        workload = self.host.leases.workload(lease)
        datasets = self.host.leases.folder(lease).load().datasets
        self.host.supplies.used(workload.image if workload is not None else None, datasets)

    def _note_failure(self, action: Action, error: Declined, work: _Work) -> None:
        """An unstarted lease is declined for it. One that is billed is tried again, unless that cannot help."""
        _log.info("declined", lease=format_lease(action.lease), reason=error.reason, detail=error.detail)
        self.host.leases.record(action.lease).trouble = error.detail
        desired = self.host.snapshot.leases.get(action.lease)
        unstarted = desired is not None and desired.state is LeaseState.OPENED
        if unstarted or error.reason in _FOR_EVER:
            folder = self.host.leases.folder(action.lease)
            notes = folder.load()
            notes.failure, notes.failure_detail = error.reason, error.detail
            folder.save(notes)
        else:
            self._pause(work)

    def _pause(self, work: _Work) -> None:
        work.backoff.failed(self.host.clock())

    def _forget_others(self, planned: set[int]) -> None:
        for lease, work in list(self._work.items()):
            if work.busy and lease not in planned and isinstance(work.action, BringUp) and work.task:
                gone = lease not in self.host.snapshot.leases and self.host.snapshot.current
                if gone:
                    work.task.cancel()
            elif not work.busy and lease not in planned:
                del self._work[lease]

    async def _drop_all(self) -> None:
        tasks: list[asyncio.Task[Any]] = [
            work.task for work in self._work.values() if work.busy and work.task
        ]
        tasks += [self._forgetting] if self._forgetting is not None else []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._duties.drop()
        self.host.memory.close()
        await self.host.readers.aclose()
        await self.host.idle.aclose()
        await self.host.committing.aclose()
        await self.host.checkpoints.aclose()
        await self.host.carrying.aclose()


def _name(action: Action) -> str:
    return type(action).__name__

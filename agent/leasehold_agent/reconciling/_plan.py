"""What to do next: a pure function from what should be and what is to actions, at most one for a lease.

It knows no history. Whatever happened, and wherever the agent was killed, the next action follows from the chain, the
containers and the notes alone. While the chain may be behind (`current` false), nothing is torn down.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from leasehold.chain import InvalidCid, LeaseState, cid_from_bytes
from leasehold.workload import Restart
from leasehold_agent._errors import DeclineReason
from leasehold_agent.chain import BEHIND, ChainSnapshot, Desired
from leasehold_agent.engine import ContainerFacts
from leasehold_agent.host import MaintenanceWindow
from leasehold_agent.reconciling._renewed import renewed
from leasehold_agent.store import EarlyEnd, Notes, Word, notice_of

WORKLOAD_LABEL = "leasehold.workload"
_PUBLISH_SECONDS = 3_600
"""The least time for publishing outputs, on a host that keeps nothing longer."""
MOST_CRASHES = 10
"""A command that has ended so often in a row within seconds is not started again before its tenant wants something
else. With the pauses between, that is after some three minutes."""
WORTH_CLOSING = 60
"""Seconds: where less is left of a lease, closing it for its tenant gives back less than it is worth."""
TELL_SECONDS = 3_600
"""How long a tenant finds here why a lease could not run, and the end of its log."""
StopReason = Literal["ended", "cancelled", "unstarted", "gone"]


@dataclass(frozen=True)
class Action:
    lease: int


@dataclass(frozen=True)
class BringUp(Action):
    """Fetch, create, start and wait until ready; each part only as far as it is not done."""


@dataclass(frozen=True)
class SendStart(Action):
    """Say on the chain that the lease is ready: billing begins."""


@dataclass(frozen=True)
class Decline(Action):
    reason: DeclineReason


@dataclass(frozen=True)
class Replace(Action):
    """The tenant has set another workload: the container of the old one goes, with its outputs kept first."""


@dataclass(frozen=True)
class HandOver(Action):
    """The lease has another tenant: note it. Its container goes on as it is."""


@dataclass(frozen=True)
class Rest(Action):
    """Its tenant wants the container to stand still: it is stopped with grace, and not started again before he says so.
    The lease goes on.
    """


@dataclass(frozen=True)
class BeginAnew(Action):
    """Its tenant wants the container stopped and started again, also where its command has ended for good."""


@dataclass(frozen=True)
class FitContainer(Action):
    """The lease holds other cells: its container gets their limits, or is made anew where it needs other GPUs."""


@dataclass(frozen=True)
class Tell(Action):
    """The provider has given notice, or it was reorganised away; a card is ill, or well again: the container hears of
    it. And of maintenance that is to come before its lease ends.
    """

    window: MaintenanceWindow | None = None


@dataclass(frozen=True)
class Stop(Action):
    """The lease is over: note it, stop its container with grace, close its volumes, and give its network back."""

    why: StopReason


@dataclass(frozen=True)
class Publish(Action):
    """Pack the outputs, add them to IPFS, publish their CID."""


@dataclass(frozen=True)
class CloseForTenant(Action):
    """The job is done and its results are out: the bill ends here, as the tenant has signed that it should."""


@dataclass(frozen=True)
class Delete(Action):
    """Retention is over and final on the chain: container, network and folder go."""


@dataclass(frozen=True)
class Clear(Action):
    """A lease that could not run: its container goes, and what was wrong stays here for a while, to be told."""


@dataclass(frozen=True)
class Actual:
    """What is here of a lease. `told` is the notice that its container has, `warned` the maintenance that it knows of.
    `ready` and `waiting` are this process's own: what it has seen answer, and what a lease that is not ready yet would
    be declined for. `killed`: somebody on the host ended its container. `restart` is the workload's word on a command
    that has ended, and `resting` says that it is too early to start that again. `networked`: its network is here.
    `roomier`: an output did not fit, and may by now. `ordered`: its tenant has signed that it closes at the end of what
    it runs. `overdue`: its results had their time to be published. `ailing`: what there is to tell of its
    cards has not been told. `attached`: it has volumes. `word`: what its tenant
    has said of its container. `held`: that stands still for a moment, for a checkpoint.
    """

    notes: Notes
    container: ContainerFacts | None = None
    told: EarlyEnd | None = None
    warned: MaintenanceWindow | None = None
    ready: bool = False
    waiting: DeclineReason = "not-ready"
    killed: bool = False
    restart: Restart = Restart.NEVER
    resting: bool = False
    networked: bool = False
    roomier: bool = False
    ordered: bool = False
    overdue: bool = False
    ailing: bool = False
    attached: bool = False
    word: Word = ""
    held: bool = False


class DiskRoom(IntEnum):
    """What the host's disk has left: enough; less than a lease has bought that begins now; next to nothing."""

    ENOUGH = 0
    WANTED = 1
    SHORT = 2


@dataclass(frozen=True)
class Rules:
    """The host's own part of the decision. Times in seconds, confirmations in blocks. `boot` is another once what ran
    has been ended by the host: after a reboot, or a restart of an engine that takes its containers with it.
    `close_after`: how long a lease is billed at least before this host pays for its close. `windows` are when it will
    be worked on.
    """

    boot: str
    confirmations: int
    start_margin: int
    retention_min: int
    retention_max: int
    room: DiskRoom = DiskRoom.ENOUGH
    close_after: int = 0
    windows: tuple[MaintenanceWindow, ...] = ()


def plan(chain: ChainSnapshot, here: Mapping[int, Actual], rules: Rules) -> list[Action]:
    """The actions that are due now; those that free something come first."""
    actions: list[Action] = []
    awaited = _awaited(chain, here)
    for lease in sorted(chain.leases.keys() | here.keys()):
        desired = chain.leases.get(lease)
        actual = here.get(lease, Actual(Notes()))
        if desired is not None and desired.live_at(chain.now):
            action = _while_live(desired, actual, chain, rules)
        else:
            action = _when_over(lease, desired, actual, chain, rules) if chain.current else None
        if action is not None and not (isinstance(action, Delete) and lease in awaited):
            actions.append(action)
    if rules.room and (given := gives_way(chain, here, rules, rules.room)):
        # One at a time: the next look tells whether that was enough.
        actions = [action for action in actions if action.lease != given[0]] + [Delete(given[0])]
    return sorted(actions, key=lambda action: not isinstance(action, Stop | Clear | Delete))


def gives_way(chain: ChainSnapshot, here: Mapping[int, Actual], rules: Rules, room: DiskRoom) -> list[int]:
    """Leases that are over and whose containers are still kept, in the order in which they make room.

    First whoever has been kept longest beyond what was paid for, and last those whose results are not published yet.
    Nobody's data goes before it is his no more: while it is paid for, it yields only where the disk is short. What goes
    on in another lease is not needed twice.
    """
    order: list[tuple[bool, int, int]] = []
    awaited, gone_on = _awaited(chain, here), _gone_on(chain, here)
    for lease, actual in here.items() if chain.current else ():
        desired, notes, container = chain.leases.get(lease), actual.notes, actual.container
        over = desired is None or not desired.live_at(chain.now)
        stopped = container is not None and not (container.running or container.paused)
        if not over or not stopped or notes.gone_at is None or notes.gone_block is None or lease in awaited:
            continue
        owes, kept = _owes_outputs(desired, actual, chain), chain.now - notes.gone_at
        beyond = kept - (0 if lease in gone_on else surely_kept(notes, rules))
        if owes and kept < min(_PUBLISH_SECONDS, notes.billed):
            continue
        if chain.block >= notes.gone_block + rules.confirmations and (beyond >= 0 or room is DiskRoom.SHORT):
            order.append((owes, -beyond, lease))
    return [lease for _, _, lease in sorted(order)]


def _awaited(chain: ChainSnapshot, here: Mapping[int, Actual]) -> set[int]:
    """Leases that are over, and whose data is about to go on in one that begins: it does not go before."""
    noted = {lease: actual.notes for lease, actual in here.items()}
    begins = (
        desired
        for desired in chain.leases.values()
        if desired.state is LeaseState.OPENED
        and desired.live_at(chain.now)
        and not noted.get(desired.lease, Notes()).placement
    )
    return {former for desired in begins if (former := renewed(desired, noted)) is not None}


def _gone_on(chain: ChainSnapshot, here: Mapping[int, Actual]) -> set[int]:
    """Leases that are over, and whose data lives in one that runs: it is kept twice."""
    runs = (lease for lease, desired in chain.leases.items() if desired.state is LeaseState.ACTIVE)
    return {here[lease].notes.renews or 0 for lease in runs if lease in here} - {0}


def finished(actual: Actual, boot: str) -> bool:
    """Whether the command has ended by itself: not by the agent, the engine or the host, nor by a hand on the host."""
    container, notes = actual.container, actual.notes
    if container is None or not container.exited or not notes.launched or notes.stopped:
        return False
    began = container.started_at != notes.started_before  # or the engine went away as it was told to start it
    return notes.ended or (began and notes.boot == boot and not actual.killed)


def starts_again(actual: Actual) -> bool:
    """Whether a command that has ended so is started once more: as the workload wants, unless it only crashes."""
    if actual.notes.crashes >= MOST_CRASHES:
        return False
    failed = actual.container is not None and actual.container.exit_code != 0
    return actual.restart is Restart.ALWAYS or (actual.restart is Restart.ON_FAILURE and failed)


def ended_with(actual: Actual, boot: str) -> int | None:
    """The exit code of a command that has ended by itself and is not started again; None of any other."""
    if actual.container is None or not finished(actual, boot) or starts_again(actual):
        return None
    return actual.container.exit_code


def _while_live(desired: Desired, actual: Actual, chain: ChainSnapshot, rules: Rules) -> Action | None:
    lease, container, opened = desired.lease, actual.container, desired.state is LeaseState.OPENED
    if _former_workload(actual) not in ("", desired.workload.hex()):
        return Replace(lease)
    if (actual.notes.author or actual.notes.tenant) not in ("", desired.author):
        return Replace(lease)  # a reorganisation gave the id to somebody else, who must find nothing here
    if actual.notes.tenant not in ("", desired.tenant):
        return HandOver(lease)
    if actual.notes.failure is not None:
        return Decline(lease, actual.notes.failure) if opened else None
    if opened and any(window.meets(chain.now, chain.now + desired.duration) for window in rules.windows):
        return Decline(lease, "maintenance")
    if actual.word == "restart" and not opened:
        return BeginAnew(lease)
    if finished(actual, rules.boot) and not (starts_again(actual) and not _may_begin(desired, actual)):
        return _when_finished(desired, actual, chain, rules)
    if actual.word == "stop" and not opened:
        return None if _rests(actual) else Rest(lease)
    if container is not None and container.running and not actual.notes.stopped:
        if not opened:
            return _while_billed(desired, actual, chain, rules) if actual.notes.launched else BringUp(lease)
        if actual.ready:
            return SendStart(lease)
    if actual.held and container is not None and container.paused:
        return None
    margin = min(rules.start_margin, (desired.window_ends - desired.start) // 4)
    if opened and chain.now >= desired.window_ends - margin:
        return Decline(lease, actual.waiting)
    return None if actual.resting else BringUp(lease)


def _rests(actual: Actual) -> bool:
    """Whether its container stands still, and is known to do so by the agent's own hand."""
    container = actual.container
    return container is None or (actual.notes.stopped and not (container.running or container.paused))


def _may_begin(desired: Desired, actual: Actual) -> bool:
    """A command that did its work before the lease began, and will do it again: ready as one that still runs is."""
    return (
        desired.state is LeaseState.OPENED
        and actual.container is not None
        and actual.container.exit_code == 0
    )


def _while_billed(desired: Desired, actual: Actual, chain: ChainSnapshot, rules: Rules) -> Action | None:
    """What a container that runs as it should may still have to be told or given."""
    if actual.notes.placement not in (0, desired.placement):
        return FitContainer(desired.lease)
    window = next((window for window in rules.windows if window.meets(chain.now, desired.end)), None)
    told = (actual.told, actual.warned) == (notice_of(desired), window) and not actual.ailing
    return None if told else Tell(desired.lease, window)


def _former_workload(actual: Actual) -> str:
    """What was taken on, by the notes or, should they be lost, by the container's label."""
    if actual.notes.workload or actual.container is None:
        return actual.notes.workload
    return actual.container.labels.get(WORKLOAD_LABEL, "")


def _when_finished(desired: Desired, actual: Actual, chain: ChainSnapshot, rules: Rules) -> Action | None:
    """A job may be done before it could be said to have begun: it is billed as one that was ready. What it leaves is
    published before its bill ends, unless that takes for ever: then it is published out of what is kept.
    """
    if desired.state is LeaseState.OPENED:
        failed = actual.container is None or actual.container.exit_code != 0
        return Decline(desired.lease, "start-failed") if failed else SendStart(desired.lease)
    owes = _unpublished(desired, actual, chain)
    left, billed = desired.end - chain.now, chain.now - desired.start
    worth = left >= WORTH_CLOSING and billed >= rules.close_after
    # While the index may be behind, another workload may have been set, whose job has not begun.
    if actual.ordered and chain.current and worth and (not owes or actual.overdue):
        return CloseForTenant(desired.lease)
    return Publish(desired.lease) if owes else None


def _when_over(
    lease: int, desired: Desired | None, actual: Actual, chain: ChainSnapshot, rules: Rules
) -> Action | None:
    notes, container = actual.notes, actual.container
    if container is None and not notes.workload and not actual.attached:
        return (
            None  # never ours to run: an old lease of the machine, or one declined before anything was made
        )
    up = (
        actual.networked
        or actual.attached
        or (container is not None and (container.running or container.paused))
    )
    if notes.gone_at is None or notes.gone_block is None or up:
        return Stop(lease, _why(desired))
    owes = _owes_outputs(desired, actual, chain)
    waits = owes or notes.lacked is not None  # for room: a disk may be full for a moment
    keep = max(retention(desired, notes, rules), _PUBLISH_SECONDS if waits else 0)
    final = chain.block >= max(notes.gone_block, notes.published_at) + rules.confirmations
    if notes.failure is not None and not notes.billed and chain.now < notes.gone_at + TELL_SECONDS:
        return None if notes.cleared else Clear(lease)
    if final and chain.now >= notes.gone_at + keep:
        return Delete(lease)  # what could not be published by now does not hold the disk for ever
    return Publish(lease) if owes else None


def _why(desired: Desired | None) -> StopReason:
    if desired is None or desired.state is LeaseState.NONE:
        return "gone"
    if desired.state is LeaseState.OPENED:
        return "unstarted"
    return "cancelled" if desired.state in (LeaseState.CANCELLED, LeaseState.REJECTED) else "ended"


def _owes_outputs(desired: Desired | None, actual: Actual, chain: ChainSnapshot) -> bool:
    """Results are published for leases that ran, while the chain still takes them."""
    if desired is None or desired.state not in (LeaseState.ACTIVE, LeaseState.ENDED):
        return False
    return actual.container is not None and actual.notes.launched and _unpublished(desired, actual, chain)


def _unpublished(desired: Desired, actual: Actual, chain: ChainSnapshot) -> bool:
    """Whether there is a result that does not stand on the chain: none was sent yet, or a reorganisation undid it."""
    notes = actual.notes
    seen = chain.current and chain.block > notes.published_at + BEHIND  # by the index, were it there
    return not notes.published or actual.roomier or (seen and _undone(desired, notes))


def _undone(desired: Desired, notes: Notes) -> bool:
    """Whether no result stands, or one of a former workload, whose end nothing has undone."""
    if notes.result is None or desired.result is None:
        return notes.result is not None
    with contextlib.suppress(InvalidCid):  # what is no CID is none of here
        return cid_from_bytes(desired.result) in {*notes.results} - {notes.result}
    return False


def retention(desired: Desired | None, notes: Notes, rules: Rules) -> int:
    """As long as the lease was billed, within the host's bounds; nothing for what never ran. Less, where the
    host needs the room.

    A lease that is gone without a trace was reorganised away and may come back with its data.
    """
    if not notes.launched or (desired is not None and desired.state is LeaseState.CANCELLED):
        return 0
    return max(rules.retention_min, surely_kept(notes, rules))


def kept_until(desired: Desired | None, notes: Notes, rules: Rules) -> tuple[int | None, int | None]:
    """Until when a container that is over is kept where there is room, and where there is little; unix seconds."""
    if notes.gone_at is None:
        return None, None
    return notes.gone_at + retention(desired, notes, rules), notes.gone_at + surely_kept(notes, rules)


def surely_kept(notes: Notes, rules: Rules) -> int:
    """What was paid for: a minute of a lease buys no day of the host's disk."""
    return min(notes.billed, rules.retention_max)

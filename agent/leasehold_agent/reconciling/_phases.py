"""How far a lease is: a table, read from the top, of which the first row that is so counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from leasehold.chain import LeaseState
from leasehold.workload import Restart
from leasehold_agent._runtime import Phase
from leasehold_agent.chain import Desired
from leasehold_agent.engine import ContainerFacts, ended_again, ended_for_good, how_it_ended
from leasehold_agent.reconciling._leases import Record
from leasehold_agent.reconciling._plan import MOST_CRASHES
from leasehold_agent.store import Notes


@dataclass(frozen=True)
class _Sight:
    """All that is known of a lease at one moment. done: its command has ended by itself, for good. pause: seconds until
    it is started again. rests: its tenant wants it to stand still.
    """

    desired: Desired | None
    notes: Notes
    container: ContainerFacts | None
    record: Record
    done: bool
    pause: float
    rests: bool

    @property
    def over(self) -> bool:
        live = (LeaseState.OPENED, LeaseState.ACTIVE)
        return self.notes.gone_at is not None or self.desired is None or self.desired.state not in live

    @property
    def stopping(self) -> bool:
        """Over, and its container still runs or owes its outputs."""
        if not self.over or self.desired is None or self.desired.state is not LeaseState.ENDED:
            return False
        owes = self.notes.launched and not self.notes.published
        return self.container is not None and (self.container.running or owes)

    @property
    def failed(self) -> bool:
        """It cannot run here, and was never billed."""
        return self.notes.failure is not None and not (self.over and self.notes.billed)

    @property
    def billed(self) -> bool:
        active = self.desired is not None and self.desired.state is LeaseState.ACTIVE
        return active and self.notes.launched and not self.notes.stopped

    @property
    def resting(self) -> bool:
        return self.rests and self.desired is not None and self.desired.state is LeaseState.ACTIVE

    @property
    def finished(self) -> bool:
        return self.billed and self.done

    @property
    def how_it_finished(self) -> str | None:
        """How the command ended, what was left behind of its outputs, and what is in the way of its lease's end."""
        if self.container is None:
            return self.left_behind
        crashed = self.notes.crashes >= MOST_CRASHES
        sentence = ended_for_good(self.container, self.notes.crashes, crashed=crashed)
        return " ".join(filter(None, [sentence, self.left_behind, self.record.trouble]))

    @property
    def running(self) -> bool:
        return self.container is not None and self.container.running

    @property
    def made(self) -> bool:
        return self.container is not None and (self.container.running or self.container.state == "created")

    @property
    def left_behind(self) -> str | None:
        return self.notes.failure_detail or None

    @property
    def why_not_up(self) -> str | None:
        """What a tenant who pays should know of a container that does not run, or that keeps ending."""
        container, record = self.container, self.record
        if container is None:
            return record.trouble
        if container.paused:
            return "The container was paused on the host, and goes on in a moment."
        if container.exited and record.starved:
            return "The host had no memory left, and its kernel ended the command: it is started again."
        if container.exited and record.killed:
            return "Somebody on the host ended the container: it is started again."
        restarts = record.workload is not None and record.workload[1].restart is not Restart.NEVER
        if container.exited and restarts and not record.killed:
            return ended_again(container, record.ends, self.pause)
        if container.exited and (container.exit_code or container.out_of_memory) and not record.killed:
            return f"The command ended {how_it_ended(container)}."
        if container.running and record.ends > 1:
            return f"The command has ended {record.ends} times and was started again each time."
        return None


_RESTS = "Its tenant has stopped it. It is billed until its end, and started when he says so."
_FETCHED = ("dataset-missing", "code-missing")
_Row = tuple[Phase, Callable[[_Sight], bool], Callable[[_Sight], str | None]]
_TABLE: tuple[_Row, ...] = (
    # phase      when                                             why it is not running, if it is not
    ("stopping", lambda lease: lease.stopping, lambda lease: lease.left_behind),
    ("declined", lambda lease: lease.over and lease.failed, lambda lease: lease.left_behind),
    ("ended", lambda lease: lease.over, lambda lease: lease.left_behind),
    ("declined", lambda lease: lease.failed, lambda lease: lease.left_behind or lease.notes.failure),
    ("finished", lambda lease: lease.finished, lambda lease: lease.how_it_finished),
    ("stopped", lambda lease: lease.resting, lambda _: _RESTS),
    ("running", lambda lease: lease.billed, lambda lease: lease.why_not_up),
    ("ready", lambda lease: lease.record.ready and lease.running, lambda lease: lease.record.trouble),
    ("starting", lambda lease: lease.made, lambda lease: lease.record.trouble),
    (
        "fetching",
        lambda lease: lease.record.waiting in _FETCHED,
        lambda lease: lease.record.trouble,
    ),
    ("pulling", lambda _: True, lambda lease: lease.record.trouble),
)


def phase_of(
    desired: Desired | None,
    notes: Notes,
    container: ContainerFacts | None,
    record: Record,
    *,
    done: bool = False,
    pause: float = 0.0,
    rests: bool = False,
) -> tuple[Phase, str | None]:
    """How far a lease is, and why it is not running if it is not. done: its command has ended by itself, for good.
    pause: seconds until it is started again. rests: its tenant wants it to stand still.
    """
    lease = _Sight(desired, notes, container, record, done, pause, rests)
    return next((phase, why(lease)) for phase, when, why in _TABLE if when(lease))

"""What the operator owes the chain for its machines: signs of life, and word that an outage is over.

Like the plan for leases, what is owed follows from the chain alone. Nothing is sent while this host could not serve:
an answer says that the machine lives, and whoever reads it has nothing else to go by. What counts as serving is the
caller's to say, and none of it may lie in a tenant's hands, or a tenant could make the machine fall silent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from leasehold.chain import LeaseState
from leasehold.errors import LeaseholdError
from leasehold_agent._backoff import Backoff
from leasehold_agent.chain._desired import ChainGate, ChainSnapshot, RunningOutage, StandingChallenge

_log = structlog.get_logger("leasehold_agent")


@dataclass(frozen=True)
class Stalled:
    """The machine left a lease unstarted, which is over by now."""

    machine: int


Duty = StandingChallenge | RunningOutage | Stalled


def duties(chain: ChainSnapshot, since: int) -> list[Duty]:
    """What is due now, at most one for a machine. since: the chain's time when this process began.

    Of an index that may be behind only the stall is not believed: what is said of the others is asked of the node
    again before anything is sent, and time runs against who waits.

    An outage that the operator reported while this process ran is left alone: somebody is about to take the host
    down, and has said so first. The process that comes after ends it.
    """
    due: list[Duty] = []
    for machine in chain.machines.values():
        asked, outage = chain.asked.get(machine.id), chain.outages.get(machine.id)
        if asked is not None and chain.now <= asked.until:
            due.append(asked)
        elif outage is not None:
            if not (outage.reported and outage.since > since):
                due.append(outage)
        elif chain.current and machine.stalled and not machine.down and not _late(chain, machine.id):
            due.append(Stalled(machine.id))
    return due


def _late(chain: ChainSnapshot, machine: int) -> bool:
    """Whether a lease of the machine waits for somebody to say that it was not started in time."""
    return any(
        lease.machine == machine and lease.state is LeaseState.OPENED and not lease.live_at(chain.now)
        for lease in chain.leases.values()
    )


@dataclass
class _Work:
    """The duty of a machine that was taken up last."""

    duty: Duty
    backoff: Backoff = field(default_factory=Backoff)
    task: asyncio.Task[None] | None = None


class Duties:
    """Does what is due, one thing at a time for each machine. `clock` is monotonic seconds."""

    def __init__(self, chain: ChainGate, clock: Callable[[], float]) -> None:
        self._chain = chain
        self._clock = clock
        self._since: int | None = None
        self._work: dict[int, _Work] = {}

    def begin(self, snapshot: ChainSnapshot, *, serves: bool, is_well: bool = True) -> None:
        """Take up what is due, if this host serves: signs of life only, where it lives and is not well. What has begun
        goes on by itself.
        """
        if self._since is None and snapshot.now:
            self._since = snapshot.now
        for duty in duties(snapshot, self._since or 0) if serves else ():
            if not (is_well or isinstance(duty, StandingChallenge)):
                continue
            work = self._work.get(duty.machine)
            if work is not None and work.task is not None and not work.task.done():
                continue
            if work is None or work.duty != duty:
                work = self._work[duty.machine] = _Work(duty)
            if self._clock() >= work.backoff.until:
                work.task = asyncio.create_task(self._perform(work))

    async def settle(self) -> None:
        """Wait until what has begun has ended."""
        await asyncio.gather(*self._tasks())

    async def drop(self) -> None:
        """Stop where it stands. What was sent already may still be mined."""
        tasks = self._tasks()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [work.task for work in self._work.values() if work.task is not None and not work.task.done()]

    async def _perform(self, work: _Work) -> None:
        duty = work.duty
        try:
            await self._act(duty)
            work.backoff.reset()
        except (LeaseholdError, TimeoutError) as error:
            # Somebody else's word may have come first: what is due then follows from the next snapshot.
            _log.warning("duty", machine=duty.machine, problem=str(error))
            work.backoff.failed(self._clock())

    async def _act(self, duty: Duty) -> None:
        match duty:
            case StandingChallenge():
                _log.warning("duty", duty="answer", machine=duty.machine, challenge=duty.challenge)
                await self._chain.answer(duty)
            case RunningOutage():
                _log.warning("duty", duty="end-outage", machine=duty.machine, fault=duty.fault)
                await self._chain.end_outage(duty)
            case Stalled():
                _log.warning("duty", duty="recover", machine=duty.machine)
                await self._chain.recover(duty.machine)

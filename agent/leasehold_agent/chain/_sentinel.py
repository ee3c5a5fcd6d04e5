"""A process beside the agent's that gives a sign of life where the agent does not get to it.

A challenge that nobody answers costs stake, of which its tenants get half: so whatever keeps the agent busy pays
somebody. The agent answers within a look or two. This process asks the nodes itself whether a challenge stands, and
answers one that has stood for a while. It listens to nobody and writes nothing down: it has descriptors, memory and
threads of its own, and neither the index nor the disk is between it and the chain.

It is forked before the agent begins and ends with it, so that it never speaks for an agent that does not run. Nor
does it while the engine is dead, or while the agent knows that it cannot serve (`Told`). Between the two stands a
process that does nothing but start it again should it end (`_restarter`): the agent itself has threads by then, and
cannot fork. What is started again is no fork, and finds in the memory that all three have what it is to know.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import importlib
import mmap
import os
import pickle
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import structlog

from leasehold.chain import Challenge, Deployment, Faults, Pool, Rpc, Sender
from leasehold.errors import LeaseholdError, RpcUnavailable
from leasehold_agent._config import AgentSettings
from leasehold_agent._logs import configure_logs
from leasehold_agent.chain import _restarter
from leasehold_agent.chain._owner import owner_of
from leasehold_agent.engine import engine_answers
from leasehold_agent.host import load_identity

_log = structlog.get_logger("leasehold_agent")
_LOOK_SECONDS, _LOOK_LIMIT = 5.0, 120.0
_SILENT_SECONDS = 300
"""Without a look for so long it is taken for dead: two looks that take all the time there is for them, and more."""
_PART_OF_WINDOW = 40
"""A challenge is left to the agent for this part of its window."""
_PAGE, _MACHINES, _NUMBER = 1 << 16, 4_096, 8
_PR_SET_PDEATHSIG = 1
_OOM_SCORE = "-990"
_AGAIN = "from leasehold_agent.__main__ import sentinel; sentinel()"


class Told:
    """What the agent and its sentinel let each other know, in memory that both see: saying it takes no descriptor.

    descriptor: of the memory where there is some already; what it says then is left as it is.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self._page = mmap.mmap(-1 if descriptor is None else descriptor, _PAGE)
        if not self._page[0]:
            self.serves = True

    @property
    def serves(self) -> bool:
        """False while the agent knows that it cannot serve."""
        return self._page[0] == 1

    @serves.setter
    def serves(self, value: bool) -> None:
        self._page[0] = 1 if value else 2

    @property
    def machines(self) -> list[int]:
        """The machines that are the agent's, as far as it has seen."""
        count = int.from_bytes(self._page[8:16])
        numbers = (self._page[16 + _NUMBER * i : 16 + _NUMBER * (i + 1)] for i in range(count))
        return [int.from_bytes(number) for number in numbers]

    @machines.setter
    def machines(self, machines: Collection[int]) -> None:
        named = sorted(machines)[:_MACHINES]
        self._page[16 : 16 + _NUMBER * len(named)] = b"".join(m.to_bytes(_NUMBER) for m in named)
        self._page[8:16] = len(named).to_bytes(8)

    @property
    def looked(self) -> int:
        """When the sentinel last looked, in monotonic seconds, which all processes share; 0: there is none."""
        return int.from_bytes(self._page[-_NUMBER:])

    @looked.setter
    def looked(self, seconds: int) -> None:
        self._page[-_NUMBER:] = seconds.to_bytes(_NUMBER)

    def lacks(self) -> list[str]:
        """A sentence if the sentinel is gone."""
        if not self.looked or time.monotonic() - self.looked < _SILENT_SECONDS:
            return []
        return ["The process that answers challenges in the agent's stead has ended: restart the agent."]


@dataclass
class Sentinel:
    """`look` once in a while. `alive` says whether the engine answers, `clock` is monotonic seconds."""

    rpc: Rpc
    pool: Pool
    told: Told
    operator: str
    owner: str
    alive: Callable[[], Awaitable[bool]]
    clock: Callable[[], float] = time.monotonic
    _since: dict[tuple[int, int], float] = field(default_factory=dict)
    _mine: list[int] = field(default_factory=list)
    _seen: int = 0

    async def look(self) -> list[int]:
        """Answer what has stood for long enough; returns the machines that it was answered for.

        Raises what went wrong first, once all have been looked after.
        """
        faults, machines = await self.pool.faults(), await self._machines()
        standing: dict[tuple[int, int], float] = {}
        # All at once: a machine that cannot be asked about, or whose answer waits in a pool, silences no other.
        looks = [self._look_at(faults, machine, standing) for machine in machines]
        answers = await asyncio.gather(*looks, return_exceptions=True)
        self._since = standing
        for error in answers:
            if isinstance(error, BaseException):
                raise error
        return [machine for machine, answered in zip(machines, answers, strict=True) if answered]

    async def _look_at(self, faults: Faults, machine: int, standing: dict[tuple[int, int], float]) -> bool:
        asked = await faults.challenge_of(machine)
        if not asked.id:
            return False
        since = standing[machine, asked.id] = self._since.get((machine, asked.id), self.clock())
        if not (self.told.serves and await self._late(machine, asked, since) and await self.alive()):
            return False
        await self._answer(faults, machine, asked)
        return True

    async def _late(self, machine: int, asked: Challenge, since: float) -> bool:
        """Whether the agent has had its time, and the question still counts."""
        until = await self.pool.answer_until(machine, asked.at)
        head = await self.rpc.header()
        if head is None or head.timestamp > until:
            return False
        waited = max(self.clock() - since, head.timestamp - asked.at)
        return waited >= (until - asked.at) / _PART_OF_WINDOW

    async def _answer(self, faults: Faults, machine: int, asked: Challenge) -> None:
        _log.warning("sentinel", duty="answer", machine=machine, challenge=asked.id)
        await faults.answer(machine)

    async def _machines(self) -> Sequence[int]:
        """Those that the agent told; before it has, those that the chain names, each asked for once."""
        if told := self.told.machines:
            return told
        # A look is cut off after a while: what was seen of a long list by then is not asked for again.
        for machine in range(self._seen + 1, await self.pool.machine_count() + 1):
            named = await self.pool.machine_of(machine)
            if (named.operator, named.provider) == (self.operator, self.owner):
                self._mine.append(machine)
            self._seen = machine
        return self._mine


async def keep(settings: AgentSettings, told: Told) -> None:
    """Look for ever."""
    assert settings.deployment is not None
    deployment, identity = Deployment.load(settings.deployment), load_identity(settings.state_dir)
    async with Rpc(list(settings.rpc)) as rpc:
        # It waits behind nothing of the agent's: what offers too little for its gas may stand there for ever.
        sender = Sender(rpc, identity.operator, overtakes=settings.answer_cost).prepared()
        pool = Pool(rpc, deployment, sender)
        alive = partial(engine_answers, settings.docker)
        sentinel = Sentinel(rpc, pool, told, identity.operator.address, owner_of(settings), alive)
        known = False
        while True:
            try:
                async with asyncio.timeout(_LOOK_LIMIT):
                    if not known:
                        await rpc.check_chain(deployment)
                        known = True
                    await sentinel.look()
            except RpcUnavailable:
                pass  # the agent says so
            except (LeaseholdError, OSError, TimeoutError) as error:
                _log.warning("sentinel", problem=str(error))
            except Exception:  # noqa: BLE001 - nothing may end it
                _log.exception("sentinel")
            told.looked = int(time.monotonic())
            await asyncio.sleep(_LOOK_SECONDS)


@contextlib.contextmanager
def sentinel_beside(settings: AgentSettings) -> Iterator[Told]:
    """A sentinel for as long as this lasts; before any thread is started, since a fork takes along one only."""
    if settings.deployment is None or not settings.rpc:
        yield Told()  # `run` says what is missing
        return
    memory = _memory_with(settings)
    told = Told(memory)
    told.looked = int(time.monotonic())
    _share_what_is_loaded()
    child = _fork(partial(_have_a_sentinel, settings, told, memory))
    os.close(memory)
    try:
        yield told
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def begin_again(memory: int, code: int) -> None:
    """Be a sentinel that is no fork. memory: the descriptor of what the agent tells it and of the agent's settings, as
    they are in force. code: with which the one before it ended.
    """
    configure_logs()
    _log.error("sentinel", problem="It has ended and is started again.", code=code)
    settings: AgentSettings = pickle.loads(os.pread(memory, os.fstat(memory).st_size, _PAGE))
    _be_the_sentinel(settings, Told(memory))


def _memory_with(settings: AgentSettings) -> int:
    """Memory with room for what the agent will tell, and the settings after it; its descriptor. The file that they came
    from may be another by the time that a sentinel begins again, or none that can be read.
    """
    memory = os.memfd_create("leasehold-sentinel")
    os.truncate(memory, _PAGE)
    os.pwrite(memory, pickle.dumps(settings), _PAGE)
    return memory


def _share_what_is_loaded() -> None:
    """What is here by now, most of it code, stays for good. The collector that looked through it would write to its
    pages, and the kernel have to copy each for every process. What both send by is loaded once.
    """
    importlib.import_module("web3")
    gc.collect()
    gc.freeze()


def _have_a_sentinel(settings: AgentSettings, told: Told, memory: int) -> None:
    """Begin one, and become what starts the next. The child is this process's, whatever that becomes."""
    child = _fork(partial(_be_the_sentinel, settings, told))
    os.set_inheritable(memory, True)
    alone = "-I" if sys.flags.isolated else "-P"  # nothing is imported from where the agent happens to stand
    again = [sys.executable, alone, "-c", _AGAIN, str(memory)]
    small = [sys.executable, "-I", "-S", _restarter.__file__, str(child), str(_LOOK_SECONDS), *again]
    try:
        os.execv(small[0], small)
    except OSError as error:  # it has its sentinel all the same
        _log.warning("sentinel", problem=f"{small[0]}: {error.strerror}")
        _restarter.restart(child, _LOOK_SECONDS, again)


def _be_the_sentinel(settings: AgentSettings, told: Told) -> None:
    asyncio.run(keep(settings, told))


def _fork(work: Callable[[], None]) -> int:
    """A child that does `work` and ends with this process, whatever happens; its number."""
    parent = os.getpid()
    if child := os.fork():
        return child
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        if os.getppid() == parent:
            with contextlib.suppress(OSError):
                Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)
            work()
    except Exception:  # noqa: BLE001 - a child that has nobody to raise it to
        _log.exception("sentinel")
    finally:
        os._exit(1)

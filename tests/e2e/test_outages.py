"""The Docker engine, the IPFS node and the RPC endpoint, each away for a while under a running lease.

The container must not notice, and the agent must take up where it was without help: it sees what happened
meanwhile (the lease was extended), and then does what only a working whole can do (stop, publish).
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from devnet.moments import standing_still
from devnet.relay import Relay
from devnet.site import Site, make_site
from devnet.tenant import Tenant
from devnet.world import World
from leasehold.chain import LeaseClosed, ResultPublished, parse_lease
from leasehold.errors import ContractError

from .test_reorg import another_chain

pytestmark = pytest.mark.slow

SECONDS = [pytest.param(3, id="3s"), pytest.param(30, id="30s", marks=pytest.mark.deep)]


@dataclass
class Running:
    """A lease that runs, and the process that must go on."""

    site: Site
    tenant: Tenant
    relay: Relay
    lease: str = ""
    process: tuple[int, str] = (0, "")
    agent: int = 0
    ends: int = 0
    _never: threading.Event = field(default_factory=threading.Event)

    def begin(self, duration: int) -> bool:
        """Rents for so many seconds; whether it was seen to run before they were over."""
        sealed = self.tenant.sealed(self.tenant.dataset("an answer"))
        self.lease = self.tenant.open(sealed, duration=duration)
        self.site.until(lambda: self._active() and (self.running() or time.time() > self._end()))
        self.ends, pid = self._end(), self._pid()
        if not pid:
            self.tenant.pool(lambda pool: pool.close(self.number))
            return False
        self.process = (pid, born(pid))
        assert self.site.host.process is not None
        self.agent = self.site.host.process.pid
        return True

    def extended(self) -> bool:
        """Whether it could still be extended: a slow machine may need longer than the lease has."""
        try:
            self.tenant.pool(lambda pool: pool.extend(self.number, 3_600))
        except ContractError:
            self.tenant.pool(lambda pool: pool.close(self.number))
            return False
        return True

    def lasting(self, seconds: float, *, past: float = 0) -> None:
        """Watches the container's process for so long, and until a moment in unix seconds is `past`."""
        deadline = max(time.time() + seconds, past)
        while time.time() < deadline:
            self.untouched()
            self._never.wait(0.1)

    def untouched(self) -> None:
        """The same process of the container, and of the agent."""
        pid, birth = self.process
        assert born(pid) == birth
        assert self.site.host.process is not None
        assert self.site.host.process.pid == self.agent
        assert self.site.host.process.poll() is None

    def running(self) -> bool:
        return any(each["State"]["Running"] for each in self.site.containers(self.lease))

    def closes(self) -> None:
        """Past its first end the extended lease still runs; closed, it stops and its results are published."""
        self.lasting(0, past=self.ends + 2)
        assert self._pid() == self.process[0]
        self.tenant.pool(lambda pool: pool.close(self.number))
        self.site.until(lambda: not self.running())
        self.site.until(lambda: self.site.events(ResultPublished, self.lease))
        (published,) = self.site.events(ResultPublished, self.lease)
        (closed,) = self.site.events(LeaseClosed, self.lease)
        assert isinstance(published, ResultPublished)
        assert isinstance(closed, LeaseClosed)
        assert self.tenant.result(published.cid, self.lease)["answer"] == "an answer"
        assert closed.paid + closed.fee + closed.refunded == self.tenant.lease(self.number).deposit

    @property
    def number(self) -> int:
        return parse_lease(self.lease)

    def _active(self) -> bool:
        return bool(self.tenant.lease(self.number).state.name == "ACTIVE")

    def _end(self) -> int:
        return self.tenant.lease(self.number).end

    def _pid(self) -> int:
        (container,) = self.site.containers(self.lease)
        return int(container["State"]["Pid"])


def born(pid: int) -> str:
    """When a process began, in the kernel's ticks: tells it from a later one of the same id."""
    return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[19]


@pytest.fixture(scope="module")
def machine(world: World) -> Iterator[tuple[Site, Tenant, Relay]]:
    """On a chain of its own, whose time is the clock's: others move theirs ahead."""
    with another_chain(world) as chain:
        port = urlsplit(chain.anvil.url).port
        assert port is not None
        with Relay(port) as relay, make_site(chain, "--min", "10s", rpc=[relay.url], ws=relay.ws_url) as site:
            yield site, Tenant(site), relay


@pytest.fixture
def running(machine: tuple[Site, Tenant, Relay]) -> Running:
    return Running(*machine)


# -------------------------------------------------------------------------------------------------------- outages


@contextlib.contextmanager
def without_the_engine(running: Running) -> Iterator[None]:
    engine = running.site.world.engine
    engine.kill()
    try:
        yield
    finally:
        engine.start()


@contextlib.contextmanager
def without_ipfs(running: Running) -> Iterator[None]:
    world = running.site.world
    world.provider_ipfs.stop()
    try:
        yield
    finally:
        world.provider_ipfs.start()
        world.renter_ipfs.connect(world.provider_ipfs)


@contextlib.contextmanager
def without_an_endpoint(running: Running) -> Iterator[None]:
    """Nobody listens at the RPC address."""
    running.relay.cut()
    try:
        yield
    finally:
        running.relay.mend()


def longer(seconds: int) -> Iterator[int]:
    """So many, and where that was too short for this machine, twice as many."""
    while True:
        yield seconds
        seconds *= 2


Outage = Callable[[Running], contextlib.AbstractContextManager[None]]


@pytest.mark.parametrize("seconds", SECONDS)
@pytest.mark.parametrize(
    "outage", [without_the_engine, without_ipfs, without_an_endpoint], ids=lambda o: o.__name__
)
def test_the_lease_is_extended_while_a_part_is_away(running: Running, outage: Outage, seconds: int) -> None:
    """The lease's first end comes while the part is away or soon after: only the extension keeps it going."""
    for duration in longer(max(10, seconds - 5)):
        if not running.begin(duration):
            continue
        with outage(running):
            if extended := running.extended():
                running.lasting(seconds)
        if extended:
            break
    running.closes()


@pytest.mark.parametrize("seconds", SECONDS)
def test_the_node_accepts_and_never_answers(running: Running, seconds: int) -> None:
    """Worse than one that refuses: connections stand and nothing comes of them."""
    for duration in longer(seconds + 20):
        if not running.begin(duration):
            continue
        with standing_still(running.site.world.anvil.pid):
            if time.time() < running.ends - 2:  # else it may have ended before
                running.lasting(seconds)
        if running.extended():
            break
    running.closes()


def test_a_lease_that_ended_unseen_is_stopped_once_the_chain_is_back(running: Running) -> None:
    """While nobody can say whether it was extended it runs on; then it ends without help."""
    running.begin(3_600)
    with without_an_endpoint(running):
        running.tenant.pool(lambda pool: pool.close(running.number))
        running.lasting(3)
        assert running.running()
    running.site.until(lambda: not running.running())
    running.site.until(lambda: running.site.events(ResultPublished, running.lease))

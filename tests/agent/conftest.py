"""What the agent's tests share: a real Docker engine and a real IPFS node, and an agent on a chain with a
pool.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pynvml
import pytest
import structlog
from tests.agent.nvml.smi import install as install_smi
from tests.agent.nvml.standin import StandIn, environment, load
from tests.agent.programs.mps_control import install as install_mps
from tests.agent.programs.mps_here import Here, ToolsHere, groups_of, kill_daemon

from devnet import images
from devnet.engine import Engine
from devnet.images import Image
from devnet.kubo import Kubo
from devnet.patience import patient
from leasehold.chain import Indexer, Lease, LeaseRequest, LeaseState, Pool, Rpc, Sender, Terms
from leasehold.datasets import Ipfs
from leasehold.market import canonical
from leasehold.workload import Workload, digest, load_workload, seal
from leasehold_agent._config import AgentSettings
from leasehold_agent._runtime import LeaseHandle
from leasehold_agent._serve import make_host
from leasehold_agent.cards import HardwareFiles
from leasehold_agent.chain import PoolGate, follow
from leasehold_agent.engine import ContainerFacts, Images
from leasehold_agent.host import Identity, load_identity
from leasehold_agent.reconciling import DockerRuntime, Host, Reconciler

PROVIDER, TENANT, OTHER = 1, 2, 3
TERMS = Terms(
    price=10**18,
    spot_price=0,
    min_duration=1,
    max_duration=30 * 86_400,
    trial=0,
    available_until_day=60_000,
)
GIB = 1 << 30


REAL = os.environ.get("LEASEHOLD_TEST_CARDS") == "real"
"""Whether the cards of this host are meant (`make test-gpu`), and not those that stand in for them."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who takes cards that can be changed cannot be meant for real ones."""
    for item in items:
        if "nvml" in getattr(item, "fixturenames", ()):
            item.add_marker("standin")


@pytest.fixture(autouse=True)
def log_as_it_was() -> Iterator[None]:
    """Commands that a test runs in this process set up a log of their own, whose file ends with the test."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[Engine]:
    """A Docker engine of the tests' own, with the tiny image in it."""
    with Engine(size_gib=8) as engine:
        images.load(engine.url, images.tiny())
        yield engine


@pytest.fixture(scope="session")
def tiny() -> Image:
    return images.tiny()


@pytest.fixture(scope="session")
def kubo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubo]:
    with Kubo(tmp_path_factory.mktemp("kubo")) as node:
        yield node


async def made_room(images: Images, *needed: str) -> bool:
    """Whether one image went that is none of `needed`, as workloads name them."""
    for used, note in images.idle(needed):
        if await images.forget(note, used):
            return True
    return False


@pytest.fixture
def nvml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """A host's driver without a card so far, for this process and those that it starts; `nvml.add()` puts one in."""
    host = StandIn(tmp_path / "nvml")
    for name, value in environment(host.file).items():
        monkeypatch.setenv(name, value)
    load()
    with contextlib.suppress(pynvml.NVMLError):
        while True:  # what a test before has left open
            pynvml.nvmlShutdown()
    return host


@pytest.fixture
def mps_tools(nvml: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """NVIDIA's tools on the PATH; returns where the one of MPS keeps what it is asked."""
    install_smi(tmp_path / "bin", nvml)
    asked = install_mps(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return asked


@pytest.fixture
def mps_folder() -> Iterator[Path]:
    """Where daemons of MPS have their sockets, whose paths have 107 bytes at most; what runs there is ended."""
    with tempfile.TemporaryDirectory(prefix="mps") as made:
        yield Path(made)
        for number in Path(made).rglob("nvidia-cuda-mps-control.pid"):
            kill_daemon(number)


@pytest.fixture
def here(nvml: StandIn, mps_folder: Path, tmp_path: Path) -> Iterator[Here]:
    """A host with a card and MPS on it, all in this process."""
    tools = ToolsHere(nvml)
    yield Here(nvml, nvml.add(), mps_folder, tools, groups_of(tmp_path, smi=tools.program("nvidia-smi")))
    tools.close()


@dataclass
class Rig:
    """An agent in this process, on a chain of its own; `restart` makes a new one over the same state
    folder.
    """

    settings: AgentSettings
    chain: Any  # PoolChain of tests/conftest.py
    identity: Identity
    machine: int
    ipfs: Ipfs
    image: str
    host: Host = field(init=False)
    reconciler: Reconciler = field(init=False)
    runtime: DockerRuntime = field(init=False)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def start(self) -> None:
        self._stack = AsyncExitStack()
        deployment = self.chain.deployment
        rpc = await self._stack.enter_async_context(Rpc([self.chain.anvil.url]))
        index = await self._stack.enter_async_context(
            Indexer(f"sqlite:///{self.settings.state_dir / 'index.sqlite'}", deployment)
        )
        sender = Sender(rpc, self.identity.operator, poll=0.02)
        self._stack.push_async_callback(sender.aclose)
        pool = Pool(rpc, deployment, sender)
        gate = PoolGate(rpc, pool, index, self.identity.operator.address, self.settings.owner)
        self.host = await make_host(self._stack, self.settings, self.identity, deployment, gate, self.ipfs)
        self.reconciler = Reconciler(self.host)
        self.runtime = DockerRuntime(self.host, self.reconciler)
        wake = self.reconciler.wake
        self._tasks = [
            asyncio.create_task(follow(rpc, self.chain.anvil.ws_url, deployment, index, wake)),
            asyncio.create_task(self.reconciler.run()),
        ]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._stack.aclose()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    # ------------------------------------------------------------------------------------------------ as
    # a renter

    def workload(self, **fields: object) -> Workload:
        return load_workload({"version": 1, "image": self.image, "command": ["sleep", "600"], **fields})

    async def open(self, workload: Workload | None = None, *, upload: bool = True, **request: Any) -> int:
        """Seal, upload and open; returns the lease's id."""
        sealed = seal(workload or self.workload(), self.identity.age_recipient)
        return await self.open_sealed(sealed, upload=upload, **request)

    async def open_sealed(self, sealed: bytes, *, upload: bool = True, **request: Any) -> int:
        if upload:
            await self.host.supplies.uploads.put(digest(sealed), sealed)
        values = {"share": 8, "duration": 3_600, "revision": 1} | request
        lease, _ = await self.chain.pool(TENANT).open(
            LeaseRequest(
                machine=self.machine,
                max_price=TERMS.price,
                workload=digest(sealed),
                allow_unverified=True,
                **values,
            )
        )
        return int(lease)

    # --------------------------------------------------------------------------------------------- what is so

    async def until(self, ready: Callable[[], Any], seconds: float = 30.0) -> None:
        """Wait for `ready()`, which may be a coroutine; looks again with every pass of the loop."""
        async with asyncio.timeout(patient(seconds)):
            while True:
                found = ready()
                if asyncio.iscoroutine(found):
                    found = await found
                if found:
                    return
                await asyncio.sleep(0.02)

    async def lease(self, lease: int) -> Lease:
        return await self.chain.pool().lease_of(lease)  # type: ignore[no-any-return]  # the fixture is untyped here

    async def reaches(self, lease: int, state: LeaseState, seconds: float = 30.0) -> None:
        async def reached() -> bool:
            return (await self.lease(lease)).state is state

        await self.until(reached, seconds)

    async def container(self, lease: int) -> ContainerFacts | None:
        return await self.host.containers.engine.inspect(self.host.containers.names.container(lease))

    async def handle(self, lease: int) -> LeaseHandle:
        found = await self.runtime.lookup(lease)
        assert found is not None
        return found

    async def inside(self, lease: int, command: str) -> tuple[int, str]:
        """Run a shell command in the lease's container; exit code and output."""
        stream = await self.runtime.exec(lease, ["sh", "-c", command])
        try:
            output = b"".join([data async for _, data in stream])
            return await stream.wait(), output.decode()
        finally:
            await stream.close()


def sold(settings: AgentSettings, *cards: str, units: int = 1, host_units: int = 1) -> bytes:
    """Keep what a machine of so many CPU units, or with cards of these UUIDs, is described as; gives its digest."""
    gpus = [{"uuid_hash": hashlib.sha256(uuid.encode()).hexdigest()} for uuid in cards]
    document = {"gpus": gpus, "cpu_units": 0 if gpus else units, "host_units": host_units}
    return HardwareFiles(settings.hardware_dir).keep(canonical(document))


@pytest.fixture
async def rig_of(
    chain: Any, docker_engine: Engine, kubo: Kubo, tiny: Image, tmp_path: Path
) -> AsyncIterator[Callable[..., Any]]:
    """Makes an agent with settings of the test's own, registers its machine, and starts it."""
    async with contextlib.AsyncExitStack() as stack:

        async def make(**settings: Any) -> Rig:
            chosen = AgentSettings.model_validate(
                {
                    "state_dir": tmp_path / "state",
                    "owner": chain.address(PROVIDER),
                    "docker": docker_engine.url,
                    "engine_netns": docker_engine.netns,
                    "ipfs": kubo.api,
                    "public_host": "127.0.0.1",
                    "ports_host": docker_engine.address,
                    "tick_seconds": 0.2,
                    "close_after": 0,
                    "confirmations": 0,
                    "disk_reserve": 1 << 28,
                    "memory_reserve": 1 << 28,
                    "fetch_seconds": 3,
                }
                | settings
            )
            identity = load_identity(chosen.state_dir)
            chain.anvil.request("anvil_setBalance", identity.operator.address, hex(10**19))
            await chain.token(PROVIDER).approve(chain.deployment.controller, 10**30)
            await chain.token(TENANT).approve(chain.deployment.controller, 10**30)
            machine, _ = await chain.pool(PROVIDER).register(
                TERMS,
                1,
                1,
                sold(chosen),
                bytes(32),
                identity.operator.address,
                await chain.consent(PROVIDER, identity.operator),
            )
            ipfs = await stack.enter_async_context(Ipfs(kubo.api))
            rig = Rig(chosen, chain, identity, machine, ipfs, tiny.id)
            await rig.start()
            stack.push_async_callback(_cleaned, rig)
            return rig

        yield make


@pytest.fixture
async def rig(rig_of: Callable[..., Any]) -> Rig:
    return await rig_of()  # type: ignore[no-any-return]  # a factory fixture


async def _cleaned(rig: Rig) -> None:
    """An agent waits for its engine for ever; a test whose engine did not come back must not."""
    async with asyncio.timeout(patient(60)):
        await _clean(rig)


async def _clean(rig: Rig) -> None:
    await rig.stop()
    await rig.start()
    for task in rig._tasks:
        task.cancel()
    await asyncio.gather(*rig._tasks, return_exceptions=True)
    engine = rig.host.containers.engine
    for container in await engine.containers(rig.host.containers.names.filter):
        await engine.remove(container.name)
    for lease in rig.host.leases.folders():
        await rig.host.containers.remove(lease)  # and what was kept of it
    for lease in rig.host.volumes.held():
        await rig.host.volumes.detach(lease)
    for network in await engine.networks(rig.host.containers.names.filter):
        await engine.remove_network(network)
    await rig.host.containers.firewall.remove()
    await rig.stop()

"""The command line over a real chain: Typer's runner, Anvil with a pool, keystores of Anvil's accounts."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import pytest
from typer import testing
from typer.testing import CliRunner

from devnet.anvil import Anvil
from devnet.kubo import Kubo
from devnet.patience import patient
from devnet.pool import consent_of
from leasehold.chain import Deployment, Keystore, Lease, LeaseState, LocalSigner, Rpc, Sender
from leasehold.chain import Pool as Binding
from leasehold.cli import _waiting, app
from leasehold.datasets import new_identity, recipient_of

PASSWORD = "correct horse"
# A process has one command; here there are hundreds, and what reads each option would be built anew for each.
vars(testing)["_get_command"] = cache(vars(testing)["_get_command"])


class PoolState(Protocol):
    """What the shared fixture `pool_state` gives."""

    @property
    def state(self) -> Path: ...
    @property
    def deployment(self) -> Path: ...


@dataclass
class Ran:
    """How a command ended. `json` is stdout, which has to be one document."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Cli:
    """A person at a terminal: a home of their own, a chain, and a wallet for each name."""

    home: Path
    deployment: Path
    rpc: str
    ipfs: str = "/ip4/127.0.0.1/tcp/1"
    env: dict[str, str] = field(default_factory=dict)
    without_agent: bool = True  # no agent runs behind `host`, and most tests want none

    def __call__(self, *args: str, wallet: str | None = None, typed: str = "", ok: bool = True) -> Ran:
        """Run a command; `ok` demands that it ends well."""
        if self.without_agent and args[:1] in (("rent",), ("move",)):
            args = (args[0], "--without-agent", *args[1:])
        result = CliRunner(env=self.environment(wallet)).invoke(app, args, input=typed)
        ran = Ran(result.exit_code, result.stdout, result.stderr)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        if ok:
            assert ran.code == 0, f"{args} ended with {ran.code}: {ran.err}{ran.out}"
        else:
            assert ran.code != 0, f"{args} ended well: {ran.out}"
            assert "Traceback" not in ran.err
        return ran

    def environment(self, wallet: str | None = None) -> dict[str, str]:
        """What the command finds in its environment."""
        return {
            "LEASEHOLD_HOME": str(self.home),
            "LEASEHOLD_DEPLOYMENT": str(self.deployment),
            "LEASEHOLD_RPC": self.rpc,
            "LEASEHOLD_IPFS": self.ipfs,
            "LEASEHOLD_PASSWORD": PASSWORD,
            "LEASEHOLD_DOCUMENTS_TIMEOUT": str(patient(5)),
            "COLUMNS": "200",
            "NO_COLOR": "1",
            **({"LEASEHOLD_WALLET": wallet} if wallet else {}),
            **self.env,
        }


@dataclass
class Pool:
    """A running chain with a pool on it; account 0 owns the pool."""

    anvil: Anvil
    deployment: Deployment
    path: Path


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, nothing is said of what is waited for: a test counts lines."""
    monkeypatch.setattr(_waiting, "QUIET", 1e6)


@pytest.fixture
def pool(request: pytest.FixtureRequest, pool_state: PoolState) -> Iterator[Pool]:
    """A chain of the test's own, which has had its market where the test has one."""
    on_market = "market" in request.fixturenames
    state = request.getfixturevalue("opened_market").state if on_market else pool_state.state
    with running(pool_state, state) as pool:
        yield pool


@contextmanager
def running(pool_state: PoolState, state: Path) -> Iterator[Pool]:
    """The pool on a chain that goes on from that state."""
    anvil = Anvil()
    anvil.start(state=state)
    try:
        yield Pool(anvil, Deployment.load(pool_state.deployment), pool_state.deployment)
    finally:
        anvil.stop()


@pytest.fixture
def cli(tmp_path: Path, pool: Pool) -> Cli:
    return person(tmp_path / "home", pool)


def person(home: Path, pool: Pool) -> Cli:
    """Wallets `renter` (account 1) and `provider` (account 2), with keystores that open in no time."""
    keystore = Keystore(home / "keys", iterations=2)
    for name, account in (("renter", 1), ("provider", 2)):
        key = bytes.fromhex(pool.anvil.accounts[account].key.removeprefix("0x"))
        asyncio.run(keystore.new(name, PASSWORD, key=key))
    return Cli(home, pool.path, pool.anvil.url)


@pytest.fixture(scope="session")
def kubo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubo]:
    """One IPFS node, in a swarm of its own."""
    with Kubo(tmp_path_factory.mktemp("kubo") / "node") as node:
        yield node


@dataclass
class Host:
    """A provider's machine as its agent would describe it. Its operator is Anvil's account 3."""

    identity: str
    path: Path
    pool: Pool
    _given_up: threading.Event = field(default_factory=threading.Event)

    async def _operate(self, act: Callable[[Binding, Lease], Awaitable[object]]) -> None:
        async with Rpc([self.pool.anvil.url]) as rpc:
            sender = Sender(rpc, LocalSigner(self.pool.anvil.accounts[3].key), poll=0.01)
            binding = Binding(rpc, self.pool.deployment, sender)
            async with asyncio.timeout(patient(30)):
                while not self._given_up.is_set():
                    for slot in range(1, await binding.slot_count() + 1):
                        lease = await newest(binding, slot)
                        if lease.state is LeaseState.OPENED:
                            await act(binding, lease)
                            return
                    await asyncio.sleep(0.02)

    def start(self) -> None:
        """Start the first open lease, when there is one."""
        asyncio.run(self._operate(lambda pool, lease: pool.start(lease.id, bytes(32))))

    def decline(self, reason: str) -> None:
        """Decline the first open lease, when there is one."""
        asyncio.run(self._operate(lambda pool, lease: pool.decline(lease.id, reason)))

    @contextmanager
    def meanwhile(self, act: Callable[[], None]) -> Iterator[None]:
        """Do something while the command line waits for it."""
        with ThreadPoolExecutor(1) as threads:
            done = threads.submit(act)
            try:
                yield
            except BaseException:
                self._given_up.set()
                raise
            done.result(timeout=patient(30))


async def newest(binding: Binding, slot: int) -> Lease:
    """The lease that a slot holds now."""
    generation, found = 0, await binding.lease_of(slot << 16)
    while found.state is LeaseState.NONE and generation < 9:
        generation += 1
        found = await binding.lease_of(slot << 16 | generation)
    return found


@pytest.fixture
def host(described: Described, pool: Pool, tmp_path: Path) -> Host:
    return Host(described.identity, Path(shutil.copy(described.path, tmp_path)), pool)


@dataclass(frozen=True)
class Described:
    """What a host's agent says of it: the file, and the secret to what is sealed for it."""

    identity: str
    path: Path


@pytest.fixture(scope="session")
def described(pool_state: PoolState, tmp_path_factory: pytest.TempPathFactory) -> Described:
    """One machine for all tests, so that what was joined once is the machine of each."""
    with running(pool_state, pool_state.state) as pool:
        return describe(pool, tmp_path_factory.mktemp("host") / "machine.json")


def describe(pool: Pool, path: Path) -> Described:
    """Writes what the agent of a host with two H100 would."""
    identity = new_identity()
    operator = signer_of(pool, 3)
    contact = {
        "version": 1,
        "endpoints": ["https://127.0.0.1:1"],
        "certificate": "none",
        "ssh": {"host": "127.0.0.1", "port": 2222, "host_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHg="},
        "age_recipient": recipient_of(identity),
        "images": [{"id": "sha256:" + "ab" * 32, "name": "python"}],
        "ports": [20_000, 20_999],
        "location": {"country": "DE"},
        "operator": operator.address,
        "issued_at": 1,
    }
    hardware = {
        "version": 1,
        "gpus": [{"model": "NVIDIA H100 80GB HBM3", "memory_bytes": 85_520_809_984, "uuid_hash": "ab" * 32}]
        * 2,
        "cpu_units": 0,
        "cpu": {"model": "AMD EPYC 9454", "cores": 48},
        "memory_bytes": 1_080_000_000_000,
        "disk": {"bytes": 3_800_000_000_000, "quota": True},
        "network": {"interfaces": []},
        "runtimes": ["runc"],
        "driver": "570.86",
        "kernel": "6.12",
    }
    suggested = {"gpus": 2, "smallest_share": 1}
    document = {"hardware": hardware, "contact": contact, "suggested": suggested}
    path.write_text(json.dumps(served(document, pool, operator)))
    return Described(identity, path)


def served(
    document: dict[str, Any], pool: Pool, operator: LocalSigner, provider: str | None = None
) -> dict[str, Any]:
    """A machine.json whose host has that operator, which serves `provider`, by default the wallet of that name."""
    owner, deployment = provider or pool.anvil.accounts[2].address, pool.deployment
    consent = asyncio.run(consent_of(deployment, owner, operator))
    document["operator"] = document["contact"]["operator"] = operator.address
    document["consent"] = {
        "provider": owner,
        "controller": deployment.controller,
        "chain": deployment.chain_id,
        "deadline": consent.deadline,
        "proof": "0x" + consent.proof.hex(),
    }
    return document


def signer_of(pool: Pool, account: int) -> LocalSigner:
    return LocalSigner(pool.anvil.accounts[account].key)


@dataclass(frozen=True)
class OpenedMarket:
    """The chain, and the home of who acted on it, after the commands by which a market begins."""

    state: Path
    home: Path


@pytest.fixture(scope="session")
def opened_market(
    pool_state: PoolState, described: Described, kubo: Kubo, tmp_path_factory: pytest.TempPathFactory
) -> OpenedMarket:
    """Joins and approves once, which takes a second; what is started from it begins at once."""
    folder = tmp_path_factory.mktemp("market")
    with running(pool_state, pool_state.state) as pool:
        cli = person(folder / "home", pool)
        cli.ipfs = kubo.api
        cli(
            "provider", "join", str(described.path), "--price", "2.5", "--approve", "--yes", wallet="provider"
        )
        cli("wallet", "approve", "1000", "--yes", wallet="renter")
        return OpenedMarket(pool.anvil.save(folder / "state.json"), cli.home)


@pytest.fixture
def market(cli: Cli, kubo: Kubo, opened_market: OpenedMarket) -> Cli:
    """A pool with one machine of two GPUs at 2.5 an hour, and a renter whose tokens the pool may take."""
    cli.ipfs = kubo.api
    shutil.copytree(opened_market.home, cli.home, dirs_exist_ok=True)
    return cli

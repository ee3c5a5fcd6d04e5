"""A whole world for the demo, the end-to-end tests and the benchmarks: chain, pool, two IPFS nodes, Docker engine.

Everything in it is real. People in it are `Party`s, who act through the command line as anyone would; hosts are
`Host`s, each with an agent in a process of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from devnet.anvil import Anvil
from devnet.contracts import deploy, deploy_fast
from devnet.engine import Engine
from devnet.kubo import Kubo
from devnet.light_wallet import light_wallet
from devnet.nursery import Child, Nursery
from devnet.patience import patient
from devnet.place import own
from devnet.steward import steward

BIN = Path(sys.executable).parent
PASSWORD = "correct horse battery staple"


class CommandFailed(RuntimeError):
    """A command exited with another code than expected; the text is what it said."""

    def __init__(self, command: list[str], code: int, out: str, err: str) -> None:
        super().__init__(f"{' '.join(command)} exited with {code}:\n{out}{err}")
        self.code, self.out, self.err = code, out, err


@dataclass
class Party:
    """Somebody with a home of their own, who uses `leasehold`."""

    name: str
    home: Path
    environment: Mapping[str, str]
    nursery: Nursery | None = None

    @property
    def password_file(self) -> Path:
        return self.home / "password"

    def run(
        self, *arguments: str, timeout: float = patient(180), stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """`leasehold arguments…`, whatever its exit code."""
        if self.nursery is not None:
            return self.nursery.run("leasehold", [*arguments], self.environment, stdin=stdin, timeout=timeout)
        return subprocess.run(
            [str(BIN / "leasehold"), *arguments],
            env=dict(self.environment),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def __call__(self, *arguments: str, timeout: float = patient(180)) -> Any:
        """`leasehold arguments… --json`, decoded. Raises CommandFailed unless it exits 0."""
        command = [*arguments, "--json"]
        if "--" in arguments:
            at = arguments.index("--")
            command = [*arguments[:at], "--json", *arguments[at:]]
        done = self.run(*command, timeout=timeout)
        if done.returncode != 0:
            raise CommandFailed(["leasehold", *command], done.returncode, done.stdout, done.stderr)
        return json.loads(done.stdout) if done.stdout.strip() else None

    def wallet(self, name: str, key: bytes | None = None) -> str:
        """A wallet of this person's, cheap to open; its address. `key` is its private key, where it is to have one."""
        return light_wallet(self.home / "keys", name, PASSWORD, key)

    def keygen(self, path: Path) -> str:
        """A new SSH key; returns its public half."""
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.name, "-f", str(path)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        return path.with_suffix(".pub").read_text().strip()

    def popen(self, *arguments: str) -> subprocess.Popen[str]:
        """`leasehold arguments…` in the background; output is to be read from `stdout`."""
        process = subprocess.Popen(
            [str(BIN / "leasehold"), *arguments],
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
            # What runs in the background ignores Ctrl-C and hands that on: a terminal does not.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        steward().process(process.pid)
        return process


@dataclass(frozen=True)
class Step:
    """A line of the agent's log: `at` is when it was read, in unix seconds."""

    at: float
    line: Mapping[str, Any]

    def get(self, key: str) -> Any:
        return self.line.get(key)


class AgentDied(RuntimeError):
    """The agent ended while something was awaited of it; the text is the end of its log."""


@dataclass
class Host:
    """A machine's agent: its state folder, and its process while it runs. descriptors: the most that it may have."""

    name: str
    folder: Path
    environment: Mapping[str, str]
    nursery: Nursery | None = None
    steps: list[Step] = field(default_factory=list)
    process: subprocess.Popen[str] | Child | None = None
    descriptors: int | None = None
    _since: int = 0
    _seen: threading.Condition = field(default_factory=threading.Condition)
    _reader: threading.Thread | None = None

    def describe(self, owner: str = "") -> Path:
        """`leasehold-agent describe`, kept as machine.json. owner: where the settings do not say it."""
        done = self.run("describe", *(("--owner", owner) if owner else ()))
        if done.returncode != 0:
            raise CommandFailed(["leasehold-agent", "describe"], done.returncode, done.stdout, done.stderr)
        path = self.folder / "machine.json"
        path.write_text(done.stdout)
        return path

    def run(self, *arguments: str, timeout: float = patient(120)) -> subprocess.CompletedProcess[str]:
        """`leasehold-agent arguments…`, whatever its exit code."""
        if self.nursery is not None:
            return self.nursery.run("leasehold-agent", [*arguments], self.environment, timeout=timeout)
        return subprocess.run(
            [str(BIN / "leasehold-agent"), *arguments],
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def start(self) -> None:
        """Start the agent; its log goes to `steps` and to agent.log."""
        assert self.process is None, "the agent runs already"
        self._since = len(self.steps)
        self.process = self._begun()
        self._reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        self._reader.start()

    def _begun(self) -> subprocess.Popen[str] | Child:
        if self.nursery is not None and self.descriptors is None:
            return self.nursery.popen("leasehold-agent", ["run"], self.environment)
        few = [] if self.descriptors is None else ["prlimit", f"--nofile={self.descriptors}"]
        process = subprocess.Popen(
            [*few, str(BIN / "leasehold-agent"), "run"],
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
        )
        steward().process(process.pid)
        return process

    def serving(self) -> None:
        """Waits until the agent that was started last answers tenants, which a loaded machine takes its time for."""
        self.wait_for(lambda line: line.get("event") == "serving", patient(120), self._since)

    def kill(self) -> None:
        """SIGKILL, as a power cut would."""
        self._end(signal.SIGKILL)

    close = kill

    def stop(self) -> None:
        """SIGTERM, as an upgrade would; leases run on."""
        self._end(signal.SIGTERM)

    def wait_for(
        self, wanted: Callable[[Mapping[str, Any]], bool], timeout: float = patient(60), since: int = 0
    ) -> Step:
        """The first line of the log from index `since` on that is `wanted`. Raises AgentDied or TimeoutError."""
        deadline = time.monotonic() + timeout
        at = since
        with self._seen:
            while True:
                for step in self.steps[at:]:
                    if wanted(step.line):
                        return step
                at = len(self.steps)
                if self.process is None or self.process.poll() is not None:
                    raise AgentDied(self.tail())
                if time.monotonic() >= deadline:
                    raise TimeoutError(f"not seen within {timeout} s:\n{self.tail()}")
                self._seen.wait(min(1.0, max(0.0, deadline - time.monotonic())))

    def until(self, holds: Callable[[], Any], timeout: float = patient(60)) -> Any:
        """What `holds()` gives once it gives something true; it looks whenever the log grows, or ten times a second.

        Raises TimeoutError with the end of the log.
        """
        deadline = time.monotonic() + timeout
        while not (found := holds()):
            if time.monotonic() >= deadline:
                raise TimeoutError(f"not so within {timeout} s:\n{self.tail()}")
            with self._seen:
                self._seen.wait(0.1)
        return found

    def tail(self, lines: int = 40) -> str:
        return "\n".join(json.dumps(step.line) for step in self.steps[-lines:])

    def _read(self, process: subprocess.Popen[str] | Child) -> None:
        assert process.stdout is not None
        with process.stdout, (self.folder / "agent.log").open("a") as log:
            for text in process.stdout:
                log.write(text)
                log.flush()
                try:
                    line = json.loads(text)
                except ValueError:
                    line = {"event": text.rstrip()}
                with self._seen:
                    self.steps.append(Step(time.time(), line if isinstance(line, dict) else {"event": line}))
                    self._seen.notify_all()
        with self._seen:
            self._seen.notify_all()

    def _end(self, number: signal.Signals) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
            process.send_signal(number)
        try:
            process.wait(patient(30))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._reader is not None:
            self._reader.join(patient(10))


def free_port() -> int:
    """A TCP port of the loopback that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class World:
    """Chain, pool, two IPFS nodes and a Docker engine, as a context manager; `folder` is its own and goes at the end.

    brownie: deploy as a real deployment goes; otherwise from forge's artifacts, which is quicker.
    block_time: seconds from block to block, or None to mine a block with each transaction. chain: another than a new
    Anvil. nursery: where commands and agents are forked; without, each begins as the installed scripts do.
    tell: hears what is started, since some of it takes its time.
    """

    def __init__(
        self,
        folder: Path,
        *,
        brownie: bool = False,
        block_time: float | None = None,
        chain: Anvil | None = None,
        nursery: Nursery | None = None,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.folder = folder
        self.nursery = nursery
        self._brownie = brownie
        self._tell = tell
        self._undo = contextlib.ExitStack()
        self.anvil = chain or Anvil(block_time=block_time)
        self.renter_ipfs = Kubo(folder / "ipfs-renter")
        self.provider_ipfs = Kubo(folder / "ipfs-provider")
        self.engine = Engine(folder / "engine")
        self.deployment = folder / "deployments" / "31337.json"
        self.facts: dict[str, Any] = {}
        self.variables: Mapping[str, str] = {}
        """What agents and commands find in their environment beside what they are given."""

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as undo:
            undo.enter_context(own(self.folder))
            undo.enter_context(self.anvil)
            self._tell(f"chain {self.anvil.chain_id} at {self.anvil.url}; next, two IPFS nodes")
            undo.enter_context(self.renter_ipfs)
            undo.enter_context(self.provider_ipfs)
            self.renter_ipfs.connect(self.provider_ipfs)
            self._tell("both IPFS nodes are up; next, the Docker engine")
            undo.enter_context(self.engine)
            how = "by Brownie, which compiles them first" if self._brownie else "from forge's artifacts"
            self._tell(f"the engine is up; next, the contracts, {how}")
            place = deploy if self._brownie else deploy_fast
            self.deployment = place(self.anvil.url, self.folder / "deployments")
            self.facts = json.loads(self.deployment.read_text())
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    # ----------------------------------------------------------------------------------------------- who is in it

    def party(self, name: str, ipfs: Kubo | None = None) -> Party:
        """Somebody new with a home of their own, who uses the renter's IPFS node unless another is named."""
        home = self.folder / name
        home.mkdir(mode=0o700)
        environment = self._environment(home) | {
            "LEASEHOLD_HOME": str(home),
            "LEASEHOLD_DEPLOYMENT": str(self.deployment),
            "LEASEHOLD_RPC": self.anvil.url,
            "LEASEHOLD_WS": self.anvil.ws_url,
            "LEASEHOLD_IPFS": (ipfs or self.renter_ipfs).api,
            "LEASEHOLD_PASSWORD": PASSWORD,
        }
        party = Party(name, home, environment, self.nursery)
        party.password_file.write_text(PASSWORD + "\n")
        return party

    def host(self, name: str, engine: Engine | None = None, **settings: Any) -> Host:
        """A host whose agent uses `engine` (by default the world's; agents that run together have one each) and
        the provider's IPFS node; `settings` are the agent's.
        """
        engine = engine or self.engine
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        chosen: dict[str, Any] = {
            "state_dir": str(folder / "state"),
            "deployment": str(self.deployment),
            "rpc": [self.anvil.url],
            "ws": self.anvil.ws_url,
            "docker": engine.url,
            "engine_netns": str(engine.netns),
            "ipfs": self.provider_ipfs.api,
            "public_host": "127.0.0.1",
            "ports_host": engine.address,
            "listen": "127.0.0.1",
            "api_port": free_port(),
            "ssh_port": free_port(),
            "libp2p_api_port": free_port(),
            "libp2p_ssh_port": free_port(),
            "confirmations": 0,
            "tick_seconds": 1.0,
            "close_after": 0,
            "disk_reserve": 1 << 28,
            "memory_reserve": 1 << 28,
            "dns": ["127.0.0.1"],  # nobody on the internet is asked
        } | settings
        environment = self._environment(folder) | {
            "LEASEHOLD_AGENT_CONFIG": os.devnull,  # whatever file the machine has that this runs on
        }
        environment |= {
            f"LEASEHOLD_AGENT_{key.upper()}": value if isinstance(value, str) else json.dumps(value)
            for key, value in chosen.items()
        }
        return Host(name, folder, environment, self.nursery)

    @contextlib.contextmanager
    def running(self, host: Host) -> Iterator[Host]:
        """The host's agent, running, and ended at the end whatever happened to it."""
        with contextlib.closing(host):
            host.start()
            yield host

    def fund(self, address: str, *, gas_wei: int = 10**18, tokens: int = 0) -> None:
        """Give an account gas money, and `tokens` whole test tokens; both are its own when this returns."""
        self.anvil.give(address, gas_wei)
        if tokens:
            amount = tokens * 10 ** int(self.facts["token_decimals"])
            data = "0xa9059cbb" + address[2:].lower().rjust(64, "0") + f"{amount:064x}"
            self.anvil.send({"to": self.facts["token"], "data": data})

    def _environment(self, home: Path) -> dict[str, str]:
        kept = {"PATH", "LANG", "TERM", "LD_LIBRARY_PATH", "LEASEHOLD_CACHE"}
        inherited = {k: v for k, v in os.environ.items() if k in kept or k.startswith("COVERAGE")}
        own = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "TMPDIR": str(home)}
        return {**inherited, **self.variables, **own}

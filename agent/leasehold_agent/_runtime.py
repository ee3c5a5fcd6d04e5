"""What the agent's API and SSH server may know of leases: the border between serving and running.

The API and the SSH server are written against these protocols and hold no Docker client, no chain binding and
no path of their own. `DockerRuntime` (in `reconciling`) implements `LeaseRuntime` over the Docker engine.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from leasehold.chain import ClosingOrder, Signer
    from leasehold_agent.store import EarlyEnd, Hand, KeptCheckpoint, LeaseSample

Phase = Literal[
    "pulling",  # the sealed workload or the image is on its way
    "fetching",  # datasets are on their way
    "starting",  # the container exists and is not ready yet
    "ready",  # ready; `start` is being mined
    "running",  # billed
    "stopped",  # by its tenant, and billed all the same
    "finished",  # its command has ended by itself, and is not started again
    "stopping",  # the lease is over; outputs are being packed
    "ended",
    "declined",
]


Wish = Literal["stop", "start", "restart"]
"""What a tenant can have done with his container while his lease goes on."""


@dataclass(frozen=True)
class LogView:
    """Which part of a log, and how. since: no line from before that, in unix seconds. stamped: each line begins with
    when it was written, in UTC.
    """

    since: int | None = None
    stamped: bool = False

    @property
    def by_time(self) -> bool:
        """Whether it asks when lines were written."""
        return self.stamped or self.since is not None


WHOLE_LOG = LogView()


@dataclass(frozen=True)
class PublishedPort:
    """A port of the container that the host's address serves."""

    container: int
    host: int
    protocol: Literal["tcp", "udp"] = "tcp"


@dataclass(frozen=True)
class LeaseHandle:
    """A lease of one of this agent's machines, as it stands now.

    `lease` is the full id (`slot << 16 | generation`), `tenant` a checksummed address, `reason` a sentence
    or code that says why the lease is not running, `progress` what is being waited for, `container_state`
    the engine's own word ("created", "running", "exited"…), `exit_code` that of a command that has
    finished, `end` unix seconds, `notice` that the provider has ended the lease early, `kept_log` that the
    end of its log is here though its container is not, `kept_until` and `paid_until` how long what is over is kept
    where the host has the room, and where it has little, `read_seconds` how long its files can still be read.
    `renews` is the lease whose data it goes on with. `ended_with` is the exit code of a command that has ended by
    itself and is not started again, `closes_when_done` that there is an order to close the lease then. `ssh_keys`
    are OpenSSH public keys; `outputs` is their path inside the container, if any. `helper`: the host has lent it a
    shell. `name`: what its workload is called. `volumes` are those that it names. `host`: at which its ports are
    published, if it has any. `checkpoint`: the CID of its newest one.
    """

    lease: int
    tenant: str
    machine: int
    phase: Phase
    reason: str | None = None
    progress: str | None = None
    ports: tuple[PublishedPort, ...] = ()
    container_id: str | None = None
    container_state: str | None = None
    exit_code: int | None = None
    end: int | None = None
    ssh_keys: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    result_cid: str | None = None
    notice: EarlyEnd | None = None
    kept_log: bool = False
    kept_until: int | None = None
    paid_until: int | None = None
    helper: bool = False
    name: str | None = None
    ended_with: int | None = None
    closes_when_done: bool = False
    read_seconds: int | None = None
    renews: int | None = None
    volumes: tuple[str, ...] = ()
    host: str | None = None
    checkpoint: str | None = None


@dataclass(frozen=True)
class Standing:
    """How a lease's container stands, as the engine has it now. Times are unix seconds by the host's clock.

    container: its id, or empty where there is none. state: the engine's word. started_at, ended_at: of its last start,
    and of the last end before or after that; 0 if there was none. ended_by: whose end that was. ends, kills: how often
    it ended, and how often by a hand on the host, since it was made.
    """

    container: str
    state: str
    started_at: int
    ended_at: int
    ended_by: Hand
    exit_code: int | None
    ends: int
    kills: int


@dataclass(frozen=True)
class VolumeExport:
    """An export of a volume. read: bytes read so far, without what lies there twice. detail: why it failed."""

    state: Literal["running", "done", "failed"]
    cid: str | None = None
    read: int = 0
    detail: str = ""


@dataclass(frozen=True)
class CheckpointFacts:
    """A lease's checkpoints that are whole, the oldest first. running: one is being taken. trouble: why the last
    attempt made none.
    """

    kept: tuple[KeptCheckpoint, ...] = ()
    running: bool = False
    trouble: str = ""


@dataclass(frozen=True)
class CommitFacts:
    """The last whole image of a lease's container, which lies sealed to `recipient` at `cid`: `size` bytes, begun `at`
    (unix seconds). running: one is being made, of which `read` bytes have been read. trouble: why the last attempt made
    none.
    """

    cid: str = ""
    recipient: str = ""
    size: int = 0
    at: int = 0
    running: bool = False
    read: int = 0
    trouble: str = ""


@dataclass(frozen=True)
class VolumeFacts:
    """A volume that a lease names: `size` bytes of the host's disk, of which `used` where it is open; None of both
    where it is not here. attached: to this lease.
    """

    name: str
    path: str
    size: int | None
    used: int | None
    attached: bool
    export: VolumeExport | None = None


class CommandStream(Protocol):
    """A command running in a lease's container. Iterating yields `(fd, data)`: fd 1 is stdout, 2 stderr.

    With a terminal everything arrives as fd 1. The iterator ends when the command has closed its output.
    """

    async def write(self, data: bytes | memoryview) -> None:
        """Comes back when nothing of `data` is used any more: who gave it may fill it anew."""
        ...

    async def write_eof(self) -> None: ...
    def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]: ...
    async def resize(self, rows: int, columns: int) -> None: ...
    async def wait(self) -> int:
        """Exit code of the command, once it has ended."""
        ...

    async def close(self) -> None:
        """Give the stream back; harmless when called twice. A command still running is killed."""
        ...


class WorkloadStore(Protocol):
    """Sealed workloads that were uploaded, by the SHA-256 of their bytes."""

    async def put(self, digest: bytes, sealed: bytes, source: str = "") -> None:
        """Keep `sealed` (≤ 1 MiB) until a lease opens with its digest, or an hour without one has passed.

        `source` is the address that it came from, which may have a part of the room. Raises `ValueError` when the
        digest is not that of the bytes, `UploadsFull` when unclaimed uploads fill their share of the disk.
        """
        ...

    async def get(self, digest: bytes) -> bytes | None: ...


class LeaseRuntime(Protocol):
    """What can be asked of the leases that run here. A lease that has no container raises `NoContainer`."""

    @property
    def workloads(self) -> WorkloadStore: ...

    async def lookup(self, lease: int) -> LeaseHandle | None:
        """The lease if it is, or lately was, on one of this agent's machines."""
        ...

    async def keep_order(self, lease: int, order: ClosingOrder, workload: bytes) -> None:
        """Keep its tenant's order to close it once the command of `workload` (its digest) has ended by itself.

        Raises `OrderVoid` for one that would not close it or is not taken here, `ChainError`, and `UploadsFull`.
        """
        ...

    async def offer_code(self, lease: int, tenant: str, folded: bytes) -> Sequence[bool]:
        """Of the pieces of the list that its tenant shows of the folder that its workload names, which are lacking.

        Raises `CodeUnwanted`, `UploadsFull`; `NoContainer` while the lease is not taken on.
        """
        ...

    async def take_code(
        self, lease: int, tenant: str, pack: bytes, keep_as: Callable[[Path], bool]
    ) -> tuple[int, int]:
        """Keep a pack of them; how many were new, and how many are lacking now. keep_as: gives the file
        that holds it that name, if it can. Raises as `offer_code`.
        """
        ...

    async def power(self, lease: int, wish: Wish) -> None:
        """Have its container stand still, run again, or begin anew: it is remembered before this returns, and done
        soon. Raises NoContainer for a lease that is not billed, or a command that has ended where it is to stop.
        """
        ...

    async def volumes(self, lease: int) -> Sequence[VolumeFacts]:
        """The volumes that its workload names, and how they stand; none of a lease that has changed hands."""
        ...

    async def export(self, lease: int, name: str) -> None:
        """Begin to export a volume that it has attached. Raises NoContainer where it has not, VolumeTrouble while
        another export of the lease goes on.
        """
        ...

    async def discard(self, lease: int, name: str) -> None:
        """Remove a volume of its tenant's that no lease has attached. Raises VolumeTrouble where one has."""
        ...

    async def checkpoints(self, lease: int) -> CheckpointFacts:
        """Its checkpoints; none of a lease that has changed hands."""
        ...

    async def take_checkpoint(self, lease: int) -> None:
        """Begin to take one now, unless one is being taken. Raises NoContainer where it has no folder for them."""
        ...

    async def committed(self, lease: int) -> CommitFacts:
        """The image that its tenant has had made of its container."""
        ...

    async def commit(self, lease: int, recipient: str) -> None:
        """Begin to make an image of its container, sealed to an age recipient, unless that is being made. Raises
        NoContainer where it does not run, CommitUnderWay while one is made for another key.
        """
        ...

    async def standing(self, lease: int) -> Standing:
        """How its container stands, asked of the engine now. Raises EngineDown."""
        ...

    def logs(
        self, lease: int, tail: int | None, follow: bool, view: LogView = WHOLE_LOG
    ) -> AsyncIterator[bytes]:
        """Standard output and error, oldest first: `tail` lines, or all; with `follow`, until it stops.

        Of a log that outlived its container nobody knows any more when its lines were written (`kept_log`): it has one
        view.
        """
        ...

    async def exec(
        self,
        lease: int,
        command: Sequence[str],
        *,
        tty: bool = False,
        env: Mapping[str, str] | None = None,
        size: tuple[int, int] | None = None,
        much: bool = False,
    ) -> CommandStream:
        """Run a command in the container; `size` is (rows, columns) of the terminal. much: it reads nothing, has no
        terminal, and may write a lot.
        """
        ...

    async def connect(self, lease: int, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A TCP connection to a port inside the container's network. Raises `OSError` if nothing listens."""
        ...

    async def usage(self, lease: int, tenant: str) -> Sequence[LeaseSample]:
        """What the lease has used while it was that tenant's, oldest first; none where that is not known."""
        ...


@dataclass(frozen=True)
class Seen:
    """The head of the chain as the agent saw it last; whether the host could serve leases then, and how many run."""

    block: int = 0
    block_hash: str = ""
    serves: bool = False
    running: int = 0


@dataclass(frozen=True)
class ServeContext:
    """What the servers need to know of the agent they run in.

    `machines` and `contact` are asked anew at each request, since both change while the agent runs;
    `contact` is the canonical JSON of contact.json. `is_authorized(account, digest, proof)` asks the chain.
    `state_dir` is the servers' own folder (mode 0700): nonces, sessions. `now` is unix seconds. `seen` is what the
    agent looked at last.
    """

    runtime: LeaseRuntime
    chain_id: int
    controller: str
    machines: Callable[[], Sequence[int]]
    contact: Callable[[], bytes]
    operator: Signer
    is_authorized: Callable[[str, bytes, bytes], Awaitable[bool]]
    state_dir: Path
    tls_certificate: Path
    tls_key: Path
    ssh_host_key: Path
    now: Callable[[], int]
    seen: Callable[[], Seen] = lambda: Seen()

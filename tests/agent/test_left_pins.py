"""What the host's IPFS node keeps for a lease goes with the lease, and not before all of it has gone."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from leasehold.chain import LeaseState, cid_of_digest
from leasehold.datasets import new_identity
from leasehold.errors import DatasetUnavailable
from leasehold_agent.chain import Desired
from leasehold_agent.reconciling._changes import Changes
from leasehold_agent.reconciling._ending import Ending
from leasehold_agent.reconciling._leases import LeaseBook
from leasehold_agent.reconciling._results import Publishing
from leasehold_agent.reconciling._start_or_decline import Starting
from leasehold_agent.store import LeaseDir, Notes, packer

LEASE, DOCUMENT = 65_536, b"where the lease is reached"
ENDPOINT = cid_of_digest(hashlib.sha256(DOCUMENT).digest())
RESULT = cid_of_digest(hashlib.sha256(b"a result").digest())
DESIRED = Desired(LEASE, 1, "0xt", LeaseState.OPENED, 0x01FF, b"w" * 32, 0, 3_600, 60, "0xt")


class Obliging:
    """Does whatever it is asked."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def done(*_: object) -> Any:
            return None

        return done


@dataclass
class Node:
    """An IPFS node, or none while it is away."""

    pins: set[str] = field(default_factory=set)
    away: bool = False

    async def put_block(self, data: bytes, *, pin: bool = True) -> str:
        cid = cid_of_digest(hashlib.sha256(data).digest())
        self.pins |= {cid} if pin else set()
        return cid

    async def add_stream(self, parts: Iterable[object], *, pin: bool = True) -> str:
        self.pins |= {RESULT} if pin else set()
        return RESULT

    async def pin(self, cid: str) -> None:
        self.pins.add(cid)

    async def unpin(self, cid: str) -> None:
        if self.away:
            raise DatasetUnavailable(cid)
        self.pins.discard(cid)


class NoExports(Obliging):
    """Of volumes: there are none."""

    async def forget(self, lease: int) -> set[str]:
        return set()


class Chain(Obliging):
    async def is_live(self, lease: int) -> bool:
        return False

    async def has_workload(self, lease: int, workload: bytes) -> bool:
        return True


@dataclass(frozen=True)
class Container:
    running: bool = True
    exited: bool = False
    paused: bool = False
    ports: Collection[Any] = ()


class Containers(Obliging):
    async def inspect(self, lease: int) -> Container:
        return Container()


@dataclass
class Agent:
    """Its parts that start, replace and end a lease, over a node that stands in."""

    node: Node
    book: LeaseBook

    def __post_init__(self) -> None:
        chain, containers = cast(Any, Chain()), cast(Any, Containers())
        supplies = cast(Any, type("Supplies", (), {"ipfs": self.node})())
        self.results = Publishing(chain, containers, self.book, supplies, cast(Any, None))
        self.starting = Starting(chain, containers, self.book, cast(Any, self.node), lambda *_: DOCUMENT)
        volumes = devices = readers = cast(Any, Obliging())
        carrying = checkpoints = committing = cast(Any, NoExports())
        self.changes = Changes(
            chain, containers, self.book, volumes, carrying, checkpoints, committing, self.results, devices
        )
        self.ending = Ending(
            chain,
            containers,
            self.book,
            volumes,
            carrying,
            checkpoints,
            committing,
            self.results,
            devices,
            readers,
        )


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    book = LeaseBook(tmp_path, new_identity())
    book.folder(LEASE).save(Notes(tenant="0xt", workload="77" * 32, placement=0x01FF, launched=True))
    return Agent(Node(), book)


async def test_the_endpoint_document_goes_with_its_lease(agent: Agent) -> None:
    """Each lease would leave a block there for ever."""
    await agent.starting.start(DESIRED)
    assert agent.node.pins == {ENDPOINT}
    await agent.ending.delete(LEASE)
    assert agent.node.pins == set()


async def test_another_workload_does_not_make_it_forgotten(agent: Agent) -> None:
    """Nor a result that was packed and never said."""
    await agent.starting.start(DESIRED)
    notes = agent.book.folder(LEASE).load()
    notes.result = RESULT
    agent.book.folder(LEASE).save(notes)
    agent.node.pins.add(RESULT)
    await agent.changes.replace(DESIRED, cast(Any, None))
    await agent.ending.delete(LEASE)
    assert agent.node.pins == set()


async def test_a_node_that_is_away_keeps_nothing_for_ever(agent: Agent) -> None:
    """The folder, which names what there is, stays until the node has let it go."""
    agent.node.pins, agent.node.away = {RESULT}, True
    notes = agent.book.folder(LEASE).load()
    notes.result = RESULT
    agent.book.folder(LEASE).save(notes)
    with pytest.raises(DatasetUnavailable):
        await agent.ending.delete(LEASE)
    agent.node.away = False
    await agent.ending.delete(LEASE)
    assert agent.node.pins == set()
    assert not agent.book.folder(LEASE).exists


async def test_a_result_that_cannot_be_noted_is_not_kept(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full after the outputs were packed: sealed anew each time, none is the one before."""
    (outputs := tmp_path / "outputs").mkdir()

    def full(folder: LeaseDir, notes: Notes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    folder = agent.book.folder(LEASE)
    pack = packer(cast(Any, agent.node))
    with monkeypatch.context() as patched:
        patched.setattr(LeaseDir, "save", full)
        with pytest.raises(OSError, match="No space"):
            await agent.results.keep(folder, folder.load(), await pack(outputs, [], "1"))
    assert agent.node.pins == set()
    await agent.results.keep(folder, folder.load(), await pack(outputs, [], "1"))
    assert agent.node.pins == {RESULT} == folder.load().published_here

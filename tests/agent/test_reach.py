"""By which ways renters come: what a host says of itself, and what its IPFS node leads to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from devnet.kubo import Kubo
from devnet.patience import patient
from leasehold.datasets import Ipfs, Streams
from leasehold.errors import DatasetError, StreamsOff
from leasehold.market import canonical, direct_endpoints, parse_document, peer_of
from leasehold.market._documents import Contact
from leasehold_agent._config import AgentSettings
from leasehold_agent.access import Mounts
from leasehold_agent.documents import _reach, contact_document, reach_of
from leasehold_agent.host import Identity, load_identity

API, SSH = "/x/leasehold/agent/1/0xaa", "/x/leasehold/ssh/1/0xaa"
NOWHERE = "/ip4/127.0.0.1/tcp/1"
_NAMED = {"public_host": "gpu.example.org"}


@pytest.fixture
async def ipfs(kubo: Kubo) -> AsyncIterator[Ipfs]:
    async with Ipfs(kubo.api) as client:
        yield client


@pytest.fixture
def mute(tmp_path: Path) -> AsyncIterator[Kubo]:
    """A node whose streams are off, as Kubo comes."""
    with Kubo(tmp_path / "mute") as node:
        node.call("config", "Experimental.Libp2pStreamMounting", "false", bool="true")
        node.stop()
        node.start()
        yield node  # type: ignore[misc]


@pytest.fixture
def identity(tmp_path: Path) -> Identity:
    return load_identity(tmp_path / "state")


def settings(tmp_path: Path, **values: object) -> AgentSettings:
    return AgentSettings.model_validate({"state_dir": tmp_path / "state", **values})


async def contact(chosen: AgentSettings, identity: Identity, ipfs: Ipfs) -> Contact:
    made = await contact_document(chosen, identity, ipfs, images=[], datasets=[])
    return parse_document(Contact, canonical(made), "It")


@pytest.mark.parametrize(
    ("values", "own", "direct", "behind"),
    [
        ({"reach": "direct", **_NAMED}, "192.168.1.7", "gpu.example.org", False),
        ({"reach": "libp2p", **_NAMED}, "192.168.1.7", None, True),
        (_NAMED, "192.168.1.7", "gpu.example.org", True),
        ({}, "192.168.1.7", None, True),  # where nobody outside gets to
        ({}, "1.1.1.1", "1.1.1.1", True),
        ({"endpoints": ("https://gpu.example.org:8701",)}, "192.168.1.7", "gpu.example.org", True),
    ],
)
async def test_which_ways_a_host_names(
    tmp_path: Path,
    identity: Identity,
    ipfs: Ipfs,
    kubo: Kubo,
    monkeypatch: pytest.MonkeyPatch,
    values: dict[str, object],
    own: str,
    direct: str | None,
    behind: bool,
) -> None:
    monkeypatch.setattr(_reach, "default_address", lambda: own)
    made = await contact(settings(tmp_path, **values), identity, ipfs)
    assert direct_endpoints(made) == (() if direct is None else (f"https://{direct}:8701",))
    assert peer_of(made, identity.operator.address) == (kubo.peer_id if behind else None)
    assert peer_of(made, "0x" + "ab" * 20) is None  # another agent behind the same node
    assert made.ssh is not None
    assert (made.ssh.host is None) is (direct is None)


async def test_a_node_without_streams_leads_nowhere(
    tmp_path: Path, identity: Identity, mute: Kubo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_reach, "default_address", lambda: "192.168.1.7")
    async with Ipfs(mute.api) as ipfs, Ipfs(NOWHERE) as nobody:
        for node in (ipfs, nobody):
            made = await contact(settings(tmp_path), identity, node)
            assert made.endpoints == ("https://192.168.1.7:8701",)  # better than none
            with pytest.raises(DatasetError):
                await contact(settings(tmp_path, reach="libp2p"), identity, node)
        with pytest.raises(StreamsOff):
            await reach_of(settings(tmp_path, reach="libp2p"), ipfs)


# What is mounted


class Doors:
    """Two doors that listen when they are first asked to."""

    def __init__(self) -> None:
        self.opened: list[str] = []

    def of(self, *protocols: str) -> dict[str, Callable[[], int]]:
        return {protocol: lambda name=protocol: self._open(name) for protocol in protocols}  # type: ignore[misc]

    def _open(self, protocol: str) -> int:
        self.opened.append(protocol)
        return 4_000 + len(self.opened)


def led(port: int) -> str:
    return f"/ip4/127.0.0.1/tcp/{port}"


async def test_what_leads_here_is_kept_and_taken_back(ipfs: Ipfs) -> None:
    streams, doors = Streams(ipfs), Doors()
    await streams.mount(API, 9)  # by an agent that was killed
    mounts = Mounts(streams, doors.of(API, SSH))
    assert await mounts.look() is None
    assert await streams.mounted() == {API: led(4_001), SSH: led(4_002)}
    await streams.unmount(SSH)
    await streams.mount(API, 9)
    assert await mounts.look() is None
    assert await streams.mounted() == {API: led(4_001), SSH: led(4_002)}
    assert doors.opened == [API, SSH]
    await mounts.close()
    assert await streams.mounted() == {}


async def test_a_node_that_starts_anew_is_told_again(tmp_path: Path) -> None:
    with Kubo(tmp_path / "node") as node:
        async with Ipfs(node.api) as ipfs:
            streams, looked = Streams(ipfs), asyncio.Queue[float](1)
            mounts = Mounts(streams, Doors().of(API), sleep=looked.put)
            mounts.start()
            async with asyncio.timeout(patient(60)):
                await looked.get()
                node.stop()
                while mounts.problem is None:
                    await looked.get()
                assert "IPFS node" in mounts.problem  # it is silent, or about to be
                node.start()
                while mounts.problem is not None:
                    await looked.get()
            assert await streams.mounted() == {API: led(4_001)}
            node.stop()
            await mounts.close()  # and nobody to tell


async def test_no_door_is_opened_that_nobody_leads_to(mute: Kubo) -> None:
    async with Ipfs(mute.api) as ipfs:
        doors = Doors()
        mounts = Mounts(Streams(ipfs), doors.of(API))
        assert "Libp2pStreamMounting" in str(await mounts.look())
        assert doors.opened == []
        await mounts.close()


async def test_a_port_that_is_taken_is_tried_again(ipfs: Ipfs) -> None:
    answers: list[int | OSError] = [OSError("the port is taken"), 4_007]

    def door() -> int:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    mounts = Mounts(Streams(ipfs), {API: door})
    assert await mounts.look() == "the port is taken"
    assert await mounts.look() is None
    assert await Streams(ipfs).mounted() == {API: led(4_007)}
    await mounts.close()

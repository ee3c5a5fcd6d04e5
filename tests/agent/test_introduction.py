"""The contact document keeps up with the host, and a search of the library finds what is there now."""

from __future__ import annotations

import asyncio
import itertools
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devnet.images import Image, archive_of, load
from leasehold.chain.typed import Domain
from leasehold.datasets import Ipfs
from leasehold.errors import DatasetError
from leasehold.market import Contact, FreshContacts, Listing, Money, canonical, parse_document, parse_search
from leasehold_agent._config import AgentSettings
from leasehold_agent._errors import EngineDown
from leasehold_agent._serve import introduction_of, serve
from leasehold_agent.documents import Introduction

from .test_cli import _answers, settings_of

if TYPE_CHECKING:
    from tests.agent.conftest import Rig


class Node(Ipfs):
    """Stands for the host's IPFS node."""

    def __init__(self, answers: bool = True) -> None:
        self.kept: list[bytes] = []
        self.answers = answers

    async def put_block(self, data: bytes, *, pin: bool = True) -> str:
        if not self.answers:
            raise DatasetError("no node")
        self.kept.append(data)
        return ""


class Told:
    """What the host would say now."""

    def __init__(self, issued_at: int = 1_000, **what: object) -> None:
        self.document: dict[str, object] = {"version": 1, "issued_at": issued_at, **what}
        self.error: Exception | None = None

    async def __call__(self) -> dict[str, object]:
        if self.error is not None:
            raise self.error
        return dict(self.document)


def kept(folder: Path) -> dict[str, object]:
    return dict(json.loads((folder / "contact.json").read_text()))


async def test_it_is_said_again_where_it_says_something_else(tmp_path: Path) -> None:
    node, told = Node(), Told(images=["a"])
    introduction = Introduction(tmp_path, node, told)
    await introduction.open()
    assert introduction.document == canonical(told.document)
    told.document["issued_at"] = 2_000
    assert not await introduction.refresh(), "time alone is no news"
    assert kept(tmp_path)["issued_at"] == 1_000
    told.document["images"] = ["a", "b"]
    assert await introduction.refresh()
    assert kept(tmp_path) == {"version": 1, "issued_at": 2_000, "images": ["a", "b"]}
    assert node.kept[-1] == introduction.document == canonical(kept(tmp_path))
    told.document |= {"images": [], "issued_at": 5}  # the host's clock went back
    assert await introduction.refresh()
    assert kept(tmp_path)["issued_at"] == 2_001


async def test_what_was_said_before_a_restart_still_stands(tmp_path: Path) -> None:
    """The chain names the document that `describe` wrote: it is served until there is news, whatever the clock says."""
    written = canonical({"version": 1, "issued_at": 7, "images": []})
    (tmp_path / "contact.json").write_bytes(written)
    told = Told(images=[])
    introduction = Introduction(tmp_path, Node(), told)
    await introduction.open()
    assert introduction.document == written
    assert not await introduction.refresh()
    for spoiled in (b"", b"[1]", b"\xff"):
        (tmp_path / "contact.json").write_bytes(spoiled)
        introduction = Introduction(tmp_path, Node(), told)
        await introduction.open()
        assert introduction.document == canonical(told.document)


async def test_no_engine_no_node_and_no_disk_leave_it_as_it_was(tmp_path: Path) -> None:
    told, node, state = Told(images=["a"]), Node(answers=False), tmp_path / "state"
    await asyncio.to_thread(state.mkdir)
    introduction = Introduction(state, node, told)
    await introduction.open()
    before = introduction.document
    told.document["images"], told.error = ["b"], EngineDown("no engine")
    with pytest.raises(EngineDown):
        await introduction.refresh()
    told.error = None
    await asyncio.to_thread(state.rename, tmp_path / "elsewhere")
    with pytest.raises(OSError, match="contact"):
        await introduction.refresh()
    assert introduction.document == before
    await asyncio.to_thread(state.mkdir)
    assert await introduction.refresh()
    assert kept(state)["images"] == ["b"]


def another_image(folder: Path) -> Image:
    """One that is on no engine yet."""
    layer, archive = folder / "layer.tar", folder / "image.tar"
    with tarfile.open(layer, "w"):
        pass
    name = "leasehold/another:1"
    return Image(name, archive_of(layer, name, {"Cmd": ["true"]}, archive), archive)


@pytest.mark.slow
async def test_a_search_finds_an_image_that_came_since_it_joined(
    rig: Rig, tmp_path: Path, unused_tcp_port_factory: Callable[[], int]
) -> None:
    """The agent as `run` makes it. The document on the chain stays what it was, and nothing is sent."""
    joined = introduction_of(rig.host, rig.identity)
    await joined.open()
    await rig.stop()
    port = unused_tcp_port_factory()
    values = settings_of(rig, tmp_path) | {
        "api_port": port, "ssh_port": unused_tcp_port_factory(), "contact_every": 1,
    }  # fmt: skip
    another, folders = another_image(tmp_path), itertools.count()
    serving = asyncio.create_task(serve(AgentSettings.model_validate(values)))
    try:
        await _answers(rig, port)
        contact = parse_document(Contact, joined.document, "what was sent")
        here = contact.model_copy(update={"endpoints": (f"https://127.0.0.1:{port}",)})
        listing = Listing(await rig.chain.pool().machine_of(rig.machine), Money("TUSD", 18), contact=here)
        wanted, block = parse_search(f"image:{another.id}"), rig.chain.anvil.block_number
        domain = Domain(rig.chain.deployment.chain_id, rig.chain.deployment.controller)

        async def is_found() -> bool:
            fresh = FreshContacts(tmp_path / f"home-{next(folders)}", domain)
            return wanted.matches((await fresh.refreshed([listing]))[0])

        assert not await is_found()
        await asyncio.to_thread(load, rig.settings.docker, another)
        await rig.until(is_found)
        assert rig.chain.anvil.block_number == block
        assert int(str(kept(rig.settings.state_dir)["issued_at"])) > contact.issued_at
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await rig.start()

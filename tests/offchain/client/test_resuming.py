"""A large file that breaks off is taken up again where it is the same, and only there; by real programs."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from leasehold.client import CopyFailed, _copying, _resuming
from leasehold.client._resuming import FileThere
from leasehold.copying import Copied, LeaseShell, copy_in, copy_out
from leasehold.market import Feed, Take
from leasehold.market.wire import AgentUnreachable, CommandEnd

SIZE = 3 << 20


class Here:
    """An agent whose container is this machine. breaks: bytes after which each next stream breaks off, whichever way it
    goes; `on_break` is called then. travelled: bytes each stream has carried.
    """

    def __init__(self, *breaks: int, on_break: Callable[[], None] = lambda: None) -> None:
        self.breaks, self.on_break, self.travelled = list(breaks), on_break, list[int]()

    async def exec_from(
        self,
        lease: int,
        command: list[str],
        take: Take,
        given: bytes = b"",
        counted: Callable[[int], None] = lambda count: None,
        *,
        much: bool = False,
    ) -> CommandEnd:
        done = await asyncio.to_thread(subprocess.run, command, input=given, capture_output=True)
        large = len(done.stdout) > 10_000
        if large and self.breaks:
            await asyncio.to_thread(take, cast(BinaryIO, Broken(done.stdout, self.breaks.pop(0), self)))
        if large:
            self.travelled.append(len(done.stdout))
        await asyncio.to_thread(take, cast(BinaryIO, Broken(done.stdout, len(done.stdout) + 1, self)))
        return CommandEnd(exit=done.returncode, said=done.stderr.decode())

    async def exec_on(
        self, lease: int, command: list[str], feed: Feed, counted: Callable[[int], None]
    ) -> CommandEnd:
        written = bytearray()

        class Gathered:
            def write(self, data: bytes) -> int:
                written.extend(data)
                return len(data)

            def tell(self) -> int:
                return len(written)

        await asyncio.to_thread(feed, cast(BinaryIO, Gathered()))
        breaks = self.breaks.pop(0) if self.breaks else None
        given = bytes(written if breaks is None else written[:breaks])
        self.travelled.append(len(given))
        done = await asyncio.to_thread(subprocess.run, command, input=given, capture_output=True)
        if breaks is not None:
            self.on_break()
            raise AgentUnreachable("The connection to the agent broke off;", "try again.")
        return CommandEnd(exit=done.returncode, said=done.stderr.decode())


class Broken:
    def __init__(self, data: bytes, breaks: int, agent: Here) -> None:
        self.data, self.at, self.breaks, self.agent = data, 0, breaks, agent

    def read(self, size: int = -1) -> bytes:
        end = len(self.data) if size < 0 else min(len(self.data), self.at + size)
        if end > self.breaks:
            end = self.breaks
            if self.at == end:
                self.agent.travelled.append(end)
                self.agent.on_break()
                raise AgentUnreachable("The connection to the agent broke off;", "try again.")
        piece, self.at = self.data[self.at : end], end
        return piece


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in (
        (_resuming, "LARGE", 2 << 20),
        (_copying, "LARGE", 2 << 20),
        (_resuming, "WORTH", 1 << 20),
    ):
        monkeypatch.setattr(module, name, value)


def shell(agent: Here, naps: list[float] | None = None) -> LeaseShell:
    async def nap(seconds: float) -> None:
        if naps is not None:
            naps.append(seconds)

    made = LeaseShell(cast(Any, agent), 1, nap)
    made._program = ("/bin/sh",)
    return made


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(os.urandom(SIZE))
    path.chmod(0o750)
    os.utime(path, (5, 7))
    return path


def content(path: Path) -> bytes:
    return path.read_bytes()


async def test_in_it_is_taken_up_where_it_broke_off(tmp_path: Path, source: Path) -> None:
    agent, naps = Here(2 << 20, 100_000), list[float]()
    there = tmp_path / "there"
    assert await copy_in(shell(agent, naps), source, str(there)) == Copied(1, SIZE)
    assert content(there) == content(source)
    assert (there.stat().st_mode & 0o777, int(there.stat().st_mtime)) == (0o750, 7)
    assert naps == [1.0, 2.0]
    assert agent.travelled[0] == 2 << 20
    assert sum(agent.travelled[1:]) <= SIZE - (2 << 20) + 1024 + 100_000
    before = len(agent.travelled)
    assert await copy_in(shell(agent), source, str(there)) == Copied(1, SIZE)
    assert agent.travelled[before:] == [0], "what is there as a whole need not travel"


async def test_out_it_is_taken_up_where_it_broke_off(tmp_path: Path, source: Path) -> None:
    agent, naps = Here(2 << 20, 100_000), list[float]()
    here = tmp_path / "here"
    assert await copy_out(shell(agent, naps), str(source), here) == Copied(1, SIZE)
    assert content(here) == content(source)
    assert here.stat().st_mode & 0o777 == 0o755
    assert naps == [1.0, 2.0]
    assert agent.travelled[0] == 2 << 20
    assert sum(agent.travelled[1:]) <= SIZE - (2 << 20) + (1 << 20) + 100_000
    before = len(agent.travelled)
    assert await copy_out(shell(agent), str(source), here) == Copied(1, SIZE)
    assert agent.travelled[before:] == []


async def test_it_gives_up(tmp_path: Path, source: Path) -> None:
    naps = list[float]()
    with pytest.raises(AgentUnreachable):
        await copy_in(shell(Here(*[0] * 9), naps), source, str(tmp_path / "there"))
    assert len(naps) == 5
    small = tmp_path / "small"
    small.write_bytes(b"x")
    with pytest.raises(AgentUnreachable):
        await copy_in(shell(Here(0), naps), small, str(tmp_path / "other"))
    assert len(naps) == 5, "a small one is not tried again"


@pytest.mark.parametrize("way", ["in", "out"])
@pytest.mark.parametrize("kind", ["other", "longer", "linked", "second name"])
async def test_what_is_no_beginning_is_replaced(tmp_path: Path, source: Path, way: str, kind: str) -> None:
    """Whatever lies there: nothing is appended to it, and what it leads to stays as it is."""
    place, aside = tmp_path / "place", tmp_path / "aside"
    begun = content(source)[: 2 << 20]
    aside.write_bytes(begun)
    if kind == "linked":
        place.symlink_to(aside)
    elif kind == "second name":
        place.hardlink_to(aside)
    else:
        place.write_bytes(b"x" + begun[1:] if kind == "other" else content(source) + b"more")
    if way == "in":
        copied = await copy_in(shell(Here()), source, str(place))
    else:
        copied = await copy_out(shell(Here()), str(source), place)
    if copied.left:
        assert way == "out"
        assert kind in ("linked", "second name"), "these are left alone, as ever"
    else:
        assert content(place) == content(source)
    assert content(aside) == begun


async def test_a_source_here_that_changes_meanwhile(tmp_path: Path, source: Path) -> None:
    there = tmp_path / "there"
    agent = Here(2 << 20, on_break=lambda: source.write_bytes(os.urandom(SIZE)))
    await copy_in(shell(agent), source, str(there))
    assert content(there) == content(source), "it was begun anew"


async def test_a_source_there_that_grows_meanwhile(tmp_path: Path, source: Path) -> None:
    def grow() -> None:
        with source.open("ab") as file:
            file.write(b"more")

    with pytest.raises(CopyFailed, match="written to"):
        await copy_out(shell(Here(2 << 20, on_break=grow)), str(source), tmp_path / "here")


async def test_a_target_there_that_grows_meanwhile(tmp_path: Path, source: Path) -> None:
    """As when what broke off has not ended there yet, and still writes."""
    there = tmp_path / "there"
    there.write_bytes(content(source)[: 2 << 20])
    agent = Here()
    whole = agent.exec_on

    async def exec_on(lease: int, command: list[str], feed: Feed, counted: Any) -> CommandEnd:
        with there.open("ab") as file:
            file.write(b"late")
        return await whole(lease, command, feed, counted)

    agent.exec_on = exec_on  # type: ignore[method-assign]
    with pytest.raises(CopyFailed, match="written to"):
        await copy_in(shell(agent), source, str(there))


@pytest.mark.parametrize("line", [b"", b"1 2 3", b"x 1 1 644", b"1 1 1 999", b"1 1 1 1 1"])
def test_a_status_that_is_none(line: bytes) -> None:
    assert FileThere.read(line) is None

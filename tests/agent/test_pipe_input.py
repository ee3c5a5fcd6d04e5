"""A command's input that is written past the engine: whose it is, what it may be, and a reader that is slow or gone."""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from devnet.patience import patient
from leasehold_agent.engine._pipe_end import REST_SECONDS, ROOM
from leasehold_agent.engine._pipe_input import LONGEST_REST, PipeInput, next_rest
from leasehold_agent.host import input_pipe_of

CONTAINER = "c0ffee" * 10


@contextmanager
def process(stdin: int, *, of: str = CONTAINER) -> Iterator[int]:
    """A process that names a container on its command line, as a sandbox does, and reads nothing."""
    with subprocess.Popen(["sh", "-c", "kill -STOP $$", of], stdin=stdin) as running:
        try:
            os.waitid(
                os.P_PID, running.pid, os.WSTOPPED | os.WNOWAIT
            )  # by now it is the program that was named
            yield running.pid
        finally:
            running.kill()


@pytest.fixture
def ends() -> Iterator[list[int]]:
    """The ends of a pipe: to read, and to write."""
    both = list(os.pipe())
    yield both
    for end in both:
        os.close(end)


def test_a_pipe_of_the_containers_process(ends: list[int]) -> None:
    with process(ends[0]) as pid:
        found = input_pipe_of(CONTAINER, pid)
        assert found is not None
        os.write(found, b"hello")
        os.close(found)
    assert os.read(ends[0], 9) == b"hello"


def test_a_process_of_another_container(ends: list[int]) -> None:
    """Its number was handed out again: its neighbour gets no byte."""
    with process(ends[0], of="d0d0" * 15) as pid:
        assert input_pipe_of(CONTAINER, pid) is None
    with process(ends[0]) as pid:
        pass
    assert input_pipe_of(CONTAINER, pid) is None
    assert input_pipe_of(CONTAINER, 0) is None


def test_what_is_no_pipe_is_not_opened(tmp_path: Path) -> None:
    """A tenant chooses what stands there: a file that he may only read is not written to by root, and a pipe with a
    name has other rights than his.
    """
    file, named = tmp_path / "file", tmp_path / "named"
    file.write_bytes(b"as it was")
    os.mkfifo(named)
    for place in (file, named, Path("/dev/null")):
        stdin = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
        with process(stdin) as pid:
            assert input_pipe_of(CONTAINER, pid) is None, place
        os.close(stdin)
    assert file.read_bytes() == b"as it was"


async def test_a_slow_reader_holds_it_back_and_gets_all(ends: list[int]) -> None:
    data = os.urandom(3 * ROOM + 7)
    pipe = PipeInput(_writer(ends), roomy=True)
    writing = asyncio.create_task(pipe.write(data))
    read = bytearray()
    async with asyncio.timeout(patient(30)):
        while len(read) < len(data):
            read += await asyncio.to_thread(os.read, ends[0], ROOM)
        await writing
    assert bytes(read) == data
    pipe.close()
    pipe.close()


@pytest.mark.parametrize("room", [65536, ROOM])
@pytest.mark.parametrize("mib_a_second", [5, 20, 60, 250, 1000])
def test_a_slow_reader_is_seldom_looked_at_and_never_waits(room: int, mib_a_second: int) -> None:
    """One that reads evenly: once the rests have settled, the pipe is never empty where the shortest would not have
    emptied it, and what goes between two is more than a quarter of it unless the longest is reached.
    """
    rest = REST_SECONDS
    for _ in range(20):
        rest = next_rest(rest, went := min(room, int(rest * mib_a_second * 2**20)), room)
        assert went < room or rest == REST_SECONDS
    assert REST_SECONDS <= rest <= LONGEST_REST
    assert went > room // 4 or rest == LONGEST_REST


def test_a_reader_that_is_fast_again_is_looked_at_as_often_as_ever() -> None:
    rest = LONGEST_REST
    for _ in range(10):
        rest = next_rest(rest, ROOM, ROOM)
    assert rest == REST_SECONDS


async def test_nobody_reads_any_more(ends: list[int]) -> None:
    pipe = PipeInput(_writer(ends), roomy=False)
    writing = asyncio.create_task(pipe.write(bytes(2 * ROOM)))
    await _full(ends)
    os.dup2(os.open(os.devnull, os.O_RDONLY), ends[0])
    with pytest.raises(BrokenPipeError):
        async with asyncio.timeout(patient(30)):
            await writing
    pipe.close()


async def test_closed_while_it_waits(ends: list[int]) -> None:
    pipe = PipeInput(_writer(ends), roomy=False)
    writing = asyncio.create_task(pipe.write(bytes(2 * ROOM)))
    await _full(ends)
    pipe.close()
    with pytest.raises(BrokenPipeError):
        async with asyncio.timeout(patient(30)):
            await writing


async def test_only_some_are_made_larger(ends: list[int]) -> None:
    for roomy, size in ((False, 65536), (True, ROOM)):
        pipe = PipeInput(_writer(ends), roomy=roomy)
        assert fcntl.fcntl(ends[0], fcntl.F_GETPIPE_SZ) == size
        pipe.close()


def _writer(ends: list[int]) -> int:
    return os.open(f"/proc/self/fd/{ends[1]}", os.O_WRONLY | os.O_NONBLOCK)


async def _full(ends: list[int]) -> None:
    """Until what was written fills the pipe."""
    async with asyncio.timeout(patient(30)):
        while int.from_bytes(fcntl.ioctl(ends[0], 0x541B, bytes(4)), "little") < 65536:  # noqa: ASYNC110
            await asyncio.sleep(0)

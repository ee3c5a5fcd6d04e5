"""A command's output that is read past the engine: whose it is, what it may be, how it ends, and tenants who lie."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from devnet.local_leases import ProcessStream
from devnet.patience import patient
from leasehold_agent.engine._pipe_end import ROOM
from leasehold_agent.engine._pipe_output import MOST_ASIDE, PipedExec, PipeOutput, by_pipe
from leasehold_agent.host import output_pipe_of

from .test_pipe_input import CONTAINER, process

SHELL = ("sh",)
FORGED = ("sh", "-c", "read -r way; printf '\\001'; exec sh -c \"$1\"", "leasehold")
"""A shell of a tenant's, which says that it writes to the pipe, and does what it wants to."""


@pytest.fixture
def ends() -> Iterator[list[int]]:
    """The ends of a pipe: to read, and to write."""
    both = list(os.pipe())
    yield both
    for end in both:
        if end >= 0:
            os.close(end)


class Command(ProcessStream):
    """A local process as the engine has it: what it reads is a pipe."""

    def __init__(self, running: asyncio.subprocess.Process, stdin: int) -> None:
        super().__init__(running)
        self._stdin = stdin

    async def write(self, data: bytes | memoryview) -> None:
        os.write(self._stdin, data)

    async def write_eof(self) -> None:
        if self._stdin >= 0:
            os.close(self._stdin)
            self._stdin = -1

    async def close(self) -> None:
        await self.write_eof()
        await super().close()


@asynccontextmanager
async def begun(*command: str, has_pipe: bool = True) -> AsyncIterator[PipedExec]:
    """A command as the agent has begun it."""
    reads, writes = os.pipe()
    running = await asyncio.create_subprocess_exec(
        *command,
        stdin=reads,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    os.close(reads)
    stream, found = Command(running, writes), list[PipeOutput]()

    async def find() -> PipeOutput | None:
        if not has_pipe:
            return None
        try:
            descriptor = os.open(f"/proc/{running.pid}/fd/0", os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError:  # it has ended already
            return None
        found.append(PipeOutput(descriptor, roomy=True))
        return found[0]

    piped = PipedExec(stream, find)
    try:
        async with asyncio.timeout(patient(30)):
            yield piped
    finally:
        await piped.close()
        for pipe in found:
            pipe.close()


async def all_of(stream: PipedExec) -> dict[int, bytes]:
    parts = {1: bytearray(), 2: bytearray()}
    async for fd, data in stream:
        parts[fd] += data
    return {fd: bytes(data) for fd, data in parts.items()}


# ------------------------------------------------------------------------------------------------- whose it is


def test_a_pipe_of_the_containers_process(ends: list[int]) -> None:
    with process(ends[0]) as pid:
        found = output_pipe_of(CONTAINER, pid)
        assert found is not None
        os.write(ends[1], b"hello")
        assert os.read(found, 9) == b"hello"
        os.close(found)


def test_a_process_of_another_container(ends: list[int]) -> None:
    """Its number was handed out again: no byte of its neighbour's is read."""
    with process(ends[0], of="d0d0" * 15) as pid:
        assert output_pipe_of(CONTAINER, pid) is None
    with process(ends[0]) as pid:
        pass
    assert output_pipe_of(CONTAINER, pid) is None


def test_what_is_no_pipe_is_not_opened(tmp_path: Path) -> None:
    """A tenant chooses what stands there: root reads no file, device or named pipe for him that he may not read."""
    file, named = tmp_path / "file", tmp_path / "named"
    file.write_bytes(b"root's")
    os.mkfifo(named)
    for place in (file, named, Path("/dev/zero"), tmp_path):
        stdin = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
        with process(stdin) as pid:
            assert output_pipe_of(CONTAINER, pid) is None, place
        os.close(stdin)


# ---------------------------------------------------------------------------------------------------- the pipe


async def test_a_slow_writer_is_waited_for(ends: list[int]) -> None:
    data = os.urandom(3 * ROOM + 7)
    pipe, read = PipeOutput(_reader(ends), roomy=True), bytearray()

    def write() -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(ends[1], rest[:100_000]) :]
        os.close(ends[1])
        ends[1] = -1

    async with asyncio.timeout(patient(30)):
        writing = asyncio.create_task(asyncio.to_thread(write))
        while piece := await pipe.read():
            read += piece
        await writing
    assert bytes(read) == data
    pipe.close()
    pipe.close()
    assert await pipe.read() == b""


async def test_what_lies_there_at_the_end_is_read(ends: list[int]) -> None:
    """Though somebody still has it open: a child that its command has left."""
    pipe = PipeOutput(_reader(ends), roomy=False)
    os.write(ends[1], b"the last word")
    pipe.finish()
    assert [await pipe.read(), await pipe.read()] == [b"the last word", b""]
    pipe.close()


@pytest.mark.parametrize("end", [PipeOutput.finish, PipeOutput.close])
async def test_it_ends_while_it_is_waited_for(ends: list[int], end: Callable[[PipeOutput], None]) -> None:
    pipe = PipeOutput(_reader(ends), roomy=False)
    reading = asyncio.create_task(pipe.read())
    await asyncio.sleep(0)
    end(pipe)
    async with asyncio.timeout(patient(30)):
        assert await reading == b""
    pipe.close()


def _reader(ends: list[int]) -> int:
    return os.open(f"/proc/self/fd/{ends[0]}", os.O_RDONLY | os.O_NONBLOCK)


# ------------------------------------------------------------------------------------------------- the command


@pytest.mark.parametrize("has_pipe", [True, False])
async def test_what_it_writes_is_the_same_either_way(has_pipe: bool) -> None:
    script = 'head -c 3000000 /dev/zero; echo "$2" aside >&2; cat; exit $1'
    async with begun(*by_pipe(SHELL, ["sh", "-c", script, "x", "7", "a b"]), has_pipe=has_pipe) as stream:
        assert await all_of(stream) == {1: bytes(3_000_000), 2: b"a b aside\n"}
        assert await stream.wait() == 7
        assert stream.by_pipe is has_pipe


@pytest.mark.parametrize("has_pipe", [True, False])
async def test_a_command_that_is_not_there(has_pipe: bool) -> None:
    async with begun(*by_pipe(SHELL, ["/no/such"]), has_pipe=has_pipe) as stream:
        said = await all_of(stream)
        assert said[1] == b""
        assert b"/no/such" in said[2]
        assert await stream.wait() == 127


async def test_a_shell_that_does_not_begin_is_told_of() -> None:
    """What the engine complains of comes as if the command had written it."""
    async with begun("sh", "-c", "echo no such shell; exit 126") as stream:
        assert await all_of(stream) == {1: b"no such shell\n", 2: b""}
        assert await stream.wait() == 126


async def test_one_that_cannot_open_its_pipe_goes_by_the_engine() -> None:
    command = [word.replace("/proc/self/fd/0", "/proc/none") for word in by_pipe(SHELL, ["echo", "hello"])]
    async with begun(*command) as stream:
        assert (await all_of(stream))[1] == b"hello\n"
        assert await stream.wait() == 0


async def test_it_takes_no_input() -> None:
    async with begun(*by_pipe(SHELL, ["true"])) as stream:
        await stream.write(b"")
        with pytest.raises(ConnectionError):
            await stream.write(b"x")
        await stream.write_eof()


# --------------------------------------------------------------------------------------------- tenants who lie


async def test_a_pipe_that_is_promised_and_never_written() -> None:
    async with begun(*FORGED, "echo by the engine; echo aside >&2; exit 3") as stream:
        assert await all_of(stream) == {1: b"", 2: b"aside\n"}, "what nobody asked for"
        assert await stream.wait() == 3


async def test_a_flood_beside_the_pipe_is_thrown_away() -> None:
    async with begun(*FORGED, "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2") as stream:
        said = await all_of(stream)
        assert (said[1], len(said[2])) == (b"", MOST_ASIDE)


async def test_a_child_that_keeps_the_pipe_keeps_nobody_waiting() -> None:
    """The command has ended, whatever its child still has open."""
    script = "sleep 1000 3>&1 >/dev/null 2>&1 </dev/null & echo last"
    async with begun(*by_pipe(SHELL, ["sh", "-c", script])) as stream:
        assert (await all_of(stream))[1] == b"last\n"
        assert await stream.wait() == 0


async def test_one_that_never_says_which_way_ends_with_its_caller() -> None:
    async with begun("sleep", "1000") as stream:
        reading = asyncio.create_task(all_of(stream))
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await stream.close()
        assert await stream.wait() == 128 + signal.SIGKILL


async def test_one_that_writes_without_end_ends_with_its_caller() -> None:
    async with begun(*by_pipe(SHELL, ["cat", "/dev/zero"])) as stream:
        async for _ in stream:
            break
        await stream.close()
        assert await stream.wait() == 128 + signal.SIGKILL

"""What a tenant does with a running lease, over the engine: commands, terminals, logs, connections."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devnet.patience import patient
from leasehold.chain import LeaseState
from leasehold_agent._errors import EngineDown, NoContainer
from leasehold_agent._runtime import LogView
from leasehold_agent.engine import ContainerFacts, _streams
from leasehold_agent.engine._pipe_output import PipedExec
from leasehold_agent.engine._streams import DockerExec, EngineStreams, _Frames
from leasehold_agent.reconciling._leases import Record
from leasehold_agent.reconciling._phases import phase_of
from leasehold_agent.store import Notes, lend_helper

if TYPE_CHECKING:
    from tests.agent.conftest import Rig


async def running(rig: Rig, **fields: object) -> int:
    lease = await rig.open(rig.workload(**fields))
    await rig.reaches(lease, LeaseState.ACTIVE)
    return lease


async def read_to_end(stream: object) -> dict[int, bytes]:
    parts: dict[int, bytes] = {1: b"", 2: b""}
    async for fd, data in stream:  # type: ignore[attr-defined]  # an ExecStream
        parts[fd] += data
    return parts


class TestExec:
    async def test_streams_exit_code_and_environment(self, rig: Rig) -> None:
        lease = await running(rig)
        command = ["sh", "-c", "cat; echo $NAME >&2; exit 7"]
        stream = await rig.runtime.exec(lease, command, env={"NAME": "value"})
        await stream.write(b"through and back")
        await stream.write_eof()
        assert await read_to_end(stream) == {1: b"through and back", 2: b"value\n"}
        assert await stream.wait() == 7
        await stream.close()
        await stream.close()

    @pytest.mark.slow
    async def test_a_megabyte_each_way(self, rig: Rig) -> None:
        lease = await running(rig)
        stream = await rig.runtime.exec(lease, ["cat"])
        sent = bytes(range(256)) * 4_096

        async def feed() -> None:
            await stream.write(sent)
            await stream.write_eof()

        feeding = asyncio.create_task(feed())
        assert (await read_to_end(stream))[1] == sent
        await feeding
        assert await stream.wait() == 0
        await stream.close()

    @pytest.mark.slow
    @pytest.mark.parametrize("runtime", [None, "gvisor"])
    async def test_much_input_goes_past_the_engine(self, rig: Rig, runtime: str | None) -> None:
        if runtime is not None and "runsc" not in rig.host.facts.engine.runtimes:
            pytest.skip("no runsc on this machine")
        lease = await running(rig, **({"runtime": runtime} if runtime else {}))
        sent = os.urandom(5 << 20)
        stream = await rig.runtime.exec(lease, ["sha256sum"])
        reading = asyncio.create_task(read_to_end(stream))
        await stream.write(sent)
        assert isinstance(stream, DockerExec)
        assert stream.has_pipe
        await stream.write_eof()
        assert (await reading)[1].split()[0].decode() == hashlib.sha256(sent).hexdigest()
        assert await stream.wait() == 0
        await stream.close()

    @pytest.mark.slow
    async def test_much_input_where_the_agent_may_not_reach_it(
        self, rig: Rig, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It goes through the engine, as all else."""
        monkeypatch.setattr(_streams, "input_pipe_of", lambda container, pid: None)
        lease = await running(rig)
        stream = await rig.runtime.exec(lease, ["wc", "-c"])
        reading = asyncio.create_task(read_to_end(stream))
        await stream.write(bytes(5 << 20))
        await stream.write_eof()
        assert (await reading)[1].split() == [b"5242880"]
        assert await stream.wait() == 0
        await stream.close()

    @pytest.mark.slow
    @pytest.mark.parametrize("lent", [True, False])
    async def test_much_output_goes_past_the_engine(self, rig: Rig, tmp_path: Path, lent: bool) -> None:
        """It is the same by the engine, where the host lends no shell."""
        rig.host.helper = lend_helper(tmp_path / "helper") if lent else None
        lease = await running(rig)
        script = "head -c 5000000 /dev/zero; echo $NAME >&2; exit 7"
        stream = await rig.runtime.exec(lease, ["sh", "-c", script], env={"NAME": "value"}, much=True)
        assert await read_to_end(stream) == {1: bytes(5_000_000), 2: b"value\n"}
        assert await stream.wait() == 7
        assert (isinstance(stream, PipedExec) and stream.by_pipe) is lent
        await stream.close()

    @pytest.mark.slow
    async def test_a_terminal_has_a_size_and_can_be_resized(self, rig: Rig) -> None:
        lease = await running(rig)
        stream = await rig.runtime.exec(lease, ["sh"], tty=True, size=(33, 101))
        await stream.write(b"stty size\n")
        await _seen(stream, b"33 101")
        await stream.resize(44, 77)
        await stream.write(b"stty size; exit 3\n")
        await _seen(stream, b"44 77")
        await read_to_end(stream)
        assert await stream.wait() == 3
        await stream.resize(10, 10)
        await stream.close()

    @pytest.mark.slow
    async def test_a_command_that_ends_before_its_terminal_has_a_size(self, rig: Rig) -> None:
        lease = await running(rig)
        for code in range(5):
            stream = await rig.runtime.exec(lease, ["sh", "-c", f"exit {code}"], tty=True, size=(24, 80))
            await read_to_end(stream)
            assert await stream.wait() == code
            await stream.close()

    @pytest.mark.slow
    async def test_closing_ends_the_command(self, rig: Rig) -> None:
        lease = await running(rig)
        stream = await rig.runtime.exec(lease, ["sleep", "4321"])
        await rig.until(lambda: _sees(rig, lease, "sleep 4321"))
        await stream.close()
        await rig.until(lambda: _sees_not(rig, lease, "sleep 4321"))

    @pytest.mark.slow
    async def test_a_number_that_is_another_s_by_now_ends_nobody(
        self, rig: Rig, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The command has ended, its number has been given out again, and the engine has not heard of it yet."""
        lease = await running(rig)
        other = await asyncio.create_subprocess_exec("sleep", "600")
        stream = await rig.runtime.exec(lease, ["true"])

        async def behind(_: str) -> tuple[bool, int | None, int]:
            return True, None, other.pid

        monkeypatch.setattr(rig.host.containers.engine.streams, "inspect_exec", behind)
        try:
            await stream.close()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(other.wait(), 0.2)
        finally:
            other.kill()
            await other.wait()

    @pytest.mark.slow
    async def test_a_command_that_is_not_there(self, rig: Rig) -> None:
        lease = await running(rig)
        stream = await rig.runtime.exec(lease, ["/no/such/command"])
        output = await read_to_end(stream)
        assert b"no such file" in b"".join(output.values()).lower()
        assert await stream.wait() in (126, 127)
        await stream.close()


async def _seen(stream: object, wanted: bytes) -> None:
    text = b""
    async with asyncio.timeout(patient(10)):
        async for _, data in stream:  # type: ignore[attr-defined]  # an ExecStream
            text += data
            if wanted in text:
                return


async def _sees(rig: Rig, lease: int, what: str) -> bool:
    return what in (await rig.inside(lease, "ps"))[1]


async def _sees_not(rig: Rig, lease: int, what: str) -> bool:
    return not await _sees(rig, lease, what)


class TestLogs:
    async def test_all_the_last_and_those_to_come(self, rig: Rig) -> None:
        script = "echo one; echo two >&2; while [ ! -f /go ]; do sleep 0.1; done; echo three"
        lease = await running(rig, command=["sh", "-c", script])

        async def lines(tail: int | None) -> bytes:
            return b"".join([data async for data in rig.runtime.logs(lease, tail, False)])

        assert sorted((await lines(None)).splitlines()) == [b"one", b"two"]
        assert len((await lines(1)).splitlines()) == 1
        follow = rig.runtime.logs(lease, None, True)
        text = b""
        async with asyncio.timeout(patient(20)):
            async for data in follow:
                text += data
                if text.count(b"\n") == 2:
                    await rig.inside(lease, "touch /go")
        assert text.endswith(b"three\n")

    @pytest.mark.slow
    async def test_by_when_lines_were_written(self, rig: Rig) -> None:
        lease = await running(rig, command=["sh", "-c", "echo early; echo late; sleep 600"])

        async def lines(view: LogView) -> list[bytes]:
            return b"".join([data async for data in rig.runtime.logs(lease, None, False, view)]).splitlines()

        async def all_there() -> bool:
            return len(await lines(LogView())) == 2

        await rig.until(all_there)
        stamps = [line.split(b" ")[0].decode() for line in await lines(LogView(stamped=True))]
        early, late = (datetime.fromisoformat(f"{stamp[:26]}+00:00").timestamp() for stamp in stamps)
        assert early <= late
        assert await lines(LogView(since=int(early))) == [b"early", b"late"]
        assert await lines(LogView(since=int(late) + 1)) == []


class TestConnect:
    @pytest.mark.slow
    async def test_a_port_inside(self, rig: Rig) -> None:
        lease = await running(rig, command=["sh", "-c", "while true; do echo hello | nc -l -p 7000; done"])

        async def answers() -> bytes:
            try:
                reader, writer = await rig.runtime.connect(lease, 7000)
            except OSError:
                return b""
            try:
                return await reader.read(5)
            finally:
                writer.close()
                await writer.wait_closed()

        await rig.until(answers)
        with pytest.raises(OSError, match=r"(?i)refused|failed"):
            await rig.runtime.connect(lease, 7001)


class TestRefusals:
    async def test_a_lease_that_is_not_here(self, rig: Rig) -> None:
        assert await rig.runtime.lookup(99 << 16) is None
        with pytest.raises(NoContainer):
            await rig.runtime.exec(99 << 16, ["true"])
        with pytest.raises(NoContainer):
            await anext(rig.runtime.logs(99 << 16, None, False))
        with pytest.raises(NoContainer):
            await rig.runtime.connect(99 << 16, 80)

    async def test_an_engine_that_does_not_answer(self, tmp_path: Path) -> None:
        streams = EngineStreams(f"unix://{tmp_path}/none.sock")
        with pytest.raises(EngineDown):
            await streams.exec("c", ["true"], tty=False, env={}, size=None)
        with pytest.raises(EngineDown):
            await anext(streams.logs("c", None, False))
        with pytest.raises(EngineDown):
            await streams._take_over("/exec/x/start", {})
        await streams.aclose()

    async def test_streams_of_a_container_that_is_gone(self, rig: Rig) -> None:
        with pytest.raises(NoContainer, match="gone"):
            await rig.host.containers.engine.streams.exec("gone", ["true"], tty=False, env={}, size=None)
        with pytest.raises(NoContainer, match="gone"):
            await anext(rig.host.containers.engine.streams.logs("gone", None, False))
        with pytest.raises(NoContainer, match="gone"):
            await rig.host.containers.engine.streams._take_over("/exec/gone/start", {"Detach": False})


class ForgetfulEngine:
    """It knows of a command no more, and holds its connection: so does Docker, once a whole sandbox has died. Time
    passes when a test says so.
    """

    def __init__(self) -> None:
        self.knows = True
        self.waited = asyncio.Event()
        self.later = asyncio.Event()
        self.command: asyncio.StreamWriter | None = None
        self._held: list[asyncio.StreamWriter] = []

    async def sleep(self, _: float) -> None:
        self.waited.set()
        await self.later.wait()
        self.later.clear()

    def say(self, words: bytes) -> None:
        assert self.command is not None
        self.command.write(b"\x01\0\0\0\0\0\0" + bytes([len(words)]) + words)

    def close(self) -> None:
        for writer in self._held:
            writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._held.append(writer)
        while head := await _head(reader):
            path = head.split(b" ", 2)[1]
            length = re.search(rb"(?i)content-length: (\d+)", head)
            await reader.readexactly(int(length[1]) if length else 0)
            if path.endswith(b"/start"):
                writer.write(b"HTTP/1.1 101 UPGRADED\r\n\r\n")
                self.command = writer
                self.say(b"abc")
                return
            known = self.knows or path.endswith(b"/exec")
            said = (
                '{"Id": "x", "Running": false, "ExitCode": 137, "Pid": 0}' if known else '{"message": "no"}'
            )
            status = "200 OK" if known else "404 Not Found"
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(said)}\r\n\r\n{said}".encode())


async def _head(reader: asyncio.StreamReader) -> bytes:
    with contextlib.suppress(asyncio.IncompleteReadError):
        return await reader.readuntil(b"\r\n\r\n")
    return b""


@pytest.fixture
async def forgetful(tmp_path: Path) -> AsyncIterator[tuple[ForgetfulEngine, EngineStreams]]:
    engine = ForgetfulEngine()
    server = await asyncio.start_unix_server(engine.serve, tmp_path / "sock")
    streams = EngineStreams(f"unix://{tmp_path}/sock", engine.sleep)
    yield engine, streams
    await streams.aclose()
    engine.close()
    server.close()


async def test_commands_of_a_container_that_has_ended_have_ended(
    forgetful: tuple[ForgetfulEngine, EngineStreams],
) -> None:
    """Whatever the engine says; each would hold a connection, of a lease that nobody pays for, as long as one likes."""
    engine, streams = forgetful
    engine.knows = False
    stream = await streams.exec("c", ["sh"], tty=False, env={}, size=None)
    streams.ended("another")
    pieces = aiter(stream)
    assert await anext(pieces) == (1, b"abc")
    for _ in range(3):
        streams.ended("c")
    engine.later.set()
    assert [piece async for piece in pieces] == []
    with pytest.raises(NoContainer, match="has ended"):
        await stream.wait()
    await stream.close()
    streams.ended("c")
    assert streams._commands == {}


async def test_its_last_words_are_heard(forgetful: tuple[ForgetfulEngine, EngineStreams]) -> None:
    """As long as there come some, the end is not yet."""
    engine, streams = forgetful
    stream = await streams.exec("c", ["sh"], tty=False, env={}, size=None)
    streams.ended("c")
    await engine.waited.wait()
    pieces = aiter(stream)
    assert await anext(pieces) == (1, b"abc")
    engine.waited.clear()
    engine.later.set()
    await engine.waited.wait()  # it waits once more
    engine.say(b"de")
    assert await anext(pieces) == (1, b"de")
    assert engine.command is not None
    engine.command.close()
    assert [piece async for piece in pieces] == []
    assert await stream.wait() == 137
    await stream.close()


@pytest.mark.parametrize("cut", range(1, 20))
def test_frames_however_they_are_cut(cut: int) -> None:
    whole = bytes([1, 0, 0, 0, 0, 0, 0, 3]) + b"abc" + bytes([2, 0, 0, 0, 0, 0, 0, 0]) + b""
    whole += bytes([2, 0, 0, 0, 0, 0, 0, 2]) + b"de"
    frames = _Frames()
    found = [part for at in range(0, len(whole), cut) for part in frames.feed(whole[at : at + cut])]
    # Neighbours of one stream may come as one, in whatever way the bytes arrived.
    assert [(fd, data) for fd, data in found if data] == [(1, b"abc"), (2, b"de")]
    frames = _Frames()
    assert b"".join(frames.data(whole[at : at + cut]) for at in range(0, len(whole), cut)) == b"abcde"


RUNNING = ContainerFacts("c", "n", {}, "running", 0, 1, "10.0.0.2", ())
EXITED = ContainerFacts("c", "n", {}, "exited", 3, 0, None, ())
PHASES = [
    (LeaseState.OPENED, Notes(), None, Record(), "pulling"),
    (LeaseState.OPENED, Notes(), None, Record(waiting="dataset-missing"), "fetching"),
    (LeaseState.OPENED, Notes(launched=True), RUNNING, Record(), "starting"),
    (LeaseState.OPENED, Notes(launched=True), RUNNING, Record(ready=True), "ready"),
    (LeaseState.OPENED, Notes(failure="no-disk"), None, Record(), "declined"),
    (LeaseState.ACTIVE, Notes(launched=True), RUNNING, Record(), "running"),
    (LeaseState.ACTIVE, Notes(launched=True), EXITED, Record(), "running"),
    (LeaseState.ENDED, Notes(launched=True), RUNNING, Record(), "stopping"),
    (LeaseState.ENDED, Notes(launched=True, published=True, gone_at=1), EXITED, Record(), "ended"),
    (LeaseState.CANCELLED, Notes(failure="no-disk"), None, Record(), "declined"),
    (None, Notes(launched=True, gone_at=1), EXITED, Record(), "ended"),
]


@pytest.mark.parametrize(("state", "notes", "container", "record", "phase"), PHASES)
def test_phases(
    state: LeaseState | None, notes: Notes, container: ContainerFacts | None, record: Record, phase: str
) -> None:
    from leasehold_agent.chain import Desired

    desired = None if state is None else Desired(1, 1, "0x", state, 0x01FF, b"", 0, 0, 0, "0x")
    assert phase_of(desired, notes, container, record)[0] == phase

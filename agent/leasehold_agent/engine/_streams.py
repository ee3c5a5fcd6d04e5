"""The engine's streams: commands run inside a container, and its log.

These stay open for as long as a tenant looks, so they are asynchronous to the bottom instead of holding a
thread each: `exec` speaks the engine's API over a connection of its own and takes it over once the engine
has switched protocols.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from urllib.parse import quote, urlencode, urlsplit

import httpx

from leasehold_agent._errors import EngineDown, NoContainer
from leasehold_agent.engine._pipe_input import PipeInput
from leasehold_agent.engine._pipe_output import PipedExec, PipeOutput, by_pipe
from leasehold_agent.host import end_process_of, input_pipe_of, output_pipe_of

_HEADER = 8  # stream type, three zero bytes, length of the frame
_FRAME = struct.Struct(">B3xI")
_ANSWER_SECONDS = 60.0
_CHUNK = 1 << 16
_OUTPUT = 1 << 18
"""What is taken at once of what a command writes: all that a connection keeps. Each piece costs several turns."""
_EXPORTED = 1 << 20
_NO_SUCH, _CONFLICT = 404, 409
_PARTING_SECONDS = 15.0
"""A command whose container has ended, and of which nothing is heard for so long, has said its last word."""
MUCH = 32 * 1024
"""Of a first piece of input: what begins so goes on so, and is written past the engine."""
ROOMY = 4
"""Commands of one container whose pipes are made larger: what is in them is the agent's memory."""
_STARTS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Seconds after which the engine is asked again whether a command has begun."""


class EngineStreams:
    """The part of the engine's API that streams. `url` is `unix:///path` or `tcp://host:port`."""

    def __init__(self, url: str, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.sleep = sleep
        self._address = urlsplit(url)
        unix = self._address.scheme == "unix"
        self._http = httpx.AsyncClient(
            # The engine is asked over a socket, or plain HTTP: no certificate is looked at.
            transport=httpx.AsyncHTTPTransport(verify=False, uds=self._address.path if unix else None),
            base_url="http://docker" if unix else f"http://{self._address.netloc}",
            timeout=httpx.Timeout(60, read=None),
            trust_env=False,
        )
        self._commands: dict[str, set[DockerExec]] = {}

    async def aclose(self) -> None:
        await self._http.aclose()

    def ended(self, container: str) -> None:
        """A container has ended, by its full id: its commands have, too, whatever the engine says. (When all of a
        sandbox of gVisor's dies at once, Docker forgets its commands, and never closes their connections.)
        """
        for stream in self._commands.get(container, ()):
            stream.part()

    def is_roomy(self, container: str) -> bool:
        """Whether a pipe of one more of its commands holds more, as those of the first few do."""
        return sum(other.has_pipe for other in self._commands.get(container, ())) < ROOMY

    def forget(self, stream: DockerExec) -> None:
        """It is closed."""
        if (streams := self._commands.get(stream.container)) is not None:
            streams.discard(stream)
            if not streams:
                del self._commands[stream.container]

    async def exec(
        self,
        container: str,
        command: Sequence[str],
        *,
        tty: bool,
        env: Mapping[str, str],
        size: tuple[int, int] | None,
    ) -> DockerExec:
        """Start `command` in a container, named by its full id. Raises NoContainer, EngineDown."""
        created = await self._post(
            f"/containers/{quote(container)}/exec",
            {
                "AttachStdin": True,
                "AttachStdout": True,
                "AttachStderr": True,
                "Tty": tty,
                "Cmd": list(command),
                "Env": [f"{name}={value}" for name, value in env.items()],
            },
        )
        name = str(created["Id"])
        start: dict[str, object] = {"Detach": False, "Tty": tty}
        reader, writer = await self._take_over(f"/exec/{name}/start", start)
        stream = DockerExec(self, container, name, reader, writer, tty)
        self._commands.setdefault(container, set()).add(stream)
        try:
            if size is not None and tty:
                await stream.resize(*size)
        except BaseException:
            await stream.close()
            raise
        return stream

    async def exec_writing(
        self, container: str, shell: Sequence[str], command: Sequence[str], env: Mapping[str, str]
    ) -> PipedExec:
        """Start a command that reads nothing and writes much, by a shell that the host has lent its container, so that
        what it writes goes past the engine. Raises as `exec`.
        """
        stream = await self.exec(container, by_pipe(shell, command), tty=False, env=env, size=None)
        return PipedExec(stream, stream.output_pipe)

    async def logs(
        self,
        container: str,
        tail: int | None,
        follow: bool,
        *,
        since: int | None = None,
        stamped: bool = False,
    ) -> AsyncIterator[bytes]:
        """The container's output, without the engine's frames. since: unix seconds. Raises NoContainer, EngineDown."""
        query = urlencode(
            {
                "stdout": 1,
                "stderr": 1,
                "follow": int(follow),
                "tail": "all" if tail is None else tail,
                "timestamps": int(stamped),
                **({} if since is None else {"since": since}),
            }
        )
        # In HTTP/1.0 the engine sends its frames as they are, without chunks of HTTP around each of them: a log is
        # mostly short lines, and what is done for each of them is what reading a log costs.
        reader, writer = await self._open(
            f"GET /containers/{quote(container)}/logs?{query} HTTP/1.0\r\nHost: docker\r\n\r\n".encode()
        )
        frames = _Frames()
        try:
            while chunk := await reader.read(_CHUNK):
                if data := frames.data(chunk):
                    yield data
        except ConnectionError as error:
            raise EngineDown(f"The Docker engine does not answer: {error}") from error
        finally:
            writer.close()

    async def export(self, container: str) -> AsyncGenerator[bytes, None]:
        """All that a container shows of its file system, as a tar; what is mounted in it is left out. Whoever closes
        this has the engine end. Raises NoContainer, EngineDown.
        """
        try:
            async with self._http.stream("GET", f"/containers/{quote(container)}/export") as answer:
                if answer.status_code != 200:
                    await answer.aread()
                    raise _refusal(answer)
                async for chunk in answer.aiter_bytes(_EXPORTED):
                    yield chunk
        except httpx.TransportError as error:
            raise EngineDown(f"The Docker engine does not answer: {error}") from error

    async def rotated(self, container: str) -> bool:
        """Whether the engine has begun to drop the container's oldest lines."""
        answer = await self._request("GET", f"/containers/{quote(container)}/json")
        return await asyncio.to_thread(os.path.exists, f"{answer.get('LogPath') or '/nowhere'}.1")

    async def inspect_exec(self, name: str) -> tuple[bool, int | None, int]:
        """Whether it runs, its exit code, its process id on the host."""
        answer = await self._request("GET", f"/exec/{name}/json")
        code = answer["ExitCode"]
        return bool(answer["Running"]), None if code is None else int(str(code)), int(str(answer["Pid"]))

    async def resize_exec(self, name: str, rows: int, columns: int) -> None:
        await self._request("POST", f"/exec/{name}/resize", params={"h": str(rows), "w": str(columns)})

    async def _post(self, path: str, body: Mapping[str, object]) -> dict[str, object]:
        return await self._request("POST", path, body=body)

    async def _request(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> dict[str, object]:
        try:
            answer = await self._http.request(method, path, json=body, params=params, timeout=60)
        except httpx.TransportError as error:
            raise EngineDown(f"The Docker engine does not answer: {error}") from error
        if answer.status_code >= 400:
            raise _refusal(answer)
        return dict(answer.json()) if answer.content else {}

    async def _take_over(
        self, path: str, body: Mapping[str, object]
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """POST, ask for the raw connection, and return it behind the answer's header."""
        payload = json.dumps(body).encode()
        return await self._open(
            f"POST {path} HTTP/1.1\r\nHost: docker\r\nContent-Type: application/json\r\n"
            f"Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: {len(payload)}\r\n\r\n".encode()
            + payload
        )

    async def _open(self, request: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection on which `request` was sent and its answer's header read."""
        try:
            reader, writer = await self._connect()
        except OSError as error:
            raise EngineDown(f"The Docker engine does not answer: {error}") from error
        writer.write(request)
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                await _switched(reader)
        except TimeoutError:
            writer.close()
            raise EngineDown("The Docker engine does not answer in time.") from None
        except BaseException:  # a cancellation too: nobody else knows of the connection yet
            writer.close()
            raise
        return reader, writer

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._address.scheme == "unix":
            return await asyncio.open_unix_connection(self._address.path)
        return await asyncio.open_connection(self._address.hostname, self._address.port)


async def _switched(reader: asyncio.StreamReader) -> None:
    """Read the answer's header. Raises NoContainer for a refusal, EngineDown for none."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        if int(head.split(b" ", 2)[1]) not in (101, 200):
            raise NoContainer(_sentence(await reader.read(_CHUNK)))
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise EngineDown("The Docker engine closed the connection.") from error


class DockerExec:
    """`CommandStream` over the connection that the engine handed over."""

    def __init__(
        self,
        engine: EngineStreams,
        container: str,
        name: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        tty: bool,
    ) -> None:
        self._engine = engine
        self.container = container
        self._name = name
        self._reader = reader
        self._writer = writer
        self._tty = tty
        self._ended = asyncio.Event()
        self._parting: asyncio.Task[None] | None = None
        self._heard = 0
        self._lost = False
        self._begun = False
        self._pipe: PipeInput | PipeOutput | None = None

    def part(self) -> None:
        """Its container has ended: so is this, once nothing has come of it for a while."""
        if self._parting is None:
            self._parting = asyncio.create_task(self._part())

    async def _part(self) -> None:
        heard = None
        while heard != self._heard:
            heard = self._heard
            await self._engine.sleep(_PARTING_SECONDS)
        self._lost = True
        self._writer.close()  # which ends what is read of it

    async def write(self, data: bytes | memoryview) -> None:
        """Raises ConnectionError once the command has closed its input or ended."""
        if not self._begun:
            self._begun = True  # no byte before it, and none after it, takes the other way
            if len(data) >= MUCH and not self._tty:
                self._pipe = await self._input_pipe()
        if isinstance(self._pipe, PipeInput):
            await self._pipe.write(data)
            return
        self._writer.write(bytes(data))  # it may keep what the engine does not take at once
        await self._writer.drain()

    async def _input_pipe(self) -> PipeInput | None:
        """The command's input without the engine between, where this host runs it and lets the agent at it."""
        if (pid := await self._process()) is None or (pipe := input_pipe_of(self.container, pid)) is None:
            return None
        return PipeInput(pipe, roomy=self._engine.is_roomy(self.container))

    async def output_pipe(self) -> PipeOutput | None:
        """The other end of that, for a command that will write there."""
        if (pid := await self._process()) is None or (pipe := output_pipe_of(self.container, pid)) is None:
            return None
        self._pipe = PipeOutput(pipe, roomy=self._engine.is_roomy(self.container))
        return self._pipe

    async def _process(self) -> int | None:
        """Its number on this host, once it has begun; None where it has ended, or the engine does not say."""
        for delay in _STARTS:
            await asyncio.sleep(delay)
            try:
                _, code, pid = await self._engine.inspect_exec(self._name)
            except (EngineDown, NoContainer):
                return None
            if code is not None:
                return None
            if pid > 1:
                return pid
        return None

    @property
    def has_pipe(self) -> bool:
        """Whether its input or its output goes past the engine."""
        return self._pipe is not None

    async def write_eof(self) -> None:
        if isinstance(self._pipe, PipeInput):
            self._pipe.close()
        if self._writer.can_write_eof() and not self._writer.is_closing():
            self._writer.write_eof()

    async def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
        frames = None if self._tty else _Frames()
        try:
            while data := await self._reader.read(_OUTPUT):
                self._heard += 1
                if frames is None:
                    yield 1, data
                    continue
                for part in frames.feed(data):
                    yield part
        except ConnectionError:
            return  # the engine went away: `wait` says so
        finally:
            self._ended.set()

    async def resize(self, rows: int, columns: int) -> None:
        # A command that has just ended has no terminal left, which the engine reports in several ways; what is
        # wrong with the engine itself the stream will tell.
        with contextlib.suppress(NoContainer, EngineDown):
            await self._engine.resize_exec(self._name, rows, columns)

    async def wait(self) -> int:
        """Its exit code, once its output has been read to the end. The engine learns of it a moment later."""
        await self._ended.wait()
        if self._lost:
            raise NoContainer("The container has ended.")
        for delay in (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0):
            await asyncio.sleep(delay)
            running, code, _ = await self._engine.inspect_exec(self._name)
            if not running and code is not None:
                return code
        raise NoContainer("The command closed its output but still runs.")

    async def close(self) -> None:
        """The engine lets a command run on that nobody listens to, so it is killed by its process id."""
        self._engine.forget(self)
        if self._parting is not None:
            self._parting.cancel()
        if self._pipe is not None:
            self._pipe.close()
        self._writer.close()
        self._ended.set()
        with contextlib.suppress(EngineDown, NoContainer):
            running, _, pid = await self._engine.inspect_exec(self._name)
            if running and pid > 1:
                end_process_of(self.container, pid)
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


class _Frames:
    """Takes the engine's multiplexed stream apart, however it is cut into pieces."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """The frames that are whole by now, with neighbours of one stream made one."""
        out: list[tuple[int, bytes]] = []
        last, parts = 0, list[bytes]()
        for fd, part in self._whole(data):
            if fd != last and parts:
                out.append((last or 1, b"".join(parts)))
                parts = []
            last = fd
            parts.append(part)
        if parts:
            out.append((last or 1, b"".join(parts)))
        return out

    def data(self, data: bytes) -> bytes:
        """What the frames hold that are whole by now, whichever stream it is."""
        data = self._rest + data if self._rest else data
        at, end, unpack, parts = 0, len(data), _FRAME.unpack_from, list[bytes]()
        while (start := at + _HEADER) <= end and (next_ := start + unpack(data, at)[1]) <= end:
            parts.append(data[start:next_])
            at = next_
        self._rest = data[at:]
        return b"".join(parts)

    def _whole(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        data = self._rest + data if self._rest else data
        at, end = 0, len(data)
        while at + _HEADER <= end:
            fd, length = _FRAME.unpack_from(data, at)
            if (next_ := at + _HEADER + length) > end:
                break
            yield fd, data[at + _HEADER : next_]
            at = next_
        self._rest = data[at:]


def _refusal(answer: httpx.Response) -> NoContainer | EngineDown:
    text = _sentence(answer.content)
    if answer.status_code in (_NO_SUCH, _CONFLICT):
        return NoContainer(text)
    return EngineDown(f"The Docker engine says: {text}")


def _sentence(body: bytes) -> str:
    with contextlib.suppress(ValueError):
        start = body.find(b"{")
        return str(json.loads(body[start : body.rfind(b"}") + 1])["message"])
    return body[:200].decode(errors="replace")

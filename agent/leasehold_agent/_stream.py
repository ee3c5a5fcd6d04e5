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
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from urllib.parse import quote, urlsplit

import httpx

from leasehold_agent._errors import EngineUnavailable, NotRunning

_HEADER = 8  # stream type, three zero bytes, length of the frame
_CHUNK = 1 << 16
_NO_SUCH, _CONFLICT = 404, 409


class EngineStreams:
    """The part of the engine's API that streams. `url` is `unix:///path` or `tcp://host:port`."""

    def __init__(self, url: str) -> None:
        self._address = urlsplit(url)
        unix = self._address.scheme == "unix"
        self._http = httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(uds=self._address.path if unix else None),
            base_url="http://docker" if unix else f"http://{self._address.netloc}",
            timeout=httpx.Timeout(60, read=None),
            trust_env=False,
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def exec(
        self,
        container: str,
        command: Sequence[str],
        *,
        tty: bool,
        env: Mapping[str, str],
        size: tuple[int, int] | None,
    ) -> DockerExec:
        """Start `command` in a container. Raises NotRunning, EngineUnavailable."""
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
        stream = DockerExec(self, name, reader, writer, tty)
        try:
            if size is not None and tty:
                await stream.resize(*size)
        except BaseException:
            await stream.close()
            raise
        return stream

    async def logs(self, container: str, tail: int | None, follow: bool) -> AsyncIterator[bytes]:
        """The container's output, without the engine's frames. Raises NotRunning, EngineUnavailable."""
        query = {
            "stdout": "1",
            "stderr": "1",
            "follow": "1" if follow else "0",
            "tail": "all" if tail is None else str(tail),
        }
        try:
            async with self._http.stream(
                "GET", f"/containers/{quote(container)}/logs", params=query
            ) as answer:
                if answer.status_code != 200:
                    await answer.aread()
                    raise _refusal(answer)
                frames = _Frames()
                async for chunk in answer.aiter_raw():
                    for _, data in frames.feed(chunk):
                        yield data
        except httpx.TransportError as error:
            raise EngineUnavailable(f"The Docker engine does not answer: {error}") from error

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
            raise EngineUnavailable(f"The Docker engine does not answer: {error}") from error
        if answer.status_code >= 400:
            raise _refusal(answer)
        return dict(answer.json()) if answer.content else {}

    async def _take_over(
        self, path: str, body: Mapping[str, object]
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """POST, ask for the raw connection, and return it behind the answer's header."""
        try:
            reader, writer = await self._connect()
        except OSError as error:
            raise EngineUnavailable(f"The Docker engine does not answer: {error}") from error
        payload = json.dumps(body).encode()
        writer.write(
            f"POST {path} HTTP/1.1\r\nHost: docker\r\nContent-Type: application/json\r\n"
            f"Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: {len(payload)}\r\n\r\n".encode()
            + payload
        )
        try:
            await _switched(reader)
        except BaseException:  # a cancellation too: nobody else knows of the connection yet
            writer.close()
            raise
        return reader, writer

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._address.scheme == "unix":
            return await asyncio.open_unix_connection(self._address.path)
        return await asyncio.open_connection(self._address.hostname, self._address.port)


async def _switched(reader: asyncio.StreamReader) -> None:
    """Read the answer's header. Raises NotRunning for a refusal, EngineUnavailable for none."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        if int(head.split(b" ", 2)[1]) not in (101, 200):
            raise NotRunning(_sentence(await reader.read(_CHUNK)))
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise EngineUnavailable("The Docker engine closed the connection.") from error


class DockerExec:
    """`ExecStream` over the connection that the engine handed over."""

    def __init__(
        self,
        engine: EngineStreams,
        name: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        tty: bool,
    ) -> None:
        self._engine = engine
        self._name = name
        self._reader = reader
        self._writer = writer
        self._tty = tty
        self._ended = asyncio.Event()

    async def write(self, data: bytes) -> None:
        """Raises ConnectionError once the command has closed its input or ended."""
        self._writer.write(data)
        await self._writer.drain()

    async def write_eof(self) -> None:
        if self._writer.can_write_eof() and not self._writer.is_closing():
            self._writer.write_eof()

    async def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
        frames = None if self._tty else _Frames()
        try:
            while data := await self._reader.read(_CHUNK):
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
        with contextlib.suppress(NotRunning, EngineUnavailable):
            await self._engine.resize_exec(self._name, rows, columns)

    async def wait(self) -> int:
        """Its exit code, once its output has been read to the end. The engine learns of it a moment later."""
        await self._ended.wait()
        for delay in (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0):
            await asyncio.sleep(delay)
            running, code, _ = await self._engine.inspect_exec(self._name)
            if not running and code is not None:
                return code
        raise NotRunning("The command closed its output but still runs.")

    async def close(self) -> None:
        """The engine lets a command run on that nobody listens to, so it is killed by its process id."""
        self._writer.close()
        self._ended.set()
        with contextlib.suppress(EngineUnavailable, NotRunning):
            running, _, pid = await self._engine.inspect_exec(self._name)
            if running and pid > 1:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


class _Frames:
    """Takes the engine's multiplexed stream apart, however it is cut into pieces."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        self._rest += data
        out = []
        while len(self._rest) >= _HEADER:
            length = int.from_bytes(self._rest[4:_HEADER])
            if len(self._rest) < _HEADER + length:
                break
            out.append((self._rest[0] or 1, bytes(self._rest[_HEADER : _HEADER + length])))
            del self._rest[: _HEADER + length]
        return out


def _refusal(answer: httpx.Response) -> NotRunning | EngineUnavailable:
    text = _sentence(answer.content)
    if answer.status_code in (_NO_SUCH, _CONFLICT):
        return NotRunning(text)
    return EngineUnavailable(f"The Docker engine says: {text}")


def _sentence(body: bytes) -> str:
    with contextlib.suppress(ValueError):
        start = body.find(b"{")
        return str(json.loads(body[start : body.rfind(b"}") + 1])["message"])
    return body[:200].decode(errors="replace")

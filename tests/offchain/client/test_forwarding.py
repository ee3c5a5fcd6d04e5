"""A port of a container on this computer: when it listens, and when OpenSSH has ended instead."""

from __future__ import annotations

import asyncio
import socket
import sys

import pytest

from leasehold.client._forwarding import ForwardedPort, _free
from leasehold.market import InvalidInput


async def started(program: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdin=asyncio.subprocess.PIPE)


async def test_it_listens_once_it_can_be_reached() -> None:
    process = await started("import sys; sys.stdin.read()")
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    try:
        there = ForwardedPort(server.sockets[0].getsockname()[1], process)
        assert await there.listens()
        assert there.address == f"http://localhost:{there.port}"
    finally:
        server.close()
        process.kill()
        await process.wait()


async def test_it_never_will_where_its_program_has_ended() -> None:
    process = await started("")
    await process.wait()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert not await ForwardedPort(taken.getsockname()[1], process).listens()


def test_a_port_that_is_taken_becomes_another(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        wanted = taken.getsockname()[1]
        assert _free(wanted) not in (0, wanted)

    class Full:
        def __enter__(self) -> Full:
            return self

        def __exit__(self, *error: object) -> None: ...

        def bind(self, address: object) -> None:
            raise OSError

    monkeypatch.setattr(socket, "socket", Full)
    with pytest.raises(InvalidInput, match="No port of this computer is free"):
        _free(8888)

"""Commands on hosts, by the system's own ssh, and what is believed of what comes back: nothing but its form.

A host may be broken, slow or somebody else's by now. So what it says is bounded in time and bytes, and read as a
stranger's; it is handed neither the caller's ssh agent nor anything of Leasehold's environment, where a wallet's
password may stand. Keys, names and jump hosts are ssh's own affair, and a host whose key is unknown is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from leasehold.client._fleet import Fleet, FleetHost

MOST_BYTES: Final = 2 << 20
_MOST_ERRORS: Final = 64 << 10
_LONGEST_SENTENCE: Final = 400
_LEFT_TO_SSH: Final = 255
_LETTING_GO: Final = 10  # seconds, for what has left ssh's group and holds a pipe
_OPTIONS: Final = (
    *("-T", "-a", "-x"),  # no terminal, and neither agent nor display of the caller's on the host
    *("-o", "BatchMode=yes", "-o", "ConnectTimeout=20"),
    *("-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4"),
    *("-o", "ClearAllForwardings=yes", "-o", "PermitLocalCommand=no", "-o", "EscapeChar=none"),
)


@dataclass(frozen=True)
class HostAnswer:
    """What a command on a host came to. code: `None` where there was no end to it. said: its output, as it came. why:
    in a line, if it did not end well.
    """

    host: FleetHost
    code: int | None
    said: bytes = b""
    why: str = ""

    @property
    def well(self) -> bool:
        return self.code == 0


class Shells(Protocol):
    """How commands get to hosts."""

    async def run(self, host: FleetHost, command: Sequence[str]) -> HostAnswer:
        """Run `command` on the host. Whatever goes wrong is in the answer."""


@dataclass(frozen=True)
class OpenSsh:
    """By the command `ssh`, which is looked for as any other. config: read in place of its own. seconds: how long a
    command may take.
    """

    seconds: float = 300
    config: Path | None = None

    @classmethod
    def of(cls, fleet: Fleet) -> OpenSsh:
        """As the fleet's file wants it."""
        return cls(fleet.seconds, fleet.ssh_config)

    async def run(self, host: FleetHost, command: Sequence[str]) -> HostAnswer:
        """As `Shells.run`."""
        config = () if self.config is None else ("-F", str(self.config))
        words = ("sudo", "--non-interactive", *command) if host.sudo else command
        try:
            process = await asyncio.create_subprocess_exec(
                *("ssh", *_OPTIONS, *config, "--", host.target, shlex.join(words)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=_environment(),
                start_new_session=True,
            )
        except OSError as error:
            return HostAnswer(host, None, why=f"ssh cannot be started: {error.strerror or error}")
        try:
            async with asyncio.timeout(self.seconds):
                said, errors = await _both(process)
                code = await process.wait()
        except TimeoutError:
            return HostAnswer(host, None, why=f"it did not answer within {self.seconds:g} s")
        except _TooMuch:
            return HostAnswer(host, None, why=f"it said more than {MOST_BYTES >> 20} MiB")
        finally:
            await _end(process)
        return HostAnswer(host, code, said, "" if code == 0 else _why(code, errors or said))


async def ask_hosts(fleet: Fleet, shells: Shells, command: Sequence[str]) -> AsyncIterator[HostAnswer]:
    """What the command came to on each host, as the answers come in. No host keeps another from being asked."""
    async for _, answer in ask_each([(host, command) for host in fleet.hosts], shells, fleet.at_once):
        yield answer


async def ask_each(
    errands: Sequence[tuple[FleetHost, Sequence[str]]], shells: Shells, at_once: int
) -> AsyncIterator[tuple[int, HostAnswer]]:
    """What each command came to on its host, with its place in `errands`, as the answers come in."""
    room = asyncio.Semaphore(at_once)

    async def ask(place: int) -> tuple[int, HostAnswer]:
        async with room:
            return place, await shells.run(*errands[place])

    tasks = [asyncio.create_task(ask(place)) for place in range(len(errands))]
    try:
        for answered in asyncio.as_completed(tasks):
            yield await answered
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _TooMuch(Exception):
    """Output without end."""


async def _both(process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.create_task(_last(process.stderr))
    try:
        said = await _read(process.stdout, MOST_BYTES)
        return said, await errors
    finally:
        errors.cancel()
        await asyncio.gather(errors, return_exceptions=True)  # a stream has one reader at a time


async def _read(stream: asyncio.StreamReader, most: int) -> bytes:
    """All that is said. Raises _TooMuch."""
    output = bytearray()
    while part := await stream.read(1 << 16):
        output += part
        if len(output) > most:
            raise _TooMuch
    return bytes(output)


async def _last(stream: asyncio.StreamReader) -> bytes:
    """The end of what is said: warnings come first, and what went wrong comes last."""
    output = b""
    while part := await stream.read(1 << 16):
        output = (output + part)[-_MOST_ERRORS:]
    return output


async def _end(process: asyncio.subprocess.Process) -> None:
    """ssh and what it has started, such as a `ProxyCommand`.

    asyncio says that a process has ended when its pipes have, too, and a pipe that nobody reads any more never does.
    """
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LETTING_GO):
            for stream in filter(None, (process.stdout, process.stderr)):
                await _last(stream)
            await process.wait()


def _environment() -> dict[str, str]:
    """Without Leasehold's own: a `SendEnv` in somebody's configuration would carry a password to every host."""
    return {name: value for name, value in os.environ.items() if not name.upper().startswith("LEASEHOLD_")}


def _why(code: int, said: bytes) -> str:
    sentence = last_line(said)
    if code == _LEFT_TO_SSH:
        return sentence or "ssh could not reach it"
    return f"exit code {code}: {sentence}" if sentence else f"exit code {code}"


def last_line(said: bytes) -> str:
    """The last line of what a host said, short and without what steers a terminal."""
    lines = said.decode(errors="replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "")
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in last.strip()
    )[:_LONGEST_SENTENCE]

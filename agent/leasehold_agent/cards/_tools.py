"""The vendor's tools as they are run: a program, its arguments, what it says; bounded in time and bytes."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from leasehold.errors import AgentError

_SECONDS = 60.0
_MOST_BYTES = 1 << 20


class ToolFailed(AgentError):
    """A vendor's tool is not here, does not end, or says that it cannot be done. `said` is what it said."""

    def __init__(self, command: Sequence[str], said: str) -> None:
        super().__init__(f"`{' '.join(command)}`: {said.strip() or 'it failed and does not say why'}")
        self.said = said


class Tool(Protocol):
    """What runs a program and gives what it printed. Raises ToolFailed."""

    async def __call__(self, *arguments: str, stdin: str = "") -> str: ...


@dataclass(frozen=True)
class Program:
    """A program of the host, found on its PATH, with these variables beside the agent's own. quiet: what it says is not
    read, for a daemon that stays would keep open what it says it into.
    """

    name: str
    seconds: float = _SECONDS
    environment: Mapping[str, str] = field(default_factory=dict)
    quiet: bool = False

    async def __call__(self, *arguments: str, stdin: str = "") -> str:
        command = (self.name, *arguments)
        pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=nowhere if self.quiet else pipe,
                stdout=nowhere if self.quiet else pipe,
                stderr=asyncio.subprocess.STDOUT,
                limit=_MOST_BYTES,
                env={**os.environ, **self.environment},
            )
        except OSError as error:
            raise ToolFailed(command, str(error)) from error
        try:
            async with asyncio.timeout(self.seconds):
                said, _ = await process.communicate(None if self.quiet else stdin.encode())
        except TimeoutError:
            raise ToolFailed(command, f"it has not ended in {self.seconds:g} s") from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        text = (said or b"")[:_MOST_BYTES].decode(errors="replace")
        if process.returncode:
            raise ToolFailed(command, text)
        return text

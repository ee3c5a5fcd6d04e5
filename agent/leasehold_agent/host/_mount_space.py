"""Mounts as the engine sees them.

The agent's unit has a view of the file systems of its own (`ProtectSystem`), out of which no mount leads to the engine.
So they are made, looked for and taken away in the view of whoever listens at the engine's socket.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from leasehold_agent._errors import EngineDown
from leasehold_agent.host._host_tools import host_tool

_CREDENTIALS = struct.Struct("3i")
_CONNECT_SECONDS = 5.0
_OPTIONS = "loop,nodev,nosuid,noatime"
_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class MountSpace:
    """The view of the process that listens at a Unix `socket`; the agent's own where there is none. Every call blocks.

    Raises EngineDown while nobody listens there, VolumeTrouble where a mount cannot be made or taken away.
    """

    socket: Path | None = None

    def seen(self, path: Path) -> Path:
        """That path in this view, as the agent reaches it."""
        return Path(f"/proc/{self.process()}/root{path.absolute()}")

    def mounted(self, place: Path) -> bool:
        """Whether something is mounted just there."""
        table = Path(f"/proc/{self.process()}/mountinfo").read_text(errors="surrogateescape")
        return any(_unescaped(line.split(" ")[4]) == str(place.absolute()) for line in table.splitlines())

    def mount(self, image: Path, place: Path) -> None:
        """Mount a file that is an ext4 file system. Its loop device goes when it is unmounted, whoever lives then."""
        self._inside("mount", "-t", "ext4", "-o", _OPTIONS, "--", str(image), str(place))

    def unmount(self, place: Path) -> None:
        """Raises VolumeTrouble too while something in it is open."""
        self._inside("umount", "--", str(place))

    def _inside(self, *command: str) -> None:
        with self.opened() as view:
            host_tool("nsenter", f"--mount={view}", "--", *command)

    @contextlib.contextmanager
    def opened(self) -> Iterator[str]:
        """The view itself, as a path that leads to it for as long as this lasts, for programs of the agent's.

        A number may be another process's a moment later, such as a tenant's, in whose view a stranger has laid out what
        root would write into. So the engine has to be who it was before its view was opened. Raises EngineDown.
        """
        process = self.process()
        try:
            view = os.open(f"/proc/{process}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise EngineDown(f"Whoever listened at {self.socket} has ended: {error}") from error
        try:
            if self.process() != process:
                raise EngineDown(f"Another listens at {self.socket} now.")
            yield f"/proc/{os.getpid()}/fd/{view}"
        finally:
            os.close(view)

    def process(self) -> str:
        """A process in this view, by its number; asked anew each time, since engines are started again."""
        if self.socket is None:
            return "self"
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_CONNECT_SECONDS)
            try:
                connection.connect(str(self.socket))
            except OSError as error:
                raise EngineDown(f"Nobody listens at {self.socket}: {error}") from error
            asked = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        number = _CREDENTIALS.unpack(asked)[0]
        return str(number) if number > 0 else "self"


def _unescaped(text: str) -> str:
    """A path as the kernel writes it there: a blank is \\040."""
    return _ESCAPED.sub(lambda digits: chr(int(digits[1], 8)), text)

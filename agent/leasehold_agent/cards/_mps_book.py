"""Which leases have parts of cards by MPS: noted before anything is made for them, beside the daemon's own files.

It lies where a reboot takes it away together with all that it is about.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from leasehold.files import replace_file
from leasehold_agent.cards._mps_words import Portion, portion_of


@dataclass(frozen=True)
class CardPart:
    """A mask of cells of a card of so much memory. over: its lease has it no more, and somebody may be in it still."""

    card: str
    cells: int
    memory_bytes: int
    over: bool = False

    @property
    def portion(self) -> Portion:
        return portion_of(self.cells, self.memory_bytes)


class PartsBook:
    """The notes, in a file of `folder`. For one asker at a time."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "parts.json"

    @property
    def exists(self) -> bool:
        """Whether there ever was anything to note, since the host was started."""
        return self._file.exists()

    def load(self) -> dict[int, CardPart]:
        """By lease."""
        if not self.exists:
            return {}
        return {int(lease): CardPart(**part) for lease, part in json.loads(self._file.read_text()).items()}

    def put(self, lease: int, part: CardPart) -> None:
        self._save(self.load() | {lease: part})

    def close(self, lease: int) -> CardPart | None:
        """Its lease has it no more; returns it."""
        if (part := self.load().get(lease)) is not None:
            self.put(lease, replace(part, over=True))
        return part

    def drop(self, lease: int) -> None:
        """Nobody is in it any more."""
        self._save({other: part for other, part in self.load().items() if other != lease})

    def on(self, card: str) -> dict[int, CardPart]:
        return {lease: part for lease, part in self.load().items() if part.card == card}

    def _save(self, parts: dict[int, CardPart]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(
            self._file, json.dumps({str(lease): asdict(part) for lease, part in parts.items()}).encode()
        )


class Doors:
    """What of a daemon's sockets a container finds: in a folder of the lease's own, which stays the same when the
    daemon makes its own anew, and holds nothing of another's.

    The sockets in there are the daemon's, under a second name.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, lease: int) -> Path:
        return self._folder / str(lease)

    def open(self, lease: int, pipes: Path, *only: str) -> None:
        """The lease's processes reach what stands in `pipes` (of that, `only` these names). Raises OSError."""
        door = self.path(lease)
        if not any(_sockets(pipes)):
            raise FileNotFoundError(f"no socket in {pipes}")
        door.mkdir(parents=True, exist_ok=True)
        for folder in (self._folder, door):
            folder.chmod(0o755)  # whoever a tenant's process is in its container
        wanted = {entry.name: entry for entry in _sockets(pipes) if not only or entry.name in only}
        for name in {entry.name for entry in door.iterdir()} - wanted.keys():
            (door / name).unlink()
        for name, socket in wanted.items():
            socket.chmod(0o666)
            with contextlib.suppress(FileNotFoundError):
                if (door / name).samefile(socket):
                    continue
                (door / name).unlink()
            (door / name).hardlink_to(socket)

    def leads_to(self, lease: int, pipes: Path) -> bool:
        """Whether the way in is the daemon's still, which makes its sockets anew when it begins."""
        try:
            return (self.path(lease) / "control").samefile(pipes / "control")
        except OSError:
            return False

    def close(self, lease: int) -> None:
        """Nobody comes in any more. The folder goes, though a container may still have it mounted."""
        door = self.path(lease)
        for entry in list(door.iterdir()) if door.is_dir() else ():
            entry.unlink()
        with contextlib.suppress(FileNotFoundError):
            door.rmdir()


def _sockets(folder: Path) -> Iterator[Path]:
    return (entry for entry in folder.iterdir() if entry.is_socket() or entry.is_fifo())

"""Pieces of tenants' folders of code, kept so that what a tenant hands over again need not travel again.

Each account has a folder of its own, and what lies there is known to nobody else's requests: whether a piece is here is
answered, and read, for the account alone that brought it. A pack lies as it came, unpacked, beside its index of digests
and places; a pack without its index was cut off and is no pack. What is read is hashed again, so that nothing has to be
forced to the disk. What was used longest ago makes way.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from leasehold.files import replace_file
from leasehold.workload import unpacked
from leasehold_agent._errors import CodeLost, CodeUnwanted, UploadsFull

_PLACE: Final = struct.Struct(">32sQI")  # digest, offset, size
_FRESH_SECONDS: Final = 3600.0
"""What was brought or asked for so lately is wanted by a lease that begins: it makes way for nobody."""
_SWEEP_SECONDS: Final = 600.0
_OPEN_AT_ONCE: Final = 16
MOST_PIECES: Final = 2_000_000
"""Of which one account has half, as of the room: pieces of a few bytes take little of that, and each of them some
hundred bytes of memory."""

Place = tuple[str, int, int]
"""The name of a pack, and where in it a piece begins and how long it is."""


class CodeStore:
    """A folder of them. room, pieces: the most bytes and pieces in all, of which one account has half; reserve: free
    space left alone.

    Every method blocks, as long as some MiB take.
    """

    def __init__(
        self,
        root: Path,
        *,
        room: int,
        reserve: int,
        pieces: int = MOST_PIECES,
        keep_seconds: float = 7 * 86_400,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.room = room
        self.pieces = pieces
        self._root = root
        self._reserve = reserve
        self._keep = keep_seconds
        self._clock = clock
        self._sweep_at = float("-inf")
        self._locks: dict[str, threading.Lock] = {}
        self._places: dict[str, dict[bytes, Place]] = {}
        self._counting = threading.Lock()
        self._packed: dict[Path, tuple[int, int]] | None = (
            None  # bytes and pieces of each pack, once looked at
        )

    def lacking(self, account: str, chunks: Mapping[bytes, int]) -> list[bool]:
        """Of those pieces, which the account has to bring. The others stay for the next hour."""
        with self._held(account) as folder:
            places = list(map(self._index(folder).get, chunks))
            for pack in {place[0] for place in places if place is not None}:
                self._use(folder / pack)
            held = zip(places, chunks.values(), strict=True)
            return [place is None or place[2] != size for place, size in held]

    def absent(self, account: str, chunks: Iterable[bytes]) -> set[bytes]:
        """Of those pieces, which are not here. Nothing stays the longer for it."""
        with self._held(account) as folder:
            return set(chunks).difference(self._index(folder))

    def take(
        self,
        account: str,
        pack: bytes,
        wanted: Mapping[bytes, int],
        keep_as: Callable[[Path], bool] = lambda path: False,
    ) -> int:
        """Keep what is new of a pack; how many pieces that are. keep_as: gives the file that holds it that name, where
        it can, and then it need not be written again.

        Raises:
            CodeUnwanted: a piece is none of those that are wanted. CodeInvalid. UploadsFull: there is no room.
        """
        came = unpacked(pack)
        with self._held(account) as folder:
            places = self._index(folder)
            if any(wanted.get(digest) != size for digest, _, size in came.pieces):
                raise CodeUnwanted("A piece is none of the folder's, which must not change while it is sent.")
            new = {digest: (at, size) for digest, at, size in came.pieces if digest not in places}
            if new:
                self._make_room(folder, len(came.data), len(new))
                self._write(folder, came.data, new, keep_as if came.data is pack else None)
            return len(new)

    def places(self, account: str, chunks: Iterable[bytes]) -> tuple[Path, dict[bytes, Place]]:
        """Of those pieces that are here, where: in which folder, and there in which pack. Whoever reads them hashes
        them, as `reader` does: a pack may go meanwhile, or be damaged.
        """
        with self._held(account) as folder:
            places = self._index(folder)
            return folder, {chunk: places[chunk] for chunk in chunks if chunk in places}

    @contextlib.contextmanager
    def reader(self, account: str) -> Iterator[Callable[[bytes, int], bytes]]:
        """Reads a piece by its digest and size. Raises CodeLost where it is gone or damaged, and then forgets it."""
        with self._held(account) as folder:
            places = dict(self._index(folder))
        opened: dict[str, int] = {}

        def read(chunk: bytes, size: int) -> bytes:
            try:
                pack, offset, _ = places[chunk]
                piece = os.pread(_descriptor(folder / pack, opened), size, offset)
            except (KeyError, OSError):
                piece = b""
            if hashlib.sha256(piece).digest() != chunk:
                self._forget(account, places.get(chunk))
                raise CodeLost()
            return piece

        try:
            yield read
        finally:
            for descriptor in opened.values():
                os.close(descriptor)

    def idle(self) -> list[tuple[float, Path]]:
        """Packs that nobody has wanted within the hour, what was used longest ago first, with unix seconds."""
        now = self._clock()
        packs = [(_time(path), path) for path in self._packs()]
        return sorted((used, path) for used, path in packs if used < now - _FRESH_SECONDS)

    def forget(self, pack: Path, used: float) -> bool:
        """Remove a pack that was idle, unless it has been used since; whether it is gone."""
        with self._lock(pack.parent.name):
            if _time(pack) != used:
                return False
            self._remove(pack)
            return True

    def lies_on(self, disk: Path) -> bool:
        """Whether what is removed here is room there."""
        folder = self._root if self._root.is_dir() else self._root.parent
        return disk.is_dir() and folder.is_dir() and folder.stat().st_dev == disk.stat().st_dev

    def sweep(self) -> None:
        """Drop what nobody has wanted for days; looked at now and then."""
        if self._clock() < self._sweep_at:
            return
        self._sweep_at = self._clock() + _SWEEP_SECONDS
        for used, pack in self.idle():
            if used < self._clock() - self._keep:
                self.forget(pack, used)

    @contextlib.contextmanager
    def _held(self, account: str) -> Iterator[Path]:
        name = hashlib.sha256(account.lower().encode()).hexdigest()[:40]
        with self._lock(name):
            yield self._root / name

    def _lock(self, name: str) -> threading.Lock:
        return self._locks.setdefault(name, threading.Lock())

    def _index(self, folder: Path) -> dict[bytes, Place]:
        """Where each piece of a folder is. Read once; what was cut off goes."""
        if (known := self._places.get(folder.name)) is not None:
            return known
        places: dict[bytes, Place] = {}
        for path in list(folder.iterdir()) if folder.is_dir() else ():
            index = path.with_suffix(".index")
            if path.suffix == ".pack" and not index.exists():
                path.unlink()
            elif path.suffix == ".index":
                content = path.read_bytes()
                whole = len(content) - len(content) % _PLACE.size
                for digest, offset, size in _PLACE.iter_unpack(content[:whole]):
                    places[digest] = (path.with_suffix(".pack").name, offset, size)
        self._places[folder.name] = places
        return places

    def _write(
        self,
        folder: Path,
        data: bytes,
        pieces: Mapping[bytes, tuple[int, int]],
        keep_as: Callable[[Path], bool] | None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = f"{time.time_ns():020}.pack"
        rows = b"".join(_PLACE.pack(digest, at, size) for digest, (at, size) in pieces.items())
        if keep_as is None or not keep_as(folder / name):
            replace_file(folder / name, data, forced=False)
        replace_file((folder / name).with_suffix(".index"), rows, forced=False)
        self._use(folder / name)
        with self._counting:
            if self._packed is not None:
                self._packed[folder / name] = (len(data), len(pieces))
        self._index(folder).update({digest: (name, *place) for digest, place in pieces.items()})

    def _make_room(self, folder: Path, size: int, new: int) -> None:
        """By what is remembered of the packs there mostly is room; else all are looked at. Raises UploadsFull."""
        if not (self._too_much(folder.name, size, new) or self._full(size, new)):
            return
        with self._counting:
            self._packed = None
        idle = self.idle()
        while (mine := self._too_much(folder.name, size, new)) or self._full(size, new):
            victim = next((path for _, path in idle if not mine or path.parent.name == folder.name), None)
            if victim is None:
                raise UploadsFull("This host has no room for more code now: try again later.")
            idle = [(used, path) for used, path in idle if path != victim]
            self._remove(victim)

    def _too_much(self, own: str, size: int, new: int) -> bool:
        """Of one account, with so many bytes and pieces more."""
        held, pieces = self._counted(own)
        return held + size > self.room // 2 or pieces + new > self.pieces // 2

    def _full(self, size: int, new: int) -> bool:
        held, pieces = self._counted()
        free = shutil.disk_usage(self._root if self._root.is_dir() else self._root.parent).free
        crowded = held + size > self.room or pieces + new > self.pieces
        return crowded or free - size < self._reserve

    def _counted(self, own: str | None = None) -> tuple[int, int]:
        """Bytes and pieces of all packs, or of one folder's. A look at each of them on the disk, for each pack that
        comes, would cost more the more there are.
        """
        with self._counting:
            if self._packed is None:
                self._packed = {path: (_size(path), _pieces(path)) for path in self._packs()}
            packs = [held for path, held in self._packed.items() if own is None or path.parent.name == own]
        return sum(size for size, _ in packs), sum(pieces for _, pieces in packs)

    def _forget(self, account: str, place: Place | None) -> None:
        if place is not None:
            with self._held(account) as folder:
                self._remove(folder / place[0])

    def _remove(self, pack: Path) -> None:
        """The index first: what is left without it is no pack. What is known of its folder is read anew."""
        self._places.pop(pack.parent.name, None)
        pack.with_suffix(".index").unlink(missing_ok=True)
        pack.unlink(missing_ok=True)
        with self._counting:
            if self._packed is not None:
                self._packed.pop(pack, None)

    def _use(self, pack: Path) -> None:
        now = self._clock()
        with contextlib.suppress(FileNotFoundError):
            os.utime(pack, (now, now))

    def _packs(self) -> list[Path]:
        return list(self._root.glob("*/*.pack")) if self._root.is_dir() else []


def _descriptor(path: Path, opened: dict[str, int]) -> int:
    """Of a pack that is read from; of many, the one that was opened first is closed."""
    if path.name not in opened:
        if len(opened) >= _OPEN_AT_ONCE:
            os.close(opened.pop(next(iter(opened))))
        opened[path.name] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    return opened[path.name]


def _size(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_size
    return 0


def _pieces(pack: Path) -> int:
    return _size(pack.with_suffix(".index")) // _PLACE.size


def _time(path: Path) -> float:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_mtime
    return 0.0

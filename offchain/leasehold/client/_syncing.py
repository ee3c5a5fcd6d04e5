"""A folder made like another, one of them in a lease's container: what differs is worked out here, and only that goes.

What the container says of its files decides what is sent, and with `delete` what goes; never where something is
written here. What ignore files of the folder here name is neither sent nor removed, and `.git` goes neither way.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import stat
import tarfile
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TypeVar

from leasehold.client._copying import CopyTarget, unpacking, unreadable
from leasehold.client._lease_shell import CopyFailed, Counted, LeaseShell, LeaseTalk
from leasehold.datasets import Budget
from leasehold.errors import DatasetUnsafe, DestinationExists
from leasehold.workload import CodeContents, CodeEntry, CodeFolder, CodeKind, survey

H = TypeVar("H")
T = TypeVar("T")

_STATS: Final = (
    'set -- \'%f %s %Y %n//\'; find . -mindepth 1 -exec stat -c "$1" -- {} + || exit 3; stat -c "$1" .'
)
"""All below a folder, then the folder itself, by which it is known that nothing is lacking. No path has two slashes."""
_LIST: Final = f'cd -- "$1" 2>/dev/null || exit 2; {_STATS}'
_NOT_THERE: Final = "0 0 0 .//"
_UNPACK: Final = 'mkdir -p -- "$1" && tar -x -o -f - -C "$1"'
_LIST_AND_UNPACK: Final = (
    f'(cd -- "$1" 2>/dev/null || {{ echo "{_NOT_THERE}"; exit 0; }}; {_STATS}) || exit 3; '
    f"read -r go || exit 0; {_UNPACK}; code=$?; echo $code; exit $code"
)
"""It waits for a line before it changes anything: whoever asked may only have wanted to know."""
_LISTED: Final = re.compile(rb"([0-9a-f]{1,8}) ([0-9]{1,19}) (-?[0-9]{1,19}) (.+?)//\n", re.DOTALL)
_LINE_END: Final = b"//\n"
_MOST_LISTED: Final = 1_000_000
"""Entries, of which each takes some hundred bytes of memory here: there are as many as a stranger says."""
_MOST_BYTES: Final = 64 << 20
"""Of a listing."""
_ODD: Final = re.compile(rb"(?:^|/)\.{0,2}(?:/|\Z)")
_LITTLE: Final = 8 << 20
"""Bytes of files that follow the listing on its own connection; more go faster on one that only takes."""
_DIGESTS: Final = 'cd -- "$1" && find . -type f -print0 | xargs -0 -r sha256sum --'
_REMOVE: Final = 'cd -- "$1" && xargs -0 -r rm -rf --'
_PACK: Final = 'cd -- "$1" && xargs -0 -r tar -c -f - --'
_BATCH: Final = 16 << 10
"""Bytes of names that one tar is made of: what busybox's `xargs` hands over at once is twice as many."""
_CHANGES: Final = "its files change while they are looked at"


@dataclass(frozen=True)
class SyncOptions:
    """delete: what the source has not. checksum: compare bytes instead of sizes and times. dry: change nothing."""

    delete: bool = False
    checksum: bool = False
    dry: bool = False


@dataclass(frozen=True)
class Synced:
    """sent, deleted: paths, or those that would be; size: bytes of their files. left: what could not travel."""

    sent: tuple[bytes, ...]
    deleted: tuple[bytes, ...]
    size: int
    left: tuple[str, ...] = ()


class SyncEntry(NamedTuple):
    """An entry of either folder. time: unix seconds. digest: a file's SHA-256, where bytes are compared."""

    kind: CodeKind
    size: int
    time: int
    digest: bytes = b""


SyncEntries = Mapping[bytes, SyncEntry]


def differing(
    source: SyncEntries, target: SyncEntries, options: SyncOptions
) -> tuple[list[bytes], list[bytes]]:
    """What to send, folders before what lies in them, and what to remove first. Raises DestinationExists where a folder
    would have to make way, and nothing may be removed.
    """
    send = sorted((path for path in source if _differs(source[path], target.get(path))), key=_parts)
    gone = [path for path in target if path not in source] if options.delete else []
    for path in send:
        if path in target and target[path].kind is not source[path].kind:
            if target[path].kind is CodeKind.FOLDER and not options.delete:
                raise DestinationExists(os.fsdecode(path))
            gone.append(path)
    below = set(gone)
    return send, [path for path in sorted(gone, key=_parts) if not _within(path, below)]


def _differs(source: SyncEntry, target: SyncEntry | None) -> bool:
    if target is None or source.kind is not target.kind:
        return True
    if (
        source.kind is not CodeKind.FILE
    ):  # the time of a link is not carried, and a folder has none of its own
        return source.kind is CodeKind.LINK and source.size != target.size
    same = source.digest == target.digest if source.digest or target.digest else source.time == target.time
    return source.size != target.size or not same


def _within(path: bytes, others: set[bytes]) -> bool:
    parts = path.split(b"/")
    return any(b"/".join(parts[:count]) in others for count in range(1, len(parts)))


def _parts(path: bytes) -> list[bytes]:
    return path.split(b"/")


# ------------------------------------------------------------------------------------------------------- either way


async def sync_in(
    shell: LeaseShell, source: Path, target: str, options: SyncOptions, counted: Counted = lambda count: None
) -> Synced:
    """Make the folder `target` there like `source` here. Raises CopyFailed, CodeInvalid, DatasetError."""
    async with AsyncExitStack() as held:

        async def hear() -> tuple[LeaseTalk, dict[bytes, SyncEntry] | None]:
            talk = await held.enter_async_context(shell.talk(_LIST_AND_UNPACK, target))
            return talk, await _heard(talk)

        (contents, here), (talk, listed) = await _both(
            asyncio.to_thread(_surveyed, source, options.checksum), hear()
        )
        if options.checksum and listed is not None:
            await _compare(shell, target, listed)
        # What goes along from here is not ignored; the others are looked at one by one.
        there = {
            path: item for path, item in (listed or {}).items() if path in here or not contents.ignores(path)
        }
        send, gone = differing(here, there, options)
        size = sum(here[path].size for path in send)
        if gone and not options.dry:
            await shell.feed(_REMOVE, target, write=lambda writer: _say(writer, gone))
        if (send or not there) and not options.dry:
            write = partial(_write_tar, root=source, paths=send)
            if size <= _LITTLE:
                await talk.tell(write, counted)
            else:
                await shell.feed(_UNPACK, target, write=write, counted=counted)
    return Synced(tuple(send), tuple(gone), size, contents.skipped)


async def sync_out(
    shell: LeaseShell, source: str, target: Path, options: SyncOptions, counted: Counted = lambda count: None
) -> Synced:
    """Make the folder `target` here like `source` there. Nothing outside of it is written or removed. Raises as
    `sync_in`.
    """
    there = await asyncio.to_thread(_parsed, await shell.ask(_LIST, source, most=_MOST_BYTES))
    if options.checksum:
        await _compare(shell, source, there)
    left = [os.fsdecode(path) for path in there if not _speakable(path)]
    left += sorted({os.fsdecode(above) for path in there if (above := _in_git(path)) is not None})
    there = {path: item for path, item in there.items() if _speakable(path) and _in_git(path) is None}
    await asyncio.to_thread(target.mkdir, parents=True, exist_ok=True)
    _, here = await asyncio.to_thread(_surveyed, target, options.checksum)
    send, gone = differing(there, here, options)
    size = sum(there[path].size for path in send)
    if not options.dry:
        await asyncio.to_thread(_remove, target, gone)
        await _fetch(shell, source, target, send, there, left, counted)
    return Synced(tuple(send), tuple(gone), size, tuple(left))


async def _both(here: Awaitable[H], there: Awaitable[T]) -> tuple[H, T]:
    """Two looks at once; where one fails, nobody waits for the other."""
    looks = asyncio.ensure_future(here), asyncio.ensure_future(there)
    try:
        return await asyncio.gather(*looks)
    finally:
        for look in looks:
            look.cancel()
        await asyncio.gather(*looks, return_exceptions=True)


async def _fetch(
    shell: LeaseShell,
    source: str,
    target: Path,
    send: Sequence[bytes],
    there: SyncEntries,
    left: list[str],
    counted: Counted,
) -> None:
    with CopyTarget(target, Budget(None, source), ".", ".", folder=True) as writer:
        for path in send:
            if there[path].kind is CodeKind.FOLDER:
                writer.folder("./" + os.fsdecode(path))
    for batch in _batches([path for path in send if there[path].kind is not CodeKind.FOLDER]):
        budget = Budget(None, source)
        with _Listed(target, budget, batch) as writer:
            take = unpacking(writer, budget, left)
            await shell.fetch(_PACK, source, take=take, given=_names(batch), counted=counted)
        await asyncio.to_thread(_date, target, {path: there[path].time for path in batch})


# ------------------------------------------------------------------------------------------------------------ there


async def _heard(talk: LeaseTalk) -> dict[bytes, SyncEntry] | None:
    """The entries of a folder there; None where it is not there. Raises CopyFailed, AgentError."""
    listing = _Listing()
    while not listing.whole:
        listing.take(await talk.hear())
    return listing.entries if listing.isthere else None


async def _compare(shell: LeaseShell, folder: str, items: dict[bytes, SyncEntry]) -> None:
    """Learn the digests of the files in a folder there. Raises CopyFailed, AgentError."""
    files = [path for path, item in items.items() if item.kind is CodeKind.FILE]
    digests = [line.lstrip(b"\\")[:64] for line in (await shell.ask(_DIGESTS, folder)).splitlines()]
    if len(files) != len(digests):
        raise CopyFailed(_CHANGES)
    for path, digest in zip(files, digests, strict=True):
        items[path] = items[path]._replace(digest=_hex(digest))


def _parsed(said: bytes) -> dict[bytes, SyncEntry]:
    """What no copy can be made of is left out. Raises CopyFailed where it is anything but a whole list."""
    listing = _Listing()
    listing.take(said)
    if not listing.whole:
        raise CopyFailed(_CHANGES)
    return listing.entries


class _Listing:
    """What a container says of a folder, piece by piece. whole: all was said. isthere: there is such a folder."""

    def __init__(self) -> None:
        self.entries: dict[bytes, SyncEntry] = {}
        self.whole, self.isthere = False, True
        self._rest = bytearray()
        self._lines = self._size = 0

    def take(self, said: bytes) -> None:
        """Raises CopyFailed where it is no list, is too long, or something stands behind its end."""
        self._size += len(said)
        if self._size > _MOST_BYTES:
            raise CopyFailed(f"it answers more than {_MOST_BYTES >> 20} MiB")
        # Only what ends a line is looked at, and once: a line without end is not read anew with each of its pieces.
        before = len(self._rest)
        self._rest += said
        last = self._rest.rfind(_LINE_END, max(0, before - len(_LINE_END) + 1))
        if last >= 0:
            lines = bytes(self._rest[: last + len(_LINE_END)])
            del self._rest[: len(lines)]
            self._read(lines)
        if self.whole and self._rest:
            raise CopyFailed(_CHANGES)

    def _read(self, lines: bytes) -> None:
        end = 0
        while (
            line := _LISTED.match(lines, end)
        ) is not None:  # to search goes over what is none again and again
            if self.whole:
                raise CopyFailed(_CHANGES)
            if (count := self._lines + 1) > _MOST_LISTED:
                raise CopyFailed(f"it lists more than {_MOST_LISTED} files")
            self._lines, end = count, line.end()
            mode, size, time, name = line.groups()
            kind, path = _kind(int(mode, 16)), name.removeprefix(b"./")
            if name == b".":
                self.whole, self.isthere = True, kind is not None
            elif kind is not None and not _ODD.search(path):
                self.entries[path] = SyncEntry(
                    kind, int(size) if kind is not CodeKind.FOLDER else 0, int(time)
                )
        if end != len(lines):
            raise CopyFailed(_CHANGES)


@lru_cache(maxsize=256)
def _kind(mode: int) -> CodeKind | None:
    if stat.S_ISREG(mode):
        return CodeKind.FILE
    if stat.S_ISDIR(mode):
        return CodeKind.FOLDER
    return CodeKind.LINK if stat.S_ISLNK(mode) else None


def _hex(text: bytes) -> bytes:
    try:
        return bytes.fromhex(text.decode("ascii"))
    except (UnicodeDecodeError, ValueError):
        raise CopyFailed(_CHANGES) from None


def _names(paths: Iterable[bytes]) -> bytes:
    return b"".join(b"./" + path + b"\0" for path in paths)


def _say(writer: BinaryIO, paths: Iterable[bytes]) -> None:
    writer.write(_names(paths))


def _batches(paths: Sequence[bytes]) -> Iterator[list[bytes]]:
    batch, size = list[bytes](), 0
    for path in paths:
        if size + len(path) + 3 > _BATCH and batch:
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += len(path) + 3
    if batch:
        yield batch


# ------------------------------------------------------------------------------------------------------------- here


def _surveyed(folder: Path, checksum: bool) -> tuple[CodeContents, dict[bytes, SyncEntry]]:
    """What lies in a folder here. Raises CodeInvalid."""
    contents = survey(CodeFolder(folder), read=False)
    return contents, _items(contents, checksum)


def _items(contents: CodeContents, checksum: bool) -> dict[bytes, SyncEntry]:
    root = contents.folder.path
    return {entry.path: _item(root, entry, checksum) for entry in contents.tree.entries}


def _item(root: Path, entry: CodeEntry, checksum: bool) -> SyncEntry:
    digest = b""
    if checksum and entry.kind is CodeKind.FILE:
        with (root / os.fsdecode(entry.path)).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
    size = len(entry.target) if entry.kind is CodeKind.LINK else entry.size
    return SyncEntry(entry.kind, size, entry.time, digest)


def _write_tar(writer: BinaryIO, root: Path, paths: Sequence[bytes]) -> None:
    name = "."
    try:
        with tarfile.open(fileobj=writer, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for path in paths:
                name = os.fsdecode(path)
                archive.add(root / name, name, recursive=False, filter=_without_owner)
                archive.members = []  # type: ignore[attr-defined]  # tarfile keeps all headers; typeshed hides them
    except OSError as error:
        raise unreadable(root / name, error) from error


def _without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


class _Listed(CopyTarget):
    """Takes what was asked for and nothing else: another list than this was looked at, and perhaps shown."""

    def __init__(self, root: Path, budget: Budget, paths: Iterable[bytes]) -> None:
        super().__init__(root, budget, ".", ".", folder=True)
        self._paths = frozenset(map(os.fsdecode, paths))

    def _here(self, path: str) -> str:
        if (here := super()._here(path)) not in self._paths:
            raise DatasetUnsafe(path, "nobody asked for it")
        return here


def _remove(root: Path, paths: Iterable[bytes]) -> None:
    """Of the folder `root`, whose own links are not followed."""
    for path in paths:
        place = root / os.fsdecode(path)
        if not place.parent.resolve().is_relative_to(root.resolve()):
            raise DatasetUnsafe(str(place), "a link leads out of the folder on the way to it")
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)


def _date(root: Path, times: Mapping[bytes, int]) -> None:
    """What came has the time that it has there, so that it is known again."""
    with CopyTarget(root, Budget(None, ""), ".", ".", folder=True) as writer:
        for path, time in times.items():
            *above, name = os.fsdecode(path).split("/")
            try:
                with writer.opened(above, make=False) as folder:
                    os.utime(name, (time, time), dir_fd=folder, follow_symlinks=False)
            except (OSError, OverflowError, DatasetUnsafe):
                continue  # it could not travel, which was said


def _in_git(path: bytes) -> bytes | None:
    """The folder of Git's that it is, or lies in: it runs what stands there, and goes neither way. Some file systems
    make no difference between small and large letters.
    """
    parts = path.split(b"/")
    place = next((place for place, part in enumerate(parts) if part.lower() == b".git"), None)
    return None if place is None else b"/".join(parts[: place + 1])


def _speakable(path: bytes) -> bool:
    try:
        path.decode()
    except UnicodeDecodeError:
        return False
    return True

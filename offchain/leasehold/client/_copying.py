"""Files into a lease's container and out of it, as one tar each way, made and unpacked inside by its own user."""

from __future__ import annotations

import asyncio
import contextlib
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, Final, TypeVar

from leasehold.client._lease_shell import Counted, LeaseShell
from leasehold.client._resuming import LARGE, FileThere, fetched_rest, is_large, sent_rest
from leasehold.datasets import Budget, TreeWriter, untar
from leasehold.errors import DatasetError, DatasetUnsafe, DestinationExists
from leasehold.market import Take
from leasehold.market.wire import AgentUnreachable

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

_KIND: Final = (
    'if [ -d "$1" ]; then echo folder; set -- "$1/$2"; elif [ -e "$1" ] || [ -L "$1" ]; then echo file; else echo; fi; '
    'if [ -f "$1" ] && [ ! -L "$1" ]; then stat -c "%s %h %Y %a" -- "$1"; fi'
)
_UNPACK: Final = 'mkdir -p -- "$1" && tar -x -o -f - -C "$1"'
_PACK: Final = 'cd -- "$1" && tar -c -f - -- "$2"'
_COPY: Final = 1 << 20
_PAUSES: Final = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds after which a large file that broke off is taken up again."""

T = TypeVar("T")


@dataclass(frozen=True)
class Copied:
    """What was copied. left: paths of what could not travel: a link that leads out of its folder, a device."""

    files: int
    size: int
    left: tuple[str, ...] = ()


@asynccontextmanager
async def lease_shell(client: PoolClient, lease: int) -> AsyncIterator[LeaseShell]:
    """A shell in a lease of the client's account. Raises AgentError, MarketError."""
    await client.index()
    async with client.agent_of(lease) as agent:
        yield LeaseShell(agent, lease)


async def copy_in(
    shell: LeaseShell, source: Path, target: str, counted: Counted = lambda count: None
) -> Copied:
    """A file or folder from here to `target` there: into it, where it is a folder or ends with a slash, else under its
    name. One large file that breaks off is taken up again, and what of it is there already is not sent.

    Raises CopyFailed, AgentError, DatasetError where it cannot be read here.
    """
    name = await asyncio.to_thread(_name_of, source)
    large = await asyncio.to_thread(is_large, source)

    async def send() -> Copied:
        kind, there = "folder", None
        if large or not target.endswith("/"):
            kind, there = await _look(shell, target, name)
        folder, called = _place_there(target, name, kind)
        if (
            large
            and (size := await sent_rest(shell, source, f"{folder}/{called}", there, counted)) is not None
        ):
            return Copied(1, size)
        packed = _Packed()
        write = partial(packed.write, source=source, name=called)
        await shell.feed(_UNPACK, folder, write=write, counted=counted)
        return Copied(packed.files, packed.size)

    return await _persisting(shell, send) if large else await send()


async def copy_out(
    shell: LeaseShell, source: str, target: Path, counted: Counted = lambda count: None
) -> Copied:
    """A file or folder there to `target` here: into it, where it is a folder, else under its name. Nothing is written
    outside of that, whatever is sent. One large file that breaks off is taken up again.

    Raises CopyFailed, AgentError, DatasetError, DestinationExists.
    """
    path = PurePosixPath(source)
    kind, there = await _look(shell, source)
    place = await asyncio.to_thread(_place_of, target, path.name, kind == "folder")

    async def fetch() -> Copied:
        if (size := await fetched_rest(shell, source, place, there, counted)) is not None:
            return Copied(1, size)
        return await _fetch(shell, path, place, counted, folder=kind == "folder")

    large = there is not None and there.size >= LARGE
    return await _persisting(shell, fetch) if large else await fetch()


async def _fetch(
    shell: LeaseShell, path: PurePosixPath, place: Path, counted: Counted, *, folder: bool
) -> Copied:
    left, budget = list[str](), Budget(None, str(path))
    root = place if folder else place.parent
    with CopyTarget(root, budget, path.name, place.name, folder=folder) as writer:
        take = unpacking(writer, budget, left)
        await shell.fetch(_PACK, str(path.parent), path.name, take=take, counted=counted, much=True)
    return Copied(budget.files, budget.bytes, tuple(left))


async def _persisting(shell: LeaseShell, act: Callable[[], Awaitable[T]]) -> T:
    """What `act` gives, which begins where it broke off. Raises AgentUnreachable once that was tried a few times."""
    for pause in _PAUSES:
        with contextlib.suppress(AgentUnreachable):
            return await act()
        await shell.sleep(pause)
    return await act()


async def _look(shell: LeaseShell, path: str, name: str = "") -> tuple[str, FileThere | None]:
    """`folder`, `file` or nothing; and the file that lies there, or of that name in it."""
    kind, _, status = (await shell.ask(_KIND, path, name)).partition(b"\n")
    return kind.decode("ascii", "replace"), FileThere.read(status)


def _place_there(target: str, name: str, kind: str) -> tuple[str, str]:
    """In which folder it goes there, and under which name."""
    if target.endswith("/") or kind == "folder":
        return target, name
    return str(PurePosixPath(target).parent), PurePosixPath(target).name


def _name_of(source: Path) -> str:
    """Raises DatasetError."""
    if not (source.is_symlink() or source.exists()):
        raise DatasetError(f"{source} is not there", "name a file or folder.")
    return source.name or source.resolve().name


def _place_of(target: Path, name: str, folder: bool) -> Path:
    """Where it goes here. Raises DestinationExists where something else is there."""
    place = target / name if target.is_dir() else target
    if place.is_dir() != folder and (place.exists() or place.is_symlink()):
        raise DestinationExists(str(place))
    return place


class CopyTarget(TreeWriter):
    """Where what is called `sent` there goes here: as the folder itself, or as one file of it with another name."""

    def __init__(self, root: Path, budget: Budget, sent: str, name: str, *, folder: bool) -> None:
        super().__init__(root, budget)
        self._sent, self._name, self._folder = sent, name, folder

    def _here(self, path: str) -> str:
        first, slash, rest = path.partition("/")
        if first != self._sent or bool(slash) != self._folder:
            raise DatasetUnsafe(path, "nobody asked for it")
        return rest if self._folder else self._name

    def folder(self, path: str) -> None:
        if not (self._folder and path == self._sent):
            super().folder(self._here(path))

    @contextlib.contextmanager
    def file(self, path: str, *, executable: bool = False, again: bool = False) -> Iterator[int]:
        with super().file(self._here(path), executable=executable, again=again) as descriptor:
            yield descriptor

    def link(self, path: str, target: str) -> None:
        super().link(self._here(path), target)

    def same_file(self, path: str, other: str) -> None:
        super().same_file(self._here(path), self._here(other))


def unpacking(writer: TreeWriter, budget: Budget, left: list[str]) -> Take:
    """Unpacks a tar into `writer`. `left` gets what cannot travel."""
    return lambda source: untar(source, writer, budget, lambda unsafe: left.append(unsafe.path))


def unreadable(source: Path, error: OSError) -> DatasetError:
    """A file that could not be packed, or one below a folder: for the system's reason, or as `tarfile` has it."""
    return DatasetError(
        f"{error.filename or source} cannot be read ({error.strerror or error})", "try again."
    )


class _Packed:
    """A tar of a file or folder here, whose files are counted. Owners stay behind."""

    def __init__(self) -> None:
        self.files = self.size = 0

    def write(self, writer: BinaryIO, source: Path, name: str) -> None:
        try:
            # Not "w|", by which the standard library copies each piece three times.
            with tarfile.open(fileobj=writer, mode="w", format=tarfile.GNU_FORMAT) as archive:
                archive.copybufsize = _COPY  # type: ignore[attr-defined]  # typeshed leaves it out
                archive.add(source, name, filter=self._counted)
        except OSError as error:
            raise unreadable(source, error) from error

    def _counted(self, member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        self.files += member.isreg()
        self.size += member.size
        return member

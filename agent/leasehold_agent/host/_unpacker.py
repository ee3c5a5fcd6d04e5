"""A program by itself, on the standard library alone: it writes a folder of code into a container's files.

The container has never run: nobody is in there. What its image has laid out is a stranger's all the same, and root
writes here. So no link is ever followed: each folder is opened in the one above it and only as a folder, each file is
made anew. Nothing that lies there is opened, run or read. What is not as plain as that (a link on the way, a folder in
a file's place, something of the host's that is mounted near) is given up with a sentence, and left to the engine.

It reads from its input what `CodeWriter` writes there: a line of JSON, and parts, each behind its length. To each it
answers with a line: `+`, or `-` and why it ends. Where its parent ends, so does it.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import json
import mmap
import os
import signal
import stat
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Final, NoReturn

LENGTH: Final = struct.Struct(">I")
HEAD: Final = struct.Struct(">IIIB")  # names of packs, entries, folders' times, whether it is the last part
NAME: Final = struct.Struct(">B")  # length
ENTRY: Final = struct.Struct(">BHqHHI")  # kind, mode, time, length of the path, of a link's target, pieces
PIECE: Final = struct.Struct(">32sIQI")  # digest, which pack, offset, size
TIME: Final = struct.Struct(">qH")  # time, length of the path
FOLDER_KIND, FILE_KIND, LINK_KIND = 0, 1, 2

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PACKS_AT_ONCE: Final = 8
_NICE: Final = 5  # what a host owes to the chain goes before what a tenant has it write
_SECOND: Final = 10**9
_DEATH_SIGNAL: Final = 1  # prctl
_NEW_MOUNTS: Final = 0x00020000  # unshare
_NO_SUID, _NO_DEVICES, _RECURSIVE, _FOLLOWING = 2, 4, 1 << 14, 1 << 19  # mount
_DETACHED: Final = 2  # umount2
_MOST_OPTIONS: Final = 4095
"""Bytes that the kernel takes of a mount's options."""


class _GivenUp(Exception):
    """Left to the engine; nothing that was written is in its way."""


# ------------------------------------------------------------------------------------------------------- the files


class _Folders:
    """Folders of the container that are open, from the code's own down to the one that was written in last."""

    def __init__(self, base: int) -> None:
        self._open = [(b"", base)]

    def above(self, path: bytes) -> tuple[int, bytes]:
        """The open folder that `path` lies in, and its name there. Raises OSError for what is no folder."""
        parent, _, name = path.rpartition(b"/")
        while (top := self._open[-1])[0] != parent:
            if top[0] and not parent.startswith(top[0] + b"/"):
                os.close(top[1])
                self._open.pop()
                continue
            below = parent[len(top[0]) + 1 if top[0] else 0 :].partition(b"/")[0]
            whole = top[0] + b"/" + below if top[0] else below
            self._open.append((whole, os.open(below, _FOLDER, dir_fd=top[1])))
        return top[1], name


class _Packs:
    """Packs of pieces, mapped as they are wanted."""

    def __init__(self, folder: int) -> None:
        self._folder = folder
        self._mapped: dict[bytes, mmap.mmap] = {}

    def view(self, name: bytes) -> memoryview:
        if name not in self._mapped:
            while len(self._mapped) >= _PACKS_AT_ONCE:
                del self._mapped[next(iter(self._mapped))]
            pack = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._folder)
            try:
                self._mapped[name] = mmap.mmap(pack, 0, prot=mmap.PROT_READ)
            finally:
                os.close(pack)
        return memoryview(self._mapped[name])


class _Writer:
    def __init__(self, base: int, packs: int, owner: tuple[int, int]) -> None:
        self._base = base
        self._folders = _Folders(base)
        self._packs = _Packs(packs)
        self._owner = owner

    def part(self, body: bytes) -> None:
        """Raises OSError, _GivenUp."""
        names, entries, times, last = HEAD.unpack_from(body)
        at, packs = HEAD.size, list[bytes]()
        for _ in range(names):
            (length,) = NAME.unpack_from(body, at)
            packs.append(body[at + NAME.size : at + NAME.size + length])
            at += NAME.size + length
        for _ in range(entries):
            at = self._entry(body, at, packs)
        for _ in range(times):
            time, length = TIME.unpack_from(body, at)
            at += TIME.size
            folder, name = self._folders.above(body[at : at + length])
            os.utime(name, ns=(time * _SECOND,) * 2, dir_fd=folder, follow_symlinks=False)
            at += length
        if last:
            os.utime(self._base, ns=(0, 0))  # as the engine's own unpacking leaves it, which is told no time

    def _entry(self, body: bytes, at: int, packs: Sequence[bytes]) -> int:
        kind, mode, time, length, target, pieces = map(int, ENTRY.unpack_from(body, at))
        at += ENTRY.size
        folder, name = self._folders.above(body[at : at + length])
        at += length
        if kind == FOLDER_KIND:
            self._folder(folder, name, mode)
        elif kind == LINK_KIND:
            self._link(folder, name, body[at : at + target], time)
        else:
            self._file(folder, name, mode, time, self._pieces(body, at, pieces, packs))
            at += pieces * PIECE.size
        return at + target

    def _folder(self, parent: int, name: bytes, mode: int) -> None:
        made = _made_folder(parent, name)
        try:
            os.fchown(made, *self._owner)
            os.fchmod(made, mode)
        finally:
            os.close(made)

    def _link(self, parent: int, name: bytes, target: bytes, time: int) -> None:
        try:
            os.symlink(target, name, dir_fd=parent)
        except FileExistsError:
            os.unlink(name, dir_fd=parent)  # of a folder it is refused
            os.symlink(target, name, dir_fd=parent)
        os.chown(name, *self._owner, dir_fd=parent, follow_symlinks=False)
        os.utime(name, ns=(time * _SECOND,) * 2, dir_fd=parent, follow_symlinks=False)

    def _file(self, parent: int, name: bytes, mode: int, time: int, pieces: Iterator[memoryview]) -> None:
        try:
            made = os.open(name, _NEW, mode & 0o777, dir_fd=parent)
        except FileExistsError:
            os.unlink(name, dir_fd=parent)
            made = os.open(name, _NEW, mode & 0o777, dir_fd=parent)
        try:
            for piece in pieces:
                while piece:
                    piece = piece[os.write(made, piece) :]
            status = os.fstat(made)
            if (status.st_uid, status.st_gid) != self._owner:
                os.fchown(made, *self._owner)
            if mode & 0o7000 or stat.S_IMODE(status.st_mode) != mode:  # or a folder's own rule has changed it
                os.fchmod(made, mode)
            os.utime(made, ns=(time * _SECOND,) * 2)
        finally:
            os.close(made)

    def _pieces(self, body: bytes, at: int, count: int, packs: Sequence[bytes]) -> Iterator[memoryview]:
        for number in range(count):
            digest, pack, offset, size = PIECE.unpack_from(body, at + number * PIECE.size)
            piece = self._packs.view(packs[pack])[offset : offset + size]
            if hashlib.sha256(piece).digest() != digest:
                raise _GivenUp("a piece of it is damaged")
            yield piece


def _made_folder(parent: int, name: bytes) -> int:
    """Opened. What is there and none makes way, a link too; a folder stays, with what it holds."""
    for _ in range(2):
        try:
            os.mkdir(name, 0o755, dir_fd=parent)
        except FileExistsError:
            if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=parent)
                continue
        return os.open(name, _FOLDER, dir_fd=parent)
    raise _GivenUp("somebody writes there")


# ------------------------------------------------------------------------------------------------------- the place


def _base_of(root: int, path: str, mounts: Sequence[str], owner: tuple[int, int], mode: int) -> int:
    """The code's own folder, made below `root` and opened. Raises OSError, _GivenUp."""
    parts = _parts(path)
    if not parts:
        raise _GivenUp("it goes to the root")
    for mount in mounts:
        there = _parts(mount)
        shorter = min(len(parts), len(there))
        if there[:shorter] == parts[:shorter]:
            raise _GivenUp(f"{mount} is mounted there")
        _check_plain(root, there)
    folder = os.dup(root)
    for part in parts[:-1]:
        try:
            below = os.open(part, _FOLDER, dir_fd=folder)
        except FileNotFoundError:
            below = _made_folder(folder, part)
        os.close(folder)
        folder = below
    base = _made_folder(folder, parts[-1])
    os.fchown(base, *owner)
    os.fchmod(base, mode)
    os.close(folder)
    return base


def _parts(path: str) -> list[bytes]:
    parts = [os.fsencode(part) for part in path.split("/") if part]
    if any(part in (b".", b"..") for part in parts):
        raise _GivenUp("a path is not plain")
    return parts


def _check_plain(root: int, parts: Sequence[bytes]) -> None:
    """Raises _GivenUp where a link on the way lets a mount come to lie elsewhere than it is called."""
    folder = os.dup(root)
    try:
        for part in parts:
            below = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            os.close(folder)
            folder = below
            if stat.S_ISLNK(os.fstat(folder).st_mode):
                raise _GivenUp("a link leads to what is mounted")
    except (FileNotFoundError, NotADirectoryError):
        pass  # the engine makes the rest when it starts the container
    finally:
        os.close(folder)


class _Kernel:
    """Calls that the standard library has not. Raises OSError."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None, use_errno=True)

    def die_with(self, parent: int) -> None:
        self._done(self._library.prctl(_DEATH_SIGNAL, signal.SIGKILL))
        if os.getppid() != parent:
            raise _GivenUp("nobody waits for it")

    def enter(self, path: str) -> None:
        """A view of the file systems that the agent has open."""
        with open(path, "rb") as view:
            self._done(self._library.setns(view.fileno(), _NEW_MOUNTS))

    def part(self) -> None:
        """A view of its own from here on, which begins as the one it was in: what is mounted here, nobody else sees."""
        self._done(self._library.unshare(_NEW_MOUNTS))
        self._mount(b"none", b"/", None, _RECURSIVE | _FOLLOWING, None)

    def let_go(self) -> None:
        """Nothing is mounted here any more; what is open stays open. A view that lasts keeps everybody's volumes
        mounted, keys and all, after whoever rents has left.
        """
        self._done(self._library.umount2(b"/", _DETACHED))

    def overlay(self, upper: str, lowers: Sequence[str], work: str) -> None:
        """Mount it over `upper`, which nobody else sees: as the engine mounts it, but that no device can be opened. It
        goes with this process, before whoever waits for that hears of its end.
        """
        layers = [os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) for path in (upper, work, *lowers)]
        over, between, *below = (f"/proc/self/fd/{layer}" for layer in layers)  # their paths may be too long
        options = f"index=off,lowerdir={':'.join(below)},upperdir={over},workdir={between}".encode()
        if len(options) > _MOST_OPTIONS:
            raise _GivenUp("its image has too many layers")
        self._mount(b"overlay", os.fsencode(upper), b"overlay", _NO_SUID | _NO_DEVICES, options)
        for layer in layers:
            os.close(layer)

    def _mount(
        self, source: bytes, place: bytes, kind: bytes | None, flags: int, options: bytes | None
    ) -> None:
        self._done(self._library.mount(source, place, kind, ctypes.c_ulong(flags), options))

    @staticmethod
    def _done(answer: int) -> None:
        if answer:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _work(told: Any, kernel: _Kernel, source: BinaryIO) -> None:
    """Until there are no more parts. Raises OSError, _GivenUp."""
    packs = os.open(told["packs"], _FOLDER)
    upper, lowers = told["upper"], told["lowers"]
    kernel.enter(told["view"])
    owned = os.open(upper, _FOLDER)
    if os.fstat(owned).st_uid:
        raise _GivenUp("the engine gives the container other users than the host's")
    fcntl.flock(owned, fcntl.LOCK_EX)  # one that was begun before, and whose agent has just died, ends first
    kernel.part()  # after the wait: see `let_go`
    if lowers:
        kernel.overlay(upper, lowers, told["work"])
    root = os.open(upper, _FOLDER)
    kernel.let_go()
    owner = (told["owner"][0], told["owner"][1])
    base = _base_of(root, told["base"], told["mounts"], owner, told["mode"])
    writer = _Writer(base, packs, owner)
    _say("+")
    while len(head := source.read(LENGTH.size)) == LENGTH.size:
        (length,) = LENGTH.unpack(head)
        if len(body := source.read(length)) < length:
            break
        writer.part(body)
        _say("+")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> NoReturn:
    os.umask(0)
    os.nice(_NICE)
    kernel, told = _Kernel(), dict[str, Any]()
    try:
        kernel.die_with(int(sys.argv[1]))
        told = json.loads(sys.stdin.buffer.readline())
        _work(told, kernel, sys.stdin.buffer)
    except (OSError, _GivenUp) as error:
        _say("-" + " ".join(str(error).split()))
        sys.exit(1)
    sys.exit(0)


if __name__ == "__main__":
    main()

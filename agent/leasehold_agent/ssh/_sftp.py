"""SFTP and SCP into a container, whatever its image: every operation is a small command run inside it.

Never the host's file system: a container is hostile and the agent is root. `asyncssh.SFTPServer` serves
local files by default, so every operation of it is overridden here, and a test holds that none is left out.
"""

from __future__ import annotations

import posixpath
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Final, NoReturn, TypeVar, cast

import asyncssh
from asyncssh.stream import SSHStreamSession

from leasehold.errors import AgentError
from leasehold.market.wire import TooManyRequests
from leasehold_agent._runtime import CommandStream, LeaseRuntime
from leasehold_agent.access import Admission
from leasehold_agent.ssh._guard import GuardedConnection
from leasehold_agent.ssh._sftp_shell import Reading, Shell, ShellFailed, Writing, quoted

T = TypeVar("T")

LeaseOf = Callable[[], Awaitable[int | None]]
Hold = Callable[[int], AbstractContextManager[None]]

# Numbers only, then the name between "./" and "/": a name can hold anything but a slash.
_STAT: Final = b"'%f %h %s %u %g %X %Y ./%n/'"
_MOST_READ: Final = 256 * 1024
"""OpenSSH asks for as much at once; what is left of a longer read is asked for again."""
_OPEN_FILES: Final = 64
_MOST_PATH: Final = 4096

_MEANINGS: Final[Mapping[str, Callable[[str], asyncssh.SFTPError]]] = {
    "no such file": asyncssh.SFTPNoSuchFile,
    "can't cd": asyncssh.SFTPNoSuchFile,
    "nonexistent directory": asyncssh.SFTPNoSuchFile,
    "permission denied": asyncssh.SFTPPermissionDenied,
    "not permitted": asyncssh.SFTPPermissionDenied,
    "file exists": asyncssh.SFTPFileAlreadyExists,
    "not empty": asyncssh.SFTPDirNotEmpty,
    "not a directory": asyncssh.SFTPNotADirectory,
    "is a directory": asyncssh.SFTPFileIsADirectory,
    "read-only file system": asyncssh.SFTPWriteProtect,
    "no space left": asyncssh.SFTPNoSpaceOnFilesystem,
    "quota exceeded": asyncssh.SFTPQuotaExceeded,
}


def meaning(text: str) -> asyncssh.SFTPError:
    """The SFTP error for what a command complained about (in the C locale)."""
    lower = text.lower()
    reason = text.splitlines()[-1] if text else "The command in the container failed."
    for words, kind in _MEANINGS.items():
        if words in lower:
            return kind(reason)
    return asyncssh.SFTPFailure(reason)


class _File:
    """An open file of the container: its path, and the streams that read and write it."""

    def __init__(self, path: bytes, reading: Reading | None, writing: Writing | None) -> None:
        self.path = path
        self.reading = reading
        self.writing = writing


class _Held:
    """An `CommandStream` that gives the lease's slot back when it is closed."""

    def __init__(self, stream: CommandStream, held: ExitStack) -> None:
        self._stream = stream
        self._held = held
        self.write, self.write_eof = stream.write, stream.write_eof
        self.resize, self.wait = stream.resize, stream.wait

    def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
        return aiter(self._stream)

    async def close(self) -> None:
        try:
            await self._stream.close()
        finally:
            self._held.close()


class ContainerSftp(asyncssh.SFTPServer):
    """One SFTP session. `lease_of` answers which lease it may use now, or None; `hold` takes one of
    the lease's streams. Nothing is answered while answers wait that the client has not fetched."""

    def __init__(
        self,
        channel: asyncssh.SSHServerChannel[bytes],
        runtime: LeaseRuntime,
        lease_of: LeaseOf,
        hold: Hold,
        connection: GuardedConnection,
        admission: Admission,
    ) -> None:
        super().__init__(channel)
        self._runtime = runtime
        self._lease_of = lease_of
        self._hold = hold
        self._connection = connection
        self._admission = admission
        self._files = 0
        self._shell = Shell(self._exec)
        self._home: bytes | None = None

    async def _exec(self, command: Sequence[str]) -> CommandStream:
        """A command in the container, which takes one of the lease's streams until it is closed."""
        lease = await self._own_lease()
        held = ExitStack()
        try:
            held.enter_context(self._hold(lease))
            async with self._admission.opening.turn(lease):
                stream = await self._runtime.exec(lease, command)
        except BaseException:
            held.close()
            raise
        return _Held(stream, held)

    async def _own_lease(self) -> int:
        lease = await self._lease_of()
        if lease is None:
            raise asyncssh.SFTPPermissionDenied("Your key was taken off this lease.")
        return lease

    async def _fetched(self, count: int = 0) -> None:
        """Wait until the client has taken the answers so far; the next one may be as long as `count`."""
        await self._connection.flushed()
        session = cast("SSHStreamSession[bytes] | None", self.channel._session)
        if session is not None:
            await session.drain(None)
        if count and self._connection.visitor.lease is not None:
            await self._admission.line.carry(self._connection.visitor.lease, count)

    async def _asked(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except ShellFailed as error:
            raise meaning(str(error)) from None
        except (AgentError, OSError) as error:
            raise asyncssh.SFTPFailure(str(error) or type(error).__name__) from None

    async def _run(self, script: bytes) -> bytes:
        await self._fetched()
        return await self._asked(self._shell.run(script))

    async def _path(self, path: bytes) -> bytes:
        """`path` made absolute: relative ones count from where the container's commands start."""
        if b"\0" in path:
            raise asyncssh.SFTPInvalidFilename("A path cannot hold a zero byte.")
        if len(path) > _MOST_PATH:
            raise asyncssh.SFTPInvalidFilename(f"A path has at most {_MOST_PATH} bytes.")
        await self._fetched()
        if self._home is None and not path.startswith(b"/"):
            self._home = (await self._run(b"pwd")).rstrip(b"\n")
        return posixpath.join(self._home or b"/", path)

    async def _word(self, path: bytes) -> bytes:
        return quoted(await self._path(path))

    # Files

    async def open(self, path: bytes, pflags: int, attrs: asyncssh.SFTPAttrs) -> object:
        if self._files >= _OPEN_FILES:
            raise asyncssh.SFTPFailure(f"{_OPEN_FILES} files are open already.")
        path = await self._path(path)
        word = quoted(path)
        writes = bool(pflags & (asyncssh.FXF_WRITE | asyncssh.FXF_APPEND))
        if writes:
            await self._run(_opening(word, pflags, attrs))
        else:
            await self._run(_readable(word))
        shell = await self._asked(self._shell.program())
        reading = Reading(self._exec, shell, path) if pflags & asyncssh.FXF_READ else None
        append = bool(pflags & asyncssh.FXF_APPEND)
        writing = Writing(self._exec, shell, path, append=append) if writes else None
        self._files += 1
        return _File(path, reading, writing)

    def open56(self, path: bytes, desired_access: int, flags: int, attrs: asyncssh.SFTPAttrs) -> NoReturn:
        raise asyncssh.SFTPOpUnsupported("Version 3 of the protocol is served here.")

    async def read(self, file_obj: object, offset: int, size: int) -> bytes:
        file = cast(_File, file_obj)
        if file.reading is None:
            raise asyncssh.SFTPPermissionDenied("The file is not open for reading.")
        size = min(size, _MOST_READ)
        await self._fetched(size)
        if file.writing is not None:
            await self._asked(file.writing.finish())
        return await self._asked(file.reading.read(offset, size))

    async def write(self, file_obj: object, offset: int, data: bytes) -> int:
        file = cast(_File, file_obj)
        if file.writing is None:
            raise asyncssh.SFTPPermissionDenied("The file is not open for writing.")
        await self._fetched(len(data))
        await self._asked(file.writing.write(offset, data))
        return len(data)

    async def close(self, file_obj: object) -> None:
        file = cast(_File, file_obj)
        self._files -= 1
        try:
            if file.writing is not None:
                await self._asked(file.writing.finish())
        finally:
            if file.reading is not None:
                await file.reading.close()

    async def fsync(self, file_obj: object) -> None:
        file = cast(_File, file_obj)
        if file.writing is not None:
            await self._asked(file.writing.finish())
        await self._run(b"sync " + quoted(file.path) + b" 2>/dev/null || sync")

    # Attributes

    async def _stat(self, word: bytes, option: bytes) -> asyncssh.SFTPAttrs:
        answer = await self._run(b"stat " + option + b"-c " + _STAT + b" -- " + word)
        return _attributes(answer.split(b" ./", 1)[0])

    async def stat(self, path: bytes) -> asyncssh.SFTPAttrs:
        return await self._stat(await self._word(path), b"-L ")

    async def lstat(self, path: bytes) -> asyncssh.SFTPAttrs:
        return await self._stat(await self._word(path), b"")

    async def fstat(self, file_obj: object) -> asyncssh.SFTPAttrs:
        file = cast(_File, file_obj)
        if file.writing is not None:
            await self._asked(file.writing.finish())
        return await self.stat(file.path)

    async def setstat(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
        script = _changes(await self._word(path), attrs)
        if script:
            await self._run(script)

    async def lsetstat(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
        if stat.S_ISLNK((await self.lstat(path)).permissions or 0):
            raise asyncssh.SFTPOpUnsupported("A symbolic link's own attributes cannot be set.")
        await self.setstat(path, attrs)

    async def fsetstat(self, file_obj: object, attrs: asyncssh.SFTPAttrs) -> None:
        file = cast(_File, file_obj)
        if file.writing is not None:
            await self._asked(file.writing.finish())
        await self.setstat(file.path, attrs)

    # Directories

    async def scandir(self, path: bytes) -> AsyncIterator[asyncssh.SFTPName]:
        word = await self._word(path)
        with self._listing(await self._own_lease()):
            listing = await self._list(word)
            start = 0
            while (end := listing.find(b"/\n", start)) >= 0:
                numbers, mark, name = listing[start:end].partition(b" ./")
                start = end + 2
                if mark:
                    yield asyncssh.SFTPName(name, attrs=_attributes(numbers))

    @contextmanager
    def _listing(self, lease: int) -> Iterator[None]:
        """One of the lease's few listings: each is kept whole until the client has read it or closed it."""
        try:
            self._admission.listings.acquire(lease)
        except TooManyRequests as error:
            raise asyncssh.SFTPFailure(str(error)) from None
        try:
            yield
        finally:
            self._admission.listings.release(lease)

    async def _list(self, word: bytes) -> bytes:
        # A file that goes while it is being listed is no failure of the listing.
        return await self._run(
            b"cd " + word + b" && for f in * .[!.]* ..?*; do "
            b'{ [ -e "$f" ] || [ -L "$f" ]; } && printf "%s\\0" "$f"; done'
            b" | xargs -0 -r stat -c " + _STAT + b" -- 2>/dev/null; "
            b"cd " + word + b" && stat -c '%f %h %s %u %g %X %Y ./%n/' -- . .."
        )

    async def mkdir(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
        word = await self._word(path)
        mode = b"-m %o " % stat.S_IMODE(attrs.permissions) if attrs.permissions is not None else b""
        await self._run(b"mkdir " + mode + b"-- " + word)

    async def rmdir(self, path: bytes) -> None:
        await self._run(b"rmdir -- " + await self._word(path))

    async def remove(self, path: bytes) -> None:
        # Without -f a missing file is an error; nobody is asked about a read-only one: there is no terminal.
        await self._run(b"rm -- " + await self._word(path))

    async def rename(self, oldpath: bytes, newpath: bytes) -> None:
        old, new = await self._word(oldpath), await self._word(newpath)
        taken = b"[ -e " + new + b" ] || [ -L " + new + b" ]"
        await self._run(
            b"if " + taken + b"; then echo File exists; false; else mv -T -- " + old + b" " + new + b"; fi"
        )

    async def posix_rename(self, oldpath: bytes, newpath: bytes) -> None:
        await self._run(b"mv -f -T -- " + await self._word(oldpath) + b" " + await self._word(newpath))

    # Links and names

    async def realpath(self, path: bytes) -> bytes:
        return posixpath.normpath(await self._path(path)).replace(b"//", b"/")

    async def readlink(self, path: bytes) -> bytes:
        word = await self._word(path)
        target = await self._run(
            b"[ -L " + word + b" ] || [ -e " + word + b" ] || echo No such file; readlink -- " + word
        )
        return target.removesuffix(b"\n")

    async def symlink(self, oldpath: bytes, newpath: bytes) -> None:
        if b"\0" in oldpath:
            raise asyncssh.SFTPInvalidFilename("A path cannot hold a zero byte.")
        await self._run(b"ln -s -T -- " + quoted(oldpath) + b" " + await self._word(newpath))

    async def link(self, oldpath: bytes, newpath: bytes) -> None:
        await self._run(b"ln -T -- " + await self._word(oldpath) + b" " + await self._word(newpath))

    # What the base class would answer from the host

    def format_user(self, uid: int | None) -> str:
        return "" if uid is None else str(uid)

    def format_group(self, gid: int | None) -> str:
        return "" if gid is None else str(gid)

    def map_path(self, path: bytes) -> NoReturn:
        raise asyncssh.SFTPOpUnsupported("No path of the host is served here.")

    def reverse_map_path(self, path: bytes) -> NoReturn:
        raise asyncssh.SFTPOpUnsupported("No path of the host is served here.")

    def lock(self, file_obj: object, offset: int, length: int, flags: int) -> NoReturn:
        raise asyncssh.SFTPOpUnsupported("Files cannot be locked here.")

    def unlock(self, file_obj: object, offset: int, length: int) -> NoReturn:
        raise asyncssh.SFTPOpUnsupported("Files cannot be locked here.")

    async def statvfs(self, path: bytes) -> asyncssh.SFTPVFSAttrs:
        answer = await self._run(b"stat -f -c '%S %b %f %a %c %d %l' -- " + await self._word(path))
        size, blocks, free, available, files, free_files, longest = (
            _whole(part) for part in answer.split()[:7]
        )
        return asyncssh.SFTPVFSAttrs(
            bsize=size,
            frsize=size,
            blocks=blocks,
            bfree=free,
            bavail=available,
            files=files,
            ffree=free_files,
            favail=free_files,
            fsid=0,
            flags=0,
            namemax=longest,
        )

    async def fstatvfs(self, file_obj: object) -> asyncssh.SFTPVFSAttrs:
        return await self.statvfs(cast(_File, file_obj).path)

    async def exit(self) -> None:
        try:
            await self._shell.close()
        finally:
            if (
                self.channel.get_subsystem() == "sftp"
            ):  # asyncssh sends no exit status, which scp takes for a failure
                self.channel.exit(0)


def _readable(word: bytes) -> bytes:
    """Fails unless the file can be read. It is not opened: that would wait for a pipe's other end."""
    return (
        b"if [ -d " + word + b" ]; then echo Is a directory; false; "
        b"elif [ ! -e " + word + b" ]; then echo No such file; false; "
        b"elif [ ! -r " + word + b" ]; then echo Permission denied; false; fi"
    )


def _opening(word: bytes, pflags: int, attrs: asyncssh.SFTPAttrs) -> bytes:
    """The command that makes or empties a file as `pflags` ask, so that what is wrong shows at once."""
    there = b"[ -e " + word + b" ]"
    if not pflags & asyncssh.FXF_CREAT:
        script = there + b" || { echo No such file; false; }"
    elif pflags & asyncssh.FXF_EXCL:
        script = b"(set -C; : >" + word + b")"
    else:
        script = b"(: >>" + word + b")"
    if attrs.permissions is not None and pflags & asyncssh.FXF_CREAT:
        mode = b"%o" % stat.S_IMODE(attrs.permissions)
        script = there + b" || new=1; { " + script + b"; } && [ -z $new ] || chmod " + mode + b" -- " + word
        script = b"new=; " + script
    if pflags & asyncssh.FXF_TRUNC:
        script = b"{ " + script + b"; } && (: >" + word + b")"
    # In a shell of its own: a redirection that fails ends the shell it stands in.
    return b"if [ -d " + word + b" ]; then echo Is a directory; false; else " + script + b"; fi"


def _changes(word: bytes, attrs: asyncssh.SFTPAttrs) -> bytes:
    steps = []
    if attrs.size is not None:
        steps.append(b"truncate -s %d " % attrs.size + word)
    if attrs.uid is not None and attrs.gid is not None:
        steps.append(b"chown %d:%d -- " % (attrs.uid, attrs.gid) + word)
    if attrs.permissions is not None:
        steps.append(b"chmod %o -- " % stat.S_IMODE(attrs.permissions) + word)
    if attrs.mtime is not None:
        steps.append(b"touch -c -d @%d -- " % attrs.mtime + word)
    return b" && ".join(steps)


def _whole(text: bytes) -> int:
    """A number that a container wrote, held to 64 bits; 0 for what is none."""
    return min(int(text), 2**64 - 1) if text.isdigit() and len(text) < 21 else 0


def _attributes(numbers: bytes) -> asyncssh.SFTPAttrs:
    fields = numbers.split(b" ")
    if len(fields) != 7:
        raise asyncssh.SFTPFailure("The container's `stat` answered in a way that is not understood.")
    try:
        mode = int(fields[0], 16) & 0xFFFF
    except ValueError:
        mode = 0
    links, size, uid, gid, accessed, modified = (_whole(field) for field in fields[1:])
    most = 2**32 - 1
    return asyncssh.SFTPAttrs(
        type=_kind(mode),
        permissions=mode,
        nlink=min(links, most),
        size=size,
        uid=min(uid, most),
        gid=min(gid, most),
        atime=min(accessed, most),
        mtime=min(modified, most),
    )


def _kind(mode: int) -> int:
    kinds = {
        stat.S_IFREG: asyncssh.FILEXFER_TYPE_REGULAR,
        stat.S_IFDIR: asyncssh.FILEXFER_TYPE_DIRECTORY,
        stat.S_IFLNK: asyncssh.FILEXFER_TYPE_SYMLINK,
    }
    return kinds.get(stat.S_IFMT(mode), asyncssh.FILEXFER_TYPE_SPECIAL)

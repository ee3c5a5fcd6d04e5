"""A folder as one stream, and back: tar, of plain files, folders and links alone."""

import io
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Final, cast

from leasehold.datasets._tree import Budget, TreeWriter, write_all
from leasehold.datasets._walk import Entry, EntryKind
from leasehold.errors import DatasetError, DatasetUnsafe

_CHUNK: Final = 1 << 20
_AHEAD: Final = 1 << 15
"""Bytes that are read ahead, for headers and for what is little."""
_UNPACKED: Final = 1 << 18
"""And of a file at once, from where they come into one buffer, and from there to the disk: a stream of the standard
library's copies each byte several times on its way.
"""
_BLOCK: Final = 512
_MAX_HEADER: Final = 64 * 1024
_MOST_BEFORE: Final = 8
"""Extended headers before one entry: each is read inside of the one before."""
_MOST_FOR_ALL: Final = 256
"""Fields that are said for all entries: they are kept to the end, and gone through for each."""
_EXTENDED: Final = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.GNUTYPE_SPARSE,
)


def tar_stream(entries: Iterable[Entry]) -> Iterator[bytes]:
    """The entries as a tar archive, in chunks, without owners and times.

    Raises DatasetError when a file is shorter than when it was looked at.
    """
    for entry in entries:
        yield _header(entry)
        if entry.kind is EntryKind.FILE:
            yield from file_chunks(entry)
            yield bytes(-entry.size % _BLOCK)
    yield bytes(2 * _BLOCK)


def file_chunks(entry: Entry) -> Iterator[bytes]:
    """A file's bytes: as many as it had when it was looked at, whatever was added since."""
    offset = 0
    while offset < entry.size:
        try:
            chunk = os.pread(entry.descriptor, min(_CHUNK, entry.size - offset), offset)
        except OSError as error:
            raise DatasetError(
                f"{entry.path} cannot be read ({error.strerror})", "check the disk."
            ) from error
        if not chunk:
            raise DatasetError(
                f"{entry.path} became shorter while it was read", "try again when nothing writes to it."
            )
        offset += len(chunk)
        yield chunk


def _header(entry: Entry) -> bytes:
    info = tarfile.TarInfo(entry.path)
    info.mode = 0o755 if entry.executable or entry.kind is EntryKind.FOLDER else 0o644
    if entry.kind is EntryKind.FOLDER:
        info.type = tarfile.DIRTYPE
    elif entry.kind is EntryKind.LINK:
        info.type, info.linkname = tarfile.SYMTYPE, entry.target
    else:
        info.size = entry.size
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")


class _Archive(tarfile.TarFile):
    """before: how many extended headers stand before the entry that is being read."""

    before = 0


class _BoundedInfo(tarfile.TarInfo):
    """A header as tarfile reads it, but for the extended ones, whose size and number a stranger chooses and tarfile
    believes. A map of a file's holes, of any length, is not read: that the file has one is enough to leave it out.
    """

    def _proc_member(self, archive: _Archive) -> tarfile.TarInfo:
        archive.before = archive.before + 1 if self.type in _EXTENDED else 0
        long = self.type in _EXTENDED and (self.size > _MAX_HEADER or archive.before > _MOST_BEFORE)
        if long or len(archive.pax_headers) > _MOST_FOR_ALL:
            raise tarfile.ReadError("an extended header is too long")
        return super()._proc_member(archive)  # type: ignore[misc, no-any-return]  # typeshed leaves it out

    def _proc_sparse(self, archive: _Archive) -> tarfile.TarInfo:
        raise tarfile.ReadError("a file in it has holes")  # where the map ends stands in the map

    def _proc_gnusparse_00(self, following: tarfile.TarInfo, *_: object) -> None:
        following.sparse = b""  # not None

    _proc_gnusparse_01 = _proc_gnusparse_10 = _proc_gnusparse_00


def untar(
    source: BinaryIO,
    writer: TreeWriter,
    budget: Budget,
    skip: Callable[[DatasetUnsafe], None] | None = None,
) -> None:
    """Writes the archive that `source` streams, to its end. Existing files are replaced.

    With `skip` a file may have several names, each of which counts as one of its size: then the folder must be new.
    Raises DatasetUnsafe for a path that leaves the folder or for what is neither file, folder nor link, unless `skip`
    hears of it and the rest goes on; DatasetTooLarge over the budget, DatasetError for what is no tar archive.
    """
    try:
        stream = _Forward(source)
        with _Archive.open(fileobj=cast(BinaryIO, stream), mode="r:", tarinfo=_BoundedInfo) as archive:
            for member in archive:
                try:
                    _extract(stream, member, writer, budget, second_names=skip is not None)
                except DatasetUnsafe as error:
                    if skip is None:
                        raise
                    budget.entry(file=False)  # what is left behind takes time as well
                    skip(error)
                archive.members = []  # type: ignore[attr-defined]  # tarfile keeps all headers; typeshed hides them
    except (tarfile.TarError, ValueError) as error:  # tarfile leaves what is no number as it is
        raise DatasetError(f"The sealed data is no tar archive ({error})", "ask its publisher.") from error
    while source.read(_UNPACKED):
        pass
    writer.finish(skip)


class _Source(io.RawIOBase):
    """What can only be read from, as a buffer is filled from it."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._into = getattr(source, "readinto", None)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(cast(bytearray, buffer))
        if self._into is not None:
            return int(self._into(view))
        data = self._source.read(len(view))
        view[: len(data)] = data
        return len(data)


class _Forward:
    """An archive that comes once: `tarfile` goes forward in it alone, and back by the one byte that it reads twice."""

    def __init__(self, source: BinaryIO) -> None:
        self._stream = io.BufferedReader(_Source(source), _AHEAD)
        self._room = memoryview(bytearray(_UNPACKED))
        self._at = 0
        self._again = False  # the last byte is to be read once more, which only tells that it is there

    def tell(self) -> int:
        return self._at - self._again

    def read(self, size: int) -> bytes:
        again = self._again and size > 0
        data = bytes(again) + self._stream.read(size - again)
        self._at += len(data) - again
        self._again = False
        return data

    def seek(self, place: int) -> None:
        """Raises tarfile.ReadError where the archive has ended before."""
        self._again = place == self._at - 1
        if not self._again:
            for _ in self.pieces(place - self._at):
                pass

    def pieces(self, size: int) -> Iterator[memoryview]:
        """The next bytes. A piece is good until the next is asked for. Raises tarfile.ReadError as `seek`."""
        if size < 0:
            raise tarfile.ReadError("it goes back")
        while size:
            count = self._stream.readinto(self._room[:size])
            if not count:
                raise tarfile.ReadError("unexpected end of data")
            self._at += count
            size -= count
            yield self._room[:count]


def _extract(
    stream: _Forward,
    member: tarfile.TarInfo,
    writer: TreeWriter,
    budget: Budget,
    *,
    second_names: bool,
) -> None:
    name = member.name.rstrip("/")
    if not _is_text(name + member.linkname):
        raise DatasetUnsafe(name.encode("utf-8", "replace").decode(), "its name is not UTF-8")
    if member.isdir():
        writer.folder(name)
    elif member.issym():
        writer.link(name, member.linkname)
    elif member.islnk() and second_names:
        writer.same_file(name, member.linkname)
    elif member.isreg() and not member.issparse():
        _file(stream, member, writer, budget)
    else:
        raise DatasetUnsafe(name, "it is neither file, folder nor link")


def _file(stream: _Forward, member: tarfile.TarInfo, writer: TreeWriter, budget: Budget) -> None:
    budget.check(member.size)
    with writer.file(member.name, executable=bool(member.mode & 0o100)) as descriptor:
        stream.seek(member.offset_data)
        offset = 0
        for piece in stream.pieces(member.size):
            budget.spend(len(piece))
            write_all(descriptor, piece, offset)
            offset += len(piece)
        os.ftruncate(descriptor, offset)


def _is_text(name: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in name)

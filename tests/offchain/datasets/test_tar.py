"""What is unpacked while it comes, however it comes in pieces."""

import io
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from leasehold.datasets import Budget, TreeWriter, untar
from leasehold.errors import DatasetError, DatasetUnsafe

SIZES = (0, 1, 511, 512, 513, 32_768, 262_144, 262_145, 700_000)
"""Of files: about a block of a tar, what is read ahead, and what is unpacked at once."""


class Trickle:
    """Gives so many bytes at a time, and can do nothing else."""

    def __init__(self, data: bytes, step: int) -> None:
        self._data = io.BytesIO(data)
        self._step = step

    def read(self, size: int = -1) -> bytes:
        return self._data.read(self._step if size < 0 else min(size, self._step))


class Pouring(Trickle):
    """Fills a buffer besides."""

    def readinto(self, buffer: memoryview) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def content(size: int) -> bytes:
    return bytes(number * 7 % 251 for number in range(min(size, 1000))) * (size // 1000 + 1)


def archive(format: int = tarfile.GNU_FORMAT) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=format) as out:
        for size in SIZES:
            info = tarfile.TarInfo(f"folder/{size}-{'long' * 40}")
            info.size = size
            out.addfile(info, io.BytesIO(content(size)[:size]))
    return data.getvalue()


def unpack(source: object, place: Path) -> Budget:
    budget = Budget(None, "It")
    with TreeWriter(place, budget) as writer:
        untar(source, writer, budget)  # type: ignore[arg-type]
    return budget


@pytest.mark.parametrize("make", [Trickle, Pouring])
@pytest.mark.parametrize("step", [100, 512, 10_007, 1 << 20])
@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_an_archive_is_unpacked_however_its_bytes_come(
    make: Callable[[bytes, int], Trickle], step: int, format: int, tmp_path: Path
) -> None:
    source = make(archive(format), step)
    budget = unpack(source, tmp_path)
    assert (budget.files, budget.bytes) == (len(SIZES), sum(SIZES))
    for size in SIZES:
        (path,) = tmp_path.glob(f"folder/{size}-*")
        assert path.read_bytes() == content(size)[:size]
    assert source.read() == b""  # to its end


@pytest.mark.parametrize("left", [1, 400, 512, 600, 5_000, 700_000])
def test_an_archive_that_breaks_off_is_none(left: int, tmp_path: Path) -> None:
    with pytest.raises(DatasetError):
        unpack(Pouring(archive()[:left], 10_007), tmp_path)


def test_a_file_of_less_than_nothing_is_none(tmp_path: Path) -> None:
    info = tarfile.TarInfo("file")
    info.size = -1024
    head = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    with pytest.raises(DatasetError):
        unpack(Pouring(bytes(head) + bytes(4096), 10_007), tmp_path)


def test_a_file_there_is_cut_to_what_comes(tmp_path: Path) -> None:
    unpack(Pouring(archive(), 10_007), tmp_path)
    (path,) = tmp_path.glob("folder/513-*")
    path.write_bytes(bytes(10_000))
    unpack(Pouring(archive(), 10_007), tmp_path)
    assert path.read_bytes() == content(513)[:513]


# ------------------------------------------------------------------------------------------- what is made to cost much


def head(kind: bytes, data: bytes = b"", name: str = "file") -> bytes:
    """A member of some kind, and what stands behind its header."""
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(data)
    return info.tobuf(tarfile.USTAR_FORMAT) + data + bytes(-len(data) % 512)


def records(**fields: str) -> bytes:
    """Of an extended header: each begins with its own length."""
    said = bytearray()
    for name, value in fields.items():
        rest = f" {name.replace('_', '.')}={value}\n"
        length = next(size for size in range(len(rest), len(rest) + 9) if size == len(str(size)) + len(rest))
        said += f"{length}{rest}".encode()
    return bytes(said)


END = bytes(1024)
FILE = head(tarfile.REGTYPE, b"hello")
HOLES = records(GNU_sparse_major="1", GNU_sparse_minor="0")


@pytest.mark.parametrize(
    "data",
    [
        head(tarfile.GNUTYPE_LONGNAME, b"name\0") * 3_000 + FILE,
        head(tarfile.XHDTYPE, records(path="name")) * 3_000 + FILE,
        head(tarfile.XHDTYPE, records(GNU_sparse_size="much")) + FILE,
        head(tarfile.XHDTYPE, records(GNU_sparse_map="a,b")) + FILE,
        head(tarfile.XHDTYPE, HOLES) + head(tarfile.REGTYPE, b"many\n"),
        head(tarfile.XHDTYPE, records(size="9" * 5_000) + b"9" * 5_000 + b" path=x\n") + FILE,
    ],
    ids=["names of names", "headers of headers", "no size", "no map", "no count", "no length"],
)
def test_headers_that_tarfile_stumbles_over_are_an_errors_of_ours(data: bytes, tmp_path: Path) -> None:
    """They ended whoever unpacked with what nobody catches."""
    with pytest.raises(DatasetError):
        unpack(Pouring(data + END, 10_007), tmp_path)


def test_no_map_of_holes_is_kept_in_memory(tmp_path: Path) -> None:
    """One of a few MiB came to forty: to nothing, since no such file is unpacked."""
    holes = head(tarfile.XHDTYPE, HOLES) + head(tarfile.REGTYPE, b"2000000\n" + b"999\n" * 1_000_000)
    skipped = list[str]()
    most = peak(holes + FILE + END, tmp_path, lambda unsafe: skipped.append(unsafe.path))
    assert skipped == ["file"]
    assert (tmp_path / "file").read_bytes() == b"hello"
    assert most < len(holes)


def test_what_is_said_for_all_files_is_little(tmp_path: Path) -> None:
    """It was kept to the end, gone through for each file, and ten times as large as the archive."""
    words = (records(**{f"{number:x}.{word:x}": "" for word in range(3_000)}) for number in range(200))
    data = b"".join(head(tarfile.XGLTYPE, said) + FILE for said in words)
    with pytest.raises(DatasetError):
        unpack(Pouring(data + END, 10_007), tmp_path)
    comment = head(tarfile.XGLTYPE, records(comment="of the commit"))
    unpack(Pouring(comment + FILE + END, 10_007), tmp_path / "fine")
    assert (tmp_path / "fine/file").read_bytes() == b"hello"


def peak(data: bytes, place: Path, skip: Callable[[DatasetUnsafe], None]) -> int:
    """The most memory, in bytes, that unpacking took."""
    source, budget = Pouring(data, 10_007), Budget(None, "It")
    tracemalloc.start()
    try:
        with TreeWriter(place, budget) as writer:
            untar(source, writer, budget, skip)  # type: ignore[arg-type]
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

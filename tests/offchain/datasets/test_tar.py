"""What is unpacked while it comes, however it comes in pieces."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from leasehold.datasets import Budget, TreeWriter, untar
from leasehold.errors import DatasetError

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

"""A small file is read once for as long as it is that file, and anew in every other case."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from leasehold.files import replace_file
from leasehold_agent.store import LeaseDir, Notes, _last_read, _lease_dir, read_word, write_word
from leasehold_agent.store._last_read import LastRead

LATER = 60 * 10**9


class Reader:
    """Counts how often a file was read; None where there is none."""

    def __init__(self, ahead: int = LATER) -> None:
        self.times = 0
        self.files = LastRead(self.read, lambda: time.time_ns() + ahead)

    def read(self, path: Path) -> bytes | None:
        self.times += 1
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None


def test_it_is_read_once(tmp_path: Path) -> None:
    reader, path = Reader(), tmp_path / "notes"
    replace_file(path, b"first")
    assert [reader.files.of(path) for _ in range(3)] == [b"first"] * 3
    assert reader.times == 1


def test_another_of_the_same_size_and_time_is_another(tmp_path: Path) -> None:
    reader, path = Reader(), tmp_path / "notes"
    replace_file(path, b"first")
    before = path.stat()
    assert reader.files.of(path) == b"first"
    replace_file(path, b"other")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert reader.files.of(path) == b"other"


def test_one_that_was_just_put_there_is_read_again(tmp_path: Path) -> None:
    """In the same moment another may come that has its number, its size and its time."""
    path = tmp_path / "notes"
    replace_file(path, b"first")
    reader = Reader(ahead=path.stat().st_ctime_ns - time.time_ns())
    assert [reader.files.of(path) for _ in range(3)] == [b"first"] * 3
    assert reader.times == 3


def test_one_that_comes_and_goes(tmp_path: Path) -> None:
    reader, path = Reader(), tmp_path / "notes"
    assert [reader.files.of(path) for _ in range(2)] == [None, None]
    assert reader.times == 1
    replace_file(path, b"here")
    assert reader.files.of(path) == b"here"
    path.unlink()
    assert reader.files.of(path) is None


def test_one_that_is_replaced_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    replace_file(path, b"first")

    class Late(Reader):
        def read(self, path: Path) -> bytes | None:
            read = super().read(path)
            if self.times == 1:
                replace_file(path, b"second")
            return read

    late = Late()
    assert [late.files.of(path) for _ in range(2)] == [b"first", b"second"]


def test_what_cannot_be_read_is_not_remembered(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    replace_file(path, b"half")

    class Broken(Reader):
        def read(self, path: Path) -> bytes | None:
            read = super().read(path)
            if self.times == 1:
                raise ValueError("half of it")
            return read

    broken = Broken()
    with pytest.raises(ValueError, match="half"):
        broken.files.of(path)
    assert broken.files.of(path) == b"half"


def test_it_remembers_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_last_read, "_MOST", 2)
    reader = Reader()
    for name in ("a", "b", "c", "c", "a"):
        reader.files.of(tmp_path / name)
    assert reader.times == 4  # the oldest made room, and is read again


def test_notes_are_the_callers_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever changes what he was given, and saves nothing, changes it for nobody else."""
    folder = LeaseDir(tmp_path, 7)
    folder.save(Notes(machine=3, devices={"GPU-1": "GPU-1"}))
    monkeypatch.setattr(_lease_dir._noted, "_now", lambda: time.time_ns() + LATER)
    for _ in range(3):
        notes = folder.load()
        assert (notes.machine, notes.devices) == (3, {"GPU-1": "GPU-1"})
        notes.machine, notes.devices["GPU-2"] = 4, "GPU-2"


def test_a_tenants_word_is_of_one_workload(tmp_path: Path) -> None:
    file = tmp_path / "word.json"
    write_word(file, "stop", "aa")
    assert (read_word(file, "aa"), read_word(file, "bb")) == ("stop", "")
    write_word(file, "restart", "bb")
    assert (read_word(file, "aa"), read_word(file, "bb")) == ("", "restart")
    write_word(file, "", "bb")
    assert read_word(file, "bb") == ""

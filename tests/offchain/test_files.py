"""Files are written in one place, whole or not at all."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from leasehold.files import replace_file
from syntax import nodes

pytestmark = pytest.mark.together("syntax")

ROOT = Path(__file__).parents[2]
WRITER = "offchain/leasehold/files.py"
# what else writes, and what: none of it is kept
OTHERS = {
    "agent/leasehold_agent/cards/_mps_groups.py": "the kernel's control groups",
    "agent/leasehold_agent/chain/_sentinel.py": "a setting of the kernel's",
    "agent/leasehold_agent/host/_disk_reserve.py": "room on the disk",
    "agent/leasehold_agent/host/_unpacker.py": "a tenant's code, into a container that has never run",
    "offchain/leasehold/datasets/_tree_unpack.py": "a tenant's volume, file by file, where nothing is yet",
}


def test_what_is_kept_is_written_in_one_place() -> None:
    writers = {
        path.relative_to(ROOT).as_posix()
        for package in ("offchain/leasehold", "agent/leasehold_agent")
        for path in (ROOT / package).rglob("*.py")
        if any(_written(path.read_text()))
    }
    assert writers == {WRITER, *OTHERS}


def _written(source: str) -> Iterator[str]:
    """What writes a whole file, or makes one that must not be there."""
    for node in nodes(source):
        if isinstance(node, ast.Attribute) and node.attr in {"write_text", "write_bytes", "fsync", "O_EXCL"}:
            yield node.attr


def test_a_file_is_replaced_by_one_of_just_that_mode(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        for mode in (0o600, 0o644, 0o444):
            replace_file(tmp_path / "notes", f"{mode:o}", mode=mode)
            assert (tmp_path / "notes").read_text() == f"{mode:o}"
            assert (tmp_path / "notes").stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_what_can_be_had_again_does_not_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced = list[int]()
    monkeypatch.setattr(os, "fsync", forced.append)
    replace_file(tmp_path / "pack", b"1", forced=False)
    assert not forced
    replace_file(tmp_path / "pack", b"2")
    assert len(forced) == 1
    assert (tmp_path / "pack").read_bytes() == b"2"


def test_a_late_writer_does_not_make_a_folder_again(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "lease" / "notes", b"late")
    assert list(tmp_path.iterdir()) == []


def test_what_is_half_written_leaves_what_was_there(tmp_path: Path) -> None:
    replace_file(tmp_path / "notes", b"old")
    with pytest.raises(TypeError):
        replace_file(tmp_path / "notes", 7)  # type: ignore[arg-type]  # what fails half-way
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("notes", b"old")]

"""The shell that a host lends to images without one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from leasehold_agent.store import lend_helper

BUSYBOX = shutil.which("busybox")


def test_a_copy_is_lent_and_renewed_in_one_piece(tmp_path: Path) -> None:
    """What runs from the former copy keeps it: a file is put in its place, and never written over."""
    lent = lend_helper(tmp_path)
    assert lent is not None
    assert BUSYBOX is not None
    assert lent.read_bytes() == Path(BUSYBOX).read_bytes()
    assert lent.stat().st_mode & 0o777 == 0o755
    first = lent.stat().st_ino
    assert lend_helper(tmp_path) == lent
    assert lent.stat().st_ino == first
    lent.unlink()
    lent.write_bytes(b"of an older package")
    with lent.open("rb") as running:
        assert lend_helper(tmp_path) == lent
        assert running.read() == b"of an older package"
    assert lent.read_bytes() == Path(BUSYBOX).read_bytes()


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("a script", b"#!/bin/sh\nexit 0\n"),
        ("nothing", b""),
        ("a torn program", b"\x7fELF\x02\x01" + b"\xff" * 40),
        ("a program of another machine", b"\x7fELF\x02\x02" + bytes(200)),
    ],
)
def test_what_would_not_run_in_there_is_not_lent(tmp_path: Path, kind: str, content: bytes) -> None:
    found = tmp_path / "busybox"
    found.write_bytes(content)
    found.chmod(0o755)
    assert lend_helper(tmp_path / "helper", str(found)) is None
    assert not (tmp_path / "helper").exists()


def test_a_program_that_needs_the_hosts_libraries_is_not_lent(tmp_path: Path) -> None:
    assert lend_helper(tmp_path / "helper", str(Path("/bin/sh").resolve())) is None


def test_a_host_without_one_lends_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert lend_helper(tmp_path / "helper") is None

"""What workloads asked for, on the computer that they were handed over from."""

from __future__ import annotations

from pathlib import Path

import pytest

from leasehold.home import LeaseOutputs


def digest(number: int) -> bytes:
    return number.to_bytes(32)


def test_all_that_several_workloads_asked_for(tmp_path: Path) -> None:
    outputs = LeaseOutputs(tmp_path)
    outputs.keep(digest(1), ["/out", "/a\nb"])
    outputs.keep(digest(2), [])
    outputs.keep(digest(3), ["/out", "/more"])
    assert outputs.of([digest(1)]) == ("/out", "/a\nb")
    assert outputs.of([digest(2)]) == ()
    assert outputs.of([digest(1), digest(3)]) == ("/out", "/a\nb", "/more")
    assert outputs.of([digest(1), digest(4)]) is None


@pytest.mark.parametrize("damage", ["{", f'{{"{"00" * 32}": "x"}}', f'{{"{"00" * 32}": 3}}'])
def test_a_damaged_file_knows_nothing(tmp_path: Path, damage: str) -> None:
    (tmp_path / "outputs.json").write_text(damage)
    assert LeaseOutputs(tmp_path).of([digest(0)]) is None

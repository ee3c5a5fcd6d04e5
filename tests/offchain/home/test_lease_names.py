"""What leases are called, on the computer that they were rented from."""

from __future__ import annotations

from pathlib import Path

import pytest

from leasehold.home import LeaseNames, _lease_names


def digest(number: int) -> bytes:
    return number.to_bytes(32)


def test_the_latest_names_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_lease_names, "_MOST", 24)
    names = LeaseNames(tmp_path)
    assert names.all() == {}
    names.keep(digest(1), None)
    assert names.all() == {}
    for number in range(30):
        names.keep(digest(number), f"n{number}")
    assert len(names.all()) == 24
    assert digest(5) not in names.all()
    names.keep(digest(6), "again")
    names.keep(digest(5_000), "new")
    assert names.all()[digest(6)] == "again"
    assert (tmp_path / "names.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damage", ["{", "[]", '{"xyz": "a"}', "\0"])
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, damage: str) -> None:
    (tmp_path / "names.json").write_text(damage)
    names = LeaseNames(tmp_path)
    assert names.all() == {}
    names.keep(digest(1), "a")
    assert names.all() == {digest(1): "a"}

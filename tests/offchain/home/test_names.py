"""What people call things, on the computer that they work at."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from leasehold.chain import Deployment
from leasehold.errors import SettingsError
from leasehold.home import Home, Kind, NameBook, Tag
from leasehold.home._errors import BadLabel, BadName, NameTaken, TooManyNames
from leasehold.home._names import MOST_LABELS

POOL = Deployment(31337, "0x" + "ab" * 32, "0x11", "0x22", "0x33", "0x44", 0, "TUSD", 18)
ELSEWHERE = replace(POOL, controller="0x55")


@pytest.fixture
def names(tmp_path: Path) -> NameBook:
    return Home(tmp_path).names(POOL)


def test_what_was_named_and_labelled_is_read_again(names: NameBook, tmp_path: Path) -> None:
    assert names.all(Kind.LEASE) == {}
    names.call(Kind.LEASE, 12 << 16, "train")
    names.label(Kind.LEASE, 12 << 16, {"project": "vision", "who": "ada"})
    names.label(Kind.LEASE, 12 << 16, {"who": None, "run": "3"})
    again = Home(tmp_path).names(POOL)
    tag = again.of(Kind.LEASE, 12 << 16)
    assert tag == Tag("train", {"project": "vision", "run": "3"})
    assert (tag.has({"run": "3"}), tag.has({"run": "4"}), tag.has({})) == (True, False, True)
    names.call(Kind.LEASE, 12 << 16, None)
    assert again.of(Kind.LEASE, 12 << 16) == Tag(None, {"project": "vision", "run": "3"})
    names.label(Kind.LEASE, 12 << 16, {"project": None, "run": None})
    assert again.all(Kind.LEASE) == {}


def test_leases_and_machines_are_a_pools_and_the_rest_is_everywhere(names: NameBook, tmp_path: Path) -> None:
    for kind, thing in ((Kind.LEASE, 1), (Kind.MACHINE, 7), (Kind.DATASET, "bafy"), (Kind.ADDRESS, "0x55")):
        names.call(kind, thing, "same")  # what stands for one kind says nothing of another
    other = Home(tmp_path).names(ELSEWHERE)
    assert other.all(Kind.LEASE) == other.all(Kind.MACHINE) == {}
    assert other.called(Kind.DATASET, "same") == ("bafy",)
    assert other.called(Kind.ADDRESS, "same") == ("0x55",)
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "names").iterdir())


def test_leases_may_share_a_name_and_nothing_else_does(names: NameBook) -> None:
    names.call(Kind.LEASE, 1, "train")
    names.call(Kind.LEASE, 2, "train")
    assert names.called(Kind.LEASE, "train") == ("1", "2")
    names.call(Kind.MACHINE, 1, "fast")
    names.call(Kind.MACHINE, 1, "fast")
    with pytest.raises(NameTaken, match="machine 1 is called `fast` already"):
        names.call(Kind.MACHINE, 2, "fast")
    assert names.called(Kind.MACHINE, "fast") == ("1",)


@pytest.mark.parametrize(
    "name", ["", "12", "12.1", "0xab", "-x", "a:b", "x" * 65, "a\nb", "a ", "\x1b[31m", "é"]
)
def test_what_is_taken_for_something_else_is_no_name(names: NameBook, name: str) -> None:
    with pytest.raises(BadName):
        names.call(Kind.LEASE, 1, name)


@pytest.mark.parametrize(
    "label", [("", "x"), ("a b", "x"), ("-a", "x"), ("a", ""), ("a", "x\ny"), ("a", "x" * 129), ("a=b", "x")]
)
def test_what_cannot_be_typed_is_no_label(names: NameBook, label: tuple[str, str]) -> None:
    with pytest.raises(BadLabel):
        names.label(Kind.LEASE, 1, dict([label]))
    assert names.all(Kind.LEASE) == {}


def test_the_files_stay_small(names: NameBook, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TooManyNames):
        names.label(Kind.LEASE, 1, {f"l{number}": "x" for number in range(MOST_LABELS + 1)})
    monkeypatch.setattr("leasehold.home._names.MOST_NAMED", 2)
    names.call(Kind.LEASE, 1, "a")
    names.call(Kind.LEASE, 2, "b")
    with pytest.raises(TooManyNames):
        names.call(Kind.LEASE, 3, "c")
    assert list(names.all(Kind.LEASE)) == ["1", "2"]


@pytest.mark.parametrize("damage", ["{", "[]", '{"lease": []}', '{"lease": {"1": "train"}}', "\0"])
def test_a_damaged_file_is_said_and_kept(names: NameBook, tmp_path: Path, damage: str) -> None:
    """NameBook were typed by somebody: what cannot be read is not written over."""
    names.call(Kind.LEASE, 1, "a")
    (path,) = (tmp_path / "names").iterdir()
    path.write_text(damage)
    with pytest.raises(SettingsError, match="is damaged"):
        names.all(Kind.LEASE)
    with pytest.raises(SettingsError, match="correct it, or move it away"):
        names.call(Kind.LEASE, 2, "b")
    assert path.read_text() == damage


def test_writers_wait_for_one_another(tmp_path: Path) -> None:
    def call(number: int) -> None:
        Home(tmp_path).names(POOL).call(Kind.LEASE, number, f"n{number}")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(call, range(1, 33)))
    assert len(Home(tmp_path).names(POOL).all(Kind.LEASE)) == 32


def test_what_a_later_version_keeps_of_other_kinds_does_no_harm(names: NameBook, tmp_path: Path) -> None:
    names.call(Kind.LEASE, 1, "a")
    (path,) = (tmp_path / "names").iterdir()
    path.write_text(json.dumps({**json.loads(path.read_text()), "later": {"x": {"name": "y"}}}))
    assert names.of(Kind.LEASE, 1).name == "a"

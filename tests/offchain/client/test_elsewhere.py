"""Data from elsewhere, by fsspec: whole, gone on with where it broke off, and never outside of its folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from leasehold.client import bring_to, fetch_from, is_address
from leasehold.errors import DatasetError, DatasetUnsafe


@pytest.fixture
def bucket() -> Iterator[Any]:
    """A file system of fsspec's own, in memory."""
    files = fsspec.filesystem("memory")
    files.pipe({"/bucket/a": b"1" * 100, "/bucket/deep/b": b"2" * 3_000_000})
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]


def test_what_is_an_address() -> None:
    assert all(map(is_address, ("s3://bucket/x", "https://a/b", "hf://datasets/x", "memory://x")))
    assert not any(map(is_address, ("folder", "/a/b", "./a:b", "C:/x", "a b://c")))


def test_a_folder_comes_whole_and_is_kept(bucket: Any, tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    assert fetch_from("memory://bucket", tmp_path, lambda done, total: told.append((done, total))) == 2
    assert (tmp_path / "deep" / "b").read_bytes() == b"2" * 3_000_000
    assert told[-1] == (3_000_100, 3_000_100)
    told.clear()
    fetch_from("memory://bucket", tmp_path, lambda done, total: told.append((done, total)))
    assert told == []


def test_one_file(bucket: Any, tmp_path: Path) -> None:
    assert fetch_from("memory://bucket/a", tmp_path, lambda *_: None) == 1
    assert (tmp_path / "a").read_bytes() == b"1" * 100


def test_what_broke_off_is_gone_on_with(bucket: Any, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.part").write_bytes(b"X" * 1_000_000)
    fetch_from("memory://bucket", tmp_path, lambda *_: None)
    assert (tmp_path / "deep" / "b").read_bytes() == b"X" * 1_000_000 + b"2" * 2_000_000


def test_one_that_is_shorter_than_it_says_is_not_kept(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(bucket), "info", lambda self, path, **_: {"size": 999, "type": "file"})
    with pytest.raises(DatasetError, match="100 bytes, and should have 999"):
        fetch_from("memory://bucket/a", tmp_path, lambda *_: None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../out", "a/../../out", "/out", "a//b"])
def test_a_name_that_leads_out(
    bucket: Any, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {f"/bucket/{name}": {"size": 1, "type": "file"}}
    monkeypatch.setattr(type(bucket), "find", lambda self, path, **_: there)
    with pytest.raises(DatasetUnsafe):
        fetch_from("memory://bucket", tmp_path / "in", lambda *_: None)
    assert list(tmp_path.rglob("*")) == []


def test_nothing_there_and_no_library(bucket: Any, tmp_path: Path) -> None:
    said_of = {
        "memory://nowhere": "not to be had",
        "abfs://x/y": "install `leasehold",
        "nosuch://x": "not to be had",
    }
    for address, said in said_of.items():
        with pytest.raises(DatasetError, match=said):
            fetch_from(address, tmp_path, lambda *_: None)


def test_results_go_back(bucket: Any, tmp_path: Path) -> None:
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "model").write_text("weights")
    (tmp_path / "link").symlink_to("/etc/passwd")
    assert bring_to(tmp_path, "memory://bucket/results") == 1
    assert bucket.cat("/bucket/results/outputs/model") == b"weights"


def test_of_a_folder_with_more_only_the_outputs_are_brought(bucket: Any, tmp_path: Path) -> None:
    """Results that were laid over a project: its `.env` is nobody's but its owner's."""
    (tmp_path / ".env").write_text("secret")
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "model").write_text("weights")
    (tmp_path / "report").write_text("good")
    (tmp_path / "way").symlink_to(".")
    outputs = ("/outputs", "/report", "/never/made", "/way/.env")
    assert bring_to(tmp_path, "memory://bucket/results", outputs) == 2
    assert bucket.cat("/bucket/results/outputs/model") == b"weights"
    assert sorted(bucket.find("/bucket/results")) == [
        "/bucket/results/outputs/model",
        "/bucket/results/report",
    ]

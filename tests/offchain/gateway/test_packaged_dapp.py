"""The browser's app comes with the package: setup has built it, and its page needs nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from leasehold.gateway import _site, packaged_dapp


@pytest.fixture
def dapp() -> Path:
    folder = packaged_dapp()
    assert folder is not None, "make setup builds it"
    return folder


def test_a_package_that_was_built_without_it_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_site, "_PACKAGED", tmp_path)
    assert packaged_dapp() is None


def test_nothing_is_inline_and_nothing_from_elsewhere(dapp: Path) -> None:
    """So that it runs under a policy that allows its own files and nothing else."""
    page = (dapp / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=", page) == []
    named = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert named
    for name in named:
        assert name.startswith("./"), name
        assert (dapp / name).is_file(), name
    for sheet in (dapp / "assets").glob("*.css"):
        assert re.findall(r"url\((?!\"?\./)|@import", sheet.read_text()) == []


def test_what_never_changes_has_its_hash_in_its_name(dapp: Path) -> None:
    assert all(re.fullmatch(r".+-[\w-]{8}\.\w+", file.name) for file in (dapp / "assets").iterdir())

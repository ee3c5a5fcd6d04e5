"""What a home can name for who is typing: damaged or absent files offer nothing, and never fail."""

from __future__ import annotations

import json
from pathlib import Path

from leasehold.home import Glimpse, Home


def test_a_home_that_is_nowhere_offers_nothing(tmp_path: Path) -> None:
    glimpse = Glimpse(tmp_path / "nowhere")
    assert glimpse.groups() == glimpse.wallets() == glimpse.leases() == glimpse.labels() == []
    assert glimpse.newest("machine") == []
    assert not glimpse.home.exists()


def test_what_is_damaged_offers_nothing(tmp_path: Path) -> None:
    (tmp_path / "names").mkdir()
    (tmp_path / "groups.json").write_text('["no", "book"]')
    Home(tmp_path).index.write_text("no database")
    (tmp_path / "names" / "pool.json").write_text("{")
    glimpse = Glimpse(tmp_path)
    assert glimpse.groups() == glimpse.leases() == glimpse.labels() == glimpse.newest("seat") == []


def test_labels_of_all_pools_once(tmp_path: Path) -> None:
    (tmp_path / "names").mkdir()
    for pool, lease in (("one", "65536"), ("two", "131072")):
        tag = {"name": "train", "labels": {"project": "vision", "pool": pool}}
        (tmp_path / "names" / f"{pool}.json").write_text(json.dumps({"lease": {lease: tag}}))
    assert Glimpse(tmp_path).labels() == ["pool=one", "pool=two", "project=vision"]

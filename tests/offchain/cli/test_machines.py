"""`leasehold machines` reads a fresh index at a glance, and says the same as by way of a session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from leasehold import Home, chain
from leasehold.chain import _index_reader, _queries, _tables
from leasehold.cli import _carrying_out

from .conftest import Cli, Pool
from .test_lazy import imported_by

SEARCHES = (
    (),
    ("gpu:H100", "mem>=80", "price<=2.5"),
    ("-gpu:H100",),
    ("python", "--all", "--sort", "-mem"),
)


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that opened a session so far."""
    opened: list[str] = []
    open_session: Callable[..., Any] = _carrying_out.open_session

    def counted(call: Any, **options: Any) -> Any:
        opened.append(call.name)
        return open_session(call, **options)

    monkeypatch.setattr(_carrying_out, "open_session", counted)
    return opened


def test_both_ways_say_the_same(market: Cli, pool: Pool, sessions: list[str]) -> None:
    for search in SEARCHES:
        pool.anvil.mine(1)
        sessions.clear()
        slowly = market("machines", *search, "--json").json, market("machines", *search).out
        assert sessions == ["machines"]  # the first of the two brought the index to the head
        at_a_glance = market("machines", *search, "--json").json, market("machines", *search).out
        assert sessions == ["machines"]
        assert at_a_glance == slowly
    assert market("machines", "--json").json[0]["hardware"]["cpu"]["cores"] == 48


def test_what_is_at_hand_is_asked_of_the_agents(market: Cli, sessions: list[str]) -> None:
    """Of an agent that gives no answer what the chain's document says counts; the next time it is asked last."""
    market("machines")
    sessions.clear()
    shown = [
        market("machines", search, "--json").json
        for search in ("image:python", "image!=python", "dataset:bafk")
    ]
    assert sessions == ["machines"] * 3
    assert [len(machines) for machines in shown] == [1, 0, 0]
    assert len(list((market.home / "contacts").rglob("*.missed"))) == 1


def test_what_is_missing_is_fetched(market: Cli, sessions: list[str]) -> None:
    market("machines")
    sessions.clear()
    kept = sorted((market.home / "documents").glob("*.json"))
    assert len(kept) == 2
    kept[0].unlink()
    kept[1].write_text("{}")
    assert market("machines", "--json").json[0]["missing"] is None
    assert sessions == ["machines"]
    assert sorted((market.home / "documents").glob("*.json")) == kept
    Home(market.home).index.unlink()
    assert len(market("machines", "--json").json) == 1
    assert sessions == ["machines", "machines"]


def test_each_form_of_the_index_has_its_file(market: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that two versions of the program leave each other's alone."""
    shown = market("machines", "--json").json
    kept = Home(market.home).index
    before = kept.read_bytes()
    for module in (chain, _index_reader, _queries, _tables):
        monkeypatch.setattr(module, "SCHEMA", "another")
    assert market("machines", "--json").json == shown
    assert Home(market.home).index != kept
    assert Home(market.home).index.exists()
    assert kept.read_bytes() == before


def test_a_node_that_is_gone_is_told_as_ever(market: Cli) -> None:
    market("machines")
    market.rpc = "http://127.0.0.1:1"
    refused = market("machines", ok=False)
    assert refused.code == 3
    assert "No RPC endpoint answers" in refused.err


@pytest.mark.slow
def test_nothing_is_imported_for_it_that_takes_long(cli: Cli) -> None:
    assert "The pool has no machine yet" in cli("machines").out
    assert imported_by("machines", **cli.environment()) == []
    said = subprocess.run(
        [sys.executable, "-c", "from leasehold.cli import main; main()", "machines", "--json"],
        env=os.environ | cli.environment(),
        capture_output=True,
        check=True,
    )
    assert json.loads(said.stdout) == []

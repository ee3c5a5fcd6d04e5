"""What is noted of runs: whole, private, and never lost where it is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from devnet.pool import PoolChain
from leasehold.home import GivenUp, Home, RunRecord, Try


def test_a_run_comes_back_as_it_was_noted(chain: PoolChain, tmp_path: Path) -> None:
    runs = Home(tmp_path).runs(chain.deployment)
    assert (runs.get("train"), runs.names()) == (None, [])
    tries = (Try(1, "ab", 5, 65_536, GivenUp.LATE, why="it did not start in time"), Try(2, "cd", 5, cost=0))
    record = RunRecord("train", "0xA", "wish", 1, {"step": 60}, True, "/results", tries)
    runs.keep(record)
    assert (runs.get("train"), runs.names()) == (record, ["train"])
    assert record.owed
    paid = record.with_try(0, cost=0)
    assert not paid.owed
    assert not record.with_try(0, given_up=GivenUp.KEPT).owed


def test_amounts_of_any_size_come_back(chain: PoolChain, tmp_path: Path) -> None:
    """A token with eighteen decimals has more units than a machine's word."""
    runs = Home(tmp_path).runs(chain.deployment)
    tries = (Try(1, "ab", escrow=10**24, cost=3 * 10**30),)
    record = RunRecord("train", "0xA", "wish", 1, {"budget": 10**30}, True, "/results", tries)
    runs.keep(record)
    assert runs.get("train") == record


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 65, "é"])
def test_a_name_that_would_lead_elsewhere(chain: PoolChain, tmp_path: Path, name: str) -> None:
    with pytest.raises(Exception, match="is no name for a run"):
        Home(tmp_path).runs(chain.deployment).get(name)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"tries": [{}]}', '{"tries": 3}', "null"])
def test_a_damaged_one_is_not_taken_for_none(chain: PoolChain, tmp_path: Path, text: str) -> None:
    runs = Home(tmp_path).runs(chain.deployment)
    runs.keep(RunRecord("train", "0xA", "wish", 1, {}, True, "/results"))
    (path,) = tmp_path.glob("runs/*/train.json")
    path.write_text(text)
    with pytest.raises(Exception, match="says which leases a run has open"):
        runs.get("train")

"""An adversary with a third of the seats takes nothing; and without any one of the mends it does."""

from dataclasses import replace

import pytest

from .rules import ALL, Mends
from .search import search

WITHOUT = {
    "seats_by_accepted_rules": replace(ALL, seats_by_accepted_rules=False),
    "dissent_is_free": replace(ALL, dissent_is_free=False),
    "committee_by_accepted_rules": replace(ALL, committee_by_accepted_rules=False),
    "fined_by_own_arbiter": replace(ALL, fined_by_own_arbiter=False),
    "fee_by_size": replace(ALL, fee_by_size=False),
    "part_by_cells": replace(ALL, part_by_cells=False),
}


@pytest.mark.parametrize("tries", [50, pytest.param(200, marks=pytest.mark.slow)])
def test_nothing_is_taken(tries: int) -> None:
    found = search(ALL, seed=1, tries=tries)
    assert found.broken == (), found


@pytest.mark.slow
@pytest.mark.parametrize("mend", WITHOUT)
def test_a_mend_that_is_taken_back_is_missed(mend: str) -> None:
    assert search(WITHOUT[mend], seed=3, tries=600).broken


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_taken_in_many_lives(seed: int) -> None:
    found = search(ALL, seed=seed, tries=1_000)
    assert found.broken == (), found


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("mend", WITHOUT)
def test_each_mend_is_missed_by_every_adversary(mend: str, seed: int) -> None:
    assert search(WITHOUT[mend], seed=seed, tries=3_000).broken


def test_the_mends_are_those_of_the_model() -> None:
    assert set(WITHOUT) == set(Mends.__dataclass_fields__)

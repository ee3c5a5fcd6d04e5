"""The adversary's pool keeps its books as the contracts do: to the unit, after every step of random histories."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from devnet.anvil import Anvil
from leasehold.chain import Deployment

from .twins import Twins, live


class PoolState(Protocol):
    """What the shared fixture `pool_state` gives."""

    state: Path
    deployment: Path


@pytest.fixture
def twins(pool_state: PoolState) -> Iterator[Twins]:
    anvil = Anvil()
    anvil.start(state=pool_state.state)
    deployment = Deployment.load(pool_state.deployment)
    try:
        keys = [account.key for account in anvil.accounts]
        yield Twins(anvil.url, deployment.controller, deployment.token, keys)
    finally:
        anvil.stop()


@pytest.mark.parametrize("seed", [1, pytest.param(7, marks=pytest.mark.slow)])
def test_a_history_comes_out_alike(twins: Twins, seed: int) -> None:
    live(twins, seed, steps=10)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(100, 300))
def test_any_history_comes_out_alike(twins: Twins, seed: int) -> None:
    live(twins, seed, steps=14)

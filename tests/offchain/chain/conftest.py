"""Fixtures of the chain's tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

from devnet.anvil import Anvil
from devnet.emitter import Emitter
from devnet.postgres import Postgres

from .indexing import url_of

NewDatabase = Callable[[], str]


@pytest.fixture
def emitter(anvil: Anvil) -> Emitter:
    """A contract on a bare chain that emits what it is told to."""
    return Emitter(anvil)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def new_database(request: pytest.FixtureRequest, tmp_path: Path) -> NewDatabase:
    """Gives the URL of an empty database with each call: what an index does, it does on both."""
    if request.param == "postgres":
        server: Postgres = request.getfixturevalue("postgres")
        return server.make
    numbers = iter(range(1_000))
    return lambda: url_of(tmp_path / f"index-{next(numbers)}.db")

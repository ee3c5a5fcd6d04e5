"""The world of the end-to-end tests: everything real, people at command lines, agents in processes of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devnet import images
from devnet.nursery import Nursery
from devnet.site import Site, make_site
from devnet.world import World


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Where commands and agents begin in no time, each in a process of its own."""
    with Nursery() as made:
        yield made


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("e2e") / "world", nursery=nursery) as made:
        images.load(made.engine.url, images.tiny())
        yield made


@pytest.fixture
def site(world: World) -> Iterator[Site]:
    """A new machine with its agent running, whose containers go with it."""
    with make_site(world) as made:
        yield made

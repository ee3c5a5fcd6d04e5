"""Fixtures of the chain's tests."""

import pytest

from devnet.anvil import Anvil
from devnet.emitter import Emitter


@pytest.fixture
def emitter(anvil: Anvil) -> Emitter:
    """A contract on a bare chain that emits what it is told to."""
    return Emitter(anvil)

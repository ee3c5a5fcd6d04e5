"""The guide to paying from a Ledger, typed word for word by somebody whose device is the emulator's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from devnet.desk import ROOT, Desk
from devnet.hardware_emulator import LedgerEmulator
from devnet.nursery import Nursery
from devnet.site import Site, make_site
from devnet.walkthrough import Walkthrough
from devnet.world import World
from leasehold.chain import LeaseClosed, LeaseStarted

from .test_reorg import another_chain

pytestmark = pytest.mark.slow

PATH = "m/44'/60'/0'/0/77"
"""Of none of Anvil's accounts."""


@pytest.fixture
def alone(world: World) -> Iterator[Site]:
    """The only machine of its pool."""
    with another_chain(world) as chain, make_site(chain, tick_seconds=0.5) as site:
        yield site


def test_a_lease_is_paid_from_a_ledger(alone: Site, nursery: Nursery, tmp_path: Path) -> None:
    party, desk = alone.world.party("has-a-ledger"), Desk(tmp_path, nursery)
    with LedgerEmulator() as ledger:
        alone.world.fund(ledger.app.address(PATH), tokens=100)

        def added() -> None:
            party("wallet", "add-hardware", "vault", "--path", PATH, "--at", ledger.place)

        with Walkthrough({"": desk.of(party)}, {"the account is added": added}) as reader:
            reader.define(IMAGE=alone.tiny)
            reader.walk(ROOT / "docs/guides/hardware-wallet.md")
        kinds = [screen.kind for screen in ledger.app.screens]
    assert kinds == ["address", "transaction", "fields", "transaction", "transaction"]
    assert len(alone.events(LeaseStarted)) == len(alone.events(LeaseClosed)) == 1

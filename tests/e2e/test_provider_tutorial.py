"""The tutorial for who lends a machine, typed word for word at two computers; others rent, ask and wait unseen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from devnet import images
from devnet.desk import ROOT, Desk
from devnet.nursery import Nursery
from devnet.walkthrough import Walkthrough
from devnet.world import Host, Party, World

from .test_reorg import another_chain

pytestmark = pytest.mark.slow

TUTORIAL = ROOT / "docs/tutorials/provider.md"
WRITTEN_BY_HAND = tuple(f"LEASEHOLD_AGENT_{name}" for name in ("CONFIG", "DEPLOYMENT", "RPC", "PUBLIC_HOST"))
DAY = 86_400


@pytest.fixture
def chain(world: World) -> Iterator[World]:
    """A pool without machines."""
    with another_chain(world) as made:
        yield made


@dataclass
class Others:
    """Who acts while the tutorial's reader looks on."""

    world: World
    host: Host
    renter: Party

    def agent_has(self, event: str, word: str = "") -> None:
        """Waits for a line of the service's log."""
        log = self.host.folder / "root/units/leasehold-agent.log"
        self.host.until(
            lambda: (
                log.is_file()
                and any(
                    f'"event": "{event}"' in line and word in line for line in log.read_text().splitlines()
                )
            )
        )

    def rent(self) -> None:
        workload = self.renter.home / "workload.json"
        image = images.tiny().id
        document = {"version": 1, "image": image, "command": ["sleep", "3600"], "egress": "none"}
        workload.write_text(json.dumps(document))
        self.renter("rent", "--file", str(workload), "--for", "1h", "--allow-unverified", "--yes")
        self.host.until(self._runs)

    def serve(self) -> None:
        """It answers, and has said for the first time how things stand."""
        self.agent_has("serving")
        self.host.until((self.host.folder / "state/status.json").exists)

    def _runs(self) -> bool:
        """The agent has heard of its own start, which may be after whoever rents has."""
        status = json.loads((self.host.folder / "state/status.json").read_text())
        return [lease["phase"] for lease in status["leases"]] == ["running"]

    def ask(self) -> None:
        self.renter("challenge", "1", "--yes")
        self.agent_has("duty", '"answer"')

    def let_it_end(self) -> None:
        self.world.anvil.advance(3_700)
        self.agent_has("step", '"stop"')


def test_from_a_host_to_its_money(chain: World, nursery: Nursery, tmp_path: Path) -> None:
    desk = Desk(tmp_path, nursery)
    you, host = chain.party("you-who-lend", chain.provider_ipfs), chain.host("your-card", tick_seconds=0.5)
    renter = chain.party("who-rents")
    chain.fund(renter("wallet", "new", "renter")["address"], tokens=100)
    renter("wallet", "approve", "unlimited", "--yes")
    others = Others(chain, host, renter)
    moments = {
        "the agent serves": others.serve,
        "somebody has rented it": others.rent,
        "the tenant has asked for a sign of life": others.ask,
        "the lease is over": others.let_it_end,
        "14 days": lambda: chain.anvil.advance(14 * DAY + 1),
    }
    of_the_pool = {name: you.environment[name] for name in ("LEASEHOLD_DEPLOYMENT", "LEASEHOLD_RPC")}
    with (
        desk.of_host(host, of_the_pool, *WRITTEN_BY_HAND) as at_the_host,
        Walkthrough(
            {"": desk.of_newcomer(you, host, images.tiny().id), "host": at_the_host}, moments
        ) as reader,
    ):
        reader.walk(TUTORIAL)

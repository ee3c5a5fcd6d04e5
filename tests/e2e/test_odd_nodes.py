"""An agent and people behind every kind of misbehaving node.

The agent lives on, keeps what runs, and takes up work again; a command ends with its code and one sentence, or says
what it waits for, and nothing is sent twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from devnet.anvil import Anvil
from devnet.odd_node import OddNode, kinds
from devnet.patience import patient
from devnet.site import Site, make_site
from devnet.tenant import Tenant
from devnet.world import World
from leasehold.chain import LeaseStarted, LeaseState, parse_lease
from leasehold.workload import load_workload

from .test_outages import born
from .test_reorg import another_chain

USUAL = frozenset(
    (
        "HTTP 429",
        "HTTP 502 with a page",
        "a connection that ends",
        "a head that lies behind",
        "another chain of the same number",
        "every result is null",
        "limited call by call",
        "logs that are null",
        "no lists",
        "ranges of ten blocks",
        "reads that are cut",
        "two nodes, one of another chain",
    )
)


every_kind = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in USUAL else pytest.mark.deep)
        for name in sorted(kinds())
    ],
)


@dataclass
class Behind:
    """A machine whose agent knows the chain by one node, which may be made odd, and a lease that runs on it."""

    site: Site
    node: OddNode
    tenant: Tenant
    sealed: bytes
    kept: str = ""

    def opens(self) -> str:
        """One more lease, on an eighth of the machine."""
        return self.tenant.open(self.sealed, deliver=False, share=1, duration=30 * 86_400)

    def works(self, lease: str) -> None:
        """The lease runs, by the agent's word on chain."""
        self.site.until(
            lambda: self.tenant.lease(parse_lease(lease)).state is LeaseState.ACTIVE, patient(120)
        )

    def ends(self, lease: str) -> None:
        """Closed on chain, the lease has no process any more."""
        self.tenant.pool(lambda pool: pool.close(parse_lease(lease)))
        self.site.until(
            lambda: not [each for each in self.site.containers(lease) if each["State"]["Running"]]
        )

    @property
    def alive(self) -> tuple[int, str, int]:
        """The processes that have to go on: the kept lease's, and the agent's."""
        (container,) = self.site.containers(self.kept)
        pid, process = int(container["State"]["Pid"]), self.site.host.process
        assert process is not None
        assert process.poll() is None, self.site.host.tail()
        return pid, born(pid), process.pid


@pytest.fixture(scope="module")
def stranger() -> Iterator[Anvil]:
    """Another chain of the same number, longer than ours."""
    with Anvil() as other:
        other.mine(500)
        yield other


@pytest.fixture(scope="module")
def shared(world: World, stranger: Anvil) -> Iterator[Behind]:
    with (
        another_chain(world) as chain,
        OddNode(chain.anvil.url, stranger=stranger.url) as node,
        make_site(
            chain, "--max", "40d", rpc=[node.url], ws=node.ws_url, tick_seconds=0.5, retention_min=0
        ) as site,
    ):
        tenant = Tenant(site)
        sleeps = {"version": 1, "image": site.tiny, "command": ["sleep", "36000"], "egress": "none"}
        sealed = site.seal(load_workload({**sleeps, "grace": 0}))
        tenant.deliver(sealed)
        behind = Behind(site, node, tenant, sealed)
        behind.kept = behind.opens()
        behind.works(behind.kept)
        yield behind


@pytest.fixture
def behind(shared: Behind) -> Iterator[Behind]:
    yield shared
    shared.node.becomes(None)


@every_kind
def test_the_agent_lives_on_and_works_again(behind: Behind, name: str) -> None:
    """The lease that is opened meanwhile is started by itself, as soon as the node lets it."""
    before = behind.alive
    behind.node.becomes(kinds()[name])
    lease = behind.opens()
    behind.works(lease)
    assert behind.alive == before
    assert len(behind.site.events(LeaseStarted, lease)) == 1
    behind.tenant.pool(lambda pool: pool.close(parse_lease(lease)))
    behind.site.until(
        lambda: not [each for each in behind.site.containers(lease) if each["State"]["Running"]]
    )
    assert behind.alive == before


# What an agent asks while it starts stands in lists of three at most, and is the state: no logs of many blocks.
UNMET_AT_A_START = {
    "no lists over three, by HTTP 400",
    "no lists over four, by HTTP 413",
    "no lists over ten",
    "ranges of ten blocks",
    "ranges by number of logs",
}


@pytest.mark.deep
@pytest.mark.parametrize("name", sorted(kinds()))
def test_the_agent_starts_behind_it(behind: Behind, name: str) -> None:
    """What it knows of the chain it has by such a node from the first question on."""
    pid, birth, _ = behind.alive
    behind.site.host.kill()
    behind.node.becomes(kinds()[name])
    lease = behind.opens()
    behind.site.host.start()
    behind.works(lease)
    assert behind.node.odd or name in UNMET_AT_A_START
    assert behind.alive[:2] == (pid, birth)
    behind.ends(lease)

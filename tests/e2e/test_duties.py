"""The agent killed while it owes the chain a word: it is said all the same, and once.

A challenge is answered, an outage is ended. Each test stops the agent by SIGKILL at one moment of that, and starts it
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from devnet.moments import at_once, in_the_pool, no_mining
from devnet.site import Site, make_site
from devnet.tenant import Tenant
from devnet.world import World
from leasehold.chain import Answered, Challenged, FaultFiled, Faults, LeaseState, format_lease, parse_lease

from .test_reorg import another_chain

pytestmark = pytest.mark.slow

DAY = 86_400
CHALLENGE_WINDOW = 600


@dataclass
class Machine:
    """A machine with a tenant on it, and nobody who runs it until it is `started`."""

    site: Site
    tenant: Tenant
    lease: int

    def challenge(self) -> None:
        """A day after the last one, whose bond would be doubled else."""
        self.site.world.anvil.advance(DAY + 1)
        self.tenant.deposit(5)
        self.tenant.faults(lambda faults: faults.challenge(self.site.machine, self.lease))

    def prove(self) -> None:
        """A challenge that nobody answers."""
        self.challenge()
        self.site.world.anvil.advance(CHALLENGE_WINDOW + 1)
        self.tenant.faults(lambda faults: faults.prove(self.site.machine))

    @property
    def settled(self) -> bool:
        """No challenge stands and no outage runs."""

        async def look(faults: Faults) -> bool:
            standing = await faults.challenge_of(self.site.machine)
            return not standing.id and not await faults.running_fault(self.site.machine)

        return self.tenant.faults(look)

    def started(self, duty: str = "") -> None:
        """Starts its agent; blocks until that says that it is about to do its `duty`."""
        since = len(self.site.host.steps)
        self.site.host.start()
        if duty:
            self.site.host.wait_for(lambda line: line.get("duty") == duty, since=since)

    def killed(self) -> None:
        self.site.host.kill()


@pytest.fixture(scope="module")
def machine(world: World) -> Iterator[Machine]:
    """On a chain of its own: it moves the time by days, and what a host signs is good for a week."""
    with another_chain(world) as chain, make_site(chain, "--max", "30d", tick_seconds=0.5) as site:
        tenant = Tenant(site)
        sealed = tenant.sealed(tenant.dataset("an answer"))
        lease = parse_lease(tenant.open(sealed, duration=25 * DAY))
        site.until(lambda: tenant.lease(lease).state is LeaseState.ACTIVE)
        yield Machine(site, tenant, lease)


Moment = Callable[[Machine, str], None]


def before_it_is_sent(machine: Machine, duty: str) -> None:
    machine.started(duty)
    machine.killed()


def while_it_waits(machine: Machine, duty: str) -> None:
    with no_mining(machine.site.world):
        machine.started()
        at_once(lambda: in_the_pool(machine.site.world))
        machine.killed()


def while_it_waits_and_is_dropped(machine: Machine, duty: str) -> None:
    with no_mining(machine.site.world):
        machine.started()
        at_once(lambda: in_the_pool(machine.site.world))
        machine.killed()
        machine.site.world.anvil.request("anvil_dropAllTransactions")


def while_it_waits_until_the_agent_is_back(machine: Machine, duty: str) -> None:
    """It cannot know that it has said it already."""
    with no_mining(machine.site.world):
        machine.started()
        at_once(lambda: in_the_pool(machine.site.world))
        machine.killed()
        machine.started(duty)


def as_soon_as_it_is_mined(machine: Machine, duty: str) -> None:
    machine.started()
    at_once(lambda: machine.settled)
    machine.killed()


MOMENTS: dict[Moment, bool] = {
    before_it_is_sent: False,
    while_it_waits: True,
    while_it_waits_and_is_dropped: True,
    while_it_waits_until_the_agent_is_back: False,
    as_soon_as_it_is_mined: True,
}
"""And which of them are tried in long runs only."""
moments = pytest.mark.parametrize(
    "moment",
    [
        pytest.param(moment, id=moment.__name__, marks=[pytest.mark.deep] if deep else [])
        for moment, deep in MOMENTS.items()
    ],
)


@moments
def test_a_challenge_is_answered_once(machine: Machine, moment: Moment) -> None:
    machine.killed()
    filed = len(machine.site.here(FaultFiled))
    machine.challenge()
    moment(machine, "answer")
    settle(machine)
    asked = machine.site.here(Challenged)[-1]
    answers = [answer.challenge for answer in machine.site.here(Answered)]
    assert answers.count(asked.challenge) == 1
    assert len(machine.site.here(FaultFiled)) == filed


@moments
def test_an_outage_is_ended_once(machine: Machine, moment: Moment) -> None:
    machine.killed()
    filed = len(machine.site.here(FaultFiled))
    machine.prove()
    moment(machine, "end-outage")
    settle(machine)
    assert len(machine.site.here(FaultFiled)) == filed + 1
    assert len(machine.site.containers(format_lease(machine.lease))) == 1


def settle(machine: Machine) -> None:
    """The agent runs, and nothing is owed."""
    if machine.site.host.process is None:
        machine.started()
    machine.site.until(lambda: machine.settled)

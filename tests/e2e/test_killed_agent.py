"""The agent killed at any moment of a lease's life, and started again: nothing is doubled, nothing is lost.

Each test is one life: opened, brought up, perhaps given another workload, closed, its results published, its data
deleted. At one moment of it the agent dies by SIGKILL. Its log says a step's name before the step, so that a line
is the moment just before an act; the moments within an act come from stopping whoever is doing it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from devnet.moments import at_once, in_the_pool, no_mining, standing_still
from devnet.site import LABEL, Site, make_site
from devnet.tenant import Tenant
from devnet.world import World
from leasehold.chain import (
    LeaseClosed,
    LeaseOpened,
    LeaseStarted,
    LeaseState,
    ResultPublished,
    cost,
    parse_lease,
)
from leasehold.workload import digest

PRICE = 24 * 10**17
FEE_BPS = 300


@pytest.fixture(scope="module")
def site(world: World) -> Iterator[Site]:
    """One machine for all lives; what is over is deleted at once, so that each ends in nothing."""
    with make_site(world, tick_seconds=0.5, retention_min=0, retention_max=0, start_margin=5) as made:
        yield made


@pytest.fixture(scope="module")
def tenant(site: Site) -> Tenant:
    return Tenant(site)


@dataclass
class Life:
    """One lease's life, and what is looked at in it."""

    site: Site
    tenant: Tenant
    name: str
    lease: str = ""
    since: int = 0
    began: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    ballast: int = 1 << 16
    grace: int = 1
    deliver: bool = True
    sealed: bytes = b""
    rounds: int = 1

    @property
    def number(self) -> int:
        return parse_lease(self.lease)

    @property
    def label(self) -> str:
        facts = self.site.world.facts
        return f"{LABEL}=eip155:{facts['chain_id']}/{facts['controller']}/{self.number}@{self.site.machine}"

    def prepare(self) -> None:
        """All that lies before the lease."""
        self.dataset = self.tenant.dataset(self.name, self.ballast)
        self.sealed = self._seal()
        self.since, self.began = len(self.site.host.steps), int(time.time())

    def open(self) -> None:
        self.lease = self.tenant.open(self.sealed, deliver=self.deliver)

    def replace(self) -> None:
        """Sets another workload over the same dataset."""
        self.rounds += 1
        self.since = len(self.site.host.steps)
        self.sealed = self._seal()
        self.tenant.deliver(self.sealed)
        self.tenant.pool(lambda pool: pool.set_workload(self.number, digest(self.sealed)))

    def close(self) -> None:
        self.since = len(self.site.host.steps)
        self.tenant.pool(lambda pool: pool.close(self.number))

    def step(self, name: str) -> None:
        """Blocks until the agent says this step of this lease."""
        self.site.host.wait_for(
            lambda line: (
                line.get("event") == "step" and line.get("step") == name and line.get("lease") == self.lease
            ),
            since=self.since,
        )

    def kill(self) -> None:
        self.site.host.kill()

    def restart(self) -> None:
        self.site.host.start()

    # ------------------------------------------------------------------------------------------------ what is so

    def containers(self) -> list[dict[str, Any]]:
        return self.site.containers(self.lease)

    def brought_up(self) -> bool:
        """Billed, and running the newest workload."""
        if self.tenant.lease(self.number).state is not LeaseState.ACTIVE:
            return False
        return any(
            each["State"]["Running"] and f"ROUND={self.rounds}" in each["Config"]["Env"]
            for each in self.containers()
        )

    def gone(self) -> bool:
        """Nothing of the lease is left on the host."""
        return not self.containers() and not list(self.state("leases").glob(f"*/{self.number}"))

    def state(self, *parts: str) -> Any:
        return self.site.host.folder.joinpath("state", *parts)

    def published(self) -> list[bytes]:
        """Every CID that was published, oldest first."""
        return [event.cid for event in self.site.events(ResultPublished, self.lease)]

    def engine_did(self, action: Literal["create", "start"]) -> int:
        """How often the engine created or started a container of the lease."""
        wanted = {"label": self.label, "type": "container", "event": action}
        with (
            self.site.world.engine.client() as client,
            contextlib.closing(
                client.events(since=self.began, until=int(time.time()) + 1, filters=wanted, decode=True)
            ) as events,
        ):
            return len(list(events))

    def open_gate(self) -> None:
        with self.site.world.engine.client() as client:
            (container,) = self.containers()
            client.containers.get(container["Id"]).exec_run(["touch", "/gate-is-open"])

    def _seal(self) -> bytes:
        chosen = {**self.environment, "ROUND": str(self.rounds)}
        return self.tenant.sealed(self.dataset, grace=self.grace, **chosen)


# ----------------------------------------------------------------------------------------------------------- moments

Stage = Literal["up", "running", "replace", "down"]
Act = Callable[[Life], None]


@dataclass(frozen=True)
class Moment:
    """`happens` begins the stage, kills the agent at the moment, and does what happens while it is dead."""

    name: str
    stage: Stage
    happens: Act
    settings: dict[str, Any] = field(default_factory=dict)
    deep: bool = True


MOMENTS: list[Moment] = []
_BEGIN: dict[Stage, Act] = {
    "up": Life.open,
    "running": lambda _: None,
    "replace": Life.replace,
    "down": Life.close,
}


def moment(stage: Stage, name: str, *, deep: bool = True, **settings: Any) -> Callable[[Act], Act]:
    """A moment of that stage. One that is not `deep` is tried in every run; `settings` are the life's."""

    def add(happens: Act) -> Act:
        MOMENTS.append(Moment(name, stage, happens, settings, deep))
        return happens

    return add


def at_line(stage: Stage, step: str, name: str, *, deep: bool = True) -> None:
    """The agent dies as it says `step`."""

    def happens(life: Life) -> None:
        _BEGIN[stage](life)
        life.step(step)
        life.kill()

    MOMENTS.append(Moment(name, stage, happens, deep=deep))


@moment("up", "dead when the lease is opened")
def _(life: Life) -> None:
    life.kill()
    life.open()


at_line("up", "fetch", "before the workload is fetched")


@moment("up", "while the workload is fetched", deliver=False)
def _(life: Life) -> None:
    life.open()
    life.step("fetch")
    life.kill()
    life.tenant.deliver(life.sealed)


at_line("up", "unseal", "before the workload is opened")
at_line("up", "image", "before the image")
at_line("up", "datasets", "before the dataset")


@moment("up", "while the dataset is fetched", deep=False, ballast=48 << 20)
def _(life: Life) -> None:
    life.open()
    life.step("datasets")
    at_once(lambda: any(file.stat().st_size for file in life.state("datasets").glob(".part-*/*")))
    with standing_still(life.site.world.renter_ipfs.pid):
        life.kill()
        assert not life.state("datasets", life.dataset).exists(), "the dataset came too quickly"


at_line("up", "create", "before the container is created")


@moment("up", "while the container is created", deep=False)
def _(life: Life) -> None:
    life.open()
    life.step("create")
    with standing_still(life.site.world.engine.pid):
        life.kill()


at_line("up", "start", "before the container is started")


@moment("up", "while the container is started")
def _(life: Life) -> None:
    life.open()
    life.step("start")
    with standing_still(life.site.world.engine.pid):
        life.kill()


@moment("up", "as soon as the container runs")
def _(life: Life) -> None:
    life.open()
    life.step("start")
    at_once(lambda: any(each["State"]["Running"] for each in life.containers()))
    life.kill()


@moment("up", "before it is ready", environment={"GATE": "shut"})
def _(life: Life) -> None:
    life.open()
    life.step("ready")
    life.kill()
    life.open_gate()


at_line("up", "start-on-chain", "before `start` is sent")


@moment("up", "while `start` waits to be mined", environment={"GATE": "shut"})
def _(life: Life) -> None:
    life.open()
    life.step("ready")
    with no_mining(life.site.world):
        life.open_gate()
        at_once(lambda: in_the_pool(life.site.world))
        life.kill()


@moment("up", "while `start` waits to be mined, and it is dropped", deep=False, environment={"GATE": "shut"})
def _(life: Life) -> None:
    life.open()
    life.step("ready")
    with no_mining(life.site.world):
        life.open_gate()
        at_once(lambda: in_the_pool(life.site.world))
        life.kill()
        life.site.world.anvil.request("anvil_dropAllTransactions")


@moment("up", "while `start` waits to be mined, until the agent is back", environment={"GATE": "shut"})
def _(life: Life) -> None:
    life.open()
    life.step("ready")
    with no_mining(life.site.world):
        life.open_gate()
        at_once(lambda: in_the_pool(life.site.world))
        life.kill()
        life.since = len(life.site.host.steps)
        life.restart()
        life.step("start-on-chain")


@moment("up", "as soon as `start` is mined")
def _(life: Life) -> None:
    life.open()
    at_once(lambda: life.site.events(LeaseStarted, life.lease))
    life.kill()


@moment("running", "while it runs")
def _(life: Life) -> None:
    life.kill()


@moment("running", "while it is extended")
def _(life: Life) -> None:
    life.kill()
    life.tenant.pool(lambda pool: pool.extend(life.number, 1_800))


at_line("replace", "replace", "before another workload takes over")
at_line("replace", "pack", "before the old workload's results are packed")
at_line("replace", "publish", "before the old workload's results are published", deep=False)


@moment("replace", "between the old container and the new")
def _(life: Life) -> None:
    life.replace()
    life.step("publish")
    at_once(lambda: not life.containers())
    life.kill()


@moment("down", "dead when the lease is closed")
def _(life: Life) -> None:
    life.kill()
    life.close()


at_line("down", "stop", "before the container is stopped")


@moment("down", "while the container is stopped", environment={"DEAF": "yes"}, grace=3)
def _(life: Life) -> None:
    life.close()
    life.step("stop")
    with standing_still(life.site.world.engine.pid):
        life.kill()


at_line("down", "pack", "before the results are packed")


@moment("down", "while the results are packed")
def _(life: Life) -> None:
    life.close()
    life.step("pack")
    with standing_still(life.site.world.provider_ipfs.pid):
        at_once(lambda: list(life.state("leases").glob(f"*/{life.number}/outputs/*")))
        life.kill()


at_line("down", "publish", "before the results are published", deep=False)


@moment("down", "while the results' transaction waits to be mined")
def _(life: Life) -> None:
    life.close()
    with no_mining(life.site.world):
        at_once(lambda: in_the_pool(life.site.world))
        life.kill()


@moment("down", "as soon as the results are published")
def _(life: Life) -> None:
    life.close()
    at_once(life.published)
    life.kill()


at_line("down", "delete", "before everything is deleted")


@moment("down", "while everything is deleted")
def _(life: Life) -> None:
    life.close()
    life.step("delete")
    at_once(lambda: not life.containers())
    life.kill()


# ------------------------------------------------------------------------------------------------------------- lives


def lane(moment: Moment) -> pytest.MarkDecorator:
    """When that moment is tried. Each day has the chaos, which kills too (`test_chaos.py`)."""
    return pytest.mark.deep if moment.deep else pytest.mark.slow


@pytest.mark.parametrize("moment", [pytest.param(m, marks=lane(m), id=m.name) for m in MOMENTS])
def test_killed(moment: Moment, site: Site, tenant: Tenant) -> None:
    life = Life(site, tenant, moment.name, **moment.settings)
    life.prepare()
    if site.host.process is None:  # the test before this one failed
        life.restart()
    worth, earned = tenant.wealth(), tenant.ledger(owner(site))
    for stage in ("up", "running", "replace", "down"):
        if stage == moment.stage:
            moment.happens(life)
            if site.host.process is None:
                life.restart()
        elif stage != "replace":
            _BEGIN[stage](life)
        site.until(life.gone if stage == "down" else life.brought_up)
        if stage != "down":
            assert len(life.containers()) == 1
    assert [life.engine_did("create"), life.engine_did("start")] == [life.rounds, life.rounds]
    settled_to_the_unit(life, worth, earned)
    results_are_there(life)


def owner(site: Site) -> str:
    (opened, *_) = (
        e for e in site.events() if type(e).__name__ == "MachineRegistered" and e.machine == site.machine
    )
    return str(opened.provider)


def settled_to_the_unit(life: Life, worth: int, earned: int) -> None:
    """One start, one end, and every unit of the deposit where it belongs."""
    (opened,) = life.site.events(LeaseOpened, life.lease)
    (started,) = life.site.events(LeaseStarted, life.lease)
    (closed,) = life.site.events(LeaseClosed, life.lease)
    assert isinstance(started, LeaseStarted)
    assert isinstance(closed, LeaseClosed)
    assert opened.log.timestamp <= started.start == started.log.timestamp
    assert closed.end == closed.log.timestamp
    bill = cost(PRICE, 8, closed.end - started.start)
    assert closed.fee == bill * FEE_BPS // 10_000
    assert closed.paid == bill - closed.fee
    assert closed.paid + closed.fee + closed.refunded == life.tenant.lease(life.number).deposit
    assert worth - life.tenant.wealth() == bill
    assert life.tenant.ledger(owner(life.site)) - earned == closed.paid


def results_are_there(life: Life) -> None:
    """Each workload's results were published under one CID, however often, and can be read."""
    cids = list(dict.fromkeys(life.published()))
    results = [life.tenant.result(cid, life.lease) for cid in cids]
    assert results == [{"answer": life.name, "round": f"{n}\n"} for n in range(1, life.rounds + 1)]

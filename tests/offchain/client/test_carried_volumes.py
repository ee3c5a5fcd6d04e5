"""A lease that moves takes its volumes along, from a container that stands still; one that does not move runs on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from leasehold.client import Observer
from leasehold.client._carried_volumes import carry_volumes, let_run, said_of
from leasehold.client._volumes import VolumeExported
from leasehold.errors import AgentError
from leasehold.market.wire import Container, LeaseStatus, LeaseVolume, LeaseVolumes, NotRunning
from leasehold.workload import Workload, load_workload

if TYPE_CHECKING:
    from leasehold.chain import Lease
    from leasehold.client import PoolClient

ME, OTHER = "0x" + "11" * 20, "0x" + "22" * 20
CID = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"


class Agent:
    """The agent of a machine, as far as a move asks it."""

    def __init__(self, *attached: str) -> None:
        self.attached = attached
        self.said: list[str] = []
        self.looks = 1
        self.silent = False
        self.ended = False

    def status_now(self) -> LeaseStatus:
        self.looks -= 1
        state = "running" if self.looks >= 0 else "exited"
        return LeaseStatus(
            lease="1",
            lease_id="65536",
            tenant=ME,
            machine=1,
            phase="stopped",
            container=Container(state=state, exit_code=None),
            reason=None,
            progress=None,
            ports=[],
            end=None,
            outputs=[],
            result_cid=None,
        )

    async def volumes(self, lease: int) -> LeaseVolumes:
        if self.silent:
            raise AgentError("It is silent", "try again.")
        return LeaseVolumes(
            lease="1", volumes=[LeaseVolume(name=name, path="/x", attached=True) for name in self.attached]
        )

    async def power(self, lease: int, wish: str) -> LeaseStatus:
        if self.ended:
            raise NotRunning("The command has ended by itself.")
        self.said.append(wish)
        return self.status_now()

    async def status(self, lease: int) -> LeaseStatus:
        return self.status_now()


def client_of(
    agent: Agent, *, account: str = ME, other: str | None = None, fails: bool = False
) -> PoolClient:
    @asynccontextmanager
    async def agent_of(lease: int) -> AsyncIterator[Agent]:
        yield agent

    async def carry_out(wish: Any) -> VolumeExported:
        agent.said.append(f"export {wish.name}")
        if fails:
            raise AgentError("No room", "ask for it again.")
        return VolumeExported(wish.name, CID, kept=False)

    made = SimpleNamespace(
        account=account, other=other, agent_of=agent_of, carry_out=carry_out, observer=Observer()
    )
    return cast("PoolClient", made)


def workload(*volumes: dict[str, str]) -> Workload:
    data: dict[str, object] = {"version": 1, "image": "sha256:" + "a" * 64}
    return load_workload(data | ({"volumes": list(volumes)} if volumes else {}))


LEASE = cast("Lease", SimpleNamespace(id=1 << 16, tenant=ME))
MODELS, LOGS = {"name": "models", "path": "/m"}, {"name": "logs", "path": "/l"}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold.client._carried_volumes._EVERY", 0.0)


async def test_they_are_exported_once_the_container_stands_still() -> None:
    agent = Agent("models", "another")
    carried, stopped = await carry_volumes(client_of(agent), LEASE, workload(MODELS, LOGS))
    assert carried.volumes is not None
    assert ([volume.source for volume in carried.volumes], stopped) == ([CID, None], True)
    assert agent.said == ["stop", "export models"]
    assert agent.looks < 0
    await let_run(client_of(agent), LEASE)
    assert agent.said[-1] == "start"


@pytest.mark.parametrize(
    ("client", "wanted"),
    [
        (client_of(Agent("models")), workload()),
        (client_of(Agent("models")), workload(MODELS | {"source": CID})),
        (client_of(Agent("models"), other=OTHER), workload(MODELS)),
        (client_of(Agent("models"), account=OTHER), workload(MODELS)),
        (client_of(Agent("logs")), workload(MODELS)),
    ],
)
async def test_where_there_is_nothing_to_carry_nothing_is_stopped(
    client: PoolClient, wanted: Workload
) -> None:
    assert await carry_volumes(client, LEASE, wanted) == (wanted, False)


async def test_what_cannot_be_exported_runs_on() -> None:
    agent = Agent("models")
    with pytest.raises(AgentError, match="No room"):
        await carry_volumes(client_of(agent, fails=True), LEASE, workload(MODELS))
    assert agent.said == ["stop", "export models", "start"]


async def test_a_job_that_is_done_is_not_run_again() -> None:
    agent = Agent("models")
    agent.ended = True
    _, stopped = await carry_volumes(client_of(agent), LEASE, workload(MODELS))
    assert (stopped, agent.said) == (False, ["export models"])
    with pytest.raises(AgentError):
        await carry_volumes(client_of(agent, fails=True), LEASE, workload(MODELS))
    assert "start" not in agent.said


async def test_a_container_that_does_not_stop_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold.client._carried_volumes._STOPPING_SECONDS", 0.0)
    agent = Agent("models")
    agent.looks = 1 << 30
    with pytest.raises(AgentError, match="does not stop"):
        await carry_volumes(client_of(agent), LEASE, workload(MODELS))
    assert agent.said == ["stop", "start"]


async def test_an_agent_that_is_silent_has_the_move_fail() -> None:
    agent = Agent("models")
    agent.silent = True
    with pytest.raises(AgentError, match="silent"):
        await carry_volumes(client_of(agent), LEASE, workload(MODELS))
    assert agent.said == []


def test_it_is_said_before_anybody_says_yes() -> None:
    assert "is stopped first" in said_of(client_of(Agent()), LEASE, workload(MODELS, LOGS))[0]
    assert "begin empty" in said_of(client_of(Agent(), other=OTHER), LEASE, workload(MODELS))[0]
    assert said_of(client_of(Agent()), LEASE, workload(MODELS | {"source": CID})) == ()

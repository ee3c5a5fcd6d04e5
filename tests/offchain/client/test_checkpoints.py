"""Checkpoints from their tenant's side: asked for, kept at home, carried by a move, and gone on with by a run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from pydantic import ValidationError
from tests.offchain.client.test_carried_volumes import Agent, client_of
from tests.offchain.client.test_volume_keys import client as signing

from leasehold.chain import Deployment, cid_to_bytes
from leasehold.client import Observer, Rent
from leasehold.client._carried_volumes import carry_volumes, said_of
from leasehold.client._checkpoints import (
    USUAL_MOST,
    CheckpointGot,
    CheckpointPlan,
    CheckpointTaken,
    GetCheckpoint,
    TakeCheckpoint,
    keep_checkpoint,
    newest_checkpoint,
)
from leasehold.client._errors import NoCheckpoint
from leasehold.client._tenant_errors import NotTheTenant
from leasehold.client._volume_keys import key_of_checkpoints, key_of_volume, own_workload
from leasehold.datasets import TreeFetched
from leasehold.errors import AgentError, DatasetCorrupt, DatasetUnavailable, WrongIdentity
from leasehold.home import Home, RunRecord, Try
from leasehold.market.wire import LeaseCheckpoints, LeaseStatus, NotRunning
from leasehold.runs._acting import Acting, Kept
from leasehold.runs._deciding import RunRules
from leasehold.runs._looking import Memory, _to_keep
from leasehold.workload import Workload, load_workload

if TYPE_CHECKING:
    from leasehold.chain import Lease
    from leasehold.client import PoolClient

ME, KEY = "0x" + "11" * 20, "ab" * 32
FIRST, SECOND, THIRD = (
    "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku",
    "bafkreic3wuvpdcyvmji3a2xonc7ixvsohn76ev5h767wvq64byk2rfkzeq",
    "bafkreih6hegiaduvqwbmffgymsrh3mf242d75xmwbcneblozcjeoesyylm",
)
NUMBER = 1 << 16
LEASE = cast("Lease", SimpleNamespace(id=NUMBER, tenant=ME))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold.client._checkpoints._EVERY", 0.0)
    monkeypatch.setattr("leasehold.client._carried_volumes._EVERY", 0.0)


def making(**fields: Any) -> Workload:
    return load_workload(
        {"version": 1, "image": "sha256:" + "a" * 64, "checkpoint": {"interval": 60} | fields}
    )


class Keeper(Agent):
    """The agent of a machine that makes checkpoints, `looks` looks after one was asked for."""

    def __init__(self, *made: str, trouble: str = "", makes: bool = True) -> None:
        super().__init__()
        self.made, self.trouble, self.makes, self.left = list(made), trouble, makes, 0

    async def checkpoints(self, lease: int) -> LeaseCheckpoints:
        if self.silent:
            raise AgentError("It is silent", "try again.")
        self.left -= 1
        kept = [{"cid": cid, "at": place, "why": "asked"} for place, cid in enumerate(self.made)]
        said = {"lease": "1", "kept": kept, "running": self.left > 0, "trouble": self.trouble}
        try:
            return LeaseCheckpoints.model_validate(said)
        except ValidationError as error:  # as the agent's client says it
            raise AgentError("The agent's answer is not understood;", "update leasehold.") from error

    async def take_checkpoint(self, lease: int) -> LeaseCheckpoints:
        if not self.makes:
            raise NotRunning("The lease has no folder for checkpoints attached.")
        self.said.append("checkpoint")
        self.left = 3
        return await self.checkpoints(lease)


class Node:
    """One's own node: what it has of what others have."""

    def __init__(self, *there: str, garbage: str = "") -> None:
        self.there, self.pinned, self.garbage = set(there), list[str](), garbage
        self.weighed, self.tried = list[int](), list[tuple[str, int]]()

    async def pin(self, cid: str, **_: object) -> None:
        cid_to_bytes(cid)  # as the real one
        if cid not in self.there:
            raise DatasetUnavailable(cid)
        if cid not in self.pinned:  # it is kept once, for whomever
            self.pinned.append(cid)

    async def weigh(self, cid: str, most: int, **_: object) -> None:
        self.weighed.append(most)
        if cid not in self.there:
            raise DatasetUnavailable(cid)

    async def check_tree(self, cid: str, key: bytes, most: int, **_: object) -> None:
        self.tried.append((key.hex(), most))
        if cid not in self.there:
            raise DatasetUnavailable(cid)
        if cid == self.garbage:
            raise WrongIdentity("the export of the volume")

    async def fetch_tree(self, cid: str, key: bytes, folder: Path, most: int) -> TreeFetched:
        await self.check_tree(cid, key, most)
        return TreeFetched(folder, 6, 1, 2)

    async def is_pinned(self, cid: str) -> bool:
        return cid in self.pinned

    async def unpin(self, cid: str) -> None:
        self.pinned.remove(cid)


def deployment() -> Deployment:
    return cast(
        Deployment, SimpleNamespace(chain_id=1, genesis="0x" + "ab" * 32, controller="0x" + "22" * 20)
    )


def keeping(folder: Path, agent: Keeper, node: Node, *, tenant: str = ME) -> PoolClient:
    @asynccontextmanager
    async def agent_of(_: int) -> AsyncIterator[Keeper]:
        yield agent

    async def known_lease(_: int) -> Any:
        return SimpleNamespace(id=NUMBER, tenant=tenant)

    made = SimpleNamespace(
        account=ME, other=None, agent_of=agent_of, ipfs=node, home=Home(folder), deployment=deployment(),
        observer=Observer(), known_lease=known_lease,
    )  # fmt: skip
    return cast("PoolClient", made)


class TestTheKey:
    async def test_of_one_name_it_is_one_and_no_volumes(self) -> None:
        own = await own_workload(signing(), making())
        again = await own_workload(signing(), making(interval=90))
        other = await own_workload(signing(), making(name="other"))
        assert own.checkpoint is not None
        assert again.checkpoint is not None
        assert other.checkpoint is not None
        assert own.checkpoint.key == again.checkpoint.key != other.checkpoint.key
        assert own.checkpoint.key == await key_of_checkpoints(signing(), "checkpoint")
        assert own.checkpoint.key != await key_of_volume(signing(), "checkpoint")

    async def test_who_has_written_one_keeps_it(self) -> None:
        """A delegate cannot make the tenant's: it is handed a workload with it."""
        own = await own_workload(signing(), making(key="ab" * 32))
        assert own.checkpoint is not None
        assert own.checkpoint.key == "ab" * 32


class TestKeeping:
    async def test_the_newest_is_kept_and_the_one_before_let_go(self, tmp_path: Path) -> None:
        node = Node(FIRST, SECOND)
        client = keeping(tmp_path, Keeper(), node)
        await keep_checkpoint(client, NUMBER, FIRST)
        await keep_checkpoint(client, NUMBER, FIRST)
        await keep_checkpoint(client, NUMBER, SECOND)
        assert node.pinned == [SECOND]
        with pytest.raises(DatasetUnavailable):
            await keep_checkpoint(client, NUMBER, THIRD)
        assert client.home.checkpoints(client.deployment).get(NUMBER) == SECOND

    async def test_what_the_node_kept_before_is_not_let_go_of(self, tmp_path: Path) -> None:
        """An agent names what it likes: a dataset of the tenant's as a checkpoint, and then something else."""
        node = Node(FIRST, SECOND)
        await node.pin(FIRST)
        client = keeping(tmp_path, Keeper(), node)
        for cid in (FIRST, SECOND, FIRST, SECOND):
            await keep_checkpoint(client, NUMBER, cid)
        assert node.pinned == [FIRST, SECOND]
        await keep_checkpoint(client, NUMBER + 1, FIRST)
        await keep_checkpoint(client, NUMBER + 1, SECOND)
        assert node.pinned == [FIRST, SECOND]

    async def test_what_another_lease_has_made_stays(self, tmp_path: Path) -> None:
        node = Node(FIRST, SECOND, THIRD)
        client = keeping(tmp_path, Keeper(), node)
        await keep_checkpoint(client, NUMBER, FIRST)
        await keep_checkpoint(client, NUMBER + 1, FIRST)
        await keep_checkpoint(client, NUMBER + 1, SECOND)
        assert node.pinned == [FIRST, SECOND]
        await keep_checkpoint(client, NUMBER, THIRD)
        assert node.pinned == [SECOND, THIRD]

    async def test_what_did_not_come_is_its_owners_when_he_keeps_it_later(self, tmp_path: Path) -> None:
        node = Node(SECOND)
        client = keeping(tmp_path, Keeper(), node)
        with pytest.raises(DatasetUnavailable):
            await keep_checkpoint(client, NUMBER, FIRST)
        node.there.add(FIRST)
        await node.pin(FIRST)
        await keep_checkpoint(client, NUMBER, FIRST)
        await keep_checkpoint(client, NUMBER, SECOND)
        assert node.pinned == [FIRST, SECOND]

    async def test_who_was_killed_while_it_came_keeps_it_as_its_own(self, tmp_path: Path) -> None:
        node = Node(FIRST, SECOND)
        client = keeping(tmp_path, Keeper(), node)
        client.home.checkpoints(client.deployment).note_coming(NUMBER, FIRST)
        await node.pin(FIRST)
        await keep_checkpoint(client, NUMBER, FIRST)
        await keep_checkpoint(client, NUMBER, SECOND)
        assert node.pinned == [SECOND]

    async def test_where_the_agent_says_nothing_what_is_here_counts(self, tmp_path: Path) -> None:
        agent = Keeper()
        client = keeping(tmp_path, agent, Node(FIRST))
        assert await newest_checkpoint(client, NUMBER) is None
        await keep_checkpoint(client, NUMBER, FIRST)
        assert await newest_checkpoint(client, NUMBER) == FIRST
        agent.made = [FIRST, SECOND]
        assert await newest_checkpoint(client, NUMBER) == SECOND
        agent.silent = True
        assert await newest_checkpoint(client, NUMBER) == FIRST


class TestHowMuch:
    """A machine names what it likes, and whoever fetches it pays for the disk."""

    async def test_what_the_workload_says_counts_before_what_is_usual(self, tmp_path: Path) -> None:
        node = Node(FIRST)
        said = making(key=KEY, size="64MiB").checkpoint
        await keep_checkpoint(keeping(tmp_path, Keeper(), node), NUMBER, FIRST, said, most=7 << 30)
        assert (node.tried, node.weighed) == ([(KEY, 64 << 20)], [])
        unsaid = making(key=KEY).checkpoint
        await keep_checkpoint(keeping(tmp_path / "b", Keeper(), node), NUMBER, FIRST, unsaid, most=7 << 30)
        assert node.tried[-1] == (KEY, 7 << 30)

    async def test_where_nobody_knows_the_key_it_is_weighed(self, tmp_path: Path) -> None:
        node = Node(FIRST)
        await keep_checkpoint(keeping(tmp_path, Keeper(), node), NUMBER, FIRST)
        assert node.weighed == [USUAL_MOST + (128 << 20)]

    async def test_what_another_key_sealed_is_not_kept(self, tmp_path: Path) -> None:
        node = Node(FIRST, SECOND, garbage=SECOND)
        client = keeping(tmp_path, Keeper(), node)
        await keep_checkpoint(client, NUMBER, FIRST)
        with pytest.raises(DatasetCorrupt, match="key does not open it"):
            await keep_checkpoint(client, NUMBER, SECOND, making(key=KEY).checkpoint)
        assert node.pinned == [FIRST]


class TestGetting:
    async def get(self, client: PoolClient, folder: Path, **more: Any) -> CheckpointGot:
        plan = await GetCheckpoint(folder, **{"lease": NUMBER, **more}).plan(client)
        assert plan.to_json()["folder"] == str(folder)
        (step,) = [step async for step in plan.steps()]
        assert isinstance(step, CheckpointGot)
        return step

    async def test_the_newest_or_the_one_that_is_named(self, tmp_path: Path) -> None:
        node = Node(FIRST, SECOND)
        client = keeping(tmp_path, Keeper(FIRST, SECOND), node)
        got = await self.get(client, tmp_path / "out", key=KEY)
        assert (got.cid, got.folder, got.left_out) == (SECOND, tmp_path / "out", 2)
        assert (await self.get(client, tmp_path / "out", key=KEY, cid=FIRST, most=5)).cid == FIRST
        assert node.tried == [(KEY, USUAL_MOST), (KEY, 5)]

    async def test_by_the_key_that_the_wallet_makes_again(self, tmp_path: Path) -> None:
        signs = signing()
        made = cast("Any", keeping(tmp_path, Keeper(FIRST), node := Node(FIRST)))
        made.wallet, made.domain, made.account = signs.wallet, signs.domain, signs.account
        await self.get(made, tmp_path / "out", name="other")
        assert node.tried == [(await key_of_checkpoints(signs, "other"), USUAL_MOST)]

    async def test_there_is_none(self, tmp_path: Path) -> None:
        with pytest.raises(NoCheckpoint):
            await self.get(keeping(tmp_path, Keeper(), Node()), tmp_path / "out")


class TestTaking:
    async def take(self, client: PoolClient, *, keep: bool = True) -> CheckpointTaken:
        plan: CheckpointPlan = await TakeCheckpoint(NUMBER, keep).plan(client)
        assert plan.to_json() == {"lease": "1"}
        (step,) = [step async for step in plan.steps()]
        assert isinstance(step, CheckpointTaken)
        return step

    async def test_it_is_waited_for_and_kept(self, tmp_path: Path) -> None:
        agent, node = Keeper(FIRST), Node(FIRST)
        client = keeping(tmp_path, agent, node)
        assert await self.take(client) == CheckpointTaken(NUMBER, FIRST, kept=True)
        assert agent.left <= 0
        assert node.pinned == [FIRST]

    async def test_or_not(self, tmp_path: Path) -> None:
        client = keeping(tmp_path, Keeper(FIRST), Node())
        assert (await self.take(client, keep=False)).kept is False
        unkept = await self.take(client)
        assert not unkept.kept
        assert unkept.unkept

    async def test_why_none_was_made_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(AgentError, match="no weights"):
            await self.take(keeping(tmp_path, Keeper(FIRST, trouble="no weights"), Node()))
        with pytest.raises(AgentError, match="made no checkpoint"):
            await self.take(keeping(tmp_path, Keeper(), Node()))
        with pytest.raises(NotRunning):
            await self.take(keeping(tmp_path, Keeper(makes=False), Node()))
        with pytest.raises(NotTheTenant):
            await self.take(keeping(tmp_path, Keeper(), Node(), tenant="0x" + "33" * 20))


class TestMoving:
    async def test_the_last_is_taken_while_the_container_stands_still(self) -> None:
        agent = Keeper(FIRST)
        carried, stopped = await carry_volumes(client_of(agent), LEASE, making())
        assert carried.checkpoint is not None
        assert (carried.checkpoint.source, stopped) == (FIRST, True)
        assert agent.said == ["checkpoint", "stop", "checkpoint"]
        assert "what it has made checkpoints of" in said_of(client_of(agent), LEASE, making())[0]

    @pytest.mark.parametrize("wanted", [making(source=SECOND), load_workload({"version": 1, "image": "a:b"})])
    async def test_who_names_another_or_makes_none_is_not_stopped(self, wanted: Workload) -> None:
        agent = Keeper(FIRST)
        assert await carry_volumes(client_of(agent), LEASE, wanted) == (wanted, False)
        assert agent.said == []
        assert said_of(client_of(agent), LEASE, wanted) == ()

    async def test_a_lease_that_makes_none_has_none_to_carry(self) -> None:
        agent = Keeper(makes=False)
        assert await carry_volumes(client_of(agent), LEASE, making()) == (making(), False)
        assert agent.said == []

    async def test_where_the_last_fails_the_container_goes_on(self) -> None:
        agent = Keeper(FIRST, trouble="no room")
        with pytest.raises(AgentError, match="no room"):
            await carry_volumes(client_of(agent), LEASE, making())
        assert agent.said[-1] == "start"


class TestARun:
    def acting(self, client: PoolClient, *tries: Try) -> Acting:
        rent = Rent(making(key=KEY), seconds=60)
        acting = Acting(client, "train", RunRules(), rent)
        acting.runs.keep(RunRecord("train", ME, "wish", 0, {}, True, "/results", tries))
        return acting

    async def source(self, acting: Acting) -> str | None:
        assert acting.rent is not None
        workload = (await acting._restored(acting.rent)).workload
        assert workload is not None
        assert workload.checkpoint is not None
        return workload.checkpoint.source

    async def test_the_next_machine_begins_with_the_newest_of_the_last(self, tmp_path: Path) -> None:
        agent, node = Keeper(), Node(FIRST, SECOND)
        acting = self.acting(keeping(tmp_path, agent, node), Try(1, lease=NUMBER), Try(2))
        assert await self.source(acting) is None
        agent.made = [FIRST]
        assert await self.source(acting) == FIRST
        assert acting.record.tries[0].checkpoint == FIRST
        assert node.pinned == [FIRST]

    async def test_what_its_machine_names_and_nobody_has_is_none(self, tmp_path: Path) -> None:
        agent, node = Keeper(THIRD), Node(FIRST)
        client = keeping(tmp_path, agent, node)
        await keep_checkpoint(client, NUMBER, FIRST)
        acting = self.acting(client, Try(1, lease=NUMBER, checkpoint=FIRST))
        assert await self.source(acting) == FIRST
        alone = self.acting(client, Try(1, lease=NUMBER))  # nothing is here: its word is all that there is
        assert await self.source(alone) == THIRD
        agent.silent = True
        assert await self.source(acting) == FIRST

    async def test_what_is_no_cid_keeps_no_run_from_going_on(self, tmp_path: Path) -> None:
        """The agent of a machine that is gone is asked each time: its word would end each try."""
        agent, node = Keeper(FIRST, "../../etc"), Node(FIRST)
        client = keeping(tmp_path, agent, node)
        await keep_checkpoint(client, NUMBER, FIRST)
        acting = self.acting(client, Try(1, lease=NUMBER, checkpoint=FIRST))
        assert await self.source(acting) == FIRST
        status = Agent().status_now().model_dump() | {"checkpoint": "../../etc"}
        with pytest.raises(ValidationError):
            LeaseStatus.model_validate(status)

    async def test_a_copy_that_cannot_be_had_is_left_for_a_while(self, tmp_path: Path) -> None:
        acting = self.acting(keeping(tmp_path, Keeper(), Node()), Try(1, lease=NUMBER))
        assert await acting._keep(0, NUMBER, FIRST) is Kept.AWAY
        (until,) = acting.memory.unkept.values()
        status = Agent().status_now().model_copy(update={"checkpoint": FIRST})
        assert _to_keep(acting.client, NUMBER, status, acting.memory, until - 1) == ""
        assert _to_keep(acting.client, NUMBER, status, acting.memory, until) == FIRST
        other = status.model_copy(update={"checkpoint": SECOND})
        assert _to_keep(acting.client, NUMBER, other, acting.memory, until - 1) == SECOND
        assert _to_keep(acting.client, NUMBER, None, Memory(), 0) == ""

    async def test_where_somebody_else_fetches_them_what_is_here_counts(self, tmp_path: Path) -> None:
        """A guard fetches beside its runs, so that one that comes slowly holds up nothing that is sent."""
        client = keeping(tmp_path, Keeper(THIRD), Node(FIRST))
        acting, memory = self.acting(client, Try(1, lease=NUMBER)), Memory(keeps=False)
        acting.memory = memory
        status = Agent().status_now().model_copy(update={"checkpoint": THIRD})
        assert _to_keep(client, NUMBER, status, memory, 0) == ""
        await keep_checkpoint(client, NUMBER, FIRST)
        assert _to_keep(client, NUMBER, status, memory, 0) == FIRST
        assert await self.source(acting) == FIRST

    async def test_what_can_be_fetched_and_is_none_of_it_stops_no_recovery(self, tmp_path: Path) -> None:
        """Its machine names a picture of a cat: the next one would refuse that, and so would the one after it."""
        agent, node = Keeper(SECOND), Node(FIRST, SECOND, garbage=SECOND)
        client = keeping(tmp_path, agent, node)
        alone = self.acting(client, Try(1, lease=NUMBER))
        assert await self.source(alone) is None
        before = self.acting(client, Try(1, lease=NUMBER, checkpoint=FIRST))
        assert await self.source(before) == FIRST
        older = self.acting(client, Try(1, lease=NUMBER + 1, checkpoint=FIRST), Try(2, lease=NUMBER))
        agent.made = [SECOND]
        assert await self.source(older) == FIRST
        assert node.pinned == []
        assert client.home.checkpoints(client.deployment).get(NUMBER) is None

    async def test_what_a_machine_has_missed_is_named_no_more(self, tmp_path: Path) -> None:
        acting = self.acting(keeping(tmp_path, Keeper(THIRD), Node()), Try(1, lease=NUMBER))
        assert await self.source(acting) == THIRD
        missed = self.acting(acting.client, Try(1, lease=NUMBER), Try(2, cost=0, why="dataset-missing"))
        assert await self.source(missed) is None

    async def test_a_wish_that_makes_none_stays_as_it_is(self, tmp_path: Path) -> None:
        acting = self.acting(keeping(tmp_path, Keeper(FIRST), Node(FIRST)), Try(1, lease=NUMBER))
        assert acting.rent is not None
        rent = replace(acting.rent, workload=load_workload({"version": 1, "image": "sha256:" + "a" * 64}))
        assert await acting._restored(rent) is rent

"""Signs of life, ends of outages and self-reports: what the agent says by itself, and when it holds its tongue."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from devnet.engine import Engine
from leasehold.chain import (
    Challenge,
    FaultKind,
    FaultState,
    LeaseState,
    Machine,
    MachineStatus,
    Pool,
    Terms,
)
from leasehold.errors import RpcUnavailable
from leasehold_agent.chain import ChainSnapshot, Desired, Duties
from leasehold_agent.chain._desired import RunningOutage, StandingChallenge
from leasehold_agent.chain._duties import Duty, Stalled, duties
from leasehold_agent.documents._status import sign_of_life

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

PROVIDER, TENANT, OTHER = 1, 2, 3
BOND, STAKE = 5 * 10**18, 100 * 10**18
WINDOW = 600
BEGAN = 1_000_000
HERE = Machine(
    id=7,
    provider="0xa",
    operator="0xb",
    status=MachineStatus.UNVERIFIED,
    delisted=False,
    under_staked=False,
    stalled=False,
    gpus=1,
    revision=1,
    params=1,
    stake=STAKE,
    busy=0,
    leased=0,
    withheld=0,
    retired_at=0,
    terms=Terms(1, 0, 1, 2, 0, 60_000),
)
ASKED = StandingChallenge(challenge=3, machine=7, until=BEGAN + 600)
DOWN = replace(HERE, down_since=BEGAN + 50)


def seen(machine: Machine = HERE, **changes: Any) -> ChainSnapshot:
    return replace(
        ChainSnapshot(current=True, block=9, now=BEGAN + 100, machines={machine.id: machine}), **changes
    )


def outage(since: int, *, reported: bool) -> dict[int, RunningOutage]:
    return {7: RunningOutage(4, 7, since, reported)}


@pytest.mark.parametrize(
    ("since_the_last_moment", "challenged", "provable"),
    [(0, True, False), (1, False, True), (3_600, False, True), (3_601, False, False)],
)
def test_a_question_that_nobody_proved_is_over(
    since_the_last_moment: int, challenged: bool, provable: bool
) -> None:
    chain = seen(asked={7: ASKED}, now=ASKED.until + since_the_last_moment)
    assert sign_of_life(chain, 7) == {
        "challenged": challenged,
        "provable_until": ASKED.until + 3_600 if provable else None,
    }
    assert (ASKED in duties(chain, BEGAN)) == challenged


WAITING = Desired(
    lease=65_536,
    machine=7,
    tenant="0xc",
    state=LeaseState.OPENED,
    placement=0x01FF,
    workload=b"",
    start=BEGAN - 100,
    end=0,
    window_ends=BEGAN,
    author="0xc",
)


class TestWhatIsDue:
    """Pure: the chain alone decides."""

    @pytest.mark.parametrize(
        ("chain", "due"),
        [
            (seen(), []),
            (seen(asked={7: ASKED}), [ASKED]),
            (seen(asked={7: ASKED}, now=ASKED.until), [ASKED]),
            (seen(asked={7: ASKED}, now=ASKED.until + 1), []),
            (seen(asked={7: ASKED}, current=False), [ASKED]),
            (seen(asked={8: replace(ASKED, machine=8)}), []),
            (
                seen(DOWN, outages=outage(BEGAN + 50, reported=False)),
                list(outage(BEGAN + 50, reported=False).values()),
            ),
            (seen(DOWN, outages=outage(BEGAN + 50, reported=True)), []),
            (
                seen(DOWN, outages=outage(BEGAN, reported=True)),
                list(outage(BEGAN, reported=True).values()),
            ),
            (
                seen(DOWN, outages=outage(BEGAN, reported=False), current=False),
                list(outage(BEGAN, reported=False).values()),
            ),
            (seen(replace(HERE, stalled=True)), [Stalled(7)]),
            (seen(replace(HERE, stalled=True), current=False), []),
            (seen(replace(HERE, stalled=True), leases={65_536: WAITING}), []),
            (seen(replace(DOWN, stalled=True)), []),
        ],
        ids=[
            "nothing",
            "a challenge",
            "its last moment",
            "lapsed",
            "a challenge, and the index may be behind",
            "another's machine",
            "an outage that others showed",
            "reported while this process runs",
            "reported before it",
            "an outage, and the index may be behind",
            "stalled",
            "stalled, and the index may be behind",
            "stalled, and more to come",
            "stalled and down: one word for both",
        ],
    )
    def test_it_is(self, chain: ChainSnapshot, due: list[Duty]) -> None:
        assert duties(chain, BEGAN) == due

    def test_one_at_a_time_and_the_most_urgent_first(self) -> None:
        machine = replace(DOWN, stalled=True)
        chain = seen(machine, asked={7: ASKED}, outages=outage(BEGAN, reported=False))
        assert duties(chain, BEGAN) == [ASKED]


class Gate:
    """Stands in for the chain: remembers what was said, and fails while `failing`."""

    def __init__(self) -> None:
        self.said: list[Duty] = []
        self.failing = False
        self.mined = asyncio.Event()
        self.mined.set()

    async def answer(self, asked: StandingChallenge) -> None:
        self.said.append(asked)
        await self.mined.wait()
        if self.failing:
            raise RpcUnavailable("no node")

    async def end_outage(self, outage: RunningOutage) -> None:
        self.said.append(outage)

    async def recover(self, machine: int) -> None:
        self.said.append(Stalled(machine))


class TestDoing:
    """With a clock of the test's own."""

    def setup_method(self) -> None:
        self.gate, self.now = Gate(), 0.0
        self.duties = Duties(self.gate, lambda: self.now)  # type: ignore[arg-type]  # the part that it needs

    async def test_nothing_is_said_while_this_host_cannot_serve(self) -> None:
        self.duties.begin(seen(asked={7: ASKED}), serves=False)
        await self.duties.settle()
        assert self.gate.said == []
        self.duties.begin(seen(asked={7: ASKED}), serves=True)
        await self.duties.settle()
        assert self.gate.said == [ASKED]

    async def test_one_answer_at_a_time(self) -> None:
        self.gate.mined.clear()
        for _ in range(3):
            self.duties.begin(seen(asked={7: ASKED}), serves=True)
            await asyncio.sleep(0)
        assert self.gate.said == [ASKED]
        self.gate.mined.set()
        await self.duties.settle()

    async def test_what_fails_waits_twice_as_long_each_time(self) -> None:
        self.gate.failing = True
        said = []
        for tenth in range(100):
            self.now = tenth / 10
            self.duties.begin(seen(asked={7: ASKED}), serves=True)
            await self.duties.settle()
            if len(self.gate.said) > len(said):
                said.append(self.now)
        assert said == [0.0, 0.5, 1.5, 3.5, 7.5]

    async def test_another_challenge_does_not_wait_for_the_last_ones_trouble(self) -> None:
        self.gate.failing = True
        self.duties.begin(seen(asked={7: ASKED}), serves=True)
        await self.duties.settle()
        after = replace(ASKED, challenge=4)
        self.duties.begin(seen(asked={7: after}), serves=True)
        await self.duties.settle()
        assert self.gate.said == [ASKED, after]

    async def test_the_process_that_comes_after_a_report_ends_its_outage(self) -> None:
        reported = outage(BEGAN + 150, reported=True)
        self.duties.begin(seen(), serves=True)
        for now in (BEGAN + 200, BEGAN + 90_000):
            self.duties.begin(seen(DOWN, outages=reported, now=now), serves=True)
            await self.duties.settle()
        assert self.gate.said == []
        again = Duties(self.gate, lambda: self.now)  # type: ignore[arg-type]
        again.begin(seen(DOWN, outages=reported, now=BEGAN + 90_100), serves=True)
        await again.settle()
        assert self.gate.said == [reported[7]]

    async def test_dropping_leaves_nothing_running(self) -> None:
        self.gate.mined.clear()
        self.duties.begin(seen(asked={7: ASKED}), serves=True)
        await asyncio.sleep(0)
        await self.duties.drop()
        await self.duties.settle()


# ------------------------------------------------------------------------------------- with the contracts, for real


async def challenged(rig: Rig) -> int:
    """The tenant of a running lease asks for a sign of life; the challenge."""
    lease = await rig.open(rig.workload(grace=0))
    await rig.reaches(lease, LeaseState.ACTIVE)
    return await challenge(rig, lease)


async def challenge(rig: Rig, lease: int) -> int:
    pool: Pool = rig.chain.pool(TENANT)
    faults = await pool.faults()
    await pool.deposit(
        rig.chain.address(TENANT), await faults.bond_of(rig.machine, rig.chain.address(TENANT))
    )
    made, _ = await faults.challenge(rig.machine, lease)
    return made


async def standing(rig: Rig) -> Challenge:
    return await (await rig.chain.pool().faults()).challenge_of(rig.machine)


async def down(rig: Rig) -> bool:
    return (await rig.chain.pool().machine_of(rig.machine)).down


class TestChallenged:
    @pytest.mark.slow
    async def test_it_answers_and_the_bond_is_lost(self, rig: Rig) -> None:
        await challenged(rig)
        await rig.until(lambda: _gone(rig))
        assert await rig.chain.pool().balance_of(rig.chain.address(TENANT)) == 0
        assert await rig.chain.pool().balance_of(rig.chain.address(PROVIDER)) == BOND // 10

    @pytest.mark.slow
    async def test_it_answers_each_once(self, rig: Rig) -> None:
        lease = await rig.open(rig.workload(grace=0))
        await rig.reaches(lease, LeaseState.ACTIVE)
        before = await _sent(rig)
        starts = before
        for _ in range(2):
            await challenge(rig, lease)
            await rig.until(lambda: _gone(rig))
        for _ in range(3):
            await rig.reconciler.tick()
            await rig.reconciler.settle()
        assert await _sent(rig) == starts + 2

    @pytest.mark.slow
    async def test_a_restarted_agent_answers_what_came_meanwhile(self, rig: Rig) -> None:
        lease = await rig.open(rig.workload(grace=0))
        await rig.reaches(lease, LeaseState.ACTIVE)
        await rig.stop()
        await challenge(rig, lease)
        rig.chain.anvil.advance(WINDOW - 60)
        await rig.start()
        await rig.until(lambda: _gone(rig))
        assert not await down(rig)

    @pytest.mark.slow
    @pytest.mark.filterwarnings(
        "ignore::pytest.PytestUnraisableExceptionWarning"
    )  # the SDK's, as an engine dies
    async def test_it_claims_no_life_while_its_engine_is_dead(self, rig: Rig, docker_engine: Engine) -> None:
        lease = await rig.open(rig.workload(grace=0))
        await rig.reaches(lease, LeaseState.ACTIVE)
        docker_engine.kill()
        try:
            await rig.until(lambda: rig.reconciler._engine_down)
            made = await challenge(rig, lease)
            await rig.until(lambda: rig.machine in rig.host.snapshot.asked)
            for _ in range(3):
                await rig.reconciler.tick()
                await rig.reconciler.settle()
            assert (await standing(rig)).id == made
        finally:
            docker_engine.start()
        await rig.until(lambda: _gone(rig))
        assert not await down(rig)

    @pytest.mark.slow
    async def test_too_late_it_says_nothing_until_the_outage_runs_and_then_ends_it(self, rig: Rig) -> None:
        lease = await rig.open(rig.workload(grace=0), duration=7_200)
        await rig.reaches(lease, LeaseState.ACTIVE)
        await rig.stop()
        await challenge(rig, lease)
        rig.chain.anvil.advance(WINDOW + 1)
        before = await _sent(rig)
        await rig.start()
        await rig.until(lambda: rig.machine in rig.host.snapshot.asked)
        await rig.reconciler.tick()
        await rig.reconciler.settle()
        assert await _sent(rig) == before
        fault, _ = await (await rig.chain.pool(OTHER).faults()).prove(rig.machine)

        async def over() -> bool:
            return not await down(rig)

        await rig.until(over)
        found = await (await rig.chain.pool().faults()).fault_of(fault)
        assert (found.kind, found.state) == (FaultKind.CHALLENGED, FaultState.FILED)
        assert found.amount == STAKE * 400 // 10_000
        assert await _sent(rig) == before + 1


@pytest.mark.slow
async def test_an_api_that_has_died_is_no_service(rig: Rig) -> None:
    lease = await rig.open(rig.workload(grace=0))
    await rig.reaches(lease, LeaseState.ACTIVE)
    rig.host.reachable = lambda: False
    made = await challenge(rig, lease)
    await rig.until(lambda: rig.machine in rig.host.snapshot.asked)
    await rig.reconciler.tick()
    await rig.reconciler.settle()
    assert (await standing(rig)).id == made
    rig.host.reachable = lambda: True
    rig.reconciler.wake()
    await rig.until(lambda: _gone(rig))


async def _gone(rig: Rig) -> bool:
    return (await standing(rig)).id == 0


async def _sent(rig: Rig) -> int:
    """How many transactions the operator has had mined."""
    return int(
        rig.chain.anvil.request("eth_getTransactionCount", rig.identity.operator.address, "latest"), 16
    )

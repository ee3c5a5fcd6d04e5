"""What is sold at this hour: the owner's cells go out of sale and come back by themselves, whatever runs on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from devnet.pool import PoolChain
from leasehold.chain import LeaseRequest, LeaseState, Machine, MachineStatus, Pool, Terms
from leasehold.errors import RpcUnavailable
from leasehold_agent._config import AgentSettings
from leasehold_agent.chain import ChainSnapshot, Sale, Withholdings, send_withheld
from leasehold_agent.chain._sale import cells_of_hours

PROVIDER, TENANT, OPERATOR = 1, 2, 4
HOUR, DAY = 3_600, 86_400
DAWN = int(datetime(2026, 11, 30, 8, tzinfo=UTC).timestamp())  # a Monday's
TERMS = Terms(
    price=10**18, spot_price=0, min_duration=60, max_duration=DAY, trial=60, available_until_day=60_000
)
MACHINE = Machine(
    id=7, provider="0xa", operator="0xb", status=MachineStatus.UNVERIFIED, delisted=False, under_staked=False,
    stalled=False, gpus=2, revision=1, params=1, stake=1, busy=0, leased=0, withheld=0, retired_at=0, terms=TERMS,
)  # fmt: skip


def nights(tmp_path: Path, **others: object) -> AgentSettings:
    given = {"state_dir": tmp_path, "hours": ["Mon-Sun 22:00-08:00"], **others}
    return AgentSettings.model_validate(given)


def test_cells_of_the_owners_hours(tmp_path: Path) -> None:
    for others, cells in (
        ({}, 0xFFFF),
        ({"hours_cells": "1:4-7"}, 0xF000),
        ({"hours_cells": "0,1,2,3"}, 0xFFFF),
        ({"hours": []}, 0),
    ):
        assert cells_of_hours(nights(tmp_path, **others), MACHINE, DAWN) == cells
        assert cells_of_hours(nights(tmp_path, **others), MACHINE, DAWN - 1) == 0
    early = nights(tmp_path, hours_lead=2 * HOUR)
    assert cells_of_hours(early, MACHINE, DAWN - 2 * HOUR) == 0xFFFF
    assert cells_of_hours(early, MACHINE, DAWN - 2 * HOUR - 1) == 0


@dataclass
class Watched:
    """Stands for the chain, and counts what is asked of it."""

    withheld: int = 0
    asked: int = 0
    sent: int = 0
    fails: bool = False

    async def withhold(self, kept: Withholdings, machine: int, confirmations: int) -> None:
        self.asked += 1
        if self.fails:
            raise RpcUnavailable("no node")
        wanted = kept.change(machine, lambda known: known.heard(self.withheld, self.asked, 12)).cells
        if wanted != self.withheld:
            kept.change(machine, lambda known: known.saying(wanted, self.asked))
            self.withheld, self.sent = wanted, self.sent + 1

    def seen(self, now: int, **changes: object) -> ChainSnapshot:
        machine = replace(MACHINE, withheld=self.withheld)
        return replace(ChainSnapshot(True, 100, now, {7: machine}), **changes)  # type: ignore[arg-type]


async def test_a_chain_that_may_be_behind_is_not_believed(tmp_path: Path) -> None:
    chain = Watched()
    sale = Sale(chain, Withholdings(tmp_path), nights(tmp_path), lambda: 0.0)
    await sale.look(chain.seen(DAWN, current=False))
    assert chain.asked == 0
    retired = {7: replace(MACHINE, status=MachineStatus.RETIRED)}
    await sale.look(chain.seen(DAWN, machines=retired))
    assert chain.asked == 0
    await sale.look(chain.seen(DAWN))
    assert chain.withheld == 0xFFFF


async def test_a_day_is_two_words(tmp_path: Path) -> None:
    chain = Watched()
    sale = Sale(chain, Withholdings(tmp_path), nights(tmp_path), lambda: 0.0)
    for now in range(DAWN - HOUR, DAWN - HOUR + DAY, 60):
        await sale.look(chain.seen(now))
    assert (chain.sent, chain.asked) == (2, 2 + 1), "and one question, for nothing was known at first"


async def test_no_node_answers_for_a_while(tmp_path: Path) -> None:
    chain, clock = Watched(fails=True), [0.0]
    sale = Sale(chain, Withholdings(tmp_path), nights(tmp_path), lambda: clock[0])
    for _ in range(100):
        await sale.look(chain.seen(DAWN))
    assert chain.asked == 1, "it waits before it tries again"
    chain.fails, clock[0] = False, 60.0
    await sale.look(chain.seen(DAWN))
    assert chain.withheld == 0xFFFF


async def test_what_a_command_has_just_sent_is_not_sent_twice(tmp_path: Path) -> None:
    chain, kept = Watched(), Withholdings(tmp_path)
    sale = Sale(chain, kept, nights(tmp_path, hours=[]), lambda: 0.0)
    kept.change(7, lambda known: known.heard(0, 99, 12).put("paused", 0xFFFF).saying(0xFFFF, 99))
    await sale.look(chain.seen(DAWN))
    assert chain.asked == 0
    await sale.look(chain.seen(DAWN))
    assert (chain.asked, chain.withheld) == (1, 0xFFFF), "it never came"


@dataclass
class Real:
    """A pool's binding as the agent holds it."""

    pool: Pool
    machine: int

    async def withhold(self, kept: Withholdings, machine: int, confirmations: int) -> None:
        await send_withheld(self.pool, kept, machine, await self.pool.block_number(), confirmations)

    async def seen(self, now: int) -> ChainSnapshot:
        machine = await self.pool.machine_of(self.machine)
        return ChainSnapshot(True, await self.pool.block_number(), now, {self.machine: machine})


@pytest.fixture
async def real(chain: PoolChain) -> Real:
    await chain.token(PROVIDER).approve(chain.deployment.controller)
    await chain.token(TENANT).approve(chain.deployment.controller)
    consent = await chain.consent(PROVIDER, chain.signer(OPERATOR))
    machine, _ = await chain.pool(PROVIDER).register(
        TERMS, 1, 1, bytes(32), bytes(32), chain.address(OPERATOR), consent
    )
    return Real(chain.pool(OPERATOR), machine)


@pytest.mark.slow
async def test_a_night_and_a_day_on_a_chain(chain: PoolChain, real: Real, tmp_path: Path) -> None:
    """What runs at dawn goes on to its end, and may be extended; what is ill stays out of sale at dusk."""
    kept = Withholdings(tmp_path)
    sale = Sale(real, kept, nights(tmp_path, hours_cells="0:0-3"), lambda: 0.0)
    wanted = LeaseRequest(real.machine, 1, 4, HOUR, 10**18, bytes(32), placement=0x10F, allow_unverified=True)
    await sale.look(await real.seen(DAWN - 1))
    lease, _ = await chain.pool(TENANT).open(wanted)
    await real.pool.start(lease, bytes(32))
    await sale.look(await real.seen(DAWN))
    machine = await real.pool.machine_of(real.machine)
    assert (machine.withheld, machine.leased) == (0x0F, 0x0F)
    await chain.pool(TENANT).extend(lease, 600)
    assert (await real.pool.lease_of(lease)).state is LeaseState.ACTIVE
    kept.put(real.machine, "ill", 0x01)
    before = chain.anvil.block_number
    await sale.look(await real.seen(DAWN + HOUR))
    assert chain.anvil.block_number == before
    await sale.look(await real.seen(DAWN + 14 * HOUR))
    assert (await real.pool.machine_of(real.machine)).withheld == 0x01
    again = Sale(
        real, Withholdings(tmp_path), nights(tmp_path, hours=[]), lambda: 0.0
    )  # the next start, with no hours
    await again.look(await real.seen(DAWN + DAY))
    assert (await real.pool.machine_of(real.machine)).withheld == 0x01

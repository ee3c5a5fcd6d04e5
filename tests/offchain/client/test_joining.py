"""A machine that joins through the library, and what must not happen between a plan and its carrying out."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from devnet.kubo import Kubo
from devnet.patience import patient
from devnet.pool import PoolChain
from leasehold.chain import Keystore, LocalSigner
from leasehold.client import (
    Approved,
    NoPrice,
    NoSuchShare,
    Pinned,
    PlanStale,
    PlanUsed,
    Registered,
    ShareNotKeptApart,
)
from leasehold.errors import NotAuthorized
from leasehold.market import (
    AllowanceMissing,
    CardsTaken,
    ConsentUnfit,
    LeavesTooEarly,
    MachineFile,
    MachineFileInvalid,
    NeighbourUnknown,
    OperatorTaken,
    SomebodyElses,
    StakeNotCovered,
    UnitsTaken,
)
from leasehold.provider import AddStake, AskedTerms, Join, Joined, Retire

from .conftest import Opening, described

GUIDE = Path(__file__).parents[3] / "docs/guides/join-from-python.md"
UNIT = 10**18
ASKED = AskedTerms(price="1.5")


async def test_a_machine_joins_step_by_step(chain: PoolChain, opened: Opening, machine_file: Path) -> None:
    pool = await opened(2)
    plan = await pool.plan(Join(machine_file, ASKED, operator_gas=5))
    assert (plan.quote.stake, plan.payment.pulled, plan.smallest_share, plan.version) == (
        200 * UNIT,
        200 * UNIT,
        2,
        1,
    )
    with pytest.raises(AllowanceMissing):
        await pool.carry_out(plan)
    steps = [step async for step in pool.steps(plan, approve=True)]
    assert [type(step) for step in steps] == [Pinned, Approved, Registered, Joined]
    joined = steps[-1]
    assert isinstance(joined, Joined)
    assert joined.funding is not None
    machine = await pool.pool.machine_of(joined.machine)
    assert (machine.provider, machine.stake, machine.smallest_share) == (chain.address(2), 200 * UNIT, 2)
    with pytest.raises(PlanUsed):
        await pool.carry_out(plan, approve=True)


def checked(machine_file: Path, *parts: object) -> None:
    """Have the host have found that."""
    document = json.loads(machine_file.read_text())
    machine_file.write_text(json.dumps({**document, "check": parts}))


async def test_what_the_host_found_bad_is_said_before_anything_is_asked(
    opened: Opening, machine_file: Path
) -> None:
    checked(
        machine_file,
        {"name": "clock", "state": "bad", "text": "This host's clock is 90 s behind the chain."},
        {"name": "dns", "state": "warning", "text": "Leases find few names."},
        {"name": "ipfs", "state": "ok", "text": "The node answers."},
    )
    pool = await opened(2)
    plan = await pool.plan(Join(machine_file, ASKED))
    assert plan.cautions == ("What its host found: This host's clock is 90 s behind the chain.",)


@pytest.mark.parametrize(
    "part",
    [
        {"name": "clock", "state": "awful", "text": ""},
        {"name": "clock", "state": "bad", "text": "two\nlines"},
        {"name": "clock", "state": "bad", "text": "x" * 1_025},
        "bad",
    ],
)
async def test_what_the_host_found_is_held_to_its_form(machine_file: Path, part: object) -> None:
    checked(machine_file, part)
    with pytest.raises(MachineFileInvalid, match="check"):
        MachineFile.load(machine_file)


async def test_two_plans_of_one_machine_stake_once(
    chain: PoolChain, opened: Opening, machine_file: Path
) -> None:
    """The second is refused before it leaves the pool an allowance."""
    pool = await opened(2)
    first, second = [await pool.plan(Join(machine_file, ASKED)) for _ in range(2)]
    await pool.carry_out(first, approve=True)
    with pytest.raises(OperatorTaken):
        await pool.carry_out(second, approve=True)
    assert (await pool.renter().funds()).allowance == 0


def cards(*hashes: str) -> dict[str, object]:
    return {"gpus": [{"model": "H100", "memory_bytes": 1, "uuid_hash": each * 32} for each in hashes]}


def units(number: int, of: int) -> dict[str, object]:
    return {"gpus": [], "cpu_units": number, "host_units": of}


@pytest.mark.parametrize(
    ("first", "second", "refusal"),
    [
        (cards("aa", "bb"), cards("cc", "dd"), None),
        (cards("aa", "bb"), cards("bb", "cc"), CardsTaken),
        (cards("aa", "bb", "cc"), cards("cc", "dd"), None),  # it was registered with two of its three
        (cards("", ""), cards("aa", "bb"), NeighbourUnknown),
        (units(2, 4), units(2, 4), None),
        (units(2, 3), units(2, 3), UnitsTaken),
    ],
)
async def test_a_second_machine_of_one_host(
    chain: PoolChain,
    opened: Opening,
    tmp_path: Path,
    first: dict[str, object],
    second: dict[str, object],
    refusal: type[OperatorTaken] | None,
) -> None:
    pool = await opened(2)
    one = await described(chain, tmp_path / "1.json", hardware=first)
    two = await described(chain, tmp_path / "2.json", hardware=second)
    joined = await pool.carry_out(Join(one, ASKED), approve=True)
    if refusal is not None:
        with pytest.raises(refusal):
            await pool.plan(Join(two, ASKED))
        await pool.carry_out(Retire(joined.machine))
    again = await pool.carry_out(Join(two, ASKED), approve=True)
    machine = await pool.pool.machine_of(again.machine)
    assert (machine.operator, again.machine) == (chain.address(3), joined.machine + 1)


async def test_a_second_machine_beside_one_that_nobody_can_read(
    chain: PoolChain, opened: Opening, tmp_path: Path
) -> None:
    """Its cards may be the same."""
    pool = await opened(2)
    one = await described(chain, tmp_path / "1.json", hardware=cards("aa", "bb"))
    two = await described(chain, tmp_path / "2.json", hardware=cards("cc", "dd"))
    joined = await pool.carry_out(Join(one, ASKED), approve=True)
    await pool.pool.set_hardware(joined.machine, bytes(31) + b"1")
    with pytest.raises(NeighbourUnknown, match="cannot be told"):
        await pool.plan(Join(two, ASKED))


async def test_a_plan_that_was_made_under_other_rules(
    chain: PoolChain, opened: Opening, machine_file: Path
) -> None:
    """Registering accepts what is in force when it is mined; nobody has read that."""
    pool, owner = await opened(2), chain.pool(0)
    plan = await pool.plan(Join(machine_file, ASKED))
    await owner.propose_params(replace(await owner.params(1), fee_bps=900))
    chain.anvil.advance(2 * 86_400 + 1)
    with pytest.raises(PlanStale):
        await pool.carry_out(plan, approve=True)
    assert (await pool.renter().funds()).allowance == 0
    assert (await pool.plan(Join(machine_file, ASKED))).version == 2


async def test_what_the_ledger_was_to_pay_is_not_taken_from_the_wallet(
    chain: PoolChain, opened: Opening, machine_file: Path
) -> None:
    """Where the pool may take much, what a plan says is still all that it takes."""
    pool = await opened(2)
    await pool.token.approve(chain.deployment.controller, 1_000 * UNIT)
    await pool.pool.deposit(chain.address(2), 300 * UNIT)
    plan = await pool.plan(Join(machine_file, ASKED))
    assert plan.payment.pulled == 0
    await pool.pool.withdraw(chain.address(2), 300 * UNIT)
    with pytest.raises(PlanStale):
        await pool.carry_out(plan)
    joined = await pool.carry_out(Join(machine_file, ASKED))
    await pool.pool.deposit(chain.address(2), 50 * UNIT)
    more = await pool.plan(AddStake(joined.machine, "50"))
    await pool.pool.withdraw(chain.address(2), 50 * UNIT)
    with pytest.raises(PlanStale):
        await pool.carry_out(more)
    added = await pool.carry_out(AddStake(joined.machine, "50"))
    assert added.machine.stake == 250 * UNIT


async def test_what_cannot_join(
    chain: PoolChain, opened: Opening, machine_file: Path, tmp_path: Path
) -> None:
    pool, block = await opened(2), chain.anvil.block_number
    with pytest.raises(ConsentUnfit):
        await (await opened(4)).plan(Join(machine_file, ASKED))
    for request, refusal in (
        (Join(machine_file, AskedTerms()), NoPrice),
        (Join(machine_file, ASKED, smallest_share=3), NoSuchShare),
        (Join(machine_file, ASKED, smallest_share=1), ShareNotKeptApart),
        (Join(machine_file, AskedTerms("1", until=date(2020, 1, 1))), LeavesTooEarly),
    ):
        with pytest.raises(refusal):
            await pool.plan(request)
    poor = LocalSigner("0x" + "77" * 32)
    await described(chain, tmp_path / "poor.json", operator=poor)
    await pool.token.transfer(chain.address(9), await pool.token.balance(chain.address(2)))
    with pytest.raises(StakeNotCovered):
        await pool.plan(Join(tmp_path / "poor.json", ASKED))
    assert chain.anvil.block_number == block + 1


async def test_nobody_stakes_for_anothers_machine_by_mistake(opened: Opening, machine_file: Path) -> None:
    joined = await (await opened(2)).carry_out(Join(machine_file, ASKED), approve=True)
    with pytest.raises((SomebodyElses, NotAuthorized)):
        await (await opened(4)).plan(AddStake(joined.machine, "1"))


# ---------------------------------------------------------------------------------------------------- as it is told


@pytest.fixture
def kubo(tmp_path: Path) -> Iterator[Kubo]:
    with Kubo(tmp_path / "node") as node:
        yield node


@pytest.mark.slow
async def test_the_guides_example(chain: PoolChain, machine_file: Path, kubo: Kubo, tmp_path: Path) -> None:
    """Word for word, in a process that has nothing else."""
    (example,) = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.M | re.S)
    assert len(example.splitlines()) <= 30
    keystore = Keystore(tmp_path / "home" / "keys", iterations=2)
    key = bytes.fromhex(chain.anvil.accounts[2].key.removeprefix("0x"))
    await keystore.new("me", "correct horse", key=key)
    deployment = chain.deployment.save(tmp_path)
    said = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", example],
        cwd=tmp_path,
        env={
            **os.environ,
            "LEASEHOLD_RPC": chain.anvil.url,
            "LEASEHOLD_IPFS": kubo.api,
            "LEASEHOLD_HOME": str(tmp_path / "home"),
            "LEASEHOLD_DEPLOYMENT": str(deployment),
            "LEASEHOLD_PASSWORD": "correct horse",
        },
        capture_output=True,
        text=True,
        timeout=patient(120),
        check=False,
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines() == [
        "stake: 200 TUSD",
        "a day, wholly leased: 69.84 TUSD",
        "lost at most in a week: 100 TUSD",
        "machine: 1",
        "at stake: 225 TUSD",
    ]

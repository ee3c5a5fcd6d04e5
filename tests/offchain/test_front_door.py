"""`import leasehold`: what an outsider finds there, and what it costs to look."""

import ast
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import leasehold
from devnet.pool import PoolChain
from leasehold.chain import LocalSigner
from leasehold.chain.typed import Group
from leasehold.client import CannotAct
from leasehold.market import InvalidInput, NoMachineMatches

SOURCE = Path(leasehold.__file__).read_text()


def test_every_name_is_there_once() -> None:
    assert len(set(leasehold.__all__)) == len(leasehold.__all__)
    for name in leasehold.__all__:
        assert getattr(leasehold, name) is not None
    assert set(leasehold.__all__) <= set(dir(leasehold))


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(SOURCE)
    (checked,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        (str(node.module).removeprefix("leasehold."), alias.name)
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == {(room, name) for room, names in leasehold._ROOMS.items() for name in names}
    assert {name for _, name in seen} | {"__version__"} == set(leasehold.__all__)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'rent_everything'"):
        leasehold.rent_everything  # noqa: B018


def test_importing_it_loads_nothing_of_the_chain() -> None:
    code = "import sys, leasehold; print([m for m in ('eth_account', 'sqlalchemy', 'pydantic') if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


# ------------------------------------------------------------------------------------------------------ connecting

KEY = "0x" + "11" * 32
JOB = {"version": 1, "image": "sha256:" + "0" * 64, "egress": "none"}


async def test_a_pool_is_read_without_a_wallet(chain: PoolChain, tmp_path: Path) -> None:
    async with leasehold.connect(chain.deployment, rpc=chain.anvil.url, home=tmp_path) as pool:
        assert await pool.search("price<100") == []
        with pytest.raises(leasehold.LeaseholdError, match="needs a wallet"):
            _ = pool.account


async def test_awaited_and_closed_twice(chain: PoolChain, tmp_path: Path) -> None:
    """As in a notebook."""
    pool = await leasehold.connect(chain.deployment, rpc=chain.anvil.url, home=tmp_path)
    assert await pool.now() > 0
    await pool.close()
    await pool.close()


async def test_a_plan_sends_nothing_and_says_why_not(chain: PoolChain, tmp_path: Path) -> None:
    signer = LocalSigner(KEY)
    async with leasehold.connect(chain.deployment, wallet=signer, rpc=chain.anvil.url, home=tmp_path) as pool:
        block = chain.anvil.block_number
        with pytest.raises(NoMachineMatches):
            await pool.plan(leasehold.Rent(pool.workload(JOB), seconds=60))
        with pytest.raises(leasehold.LeaseholdError, match=r"no lease 0\.7"):
            await pool.plan(leasehold.Extend(7, 60))
        assert chain.anvil.block_number == block


async def test_a_group_sends_nothing_itself(chain: PoolChain, tmp_path: Path) -> None:
    signer = LocalSigner(KEY)
    group = Group.of(1, [signer.address])
    opening = leasehold.connect(
        chain.deployment, wallet=signer, rpc=chain.anvil.url, home=tmp_path, group=group
    )
    async with opening as pool:
        assert pool.account == group.address(chain.deployment.accounts)
        steps = [step async for step in pool.steps(Deposit(pool))]
        assert isinstance(steps[-1], leasehold.ProposalMade)
        assert steps[-1].proposal.execution.calls[0].target == chain.deployment.controller
        with pytest.raises(CannotAct):
            await pool.carry_out(Deposit(pool))


class Deposit(leasehold.Plan[leasehold.Sent]):
    """Something that is sent."""

    def __init__(self, client: leasehold.PoolClient) -> None:
        self.client = client

    async def steps(self) -> AsyncIterator[leasehold.Step]:
        yield leasehold.Sent(await self.client.pool.close(1 << 16))


@pytest.mark.parametrize("account", ["0x12", "0x" + "0" * 40, "ada"])
async def test_an_account_that_is_none(chain: PoolChain, tmp_path: Path, account: str) -> None:
    opening = leasehold.connect(chain.deployment, rpc=chain.anvil.url, home=tmp_path, account=account)
    with pytest.raises(InvalidInput):
        await opening


async def test_a_wallet_that_is_not_there(chain: PoolChain, tmp_path: Path) -> None:
    with pytest.raises(leasehold.LeaseholdError, match="me"):
        leasehold.connect(chain.deployment, wallet="me", password="x", home=tmp_path)

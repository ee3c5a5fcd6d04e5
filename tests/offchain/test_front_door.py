"""`import leasehold`: what an outsider finds there, and what it costs to look."""

import ast
import errno
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path

import pytest

import leasehold
from devnet.pool import PoolChain
from leasehold.chain import LocalSigner
from leasehold.chain.typed import Group
from leasehold.client import CannotAct, PlanUsed, TenantLease
from leasehold.files import make_private, write_private
from leasehold.market import InvalidInput, NoMachineMatches

from .test_layers import DOORS

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


@pytest.mark.parametrize("door", DOORS)
def test_a_name_is_behind_one_door(door: str) -> None:
    names = import_module(f"leasehold.{door}").__all__
    assert names
    assert len(set(names)) == len(names)
    others = set(DOORS) - {door}
    behind_others = {name for other in others for name in import_module(f"leasehold.{other}").__all__}
    assert not set(names) & (behind_others | set(leasehold.__all__))


def test_the_front_door_is_for_renters() -> None:
    """httpx has some ninety names."""
    assert len(leasehold.__all__) <= 96


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


async def test_a_plan_is_carried_out_once(chain: PoolChain, tmp_path: Path) -> None:
    """Who tries again because no answer came would pay twice."""
    signer = LocalSigner(KEY)
    async with leasehold.connect(chain.deployment, wallet=signer, rpc=chain.anvil.url, home=tmp_path) as pool:
        plan = Deposit(pool)
        with pytest.raises(leasehold.LeaseholdError):
            await pool.carry_out(plan)
        with pytest.raises(PlanUsed):
            await pool.carry_out(plan)


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


# ------------------------------------------------------------------------------------------- what an agent may send


class Flood:
    """An agent that sends more than anybody asked for: pieces of a line without end, and bytes that are no text."""

    def __init__(self, pieces: int) -> None:
        self.pieces, self.taken = pieces, 0

    @asynccontextmanager
    async def agent_of(self, lease: int) -> AsyncIterator["Flood"]:
        yield self

    async def logs(self, lease: int, **how: object) -> AsyncIterator[bytes]:
        for _ in range(self.pieces):
            self.taken += 1
            yield b"\xff" * (1 << 19)

    @asynccontextmanager
    async def exec(self, lease: int, command: list[str]) -> AsyncIterator["Flood"]:
        yield self

    async def __aiter__(self) -> AsyncIterator[tuple[int, bytes]]:
        for _ in range(self.pieces):
            self.taken += 1
            yield 1, bytes(1 << 19)

    async def wait(self) -> int:
        return 0


async def test_a_line_without_end_comes_in_pieces() -> None:
    lines = [line async for line in TenantLease(Flood(64), 1).logs()]  # type: ignore[arg-type]  # as far as it is used
    assert sum(map(len, lines)) == 64 << 19
    assert max(map(len, lines)) <= 3 << 19


async def test_output_without_end_is_refused() -> None:
    flood = Flood(1_000)
    with pytest.raises(leasehold.LeaseholdError, match="more than 16 MiB"):
        await TenantLease(flood, 1).run(["yes"])  # type: ignore[arg-type]  # as far as it is used
    assert flood.taken == 33


# ------------------------------------------------------------------------------------------------------------ files


def test_a_private_file_follows_no_link_and_is_nobody_elses(tmp_path: Path) -> None:
    target, path = tmp_path / "target", tmp_path / "home" / "key"
    target.write_text("theirs")
    path.parent.mkdir()
    path.symlink_to(target)
    with pytest.raises(FileExistsError):
        make_private(path, "mine")
    write_private(path, "mine")
    assert (target.read_text(), path.read_text(), path.is_symlink()) == ("theirs", "mine", False)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [kept.name for kept in path.parent.iterdir()] == ["key"]


def test_what_cannot_be_written_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "key"
    write_private(path, "old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_private(path, "new")
    assert (path.read_text(), len(list(tmp_path.iterdir()))) == ("old", 1)

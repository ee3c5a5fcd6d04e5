"""A host that has run out of something: the agent goes on, and what it owes the chain is said."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from devnet.engine import Engine
from devnet.patience import patient
from devnet.world import free_port
from leasehold.chain import Challenge, LeaseRequest, LeaseState, Pool, Sender, Terms
from leasehold.errors import RpcUnavailable
from leasehold.files import replace_file
from leasehold_agent._config import AgentSettings
from leasehold_agent._errors import GasKept
from leasehold_agent._serve import serve
from leasehold_agent.api import NonceStore
from leasehold_agent.chain import Told, _sentinel, sentinel_beside
from leasehold_agent.chain._sentinel import Sentinel
from leasehold_agent.engine import engine_answers
from leasehold_agent.host import DiskReserve
from leasehold_agent.reconciling._plan import Publish

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

PROVIDER, TENANT, OPERATOR = 1, 2, 3
WINDOW = 600
TERMS = Terms(10**18, 0, 1, 30 * 86_400, 0, 60_000)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=700", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> None:
    """To the last byte."""
    with (folder / "ballast").open("ab", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while file.write(bytes(size)):
                    pass
            except OSError:
                continue


def grow(folder: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=256m", str(folder)], check=True)


# -------------------------------------------------------------------------------------------------- the disk


def test_the_reserve_is_given_up_and_made_again(small_disk: Path) -> None:
    reserve = DiskReserve(small_disk / "reserve")
    reserve.mend()
    assert (small_disk / "reserve").stat().st_size == 2 << 20
    fill(small_disk)
    reserve.mend()
    assert not (small_disk / "reserve").exists()
    replace_file(small_disk / "notes", bytes(1 << 20))
    reserve.mend()
    assert not (small_disk / "reserve").exists()
    (small_disk / "ballast").unlink()
    with capture_logs() as logs:
        reserve.mend()
        reserve.mend()
    assert (small_disk / "reserve").exists()
    assert logs == [{"event": "disk", "problem": None, "log_level": "info"}]


def test_what_could_not_be_written_takes_no_room(small_disk: Path) -> None:
    replace_file(small_disk / "notes", b"before")
    with pytest.raises(OSError, match="No space"):
        replace_file(small_disk / "notes", bytes(32 << 20))
    assert [path.name for path in small_disk.iterdir()] == ["notes"]
    assert (small_disk / "notes").read_bytes() == b"before"


async def test_nonces_are_taken_once_on_a_full_disk_too(small_disk: Path) -> None:
    nonces = await NonceStore.open(small_disk / "nonces.sqlite")
    try:
        assert await nonces.take("0xA", b"written", 100, 0)
        fill(small_disk)
        taken = [await nonces.take("0xA", number.to_bytes(2), 100, 0) for number in range(2_000)]
        assert all(taken)
        assert nonces._unwritten  # or the disk was not full
        assert not await nonces.take("0xa", b"written", 100, 0)
        assert not any([await nonces.take("0xa", number.to_bytes(2), 100, 0) for number in range(2_000)])
        (small_disk / "ballast").unlink()
        assert await nonces.take("0xA", b"after", 100, 0)
        assert not await nonces.take("0xA", (1_999).to_bytes(2), 100, 0)
    finally:
        await nonces.close()


async def test_a_full_disk_silences_no_agent(small_disk: Path, rig_of: Callable[..., Any]) -> None:
    rig: Rig = await rig_of(state_dir=small_disk / "state")
    lease = await rig.open(rig.workload(grace=0))
    await rig.reaches(lease, LeaseState.ACTIVE)
    before = await rig.container(lease)
    fill(small_disk)
    asked = await challenge(rig.chain, rig.machine, lease)
    sentinel = sentinel_of(rig)

    async def answered() -> bool:
        await sentinel.look()
        return await standing(rig.chain, rig.machine) != asked

    rig.chain.anvil.advance(30)
    await rig.until(answered)
    assert not any(task.done() for task in rig._tasks)
    assert await rig.container(lease) == before
    (small_disk / "ballast").unlink()
    again = await challenge(rig.chain, rig.machine, lease)

    async def by_itself() -> bool:
        return await standing(rig.chain, rig.machine) != again

    await rig.until(by_itself)


async def test_the_last_of_the_gas_is_for_answers(rig_of: Callable[..., Any]) -> None:
    """Declines, starts and results cost the operator gas as often as tenants like; then one of them asks."""
    rig: Rig = await rig_of()
    lease = await rig.open(rig.workload(grace=0))
    await rig.reaches(lease, LeaseState.ACTIVE)
    gate: Any = rig.host.chain
    kept = (await gate.gas()).kept
    assert kept
    rig.chain.anvil.request("anvil_setBalance", rig.identity.operator.address, hex(kept // 2))
    with pytest.raises(GasKept, match="send it some"):
        await gate.publish(rig.host.snapshot.leases[lease], bytes(32))
    asked = await challenge(rig.chain, rig.machine, lease)

    async def answered() -> bool:
        return await standing(rig.chain, rig.machine) != asked

    await rig.until(answered)


async def test_a_full_disk_ends_no_agent_that_begins(
    small_disk: Path, rig_of: Callable[..., Any], tmp_path: Path
) -> None:
    rig: Rig = await rig_of(state_dir=small_disk / "state")
    await rig.stop()
    for path in (small_disk / "state").glob("index*.sqlite"):
        path.unlink()
    changes = {
        "deployment": rig.chain.deployment.save(tmp_path),
        "rpc": (rig.chain.anvil.url,),
        "listen": "127.0.0.1",
        "api_port": free_port(),
        "ssh_port": free_port(),
        "libp2p_api_port": free_port(),
        "libp2p_ssh_port": free_port(),
    }
    fill(small_disk)
    agent = asyncio.create_task(serve(AgentSettings.model_validate(rig.settings.model_dump() | changes)))
    try:
        with capture_logs() as said:
            await rig.until(lambda: agent.done() or {"part": "disk"}.items() <= _last(said).items())
        assert not agent.done()
        (small_disk / "ballast").unlink()
        await rig.until(lambda: (small_disk / "state" / "status.json").exists() or agent.done())
        assert not agent.done()
    finally:
        agent.cancel()
        await asyncio.gather(agent, return_exceptions=True)


async def test_what_the_host_has_no_room_for_keeps_no_small_output_back(
    small_disk: Path, rig_of: Callable[..., Any]
) -> None:
    """Nor is it copied again and again; and the tenant hears of it."""
    rig: Rig = await rig_of(state_dir=small_disk / "state", disk_reserve=0)
    outputs = [{"path": path, "public": True} for path in ("/large", "/small")]
    command = (
        "mkdir /large /small; dd if=/dev/zero of=/large/hole bs=1 count=1 seek=64M; echo 42 > /small/answer"
    )
    lease = await rig.open(rig.workload(command=["sh", "-c", command], outputs=outputs))
    await rig.until(lambda: rig.host.leases.folder(lease).load().published)
    notes = rig.host.leases.folder(lease).load()
    assert "no room to pack" in notes.failure_detail
    assert notes.result is not None
    await rig.ipfs.fetch(notes.result, small_disk / "result")
    names = {path.name for path in (small_disk / "result").rglob("*")}
    assert "answer" in names
    assert "hole" not in names
    assert [action for action in await rig.reconciler.tick() if isinstance(action, Publish)] == []
    # Until there is much more room: then what did not fit is taken, and what was taken is not taken again.
    grow(small_disk)
    rig.reconciler.wake()
    await rig.until(lambda: rig.host.leases.folder(lease).load().lacked is None)
    await rig.until(lambda: len(rig.host.leases.folder(lease).load().results) == 2)
    await rig.reconciler.settle()
    whole = rig.host.leases.folder(lease).load()
    assert (whole.failure_detail, rig.host.leases.folder(lease).outputs.exists()) == ("", False)
    assert whole.result is not None
    await rig.ipfs.fetch(whole.result, small_disk / "whole")
    assert {"answer", "hole"} <= {path.name for path in (small_disk / "whole").rglob("*")}


def _last(said: list[Any]) -> dict[str, Any]:
    return dict(said[-1]) if said else {}


# -------------------------------------------------------------------------------------------------- the sentinel


class Host:
    """Stands in for the host: whether its engine answers."""

    engine = True

    async def alive(self) -> bool:
        return self.engine


async def lent(chain: Any) -> tuple[int, int, Pool]:
    """A machine with a lease that runs, and its operator's pool; nobody runs its agent."""
    operator: Pool = chain.pool(OPERATOR)
    for account in (PROVIDER, TENANT):
        await chain.token(account).approve(chain.deployment.controller, 10**30)
    consent = await chain.consent(PROVIDER, chain.signer(OPERATOR))
    machine, _ = await chain.pool(PROVIDER).register(
        TERMS, 1, 1, bytes(32), bytes(32), chain.address(OPERATOR), consent
    )
    request = LeaseRequest(
        machine=machine,
        revision=1,
        max_price=TERMS.price,
        workload=bytes(32),
        allow_unverified=True,
        share=8,
        duration=3_600,
    )
    lease, _ = await chain.pool(TENANT).open(request)
    await operator.start(lease, bytes(32))
    return machine, lease, operator


async def challenge(chain: Any, machine: int, lease: int) -> int:
    pool: Pool = chain.pool(TENANT)
    faults = await pool.faults()
    await pool.deposit(chain.address(TENANT), await faults.bond_of(machine, chain.address(TENANT)))
    return (await faults.challenge(machine, lease))[0]


async def standing(chain: Any, machine: int) -> int:
    return (await (await chain.pool().faults()).challenge_of(machine)).id


def sentinel_of(rig: Rig) -> Sentinel:
    sender = Sender(rig.chain.rpc, rig.identity.operator, poll=0.02)
    pool = Pool(rig.chain.rpc, rig.chain.deployment, sender)
    return Sentinel(
        rig.chain.rpc, pool, Told(), rig.identity.operator.address, rig.settings.owner, Host().alive
    )


async def test_the_sentinel_leaves_the_agent_its_time_and_then_answers(chain: Any) -> None:
    machine, lease, operator = await lent(chain)
    host, told, now = Host(), Told(), [0.0]
    sentinel = Sentinel(
        chain.rpc,
        operator,
        told,
        chain.address(OPERATOR),
        chain.address(PROVIDER),
        host.alive,
        lambda: now[0],
    )
    assert await sentinel.look() == []
    asked = await challenge(chain, machine, lease)
    assert await sentinel.look() == []
    now[0] = WINDOW / 40
    host.engine = False
    assert await sentinel.look() == []  # it claims no life that is not there
    host.engine, told.serves = True, False
    assert await sentinel.look() == []
    told.serves = True
    assert await standing(chain, machine) == asked
    assert await sentinel.look() == [machine]
    assert await standing(chain, machine) == 0
    assert await sentinel.look() == []


async def test_no_transaction_of_the_operator_stands_in_front_of_the_answer(chain: Any) -> None:
    """The agent sent one for too little gas, and ended: whatever comes after it would wait as long as it does."""
    machine, lease, _ = await lent(chain)
    asked, signer = await challenge(chain, machine, lease), chain.signer(OPERATOR)
    chain.anvil.advance(WINDOW // 4)
    chain.anvil.mine()
    chain.anvil.request("evm_setAutomine", False)
    try:
        base = int(chain.anvil.request("eth_getBlockByNumber", "latest", False)["baseFeePerGas"], 16)
        first = int(chain.anvil.request("eth_getTransactionCount", signer.address, "latest"), 16)
        for nonce in (first, first + 1):
            stuck = await signer.sign_transaction(
                {
                    "type": 2,
                    "chainId": chain.anvil.chain_id,
                    "nonce": nonce,
                    "to": signer.address,
                    "value": 0,
                    "data": "0x",
                    "gas": 21_000,
                    "maxFeePerGas": 5 * base,
                    "maxPriorityFeePerGas": 5 * base,
                }
            )
            chain.anvil.request("eth_sendRawTransaction", "0x" + stuck.hex())
        sender = Sender(chain.rpc, signer, poll=0.02, overtakes=10**17)
        sentinel = Sentinel(
            chain.rpc,
            Pool(chain.rpc, chain.deployment, sender),
            Told(),
            signer.address,
            chain.address(PROVIDER),
            Host().alive,
        )
        look = asyncio.create_task(sentinel.look())
        faults = (await chain.pool().faults()).address.lower()
        async with asyncio.timeout(patient(30)):
            while _waiting(chain, signer.address, first) != faults:
                await asyncio.wait({look}, timeout=0.05)
            chain.anvil.mine()
        assert await look == [machine]
        assert await standing(chain, machine) != asked
    finally:
        chain.anvil.request("evm_setAutomine", True)


def _waiting(chain: Any, account: str, nonce: int) -> str:
    """Whom the account's transaction with that nonce calls, which no block has yet."""
    pending = chain.anvil.request("txpool_content")["pending"]
    mine = {address.lower(): each for address, each in pending.items()}.get(account.lower(), {})
    return str(mine[str(nonce)]["to"]).lower()


async def test_one_machines_trouble_silences_no_other(chain: Any) -> None:
    (first, first_lease, operator), (second, second_lease, _) = await lent(chain), await lent(chain)

    class Troubled(Sentinel):
        async def _late(self, machine: int, asked: Challenge, since: float) -> bool:
            if machine == first:
                raise RpcUnavailable(("it does not answer for this one",))
            return await super()._late(machine, asked, since)

    sentinel = Troubled(
        chain.rpc, operator, Told(), chain.address(OPERATOR), chain.address(PROVIDER), Host().alive
    )
    for machine, lease in ((first, first_lease), (second, second_lease)):
        await challenge(chain, machine, lease)
    chain.anvil.advance(WINDOW // 2)
    with pytest.raises(RpcUnavailable):
        await sentinel.look()
    assert await standing(chain, second) == 0
    assert await standing(chain, first) != 0


async def test_the_sentinel_says_nothing_of_what_has_lapsed(chain: Any) -> None:
    machine, lease, operator = await lent(chain)
    sentinel = Sentinel(
        chain.rpc, operator, Told(), chain.address(OPERATOR), chain.address(PROVIDER), Host().alive
    )
    asked = await challenge(chain, machine, lease)
    chain.anvil.advance(WINDOW + 1)
    assert await sentinel.look() == []
    assert await standing(chain, machine) == asked


def test_what_the_agent_tells_its_sentinel() -> None:
    told = Told()
    assert (told.serves, told.machines) == (True, [])
    told.serves, told.machines = False, {7, 3, 1 << 40}
    assert (told.serves, told.machines) == (False, [3, 7, 1 << 40])
    told.machines = set(range(10_000))
    assert len(told.machines) == 4_096


def test_a_sentinel_that_ends_is_started_again_and_its_death_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `run` has it: a process that watches over it, and ends with it."""
    monkeypatch.setattr(_sentinel, "_LOOK_SECONDS", 0.1)
    settings = AgentSettings.model_validate(
        {"state_dir": tmp_path, "deployment": tmp_path / "none.json", "rpc": ["http://127.0.0.1:1"]}
    )
    before = children(os.getpid())
    with sentinel_beside(settings) as told:
        assert told.lacks() == []
        (watcher,) = children(os.getpid()) - before
        seen = set[int]()
        while len(seen) < 2:  # it finds no deployment, and ends
            seen |= children(watcher)
            time.sleep(0.01)
        os.kill(watcher, signal.SIGKILL)
        told.looked = int(time.monotonic()) - 1_000
        assert "restart the agent" in told.lacks()[0]
    assert children(os.getpid()) == before


def children(process: int) -> set[int]:
    text = Path(f"/proc/{process}/task/{process}/children").read_text()
    return {int(number) for number in text.split()}


async def test_an_engine_that_answers_and_one_that_does_not(docker_engine: Engine, tmp_path: Path) -> None:
    assert await engine_answers(docker_engine.url)
    assert not await engine_answers(f"unix://{tmp_path}/none.sock")

"""A job that is done ends its bill: real chain, real engine, real IPFS; the agent in this process."""

from __future__ import annotations

import asyncio
import contextlib
import stat
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.chain import (
    AccountsContract,
    Block,
    Call,
    ClosingOrder,
    LeaseClosed,
    LeaseState,
    LocalSigner,
    ResultPublished,
    closing_key,
    decode_log,
)
from leasehold.chain.typed import (
    AcceptTransfer,
    Domain,
    Execute,
    Group,
    GroupProof,
    Proof,
    ProofKind,
    sign,
)
from leasehold.datasets import new_identity, recipient_of
from leasehold.errors import DatasetError, TransactionFailed
from leasehold.workload import Workload, digest, seal
from leasehold_agent._config import AgentSettings
from leasehold_agent._errors import GasKept, NoContainer, OrderVoid
from leasehold_agent.chain import PoolGate
from leasehold_agent.chain._gas import GAS_PER_CLOSING, GAS_PER_JUDGE, GasState, closing_gas
from leasehold_agent.reconciling import _reconciler

from .conftest import TERMS

if TYPE_CHECKING:
    from .conftest import Rig

PROVIDER, TENANT, OTHER, ANYBODY = 1, 2, 3, 4
DAY = 86_400
RESULTS = {"path": "/results", "recipients": [recipient_of(new_identity())]}
JOB = ["sh", "-c", "mkdir -p /results; echo 42 > /results/answer"]
FAILS = ["sh", "-c", "until [ -e /go ]; do sleep 0.1; done; exit 3"]


def job(rig: Rig, **fields: object) -> Workload:
    return rig.workload(**{"kind": "batch", "command": JOB, "outputs": [RESULTS], "grace": 0} | fields)


def accounts_of(rig: Rig, account: int | None = None) -> AccountsContract:
    sender = None if account is None else rig.chain.sender(account)
    return AccountsContract(rig.chain.rpc, rig.chain.deployment.accounts, sender)


def domain_of(rig: Rig) -> Domain:
    return Domain(rig.chain.deployment.chain_id, rig.chain.deployment.accounts)


async def order_of(rig: Rig, lease: int, *, signer: LocalSigner | None = None, **fields: Any) -> ClosingOrder:
    """What its tenant signs; every part can be set wrong before it is signed."""
    account, controller = rig.chain.address(TENANT), rig.chain.deployment.controller
    nonce = await accounts_of(rig).nonce_of(account, closing_key(controller, lease))
    order = ClosingOrder(account, controller, lease, nonce, rig.chain.anvil.timestamp + DAY)
    return await replace(order, **fields).signed(domain_of(rig), signer or rig.chain.signer(TENANT))


async def give(rig: Rig, lease: int, order: ClosingOrder | None = None) -> None:
    """Hand the order over, for what the lease runs now."""
    await rig.until(lambda: rig.host.leases.folder(lease).load().workload)
    workload = bytes.fromhex(rig.host.leases.folder(lease).load().workload)
    await rig.runtime.keep_order(lease, order or await order_of(rig, lease), workload)


async def reaches(rig: Rig, lease: int, phase: str) -> None:
    async def so() -> bool:
        handle = await rig.runtime.lookup(lease)
        return handle is not None and handle.phase == phase

    await rig.until(so)


async def finished(rig: Rig, lease: int) -> None:
    await reaches(rig, lease, "finished")
    await rig.until(lambda: rig.host.leases.folder(lease).load().published)


async def on_chain(rig: Rig, lease: int) -> list[Any]:
    """The lease's events, oldest first."""
    query = {"address": rig.chain.deployment.controller, "fromBlock": "0x0", "toBlock": "latest"}
    events = [decode_log(raw) for raw in rig.chain.anvil.request("eth_getLogs", query)]
    return [event for event in events if getattr(event, "lease", None) == lease]


@pytest.mark.slow
async def test_it_is_closed_once_its_results_are_out_and_the_rest_comes_back(rig: Rig) -> None:
    """Nobody but the agent is there: the tenant has signed, and gone. It pays its seconds, to the unit."""
    before = await rig.chain.pool().balance_of(rig.chain.address(TENANT))
    lease = await rig.open(job(rig))
    await give(rig, lease)
    assert (await rig.handle(lease)).closes_when_done
    await rig.reaches(lease, LeaseState.ENDED)
    events = await on_chain(rig, lease)
    published, closed = (
        next(place for place, event in enumerate(events) if isinstance(event, kind))
        for kind in (ResultPublished, LeaseClosed)
    )
    assert published < closed
    told, end = events[closed], await rig.lease(lease)
    assert isinstance(told, LeaseClosed)
    seconds = end.end - end.start
    assert seconds < 600
    assert told.paid + told.fee == TERMS.price * seconds // 3_600
    assert told.paid + told.fee + told.refunded == TERMS.price
    assert await rig.chain.pool().balance_of(rig.chain.address(TENANT)) == before + told.refunded
    await rig.until(lambda: rig.host.leases.folder(lease).load().gone_at is not None)
    handle = await rig.handle(lease)
    assert (handle.phase, handle.ended_with) == ("ended", 0)


@pytest.mark.slow
async def test_without_an_order_it_is_shown_as_finished_and_billed_on(rig: Rig) -> None:
    lease = await rig.open(job(rig, command=FAILS))
    await rig.reaches(lease, LeaseState.ACTIVE)
    await reaches(rig, lease, "running")
    await rig.inside(lease, "touch /go")
    await finished(rig, lease)
    handle = await rig.handle(lease)
    assert (handle.phase, handle.ended_with, handle.exit_code) == ("finished", 3, 3)
    assert handle.reason == "The command has ended with 3."
    assert not handle.closes_when_done
    assert (await rig.lease(lease)).state is LeaseState.ACTIVE
    await give(rig, lease)  # and one that comes late is not too late
    await rig.reaches(lease, LeaseState.ENDED)


@pytest.mark.slow
async def test_what_would_not_pass_is_not_kept(rig: Rig) -> None:
    """Nor what could close another lease, or stand in the row of the account's other signatures."""
    mine = await rig.open(rig.workload(grace=0))
    await rig.until(lambda: rig.host.leases.folder(mine).load().workload)
    workload = bytes.fromhex(rig.host.leases.folder(mine).load().workload)
    row = closing_key(rig.chain.deployment.controller, mine) << 64
    wrong = {
        "another lease": await order_of(rig, mine + (1 << 16)),
        "a stranger's": await order_of(rig, mine, signer=rig.chain.signer(OTHER)),
        "a stranger's account": await order_of(
            rig, mine, account=rig.chain.address(OTHER), signer=rig.chain.signer(OTHER)
        ),
        "another pool": await order_of(rig, mine, controller=rig.chain.deployment.accounts),
        "past its time": await order_of(rig, mine, deadline=rig.chain.anvil.timestamp - 1),
        "the common row": await order_of(rig, mine, nonce=0),
        "a nonce ahead": await order_of(rig, mine, nonce=row + 1),
        "no number": replace(await order_of(rig, mine), nonce=1 << 256),
        "no proof": replace(await order_of(rig, mine), proof=b""),
        "a session's": replace(await order_of(rig, mine), proof=b"\4{}"),
        "another digest": replace(await order_of(rig, mine), deadline=rig.chain.anvil.timestamp + 2 * DAY),
    }
    for what, order in wrong.items():
        aimed = replace(order, lease=mine) if what == "another lease" else order
        with pytest.raises(OrderVoid):
            await rig.runtime.keep_order(mine, aimed, workload)
        assert not rig.host.leases.folder(mine).order.exists(), what
    await give(rig, mine)
    kept = rig.host.leases.folder(mine).order
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


async def test_before_it_is_taken_on_and_where_the_host_does_not_want_it(rig_of: Callable[..., Any]) -> None:
    """No folder comes into being that nobody would clear away."""
    rig: Rig = await rig_of(close_for_tenant=False)
    await rig.stop()
    lease = await rig.open_sealed(seal(job(rig), rig.identity.age_recipient), upload=False)
    order = await order_of(rig, lease)
    with pytest.raises(OrderVoid, match="close it yourself"):
        await rig.runtime.keep_order(lease, order, bytes(32))
    willing = rig.settings.model_copy(update={"close_for_tenant": True})
    rig.host.facts = replace(rig.host.facts, settings=willing)
    with pytest.raises(NoContainer, match="again in a moment"):
        await rig.runtime.keep_order(lease, order, bytes(32))
    assert not rig.host.leases.folder(lease).exists
    await rig.start()


@pytest.mark.parametrize("where", ["before it is sent", "as it is sent"])
@pytest.mark.slow
async def test_an_agent_that_dies_on_the_way_sends_it_the_next_time(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    reached, real = asyncio.Event(), PoolGate.close

    async def dies(gate: PoolGate, order: ClosingOrder, most: int, seen: Block | None) -> bool:
        if where == "as it is sent":
            await real(gate, order, most, seen)
        reached.set()
        return await asyncio.Event().wait()

    with monkeypatch.context() as patched:
        patched.setattr(PoolGate, "close", dies)
        lease = await rig.open(job(rig))
        await give(rig, lease)
        async with asyncio.timeout(240):
            await reached.wait()
        await rig.stop()
    await rig.start()
    await rig.reaches(lease, LeaseState.ENDED)
    assert len([event for event in await on_chain(rig, lease) if isinstance(event, LeaseClosed)]) == 1


@pytest.mark.slow
async def test_two_who_send_it_at_once_close_it_once(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is refused and costs nobody anything but its gas; what is left is not asked for again."""
    lease = await rig.open(job(rig))
    order, real = await order_of(rig, lease), PoolGate._take_off

    async def overtaken(gate: PoolGate, seen: Any) -> None:
        await real(gate, seen)
        with contextlib.suppress(Exception):
            await accounts_of(rig, ANYBODY).execute(
                order.account, order.calls, order.nonce, order.deadline, order.proof
            )

    monkeypatch.setattr(PoolGate, "_take_off", overtaken)
    await give(rig, lease, order)
    await rig.reaches(lease, LeaseState.ENDED)
    await rig.until(lambda: rig.host.leases.folder(lease).load().gone_at is not None)
    await rig.reconciler.settle()
    assert rig.host.leases.folder(lease).load().order_refusals <= 1
    assert len([event for event in await on_chain(rig, lease) if isinstance(event, LeaseClosed)]) == 1
    assert await rig.host.chain.close(order, 10**18)  # as one would whose index is behind: nothing is sent
    with pytest.raises(Exception, match="nonce"):
        await accounts_of(rig, ANYBODY).execute(
            order.account, order.calls, order.nonce, order.deadline, order.proof
        )


@pytest.mark.slow
async def test_a_job_that_replaces_it_is_not_closed_by_the_old_word(rig: Rig) -> None:
    """Its own order may come before the agent has seen that it was set."""
    lease = await rig.open(rig.workload(kind="batch", command=["sleep", "600"], grace=0))
    await give(rig, lease)
    await rig.reaches(lease, LeaseState.ACTIVE)
    second = seal(rig.workload(kind="batch", command=["true"], grace=0), rig.identity.age_recipient)
    await rig.host.supplies.uploads.put(digest(second), second)
    await rig.chain.pool(TENANT).set_workload(lease, digest(second))
    await finished(rig, lease)
    assert (await rig.handle(lease)).ended_with == 0
    assert not (await rig.handle(lease)).closes_when_done
    await rig.reconciler.settle()
    assert (await rig.lease(lease)).state is LeaseState.ACTIVE
    third = seal(job(rig), rig.identity.age_recipient)
    await rig.runtime.keep_order(lease, await order_of(rig, lease), digest(third))
    await rig.host.supplies.uploads.put(digest(third), third)
    await rig.chain.pool(TENANT).set_workload(lease, digest(third))
    await rig.reaches(lease, LeaseState.ENDED)


@pytest.mark.slow
async def test_the_former_tenants_word_closes_nothing(rig: Rig) -> None:
    lease = await rig.open(rig.workload(kind="batch", command=["sleep", "600"], grace=0))
    order = await order_of(rig, lease)
    await give(rig, lease, order)
    await rig.reaches(lease, LeaseState.ACTIVE)
    to, until = rig.chain.address(OTHER), rig.chain.anvil.timestamp + DAY
    accepts = AcceptTransfer(account=to, controller=order.controller, lease=lease, deadline=until)
    proof = await sign(accepts, domain_of(rig), rig.chain.signer(OTHER))
    await rig.chain.pool(TENANT).transfer_lease(lease, to, until, proof)
    await rig.until(lambda: rig.host.leases.folder(lease).load().tenant == to)
    assert not rig.host.leases.folder(lease).order.exists()
    assert not await rig.host.chain.close(order, 10**18)
    with pytest.raises(OrderVoid):
        await give(rig, lease, order)
    with pytest.raises(OrderVoid, match="not pass now"):
        await rig.host.chain.close(
            await order_of(rig, lease, account=to, signer=rig.chain.signer(TENANT)), 10**18
        )
    with pytest.raises(Exception, match=rig.chain.address(TENANT)):
        await accounts_of(rig, ANYBODY).execute(
            order.account, order.calls, order.nonce, order.deadline, order.proof
        )
    assert (await rig.lease(lease)).state is LeaseState.ACTIVE


@pytest.mark.slow
async def test_it_is_taken_back_by_its_nonce_and_waits_for_no_other(rig: Rig) -> None:
    """Other signatures of the account come and go; one in its row ends it, and the next is as good as the first."""
    lease = await rig.open(job(rig, command=FAILS))
    order = await order_of(rig, lease)
    await give(rig, lease, order)
    await rig.reaches(lease, LeaseState.ACTIVE)
    nothing = Call(domain_of(rig).verifying_contract, AccountsContract.encode(
        "setDelegate", order.controller, "0x" + "00" * 20, 0, 0, 0
    ))  # fmt: skip

    async def spend(nonce: int) -> None:
        message = Execute(account=order.account, calls=(nothing,), nonce=nonce, deadline=order.deadline)
        proof = await sign(message, domain_of(rig), rig.chain.signer(TENANT))
        await accounts_of(rig, ANYBODY).execute(order.account, (nothing,), nonce, order.deadline, proof)

    assert not await rig.host.chain.close(replace(order, nonce=0), 10**18)  # of another row: it never will
    await spend(0)
    assert await rig.host.chain.stands(order)
    await spend(order.nonce)
    await rig.inside(lease, "touch /go")
    await rig.until(lambda: not rig.host.leases.folder(lease).order.exists())
    assert (await rig.lease(lease)).state is LeaseState.ACTIVE
    assert not await rig.host.chain.close(order, 10**18)
    await give(rig, lease)
    await rig.reaches(lease, LeaseState.ENDED)


@pytest.mark.slow
async def test_it_is_as_good_for_a_lease_that_is_longer_and_smaller(rig: Rig) -> None:
    lease = await rig.open(job(rig, command=FAILS))
    await give(rig, lease)
    await rig.reaches(lease, LeaseState.ACTIVE)
    await reaches(rig, lease, "running")
    await rig.chain.pool(TENANT).extend(lease, 7_200)
    await rig.chain.pool(TENANT).resize(lease, 4)
    await rig.inside(lease, "touch /go")
    await rig.reaches(lease, LeaseState.ENDED)
    assert (await rig.handle(lease)).ended_with == 3


@pytest.mark.slow
async def test_a_reorganisation_that_takes_the_end_away_is_closed_again(rig: Rig) -> None:
    lease = await rig.open(job(rig))
    await finished(rig, lease)
    state = rig.chain.anvil.request("evm_snapshot")
    await give(rig, lease)
    await rig.reaches(lease, LeaseState.ENDED)
    await rig.until(lambda: rig.host.leases.folder(lease).load().gone_at is not None)
    rig.chain.anvil.request("evm_revert", state)
    rig.chain.anvil.mine()
    await rig.reaches(lease, LeaseState.ENDED)


@pytest.mark.slow
async def test_the_operators_own_duties_come_first(rig: Rig) -> None:
    """Neither the last of its gas nor a dear block is spent on a tenant's close: it waits, and is made up for."""
    lease, operator = await rig.open(job(rig)), rig.identity.operator.address
    await finished(rig, lease)
    order = await order_of(rig, lease)
    with pytest.raises(GasKept, match="close_cost"):
        await rig.host.chain.close(order, 1)
    rich = int(rig.chain.anvil.request("eth_getBalance", operator, "latest"), 16)
    gas = await rig.host.chain.gas()  # type: ignore[attr-defined]  # the gate of the agent
    rig.chain.anvil.request("anvil_setBalance", operator, hex(gas.kept + 3 * 154_000 * gas.gas_price))
    with pytest.raises(GasKept):
        await rig.host.chain.close(order, 10**18)
    await give(rig, lease, order)

    async def told() -> bool:
        return "for leases that begin" in ((await rig.handle(lease)).reason or "")

    await rig.until(told)
    assert (await rig.lease(lease)).state is LeaseState.ACTIVE
    rig.chain.anvil.request("anvil_setBalance", operator, hex(rich))
    await rig.reaches(lease, LeaseState.ENDED)


@pytest.mark.slow
async def test_many_at_once_spend_no_more_than_one_by_one(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would find the same balance. Two that end at once, by groups of contracts that burn what they may, would
    take all that is kept for answers; and so would as many leases that begin at once.
    """
    lease = await rig.open(job(rig))
    await finished(rig, lease)
    order, gate = await order_of(rig, lease), rig.host.chain
    assert isinstance(gate, PoolGate)
    gas, begun = await gate.gas(), asyncio.Event()
    needs, sent, most = closing_gas(order.proof) + 5 * 154_000, list[None](), 1

    async def told() -> GasState:
        return replace(gas, balance=gas.kept + needs * gas.gas_price)

    async def sends(*_: object) -> None:
        sent.append(None)
        assert len(sent) <= most, "there was no gas for it"
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(gate, "gas", told)
    monkeypatch.setattr(PoolGate, "_take_off", sends)
    first = asyncio.ensure_future(gate.close(order, 10**18))
    await begun.wait()
    with pytest.raises(GasKept):
        await gate.close(order, 10**18)
    most += 5  # for which it is kept free
    monkeypatch.setattr(gate._pool, "publish_result", sends)
    others = [asyncio.ensure_future(gate.publish(rig.host.snapshot.leases[lease], b"cid")) for _ in range(6)]
    done, _ = await asyncio.wait(others, return_when=asyncio.FIRST_EXCEPTION)
    assert [type(one.exception()) for one in done] == [GasKept]
    for task in (first, *others):
        task.cancel()
    await asyncio.gather(first, *others, return_exceptions=True)
    monkeypatch.undo()
    assert await gate.close(order, 10**18)  # what has ended is counted no more


@pytest.mark.parametrize(
    ("proof", "judges"),
    [(b"\1" + bytes(65), 0), (b"\2" + bytes(9), 1)],
    ids=["a key", "a contract"],
)
@pytest.mark.slow
def test_what_closing_can_burn_is_known_before(proof: bytes, judges: int) -> None:
    """A contract that judges a signature may burn a million, and another amount in the next block."""
    assert closing_gas(proof) == GAS_PER_CLOSING + judges * GAS_PER_JUDGE


@pytest.mark.slow
def test_what_a_group_of_contracts_can_burn_is_known_before() -> None:
    signers = tuple("0x" + f"{number:040x}" for number in range(1, 17))
    group = Group(16, signers)
    proof = GroupProof(group, tuple((place, Proof(ProofKind.ERC1271, b"x")) for place in range(16)))
    assert closing_gas(proof.encode()) == GAS_PER_CLOSING + 16 * GAS_PER_JUDGE
    dear = closing_gas(proof.encode()) * 10**9  # at a gwei
    assert dear > AgentSettings.model_fields["close_cost"].default


@pytest.mark.parametrize("hangs", [False, True], ids=["it fails", "it never comes back"])
@pytest.mark.slow
async def test_results_that_never_get_out_do_not_hold_the_bill(rig: Rig, hangs: bool) -> None:
    """It is closed when they had their time, and they are published out of what is kept."""
    stuck, real = asyncio.Event(), rig.host.supplies.pack
    late = time.monotonic

    async def never(*_: object) -> str | None:
        stuck.set()
        if hangs:
            await asyncio.Event().wait()
        raise DatasetError("the node does not answer")

    object.__setattr__(rig.host.supplies, "pack", never)
    lease = await rig.open(job(rig))
    await give(rig, lease)
    async with asyncio.timeout(240):
        await stuck.wait()
    assert (await rig.lease(lease)).state is LeaseState.ACTIVE
    rig.host.clock = lambda: late() + _reconciler._PUBLISHING_SECONDS
    await rig.reaches(lease, LeaseState.ENDED)
    assert rig.host.leases.folder(lease).load().result is None
    object.__setattr__(rig.host.supplies, "pack", real)
    rig.host.clock = lambda: late() + 2 * _reconciler._PUBLISHING_SECONDS
    await rig.until(lambda: rig.host.leases.folder(lease).load().published)
    assert (await rig.handle(lease)).result_cid is not None


@pytest.mark.slow
async def test_an_outage_is_taken_off_the_bill_before_it_is_paid(rig: Rig) -> None:
    """As the tenant's own close does it: what is paid at the end is paid. One that runs stops the bill by itself."""
    lease = await rig.open(job(rig))
    await finished(rig, lease)
    faults = await rig.host.chain._pool.faults()  # type: ignore[attr-defined]  # the operator's
    began = rig.chain.anvil.timestamp
    await faults.report_outage(rig.machine)
    rig.chain.anvil.advance(600)
    await faults.recover(rig.machine)
    rig.chain.anvil.advance(60)
    rig.chain.anvil.mine()

    async def known() -> bool:
        found = await rig.host.chain._index.faults(machine=rig.machine)  # type: ignore[attr-defined]
        return bool(found) and found[0].to > began

    await rig.until(known)
    await give(rig, lease)
    await rig.reaches(lease, LeaseState.ENDED)
    (closed,) = [event for event in await on_chain(rig, lease) if isinstance(event, LeaseClosed)]
    end = await rig.lease(lease)
    billed = (closed.paid + closed.fee) * 3_600 // TERMS.price
    assert end.end - end.start - 620 <= billed <= end.end - end.start - 595


@pytest.mark.slow
async def test_an_outage_that_runs_stops_the_bill_and_not_the_close(rig: Rig) -> None:
    lease = await rig.open(job(rig))
    await finished(rig, lease)
    faults = await rig.host.chain._pool.faults()  # type: ignore[attr-defined]  # the operator's
    await faults.report_outage(rig.machine)
    down = (await rig.chain.pool().machine_of(rig.machine)).down_since
    rig.chain.anvil.advance(600)
    rig.chain.anvil.mine()
    await give(rig, lease)
    await rig.reaches(lease, LeaseState.ENDED)
    (closed,) = [event for event in await on_chain(rig, lease) if isinstance(event, LeaseClosed)]
    start = (await rig.lease(lease)).start
    assert closed.paid + closed.fee == TERMS.price * (down - start) // 3_600


@pytest.mark.slow
async def test_who_has_been_refused_too_often_gives_no_other(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A contract that judges signatures may call each good until it is mined. What the chain has refused three times,
    and the operator paid for, is not paid for a fourth time because its tenant has handed it over once more.
    """
    refused: list[ClosingOrder] = []

    async def reverts(gate: PoolGate, order: ClosingOrder, most: int, seen: Block | None) -> bool:
        refused.append(order)
        raise TransactionFailed("0x" + "00" * 32)

    monkeypatch.setattr(PoolGate, "close", reverts)
    lease = await rig.open(job(rig))
    await give(rig, lease)
    await rig.until(lambda: not rig.host.leases.folder(lease).order.exists())
    assert len(refused) == 3
    with pytest.raises(OrderVoid, match="too often"):
        await give(rig, lease)
    second = seal(rig.workload(kind="batch", command=["true"], grace=0), rig.identity.age_recipient)
    await rig.host.supplies.uploads.put(digest(second), second)
    await rig.chain.pool(TENANT).set_workload(lease, digest(second))
    await rig.until(lambda: rig.host.leases.folder(lease).load().workload == digest(second).hex())
    with pytest.raises(OrderVoid, match="too often"):  # another job makes it no other
        await give(rig, lease)
    assert not rig.host.leases.folder(lease).order.exists()


@pytest.mark.slow
async def test_what_it_costs_the_operator(rig: Rig) -> None:
    """Within what is kept free for it: a wallet's order, and a first balance for either side."""
    lease = await rig.open(job(rig))
    await finished(rig, lease)
    order = await order_of(rig, lease)
    receipt = await accounts_of(rig, ANYBODY).execute(
        order.account, order.calls, order.nonce, order.deadline, order.proof
    )
    assert 80_000 < receipt.gas_used < GAS_PER_CLOSING // 2

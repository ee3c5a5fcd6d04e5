"""Purses on the real contracts: what whoever has all the signatures can do with them, and what he cannot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from devnet.pool import PoolChain
from devnet.purses import FEE, HOUR, PAYEE, RENTER, UNIT, PurseScene
from leasehold.chain import PURSE_RETURNS, Call, LeasePurse, LeaseState, LocalSigner
from leasehold.chain.typed import AcceptTransfer, Domain, Execute, sign
from leasehold.errors import (
    ContractError,
    ExpiredDeadline,
    InsufficientBalance,
    InvalidNonce,
    ProofError,
    WrongState,
)

ACCOMPLICE, PROVIDER = 7, 1
VECTOR = Path(__file__).resolve().parents[2] / "vectors/purse.json"
NUMBERS = ("lease", "fee", "most")


@pytest.fixture
async def scene(chain: PoolChain) -> PurseScene:
    return await PurseScene.opened(chain)


async def ledgers(scene: PurseScene, accounts: Sequence[str]) -> list[int]:
    return [await scene.chain.pool().balance_of(account) for account in accounts]


async def test_it_extends_its_lease_and_gives_back_the_rest(scene: PurseScene) -> None:
    """Each extension costs what the lease's price says and its fee, and what is left is what was reckoned."""
    signed = await scene.signed()
    purse, end = signed.purse, (await scene.now()).end
    signed.check(scene.domain)
    (before,) = await ledgers(scene, [scene.tenant])
    await scene.fund(purse)
    assert await scene.holds(purse) == purse.whole == 3 * (2 * UNIT + FEE)
    await scene.send(signed.extension(scene.domain, 0))
    assert (await scene.now()).end == end + HOUR
    assert await scene.holds(purse) == purse.left(1)
    await scene.send(signed.going_back(scene.domain, 1))
    assert await scene.holds(purse) == 0
    after = await ledgers(scene, [scene.tenant, scene.chain.address(PAYEE)])
    assert after == [before - 2 * UNIT - 2 * FEE, 2 * FEE]


async def test_sent_all_at_once_it_is_in_the_lease_and_closing_brings_it_back(scene: PurseScene) -> None:
    """The worst that a gateway can do with all that it holds: it has the fees, and the tenant all the rest."""
    signed = await scene.signed()
    (before,) = await ledgers(scene, [scene.tenant])
    held = (await scene.now()).deposit
    await scene.fund(signed.purse)
    for number in range(3):
        await scene.send(signed.extension(scene.domain, number))
    await scene.chain.pool(RENTER).close(scene.lease)
    provider, tenant = await ledgers(scene, [scene.chain.address(PROVIDER), scene.tenant])
    accrued = before + held - 3 * FEE - tenant
    assert 0 <= accrued < UNIT // 10  # for the seconds that the lease has lasted
    assert provider <= accrued


async def test_no_one_of_them_is_good_twice_or_out_of_turn(scene: PurseScene) -> None:
    signed = await scene.signed()
    await scene.fund(signed.purse)
    with pytest.raises(InvalidNonce):
        await scene.send(signed.extension(scene.domain, 1))
    await scene.send(signed.extension(scene.domain, 0))
    with pytest.raises(InvalidNonce):
        await scene.send(signed.extension(scene.domain, 0))
    await scene.send(signed.going_back(scene.domain, 2))
    for used in (1, 2):
        with pytest.raises(InvalidNonce):
            await scene.send(signed.going_back(scene.domain, used))


async def test_more_than_the_purse_has_is_never_spent(scene: PurseScene) -> None:
    """Not after a resize either, when an extension costs twice as much: the tenant's own ledger is out of reach."""
    signed = await scene.signed()
    await scene.fund(signed.purse)
    await scene.chain.pool(RENTER).resize(scene.lease, 16)
    (before,) = await ledgers(scene, [scene.tenant])
    await scene.send(signed.extension(scene.domain, 0))
    with pytest.raises(InsufficientBalance):
        await scene.send(signed.extension(scene.domain, 1))
    assert await ledgers(scene, [scene.tenant]) == [before]


async def test_a_lease_that_was_closed_takes_nothing(scene: PurseScene) -> None:
    signed = await scene.signed()
    await scene.fund(signed.purse)
    await scene.chain.pool(RENTER).close(scene.lease)
    assert (await scene.now()).state is LeaseState.ENDED
    with pytest.raises(WrongState):
        await scene.send(signed.extension(scene.domain, 0))
    assert await scene.holds(signed.purse) == signed.purse.whole
    await scene.send(signed.going_back(scene.domain, 0))
    assert await scene.holds(signed.purse) == 0


async def test_a_lease_that_was_handed_over_takes_no_more_than_the_purse(scene: PurseScene) -> None:
    """The one way to lose it: who has the lease by then has what its closing brings back. So the page says that it is
    to be taken back before, and a gateway that is honest gives it back when it sees the other tenant.
    """
    chain, signed = scene.chain, await scene.signed()
    await scene.fund(signed.purse)
    (before,) = await ledgers(scene, [scene.tenant])
    deadline = await chain.rpc.now() + 600
    acceptance = AcceptTransfer(
        account=chain.address(ACCOMPLICE),
        controller=chain.deployment.controller,
        lease=scene.lease,
        deadline=deadline,
    )
    proof = await sign(acceptance, scene.domain, chain.signer(ACCOMPLICE))
    await chain.pool(RENTER).transfer_lease(scene.lease, chain.address(ACCOMPLICE), deadline, proof)
    for number in range(3):
        await scene.send(signed.extension(scene.domain, number))
    assert await ledgers(scene, [scene.tenant]) == [before]


async def test_after_the_deadline_nothing_of_it_is_good(scene: PurseScene) -> None:
    signed = await scene.signed()
    await scene.fund(signed.purse)
    scene.chain.anvil.set_time(signed.purse.deadline + 1)
    scene.chain.anvil.mine()
    for data in (signed.extension(scene.domain, 0), signed.going_back(scene.domain, 0)):
        with pytest.raises(ExpiredDeadline):
            await scene.send(data)


async def test_the_tenant_alone_takes_it_back_at_any_time(scene: PurseScene) -> None:
    """By the wallet, without the key and without who holds the signatures; what he holds is good for nothing then."""
    chain, signed = scene.chain, await scene.signed()
    purse = signed.purse
    await scene.fund(purse)
    account = scene.account(purse)
    back = Call(chain.deployment.controller, chain.pool().encode("transfer", scene.tenant, purse.whole))
    message = Execute(account=account, calls=(back,), nonce=PURSE_RETURNS << 64, deadline=1 << 40)
    signature = await sign(message, scene.domain, chain.signer(RENTER))
    proof = purse.group.prove(message.digest(scene.domain), {scene.tenant: signature})
    await scene.accounts.execute(account, message.calls, message.nonce, message.deadline, proof)
    assert await scene.holds(purse) == 0
    with pytest.raises(InsufficientBalance):
        await scene.send(signed.extension(scene.domain, 0))
    with pytest.raises(InvalidNonce):
        await scene.send(signed.going_back(scene.domain, 0))


async def test_a_stranger_makes_nothing_else_of_the_signatures(scene: PurseScene) -> None:
    """Another lease, length, fee, payee, tenant or deadline is another message, and mostly another purse."""
    signed = await scene.signed()
    await scene.fund(signed.purse)
    thief = scene.chain.address(ACCOMPLICE)
    for other in (
        {"lease": scene.lease + 1},
        {"seconds": HOUR + 1},
        {"fee": FEE + 1},
        {"payee": thief},
        {"tenant": thief},
        {"most": 3 * UNIT},
        {"deadline": signed.purse.deadline + 1},
        {"count": 2},
        {"key": thief},
    ):
        swapped = replace(signed, purse=replace(signed.purse, **other))
        with pytest.raises(ProofError):
            swapped.check(scene.domain)
    stolen = Call(
        scene.chain.deployment.controller, scene.chain.pool().encode("withdraw", thief, signed.purse.whole)
    )
    message = Execute(account=scene.account(signed.purse), calls=(stolen,), nonce=0, deadline=1 << 40)
    proof = b"\x03" + signed.purse.group.encode() + b"\x00\x01" + signed.extensions[0]
    with pytest.raises(ContractError):
        await scene.accounts.execute(message.account, message.calls, 0, message.deadline, proof)


async def test_purses_are_the_browsers() -> None:
    """Account and messages of a committed one, which the app's tests make too: money in one would be lost else."""
    vector = json.loads(VECTOR.read_text())
    said = {name: int(value) if name in NUMBERS else value for name, value in vector["purse"].items()}
    purse, domain = LeasePurse(**said), Domain(vector["chain"], vector["accounts"])
    assert purse.group.address(vector["accounts"]) == vector["account"]
    assert str(purse.whole) == vector["whole"]
    signed = await purse.signed(domain, LocalSigner(vector["secret"]))
    signed.check(domain)
    for made, message, kind in (
        (signed.extensions, purse.extension, "extensions"),
        (signed.returns, purse.going_back, "returns"),
    ):
        for number, known in enumerate(vector[kind]):
            assert "0x" + message(domain, number).digest(domain).hex() == known["digest"]
            assert "0x" + made[number].hex() == known["signature"]
    others = (replace(purse, lease=8 << 16), replace(purse, controller="0x" + "5E" * 20))
    assert len({other.group.address(vector["accounts"]) for other in (purse, *others)}) == 3

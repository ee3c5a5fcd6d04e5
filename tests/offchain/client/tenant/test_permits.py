"""What a plan takes is approved by a signature that goes along with it: one transaction, and no allowance left."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from leasehold import Approve, Extend, Extended, PoolClient
from leasehold.chain import Pool, Token
from leasehold.chain._permit import sign_permit
from leasehold.chain._token import _encode
from leasehold.errors import ContractError

from .conftest import OTHER, RENTER, World

PERMIT = "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)"


async def nonce(client: PoolClient) -> int:
    return int(await client.rpc.call("eth_getTransactionCount", [client.account, "latest"]), 16)


async def names(client: PoolClient, lease: int) -> list[str]:
    plan = await client.plan(Extend(lease, 3_600))
    return [type(step).__name__ async for step in client.steps(plan, approve=True)]


async def test_it_goes_along_in_one_transaction(world: World) -> None:
    async with world.acting(RENTER) as client:
        await client.carry_out(Approve("0"))
        before, end = await nonce(client), (await client.pool.lease_of(world.lease)).end
        held = await client.token.balance(client.account)
        plan = await client.plan(Extend(world.lease, 3_600))
        assert plan.payment.approve
        extended = await client.carry_out(plan, approve=True)
        assert isinstance(extended, Extended)
        assert await nonce(client) == before + 1
        assert (await client.pool.lease_of(world.lease)).end == end + 3_600
        assert held - await client.token.balance(client.account) == plan.payment.pulled
        assert await client.token.allowance(client.account, client.pool.address) == 0
        assert await client.pool.balance_of(client.account) == 0


async def test_somebody_who_sends_it_first_spoils_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A permit in the mempool is anybody's to send: then the allowance is there."""
    async with world.acting(RENTER) as client:
        await client.carry_out(Approve("0"))
        send = client.sender._sender.send  # type: ignore[union-attr]

        async def overtaken(to: str, data: bytes = b"", value: int = 0) -> Any:
            permit = Pool.parts(data)[0]
            deposited = Pool._function("depositWithPermit").arguments(permit)
            async with world.acting(OTHER) as thief:
                assert thief.sender is not None
                words = (
                    client.account, client.pool.address, deposited["amount"], deposited["deadline"],
                    deposited["v"], deposited["r"], deposited["s"],
                )  # fmt: skip
                await thief.sender.send(client.token.address, _encode(PERMIT, words))
            return await send(to, data, value)

        monkeypatch.setattr(client.sender._sender, "send", overtaken)  # type: ignore[union-attr]
        assert await names(client, lease=world.lease) == ["Extended"]


async def test_a_token_without_permits_is_approved(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def another(self: Token) -> bytes:
        return b"\x01" * 32

    monkeypatch.setattr(Token, "domain_separator", another)
    async with world.acting(RENTER) as client:
        await client.carry_out(Approve("0"))
        assert await names(client, lease=world.lease) == ["Approved", "Extended"]


async def test_a_plan_that_fails_leaves_none_waiting(world: World) -> None:
    """What was signed for one plan goes with no other."""
    async with world.acting(RENTER) as client:
        await client.carry_out(Approve("0"))
        plan = await client.plan(Extend(world.lease, 3_600))
        world.advance(3 * 7_200)
        with pytest.raises(ContractError):
            await client.carry_out(plan, approve=True)
        assert await client.token.allowance(client.account, client.pool.address) == 0
        sent = await client.carry_out(Approve("1"))
        assert sent.amount == 10**18
        assert client.sender._waiting is None  # type: ignore[union-attr]


async def test_only_the_pool_can_be_permitted_by_it(world: World) -> None:
    """The signature names whom it is for: for nobody else is it good."""
    async with world.acting(RENTER) as client:
        signed = await sign_permit(
            client.token,
            client.wallet,
            client.pool.address,
            5,
            chain_id=client.deployment.chain_id,
            deadline=2**40,
        )
        assert signed is not None
        async with world.acting(OTHER) as thief:
            assert thief.sender is not None
            words = (client.account, thief.account, 5, 2**40, *signed)
            with pytest.raises(ContractError):
                await thief.sender.send(client.token.address, _encode(PERMIT, words))


async def test_two_plans_at_once_have_a_permit_each(world: World) -> None:
    """A token counts permits: two that were signed at once would have one number, and the second would be void."""
    async with world.acting(RENTER) as client:
        await client.carry_out(Approve("0"))
        end = (await client.pool.lease_of(world.lease)).end
        done = await asyncio.gather(*(names(client, lease=world.lease) for _ in range(3)))
        assert done == [["Extended"]] * 3
        assert (await client.pool.lease_of(world.lease)).end == end + 3 * 3_600
        assert await client.token.allowance(client.account, client.pool.address) == 0

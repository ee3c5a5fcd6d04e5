"""What was decided from one look is sent once, however many with the same wallet have looked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from devnet.anvil import Anvil
from leasehold.chain import LocalSigner, Rpc, Sender, TurnTaken, free_nonce, turn

SINK = "0x00000000000000000000000000000000000F1001"


@pytest.fixture
def anvil() -> Iterator[Anvil]:
    """Blocks come when the test says so."""
    with Anvil(args=["--no-mining"]) as chain:
        yield chain


@pytest.fixture
async def rpc(anvil: Anvil) -> AsyncIterator[Rpc]:
    async with Rpc([anvil.url]) as client:
        yield client


async def until_sent(rpc: Rpc, account: str) -> None:
    while await free_nonce(rpc, account) is not None:  # noqa: ASYNC110 - the node tells nobody
        await asyncio.sleep(0.01)


async def test_of_two_that_decided_the_same_one_sends(anvil: Anvil, rpc: Rpc) -> None:
    signer = LocalSigner(anvil.accounts[0].key)
    nonce = await free_nonce(rpc, signer.address)
    assert nonce == 0

    async def decided() -> None:
        with turn(signer.address, nonce):
            await Sender(rpc, signer, poll=0.01).send(SINK, value=1)

    first = asyncio.create_task(decided())
    await until_sent(rpc, signer.address)
    assert await free_nonce(rpc, signer.address) is None  # and whoever looks now waits
    with pytest.raises(TurnTaken):
        await decided()
    anvil.mine()
    await first
    with pytest.raises(TurnTaken):  # late, too
        await decided()
    assert await free_nonce(rpc, signer.address) == 1
    assert int(anvil.request("eth_getBalance", SINK, "latest"), 16) == 1


async def test_both_at_once_on_two_nodes_pools(anvil: Anvil, rpc: Rpc) -> None:
    """Each node may have taken one of them: when the other is mined, this one is not sent anew."""
    signer, made = LocalSigner(anvil.accounts[0].key), asyncio.Event()

    class Slow(LocalSigner):
        async def sign_transaction(self, transaction):  # type: ignore[no-untyped-def]
            await made.wait()
            return await super().sign_transaction(transaction)

    async def late() -> None:
        with turn(signer.address, 0):
            await Sender(rpc, Slow(anvil.accounts[0].key), poll=0.01, lost_after=0.0).send(SINK, value=1)

    waiting = asyncio.create_task(late())
    sending = asyncio.create_task(Sender(rpc, signer, poll=0.01).send(SINK, value=2))
    await until_sent(rpc, signer.address)
    made.set()
    anvil.mine()
    await sending
    with pytest.raises(TurnTaken):
        await waiting
    assert int(anvil.request("eth_getBalance", SINK, "latest"), 16) == 2


async def test_a_turn_holds_for_several_and_for_its_account_alone(anvil: Anvil, rpc: Rpc) -> None:
    anvil.request("evm_setAutomine", True)
    signer, other = LocalSigner(anvil.accounts[0].key), LocalSigner(anvil.accounts[1].key)
    with turn(signer.address.lower(), 0):
        for value in (1, 2):
            await Sender(rpc, signer, poll=0.01).send(SINK, value=value)
        await Sender(rpc, other, poll=0.01).send(SINK, value=4)
    await Sender(rpc, signer, poll=0.01).send(SINK, value=8)
    assert int(anvil.request("eth_getBalance", SINK, "latest"), 16) == 15

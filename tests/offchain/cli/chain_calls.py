"""What tests do on the chain without the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from eth_abi.abi import encode
from eth_utils.crypto import keccak

from leasehold.chain import LocalSigner, Rpc, Sender

from .conftest import Pool


def send_tokens(pool: Pool, account: int, to: str, whole: int) -> None:
    """Send whole tokens straight to an address, as somebody does who takes it for a wallet's."""
    data = keccak(text="transfer(address,uint256)")[:4] + encode(
        ["address", "uint256"], [to, whole * 10**pool.deployment.token_decimals]
    )

    async def send() -> None:
        async with Rpc([pool.anvil.url]) as rpc:
            sender = Sender(rpc, LocalSigner(pool.anvil.accounts[account].key), poll=0.01)
            await sender.send(pool.deployment.token, data)

    asyncio.run(send())


@contextmanager
def unmined(pool: Pool, account: str) -> Iterator[None]:
    """A transaction of the account waits to be mined, and is mined in the end."""

    pool.anvil.request("evm_setAutomine", False)
    pool.anvil.request("eth_sendTransaction", {"from": account, "to": account, "value": "0x0"})
    try:
        yield
    finally:
        pool.anvil.request("evm_mine")
        pool.anvil.request("evm_setAutomine", True)

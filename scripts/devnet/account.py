"""Somebody with a key who acts through the SDK, one transaction at a time. Methods block."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import TypeVar

from devnet.world import World
from leasehold.chain import (
    AccountsContract,
    Committee,
    Deployment,
    Faults,
    LocalSigner,
    Pool,
    Rpc,
    Sender,
    Token,
)

T = TypeVar("T")
TOKEN = 10**18


class Account:
    """An account in a world, with gas money, `tokens` whole tokens in its wallet, and the pool allowed to take them."""

    def __init__(self, world: World, signer: LocalSigner | None = None, *, tokens: int = 0) -> None:
        self.world = world
        self.key = "0x" + secrets.token_hex(32)  # of an account of its own, where no other's is given
        self.signer = signer or LocalSigner(self.key)
        self.address = self.signer.address
        self.deployment = Deployment.load(world.deployment)
        world.fund(self.address, tokens=tokens)
        if tokens:
            self.token(lambda token: token.approve(self.deployment.controller, 10**30))

    # What `act` gives, with a binding and this account's key.

    def pool(self, act: Callable[[Pool], Awaitable[T]]) -> T:
        return self._with(lambda rpc: act(self._pool(rpc)))

    def faults(self, act: Callable[[Faults], Awaitable[T]]) -> T:
        async def go(rpc: Rpc) -> T:
            return await act(await self._pool(rpc).faults())

        return self._with(go)

    def committee(self, act: Callable[[Committee], Awaitable[T]]) -> T:
        async def go(rpc: Rpc) -> T:
            return await act(await self._pool(rpc).committee())

        return self._with(go)

    def accounts(self, act: Callable[[AccountsContract], Awaitable[T]]) -> T:
        return self._with(lambda rpc: act(AccountsContract(rpc, self.deployment.accounts, self._sender(rpc))))

    def token(self, act: Callable[[Token], Awaitable[T]]) -> T:
        return self._with(lambda rpc: act(Token(rpc, self.deployment.token, self._sender(rpc))))

    # Money

    def deposit(self, tokens: int, to: str | None = None) -> None:
        """Whole tokens out of the wallet into somebody's ledger, by default this account's."""
        self.pool(lambda pool: pool.deposit(to or self.address, tokens * TOKEN))

    def ledger(self, account: str | None = None) -> int:
        return self.pool(lambda pool: pool.balance_of(account or self.address))

    def wealth(self) -> int:
        """What it has in the wallet and in the pool's ledger."""
        return self.token(lambda token: token.balance(self.address)) + self.ledger()

    def _with(self, act: Callable[[Rpc], Awaitable[T]]) -> T:
        async def go() -> T:
            async with Rpc([self.world.anvil.url]) as rpc:
                return await act(rpc)

        return asyncio.run(go())

    def _pool(self, rpc: Rpc) -> Pool:
        return Pool(rpc, self.deployment, self._sender(rpc))

    def _sender(self, rpc: Rpc) -> Sender:
        return Sender(rpc, self.signer, poll=0.02)

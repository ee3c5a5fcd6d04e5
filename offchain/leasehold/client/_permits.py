"""A permit that goes along: what a plan takes is approved by a signature, in the transaction that takes it."""

from __future__ import annotations

import asyncio

from leasehold.chain import Pool, Receipt, Sends, Signer, Token, sign_permit
from leasehold.market import Payment

_LIFETIME = 1200
"""Seconds in which it has to be mined. One that is never sent lets the pool take what its own sender asks it to, and
nothing else."""


class WithPermit:
    """Sends for a wallet. Once a permit waits, the next call to the pool takes it along: both happen, or neither.

    A token counts permits, so one waits at a time: who wants the next is asked to sign when the one before was mined.
    """

    def __init__(self, sender: Sends, signer: Signer, pool: Pool, token: Token) -> None:
        self._sender = sender
        self._signer = signer
        self._pool = pool
        self._token = token
        self._turn = asyncio.Lock()
        self._whose: object | None = None
        self._waiting: bytes | None = None

    @property
    def address(self) -> str:
        """The wallet's account."""
        return self._sender.address

    async def permit(self, whose: object, payment: Payment) -> bool:
        """Sign for what a plan takes from the wallet; `False` where the token takes no such signature."""
        await self._turn.acquire()
        self._whose = whose
        try:
            self._waiting = await self._signed(payment)
        finally:
            if self._waiting is None:
                self.forget(whose)
        return self._waiting is not None

    def forget(self, whose: object) -> None:
        """That plan is over: what still waits of it belongs to no other call."""
        if self._whose is whose and whose is not None:
            self._whose = self._waiting = None
            self._turn.release()

    async def send(self, to: str, data: bytes = b"", value: int = 0) -> Receipt:
        """As `Sends`."""
        if self._waiting is None or to != self._pool.address or not data or value:
            return await self._sender.send(to, data, value)
        permit, whose, self._waiting = self._waiting, self._whose, None
        try:
            return await self._sender.send(
                to, self._pool.encode("multicall", [permit, *self._pool.parts(data)]), value
            )
        finally:
            self.forget(whose)

    async def _signed(self, payment: Payment) -> bytes | None:
        deadline = await self._pool.now() + _LIFETIME
        signed = await sign_permit(
            self._token, self._signer, self._pool.address, payment.pulled,
            chain_id=self._pool.deployment.chain_id, deadline=deadline,
        )  # fmt: skip
        if signed is None:
            return None
        return self._pool.encode("depositWithPermit", self.address, payment.pulled, deadline, *signed)

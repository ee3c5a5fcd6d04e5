"""A permit that goes along: what a plan takes is approved by a signature, in the transaction that takes it."""

from __future__ import annotations

from leasehold.chain import Pool, Receipt, Sends, Signer, Token, sign_permit
from leasehold.market import Payment

_LIFETIME = 1200
"""Seconds in which it has to be mined. One that is never sent lets the pool take what its own sender asks it to, and
nothing else."""


class WithPermit:
    """Sends for a wallet. Once a permit waits, the next call to the pool takes it along: both happen, or neither."""

    def __init__(self, sender: Sends, signer: Signer, pool: Pool, token: Token) -> None:
        self._sender = sender
        self._signer = signer
        self._pool = pool
        self._token = token
        self._waiting: bytes | None = None

    @property
    def address(self) -> str:
        """The wallet's account."""
        return self._sender.address

    async def permit(self, payment: Payment) -> bool:
        """Sign for what the payment takes from the wallet; `False` where the token takes no such signature."""
        deadline = await self._pool.now() + _LIFETIME
        signed = await sign_permit(
            self._token, self._signer, self._pool.address, payment.pulled,
            chain_id=self._pool.deployment.chain_id, deadline=deadline,
        )  # fmt: skip
        if signed is None:
            return False
        self._waiting = self._pool.encode(
            "depositWithPermit", self.address, payment.pulled, deadline, *signed
        )
        return True

    def forget(self) -> None:
        """The plan is over: what waits still belongs to no other call."""
        self._waiting = None

    async def send(self, to: str, data: bytes = b"", value: int = 0) -> Receipt:
        """As `Sends`."""
        if self._waiting is not None and to == self._pool.address and data and not value:
            permit, self._waiting = self._waiting, None
            data = self._pool.encode("multicall", [permit, *self._pool.parts(data)])
        return await self._sender.send(to, data, value)

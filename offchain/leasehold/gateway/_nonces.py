"""Nonces of the gateway's own making: nothing is kept of one that nobody used, so that asking for them costs nothing.

A nonce is the time it was made, 16 random bytes and the keyed hash (HMAC-SHA-256) of both, in hexadecimal. That it was
used is kept until it is too old.
"""

from __future__ import annotations

import hmac
import secrets
from typing import Final

from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from leasehold.gateway._gateway_tables import keys, spent_nonces
from leasehold.gateway._refusals import SignInRefused

NONCE_SECONDS: Final = 600
_KEY: Final = "nonces"
_STALE: Final = "The message's nonce is not one that was given out here of late;"


class Nonces:
    """Those of one gateway, whichever of its replicas is asked."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._key: bytes | None = None

    async def issue(self, now: float) -> str:
        """A new one."""
        said = int(now).to_bytes(6) + secrets.token_bytes(16)
        return (said + await self._mac(said)).hex()

    async def check(self, nonce: str, now: float) -> None:
        """Whether it was given out here, not long ago. Raises SignInRefused."""
        try:
            raw = bytes.fromhex(nonce)
        except ValueError:
            raw = b""
        said, mac = raw[:22], raw[22:]
        genuine = nonce == raw.hex() and len(mac) == 16 and hmac.compare_digest(mac, await self._mac(said))
        if not genuine or not 0 <= now - int.from_bytes(said[:6]) + 1 <= NONCE_SECONDS:
            raise SignInRefused(_STALE, "have a new message signed.")

    async def spend(self, nonce: str, now: float) -> None:
        """Uses it up; of two that try at once, one succeeds. Raises SignInRefused."""
        expires = int.from_bytes(bytes.fromhex(nonce)[:6]) + NONCE_SECONDS + 1
        try:
            async with self._engine.begin() as connection:
                await connection.execute(delete(spent_nonces).where(spent_nonces.c.expires_at < int(now)))
                await connection.execute(insert(spent_nonces).values(nonce=nonce, expires_at=expires))
        except IntegrityError:
            raise SignInRefused(
                "This message has signed somebody in already;", "have a new one signed."
            ) from None

    async def _mac(self, said: bytes) -> bytes:
        if self._key is None:
            self._key = await self._shared_key()
        return hmac.digest(self._key, said, "sha256")[:16]

    async def _shared_key(self) -> bytes:
        """The replicas' key, made by whichever comes first."""
        wanted = select(keys.c.value).where(keys.c.name == _KEY)
        async with self._engine.connect() as connection:
            if (value := (await connection.execute(wanted)).scalar()) is not None:
                return bytes(value)
        try:
            async with self._engine.begin() as connection:
                await connection.execute(insert(keys).values(name=_KEY, value=secrets.token_bytes(32)))
        except IntegrityError:
            pass  # another replica was quicker
        async with self._engine.connect() as connection:
            return bytes((await connection.execute(wanted)).scalar_one())

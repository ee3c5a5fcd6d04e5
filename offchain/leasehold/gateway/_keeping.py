"""What is pinned for accounts, how much each may have, and until when. An account is whoever signed in.

A quota counts what is pinned and what an upload has said that it will have, so that nobody fills the disk with uploads
that never end. Two accounts may keep the same CID: it is unpinned when the last of them does not any more.

An account costs nothing to make, so the bounds that hold are those by the caller's network and on strangers together:
accounts that have nothing in the pool never take more than half of the gateway, and the others have the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from sqlalchemy import ColumnElement, Table, case, delete, func, insert, not_, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from leasehold.gateway._gateway_tables import Exclusive, kept, put_row, take_turn, uploads
from leasehold.gateway._limits import CallRates
from leasehold.gateway._refusals import KeepsNoMore, QuotaUsed
from leasehold.rates import RateLimit

KEPT_SECONDS: Final = 30 * 86_400
QUOTA: Final = 20 << 30
SMALL_QUOTA: Final = 64 << 20
"""Of an account that has nothing in the pool: whoever likes makes a million of those."""
ALTOGETHER: Final = 400 << 30
STRANGERS_DAILY: Final = RateLimit(1 << 30, 86_400)
"""Bytes that accounts with nothing in the pool may bring from one network."""
DAILY: Final = RateLimit(64 << 30, 86_400)
"""Bytes that the others may: what opens a quota can be lent from account to account."""

LEAST: Final = 64 << 10
"""Bytes that anything counts as: a pin costs the node more than a byte, and of those whoever likes had millions."""

QuotaOf = Callable[[str], Awaitable[int]]
"""How many bytes an account may keep. Raises ChainError."""


class Pins(Protocol):
    """What the gateway's IPFS node has pinned."""

    async def pin(self, cid: str) -> None: ...

    async def unpin(self, cid: str) -> None: ...


class AccountPins:
    """quota_of: bytes of one account; altogether: of all of them. pins: the node's. now: unix s.
    strangers: bytes of one network's accounts that have nothing in the pool; daily: of its others.
    """

    def __init__(
        self,
        engine: AsyncEngine,
        pins: Pins,
        quota_of: QuotaOf,
        now: Callable[[], float],
        *,
        altogether: int = ALTOGETHER,
        seconds: int = KEPT_SECONDS,
        strangers: RateLimit = STRANGERS_DAILY,
        daily: RateLimit = DAILY,
    ) -> None:
        self._engine = engine
        self._pin, self._unpin = pins.pin, pins.unpin
        self._now = now
        self._quota_of = quota_of
        self._altogether = altogether
        self._seconds = seconds
        self._strangers = CallRates(strangers, now)
        self._daily = CallRates(daily, now)
        self._counting = asyncio.Lock()
        self._pinning = asyncio.Lock()

    async def reserve(self, account: str, size: int, row: dict[str, Any], *, network: str) -> None:
        """Notes an upload of `size` bytes, unless that is more than there is room for. network: the caller's.

        Raises QuotaUsed, KeepsNoMore, TooManyCalls, ChainError.
        """
        quota = await self._quota_of(account)
        async with self._counting, self._engine.begin() as connection:
            await take_turn(connection, Exclusive.QUOTA)
            await self._check_room(connection, account, size, quota, network)
            await connection.execute(insert(uploads).values(**row))

    async def keep(
        self, account: str, cid: str, size: int, pin: Callable[[], Awaitable[object]], *, network: str | None
    ) -> None:
        """Has `pin` pin what has that CID and `size` bytes, for the account. network: the caller's; None for an upload,
        which has its room already.

        Raises what `reserve` does, and what `pin` does.
        """
        if network is not None:
            quota = await self._quota_of(account)
            async with self._counting, self._engine.connect() as connection:
                await self._check_room(connection, account, size, quota, network)
        own = (kept.c.cid == cid) & (kept.c.account == account)
        async with self._pinning:  # or the same CID's end for another account would unpin it meanwhile
            # Noted before it is pinned: a replica that lets it go looks at the notes again after it has unpinned it.
            async with self._engine.begin() as connection:
                known = (await connection.execute(select(kept.c.expires_at).where(own))).scalar()
                until = int(self._now()) + self._seconds
                row = {"cid": cid, "account": account, "size": max(size, LEAST), "expires_at": until}
                await put_row(connection, kept, row)
            try:
                await pin()
            except BaseException:
                if known is None:
                    async with self._engine.begin() as connection:
                        await connection.execute(delete(kept).where(own))
                raise

    async def sweep(self) -> None:
        """Unpins what nobody keeps any more."""
        over = select(kept.c.cid, kept.c.account).where(kept.c.expires_at <= int(self._now()))
        async with self._engine.connect() as connection:
            rows = (await connection.execute(over)).all()
        for cid, account in rows:
            async with self._pinning:
                await self._let_go(cid, account)

    async def _let_go(self, cid: str, account: str) -> None:
        over = (kept.c.account == account) & (kept.c.expires_at <= int(self._now()))
        if not await self._wanted(cid, but=over):
            # Before the note goes: a node that is down is asked again by the next sweep.
            await self._unpin(cid)
            if await self._wanted(cid, but=over):  # another replica has it kept since
                await self._pin(cid)
        async with self._engine.begin() as connection:
            await connection.execute(delete(kept).where(kept.c.cid == cid, over))

    async def _wanted(self, cid: str, *, but: ColumnElement[bool]) -> bool:
        """Whether anybody keeps it, beside one."""
        notes = select(func.count()).select_from(kept).where(kept.c.cid == cid, not_(but))
        async with self._engine.connect() as connection:
            return bool((await connection.execute(notes)).scalar_one())

    async def _check_room(
        self, connection: AsyncConnection, account: str, size: int, quota: int, network: str
    ) -> None:
        stranger, size = quota <= SMALL_QUOTA, max(size, LEAST)
        if await self._used(connection, account) + size > quota:
            raise QuotaUsed(
                f"This account may keep {quota} bytes here;", "remove an upload, or use another gateway."
            )
        if await self._used(connection, None) + size > self._altogether // (2 if stranger else 1):
            raise KeepsNoMore("This gateway keeps as much as it may;", "use another one.")
        (self._strangers if stranger else self._daily).take(network, size)

    async def _used(self, connection: AsyncConnection, account: str | None) -> int:
        sums = 0
        for table, open_ in ((uploads, uploads.c.cid.is_(None)), (kept, True)):
            total = select(func.coalesce(func.sum(_counted(table)), 0)).where(open_)  # type: ignore[arg-type]
            if account is not None:
                total = total.where(table.c.account == account)
            sums += int((await connection.execute(total)).scalar_one())
        return sums


def _counted(table: Table) -> ColumnElement[int]:
    """The bytes that a row counts as."""
    return case((table.c.size < LEAST, LEAST), else_=table.c.size)

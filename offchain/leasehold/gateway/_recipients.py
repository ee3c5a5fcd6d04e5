"""Where accounts want to be told, as the database has it: bounded by account and altogether, and gone when they say so.

What is remembered of each is written by whoever watches, and the rest by its account; neither writes over the other.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import ColumnElement, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from leasehold.gateway._gateway_tables import Exclusive, put_row, recipients, refused_recipients, take_turn
from leasehold.gateway._refusals import Conflicting, KeepsNoMore, QuotaUsed
from leasehold.guarding import AlertKind, AlertRecipient, AlertWishes
from leasehold.home import Remembered

MOST_EACH: Final = 5
"""Of one account."""
ALTOGETHER: Final = 20_000
"""Of which accounts that never had a lease have half at most."""
MOST_TRIES: Final = 5
"""Codes that are tried for one."""
CODE_SECONDS: Final = 86_400
REFUSED_SECONDS: Final = 90 * 86_400


@dataclass(frozen=True)
class HeldRecipient:
    """One of an account's. secret: signs what a webhook gets. site: the gateway's address, for its links. stop: what
    its link has, by which whoever is told ends it. Unix seconds; 0: not yet. failing: why it takes nothing, if so.
    """

    id: str
    account: str
    recipient: AlertRecipient
    secret: str
    site: str
    stop: str
    wishes: AlertWishes
    created_at: int
    confirmed_at: int = 0
    sent_at: int = 0
    failing: str = ""
    remembered: Remembered = Remembered()  # noqa: RUF009  # it is not changed
    revision: int = 0

    @property
    def stops(self) -> dict[str, str]:
        """How what is sent to it says that it can be ended: for people, and for programs that read letters."""
        return {
            "stop": f"{self.site}/#/alerts/stop/{self.stop}",
            "stop_post": f"{self.site}/api/v1/alerts/stop/{self.stop}",
        }


class Recipients:
    """Those of all accounts. `now` is unix seconds, in every call."""

    def __init__(self, engine: AsyncEngine, *, altogether: int = ALTOGETHER) -> None:
        self._engine = engine
        self._altogether = altogether
        self._adding = asyncio.Lock()  # SQLite has no turns to take, and one process

    # --------------------------------------------------------------------------------------------- by its account

    async def check(self, account: str, recipient: AlertRecipient, now: int, *, stranger: bool) -> None:
        """Whether there is room for it. stranger: the account never had a lease.

        Raises Conflicting, QuotaUsed, KeepsNoMore.
        """
        async with self._engine.connect() as connection:
            await self._check(connection, account, recipient.place, now, stranger)

    async def add(self, held: HeldRecipient, code: str, *, stranger: bool) -> None:
        """Keeps it, unconfirmed. Raises as `check`."""
        async with self._adding, self._engine.begin() as connection:
            await take_turn(connection, Exclusive.RECIPIENTS)
            key = held.recipient.place
            await self._check(connection, held.account, key, held.created_at, stranger)
            await connection.execute(insert(recipients).values(_row(held, code)))

    async def of(self, account: str) -> Sequence[HeldRecipient]:
        """An account's, the oldest first."""
        order = recipients.c.created_at, recipients.c.id
        wanted = select(recipients).where(recipients.c.account == account).order_by(*order)
        async with self._engine.connect() as connection:
            return [_held(row) for row in (await connection.execute(wanted)).mappings()]

    async def confirm(self, account: str, recipient: str, code: str, now: int) -> bool:
        """Whether it was the code. Each try counts before it is looked at. Raises Conflicting: no more tries."""
        mine = _mine(account, recipient) & (recipients.c.confirmed_at == 0)
        tried = update(recipients).where(mine, recipients.c.tries < MOST_TRIES)
        async with self._engine.begin() as connection:
            await connection.execute(
                delete(recipients).where(mine, recipients.c.created_at <= now - CODE_SECONDS)
            )
            if not (await connection.execute(tried.values(tries=recipients.c.tries + 1))).rowcount:
                raise Conflicting(
                    "Its code is used, too old, or was tried too often;", "remove it, and add it again."
                )
            known = (await connection.execute(select(recipients.c.code).where(mine))).scalar_one()
        if not hmac.compare_digest(bytes(known), code_digest(recipient, code)):
            return False
        async with self._engine.begin() as connection:
            await connection.execute(update(recipients).where(mine).values(confirmed_at=now, code=b""))
        return True

    async def wish(self, account: str, recipient: str, wishes: AlertWishes) -> bool:
        """What it is told of from now on. Whether there is such a one."""
        async with self._engine.begin() as connection:
            putting = update(recipients).where(_mine(account, recipient)).values(_wishes(wishes))
            return bool((await connection.execute(putting)).rowcount)

    async def remove(self, account: str, recipient: str) -> bool:
        """With all that is remembered of it. Whether there was such a one."""
        async with self._engine.begin() as connection:
            return bool(
                (await connection.execute(delete(recipients).where(_mine(account, recipient)))).rowcount
            )

    async def stop(self, token: str, now: int) -> None:
        """Ends the one whose link has the token. What was never confirmed is asked for nothing more by anybody."""
        named = recipients.c.stop == token
        wanted = select(recipients.c.key, recipients.c.confirmed_at).where(named)
        async with self._engine.begin() as connection:
            row = (await connection.execute(wanted)).one_or_none()
            if row is None:
                return
            await connection.execute(delete(recipients).where(named))
            if not row.confirmed_at:
                until = {"key": row.key, "until": now + REFUSED_SECONDS}
                await put_row(connection, refused_recipients, until)

    # ------------------------------------------------------------------------------------------- by who watches

    async def confirmed(self) -> Sequence[str]:
        """All that may be told."""
        async with self._engine.connect() as connection:
            wanted = select(recipients.c.id).where(recipients.c.confirmed_at > 0)
            return (await connection.execute(wanted)).scalars().all()

    async def get(self, recipient: str) -> HeldRecipient | None:
        """One that may be told."""
        wanted = select(recipients).where(recipients.c.id == recipient, recipients.c.confirmed_at > 0)
        async with self._engine.connect() as connection:
            row = (await connection.execute(wanted)).mappings().one_or_none()
        return None if row is None else _held(row)

    async def remember(self, held: HeldRecipient, fresh: Remembered, **more: Any) -> bool:
        """What is remembered of it from now on, unless another replica was faster, or it is gone. more: columns."""
        same = (recipients.c.id == held.id) & (recipients.c.revision == held.revision)
        values = {"remembered": fresh.written(), "revision": held.revision + 1, **more}
        async with self._engine.begin() as connection:
            return bool((await connection.execute(update(recipients).where(same).values(values))).rowcount)

    async def sweep(self, now: int) -> None:
        """Forgets what nobody has confirmed in time, and who was refused long ago."""
        stale = (recipients.c.confirmed_at == 0) & (recipients.c.created_at <= now - CODE_SECONDS)
        async with self._engine.begin() as connection:
            await connection.execute(delete(recipients).where(stale))
            await connection.execute(delete(refused_recipients).where(refused_recipients.c.until <= now))

    async def _check(
        self, connection: AsyncConnection, account: str, key: str, now: int, stranger: bool
    ) -> None:
        refused = select(func.count()).where(
            refused_recipients.c.key == key, refused_recipients.c.until > now
        )
        if (await connection.execute(refused)).scalar_one():
            raise Conflicting("Whoever has that place wants nothing sent there;", "name another.")
        own = select(recipients.c.key).where(recipients.c.account == account)
        keys = (await connection.execute(own)).scalars().all()
        if key in keys:
            raise Conflicting(
                "This account is told there already;", "remove it first, or have its code brought."
            )
        if len(keys) >= MOST_EACH:
            raise QuotaUsed(f"An account is told at {MOST_EACH} places at most;", "remove one.")
        total = (await connection.execute(select(func.count()).select_from(recipients))).scalar_one()
        if total >= self._altogether // (2 if stranger else 1):
            raise KeepsNoMore("This gateway tells as many as it may;", "use another, or a guard of your own.")


def code_digest(recipient: str, code: str) -> bytes:
    """What is kept of a code."""
    return sha256(f"{recipient} {code}".encode()).digest()


def _mine(account: str, recipient: str) -> ColumnElement[bool]:
    return (recipients.c.account == account) & (recipients.c.id == recipient)


def _wishes(wishes: AlertWishes) -> dict[str, Any]:
    return {"kinds": " ".join(sorted(wishes.kinds)), "before": wishes.before}


def _row(held: HeldRecipient, code: str) -> dict[str, Any]:
    return {
        "id": held.id,
        "account": held.account,
        "key": held.recipient.place,
        "document": held.recipient.model_dump_json(),
        "secret": held.secret,
        "site": held.site,
        "stop": held.stop,
        **_wishes(held.wishes),
        "created_at": held.created_at,
        "confirmed_at": 0,
        "code": code_digest(held.id, code),
        "tries": 0,
        "sent_at": 0,
        "failing": "",
        "remembered": held.remembered.written(),
        "revision": 0,
    }


def _held(row: Mapping[Any, Any]) -> HeldRecipient:
    kinds = frozenset(AlertKind(word) for word in row["kinds"].split())
    return HeldRecipient(
        row["id"],
        row["account"],
        AlertRecipient.model_validate_json(row["document"]),
        row["secret"],
        row["site"],
        row["stop"],
        AlertWishes(kinds, row["before"]),
        row["created_at"],
        row["confirmed_at"],
        row["sent_at"],
        row["failing"],
        Remembered.read(bytes(row["remembered"])),
        row["revision"],
    )

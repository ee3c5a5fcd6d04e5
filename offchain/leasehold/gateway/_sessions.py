"""Sessions of browsers whose account has signed in: an id that only the browser has, and here its hash.

Those of the gateway's own pages lie in a cookie, those of pages elsewhere in the page. Their ids are of two forms, so
that neither ever serves as the other.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncEngine

from leasehold.gateway._gateway_tables import sessions

SESSION_SECONDS: Final = 12 * 3600
PAGE_SECONDS: Final = 4 * 3600
"""Of a page elsewhere, whose scripts can read what a cookie keeps from them."""
MOST_SESSIONS: Final = 16
"""Of one account; one more ends the oldest."""
_ID_BYTES: Final = 32
_PAGE: Final = "leasehold-page-"
COOKIE_ID: Final = re.compile(r"[A-Za-z0-9_-]{43}")
PAGE_ID: Final = re.compile(rf"{_PAGE}[A-Za-z0-9_-]{{43}}")


@dataclass(frozen=True)
class BrowserSession:
    """Who is signed in, from a page of which origin, until when (unix seconds)."""

    account: str
    origin: str
    expires_at: int


class SessionStore:
    """The sessions in a database. `now` is unix seconds, in every call."""

    def __init__(self, engine: AsyncEngine, *, most: int = MOST_SESSIONS) -> None:
        self._engine = engine
        self._most = most

    async def begin(
        self, account: str, origin: str, now: float, *, elsewhere: bool = False, instead_of: str | None = None
    ) -> tuple[str, BrowserSession]:
        """A new session under an id of its own; what the browser had before, `instead_of`, is over. elsewhere: it is of
        a page of another origin than the gateway's.
        """
        token = (_PAGE if elsewhere else "") + secrets.token_urlsafe(_ID_BYTES)
        session = BrowserSession(account, origin, int(now) + (PAGE_SECONDS if elsewhere else SESSION_SECONDS))
        async with self._engine.begin() as connection:
            await connection.execute(delete(sessions).where(sessions.c.expires_at <= int(now)))
            if instead_of is not None:
                await connection.execute(delete(sessions).where(sessions.c.digest == _digest(instead_of)))
            newest_first = sessions.c.created_at.desc(), sessions.c.digest
            kept = select(sessions.c.digest).where(sessions.c.account == account).order_by(*newest_first)
            left_over = (await connection.execute(kept.offset(self._most - 1))).scalars().all()
            await connection.execute(delete(sessions).where(sessions.c.digest.in_(left_over)))
            row = {"digest": _digest(token), "account": account, "origin": origin}
            times = {"created_at": int(now), "expires_at": session.expires_at}
            await connection.execute(insert(sessions).values(**row, **times))
        return token, session

    async def find(self, token: str, now: float) -> BrowserSession | None:
        """The session of that id, while it lasts."""
        columns = sessions.c.account, sessions.c.origin, sessions.c.expires_at
        wanted = select(*columns).where(sessions.c.digest == _digest(token), sessions.c.expires_at > int(now))
        async with self._engine.connect() as connection:
            row = (await connection.execute(wanted)).one_or_none()
        return None if row is None else BrowserSession(*row)

    async def end(self, token: str) -> None:
        """Nobody is signed in by that id any more."""
        async with self._engine.begin() as connection:
            await connection.execute(delete(sessions).where(sessions.c.digest == _digest(token)))


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()

"""What the gateway keeps that no chain can give back: sessions, nonces that were spent, uploads, signatures, and whom
it tells.

Most of it is short-lived. None of the names begins with `chain_`, since those tables are the index's, which may drop
them at any time and fill them anew.

On PostgreSQL several replicas have them together. What two of them may do at once is decided by the database: a row
that both write is put (`put_row`), and what is counted before it is written is counted in turn (`take_turn`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

from sqlalchemy import BigInteger, Column, LargeBinary, MetaData, String, Table, Text, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from leasehold._postgres import async_postgres_engine, postgres_url

metadata: Final = MetaData()

keys = Table(
    "gateway_keys",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("value", LargeBinary, nullable=False),
)
"""What the replicas of one gateway share: the key with which nonces are made."""

spent_nonces = Table(
    "gateway_spent_nonces",
    metadata,
    Column("nonce", String(128), primary_key=True),
    Column("expires_at", BigInteger, nullable=False, index=True),
)
"""Nonces that have signed somebody in. After `expires_at` they count as too old anyway."""

sessions = Table(
    "gateway_sessions",
    metadata,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("account", String(42), nullable=False, index=True),
    Column("origin", String(300), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
)
"""digest: SHA-256 of a session's id, which only its browser has."""


uploads = Table(
    "gateway_uploads",
    metadata,
    Column("id", String(43), primary_key=True),
    Column("account", String(42), nullable=False, index=True),
    Column("name", String(200), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
    Column("cid", String(100), nullable=True),
)
"""Uploads under way, and until they expire those that are done. How far one is, its file says."""

kept = Table(
    "gateway_kept",
    metadata,
    Column("cid", String(100), primary_key=True),
    Column("account", String(42), primary_key=True, index=True),
    Column("size", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
)
"""What the gateway's IPFS node has pinned, and for whom."""


proposals = Table(
    "gateway_proposals",
    metadata,
    Column("digest", String(66), primary_key=True),
    Column("account", String(42), nullable=False, index=True),
    Column("document", Text, nullable=False),
    Column("deadline", BigInteger, nullable=False, index=True),
)
"""What groups are asked to sign, without signatures."""

groups = Table(
    "gateway_groups",
    metadata,
    Column("account", String(42), primary_key=True),
    Column("terms", Text, nullable=False),
)
"""Of whom the groups are that are asked to sign: who wants to know for which he signs reads no proposal of theirs."""

signers = Table(
    "gateway_signers",
    metadata,
    Column("digest", String(66), primary_key=True),
    Column("signer", String(42), primary_key=True, index=True),
)
"""Who may sign which proposal."""

signatures = Table(
    "gateway_signatures",
    metadata,
    Column("digest", String(66), primary_key=True),
    Column("signer", String(42), primary_key=True),
    Column("proofs", Text, nullable=False),
)
"""proofs: of a proposal's messages in turn, in hexadecimal, with spaces between."""


purses = Table(
    "gateway_purses",
    metadata,
    Column("lease", BigInteger, primary_key=True, autoincrement=False),
    Column("tenant", String(42), nullable=False),
    Column("key", String(42), nullable=False),
    Column("document", Text, nullable=False),
)
"""What extends leases out of purses, as their tenants brought it. key: which signed it, and made one of these alone."""


recipients = Table(
    "gateway_recipients",
    metadata,
    Column("id", String(22), primary_key=True),
    Column("account", String(42), nullable=False, index=True),
    Column("key", String(64), nullable=False, index=True),
    Column("document", Text, nullable=False),
    Column("secret", String(64), nullable=False),
    Column("site", String(300), nullable=False),
    Column("stop", String(43), nullable=False, unique=True),
    Column("kinds", String(300), nullable=False),
    Column("before", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("confirmed_at", BigInteger, nullable=False, index=True),
    Column("code", LargeBinary(32), nullable=False),
    Column("tries", BigInteger, nullable=False),
    Column("sent_at", BigInteger, nullable=False),
    Column("failing", String(300), nullable=False),
    Column("remembered", LargeBinary, nullable=False),
    Column("revision", BigInteger, nullable=False),
)
"""Where accounts are told of their leases. key: just this place. confirmed_at: 0 until its code was brought. code:
the hash of that. remembered: what was told, and what waits; of two that write it at once, one finds another revision.
"""

refused_recipients = Table(
    "gateway_refused_recipients",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("until", BigInteger, nullable=False, index=True),
)
"""Places to which nothing may be sent by anybody here."""


class Exclusive(IntEnum):
    """What one replica does at a time."""

    TABLES = 0
    QUOTA = 1
    PROPOSALS = 2
    RECIPIENTS = 3


_TURNS: Final = 0x6C656167
"""The class of the advisory locks that are the gateway's ("leag"); the index has another."""


def state_engine(url: str) -> AsyncEngine:
    """Of the database that has them. Raises SettingsError where its driver is missing."""
    of_server = postgres_url(url)
    return create_async_engine(url) if of_server is None else async_postgres_engine(of_server)


async def create_tables(engine: AsyncEngine) -> None:
    """Makes those that are not there yet."""
    async with engine.begin() as connection:
        await take_turn(connection, Exclusive.TABLES)
        await connection.run_sync(metadata.create_all)


async def take_turn(connection: AsyncConnection, turn: Exclusive) -> None:
    """No other replica's transaction that took the same turn lies between this and the commit."""
    if connection.dialect.name == "postgresql":
        await connection.execute(select(func.pg_advisory_xact_lock(_TURNS, int(turn))))


async def put_row(connection: AsyncConnection, table: Table, row: Mapping[str, Any]) -> None:
    """A row that is new, or takes the place of the one with its key, whoever writes that meanwhile."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    key = [column.name for column in table.primary_key.columns]
    putting = insert(table).values(**row)
    await connection.execute(putting.on_conflict_do_update(index_elements=key, set_=dict(row)))

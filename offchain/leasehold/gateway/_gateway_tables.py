"""What the gateway keeps that no chain can give back: sessions, nonces that were spent, uploads, signatures.

All of it is short-lived. None of the names begins with `chain_`, since those tables are the index's, which may drop
them at any time and fill them anew.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, LargeBinary, MetaData, String, Table, Text
from sqlalchemy.ext.asyncio import AsyncEngine

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


async def create_tables(engine: AsyncEngine) -> None:
    """Makes those that are not there yet."""
    async with engine.begin() as connection:
        await connection.run_sync(metadata.create_all)

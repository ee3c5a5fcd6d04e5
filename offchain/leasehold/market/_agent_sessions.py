"""Throw-away keys for the agents' API: a wallet signs once, and the key works from there.

One file for each account and pool under `$LEASEHOLD_HOME/sessions`, readable by its owner alone. Losing it
costs one more signature; a thief of it can ask agents about the account's leases and run commands in them
until the session ends, and can never move money.
"""

from __future__ import annotations

import asyncio
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import orjson

from leasehold.chain.typed import Domain, Session, SessionKey, TypedDataSigner
from leasehold.errors import TypedDataError
from leasehold.files import write_private
from leasehold.market.wire import OPS

SESSION_SECONDS: Final = 7 * 86_400
_RENEW_BEFORE: Final = 600  # seconds before its end, so that no session ends in the middle of a command


class SessionCache:
    """The sessions kept in `folder`, which is made with mode 0700."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def session(
        self,
        wallet: TypedDataSigner,
        domain: Domain,
        *,
        now: int,
        account: str | None = None,
        ops: Sequence[str] = OPS,
        lifetime: int = SESSION_SECONDS,
    ) -> SessionKey:
        """The kept session of `account` (the wallet's own if left out), or a new one that `wallet` signs.

        `now` is unix seconds, `lifetime` seconds. Raises `WalletError` when the wallet's holder refuses,
        `OSError` when the folder cannot be written.
        """
        account = account or wallet.address
        if (kept := await self.kept(account, domain, now=now, ops=ops)) is not None:
            return kept
        made = await SessionKey.grant(
            account,
            domain,
            wallet,
            private_key=secrets.token_bytes(32),
            ops=ops,
            expires_at=now + lifetime,
        )
        await self.keep(made, domain)
        return made

    async def kept(
        self, account: str, domain: Domain, *, now: int, ops: Sequence[str] = OPS
    ) -> SessionKey | None:
        """The kept session of `account` if it covers `ops` and does not end in the next minutes."""
        kept = await asyncio.to_thread(self._load, account, domain)
        if kept and kept.session.expires_at > now + _RENEW_BEFORE and set(ops) <= set(kept.session.ops):
            return kept
        return None

    async def keep(self, key: SessionKey, domain: Domain) -> None:
        """Keep a session that was made elsewhere, as a group's is. Raises `OSError`."""
        await asyncio.to_thread(self._save, key, domain)

    def forget(self, account: str, domain: Domain) -> None:
        """Delete the session of `account`, if there is one."""
        self._path(account, domain).unlink(missing_ok=True)

    def _path(self, account: str, domain: Domain) -> Path:
        return self._folder / f"{domain.chain_id}-{domain.verifying_contract}-{account}.json".lower()

    def _load(self, account: str, domain: Domain) -> SessionKey | None:
        """The session on disk; None if there is none, it cannot be read, or others could have read it."""
        path = self._path(account, domain)
        try:
            if stat.S_IMODE(path.stat().st_mode) & 0o077:
                path.unlink()
                return None
            document = orjson.loads(path.read_bytes())
            key = SessionKey(
                Session.from_json(document["session"]),
                bytes.fromhex(document["session_proof"]),
                bytes.fromhex(document["private_key"]),
            )
        except (OSError, ValueError, KeyError, TypeError, TypedDataError):
            return None
        mine = (account.lower(), domain.chain_id, domain.verifying_contract)
        session = key.session
        return key if (session.account.lower(), session.chain, session.controller) == mine else None

    def _save(self, key: SessionKey, domain: Domain) -> None:
        document = {
            "session": key.session.to_json(),
            "session_proof": key.session_proof.hex(),
            "private_key": key.private_key.hex(),
        }
        write_private(self._path(key.session.account, domain), orjson.dumps(document))

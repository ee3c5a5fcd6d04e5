"""Keys of sessions that a group, or another account, has not signed yet."""

from __future__ import annotations

import secrets
from pathlib import Path

from eth_account import Account

from leasehold.agreements import FileRefused
from leasehold.files import make_private


class PendingSessions:
    """Throw-away keys by address, a private file each under a home."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "sessions" / "pending"

    def make(self) -> str:
        """Make a key, keep it, and return its address."""
        key = secrets.token_bytes(32)
        address = str(Account.from_key(key).address)
        make_private(self._folder / address.lower(), key.hex())
        return address

    def key(self, address: str) -> bytes:
        """The kept key of `address`.

        Raises:
            FileRefused: it is not here.
        """
        try:
            return bytes.fromhex((self._folder / address.lower()).read_text())
        except (OSError, ValueError):
            raise FileRefused(
                f"The key {address} of this session is not on this computer: run this where the session was proposed, "
                "or the key made."
            ) from None

    def forget(self, address: str) -> None:
        """Keep the key no longer: it has gone into the session."""
        (self._folder / address.lower()).unlink(missing_ok=True)

"""Keys of sessions that a group has not approved yet, readable by their owner alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from eth_account import Account

from leasehold.cli._files import FileRefused


def make_key(home: Path) -> str:
    """Make a throw-away key, keep it, and return its address."""
    key = secrets.token_bytes(32)
    address = str(Account.from_key(key).address)
    folder = _folder(home)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder / address.lower(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(key.hex())
    return address


def key_of(home: Path, address: str) -> bytes:
    """The kept key of `address`.

    Raises:
        FileRefused: it is not here.
    """
    try:
        return bytes.fromhex((_folder(home) / address.lower()).read_text())
    except (OSError, ValueError):
        raise FileRefused(
            f"The key {address} of this session is not on this computer: run this where the session was proposed."
        ) from None


def forget_key(home: Path, address: str) -> None:
    """Keep the key no longer: it has gone into the session."""
    (_folder(home) / address.lower()).unlink(missing_ok=True)


def _folder(home: Path) -> Path:
    return home / "sessions" / "pending"

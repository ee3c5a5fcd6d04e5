"""The age keys that open a wallet's results, kept beside its keystore under the same password.

The key is its own, not derived from the wallet's: whoever is given it (a colleague, a machine that collects
results) can read outputs and spend nothing.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pyrage

from leasehold.datasets import new_identity, recipient_of
from leasehold.errors import KeyExists, WrongPassword
from leasehold.files import make_private, write_whole
from leasehold.home._errors import NoAgeKey


class AgeKeys:
    """A folder with `<name>.age` (the identity, sealed by a password) and `<name>.pub` (its recipient)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def new(self, name: str, password: str) -> str:
        """Make a key and return its recipient.

        Raises:
            KeyExists: there is one of that name.
        """
        identity = new_identity()
        sealed = await asyncio.to_thread(pyrage.passphrase.encrypt, identity.encode(), password)
        try:
            make_private(self._folder / f"{name}.age", sealed)
        except FileExistsError:
            raise KeyExists(name) from None
        recipient = recipient_of(identity)
        write_whole(self._folder / f"{name}.pub", recipient + "\n")
        return recipient

    def recipient(self, name: str) -> str | None:
        """Whom results are encrypted to, or `None` where the wallet has no such key."""
        try:
            return (self._folder / f"{name}.pub").read_text().strip()
        except FileNotFoundError:
            return None

    async def identity(self, name: str, password: str) -> str:
        """The secret half.

        Raises:
            WalletError: there is none. WrongPassword.
        """
        try:
            sealed = (self._folder / f"{name}.age").read_bytes()
        except FileNotFoundError:
            raise NoAgeKey(name, str(self._folder)) from None
        try:
            opened: bytes = await asyncio.to_thread(pyrage.passphrase.decrypt, sealed, password)
        except pyrage.DecryptError as error:
            raise WrongPassword(name) from error
        return opened.decode()

"""The age keys that open a wallet's results, kept beside its keystore under the same password.

The key is its own, not derived from the wallet's: whoever is given it (a colleague, a machine that collects
results) can read outputs and spend nothing.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pyrage

from leasehold.datasets import new_identity, recipient_of
from leasehold.errors import KeyExists, WalletError, WrongPassword
from leasehold.files import make_private, write_whole
from leasehold.home._errors import NoAgeKey, TooBusyToOpen

# age chooses how much work a password costs (scrypt's log2 N) by a measurement of a few milliseconds, and takes another
# before it opens a file, which it refuses where that says half a minute. A machine that is busy in that moment measures
# anything: it would seal with next to no work, or refuse what it has sealed itself.
LEAST_WORK, _MOST_WORK = 16, 24
_MEASURED_ANEW_AFTER = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0)  # seconds
_TOO_MUCH = "Excessive work parameter"
# https://age-encryption.org/v1, "The scrypt recipient type"
_HEADER = re.compile(rb"age-encryption\.org/v1\n-> scrypt \S+ (\d{1,2})\n")


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
        sealed = await _sealed(identity, password)
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
            WalletError: there is none, or the machine is too busy. WrongPassword.
        """
        try:
            sealed = (self._folder / f"{name}.age").read_bytes()
        except FileNotFoundError:
            raise NoAgeKey(name, str(self._folder)) from None
        if not 0 < _work_of(sealed) <= _MOST_WORK:
            raise WalletError(
                f"{self._folder / name}.age is no age key of a wallet", "restore it from a backup."
            )
        try:
            return (await _opened(sealed, password)).decode()
        except pyrage.DecryptError as error:
            raise (TooBusyToOpen if _refused_for_work(error) else WrongPassword)(name) from error


async def _sealed(identity: str, password: str) -> bytes:
    """Sealed with the most work of a few tries; one is enough where nothing disturbs it."""
    best = b""
    for wait in _MEASURED_ANEW_AFTER[:3]:
        await asyncio.sleep(wait)
        sealed: bytes = await asyncio.to_thread(pyrage.passphrase.encrypt, identity.encode(), password)
        best = max(best, sealed, key=_work_of)
        if _work_of(best) >= LEAST_WORK:
            break
    return best


async def _opened(sealed: bytes, password: str) -> bytes:
    for wait in _MEASURED_ANEW_AFTER[:-1]:
        try:
            return bytes(await asyncio.to_thread(pyrage.passphrase.decrypt, sealed, password))
        except pyrage.DecryptError as error:
            if not _refused_for_work(error):
                raise
        await asyncio.sleep(wait)
    return bytes(await asyncio.to_thread(pyrage.passphrase.decrypt, sealed, password))


def _refused_for_work(error: Exception) -> bool:
    return str(error).startswith(_TOO_MUCH)


def _work_of(sealed: bytes) -> int:
    """log2 of scrypt's N, from the header; 0 where there is no such header."""
    header = _HEADER.match(sealed)
    return int(header[1]) if header else 0

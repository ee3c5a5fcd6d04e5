"""A folder of V3 keystores: `<name>.json`, each encrypted by scrypt under its own password."""

import asyncio
import json
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from eth_account import Account
from eth_account.account import Account as AccountClass
from eth_utils.address import to_checksum_address

from leasehold.chain._signer import LocalSigner
from leasehold.errors import KeyExists, KeyMissing, WalletError, WrongPassword
from leasehold.files import make_private

# Of secp256k1; eth-account does not look until it signs.
_CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """A wallet as the folder lists it, without opening it."""

    name: str
    address: str
    path: Path


class Keystore:
    """The folder. Files are readable by their owner alone.

    iterations: scrypt's n, None for eth-account's default (2^18; a second of work). random: makes 32-byte
    keys.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        iterations: int | None = None,
        random: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self._folder = Path(folder)
        self._iterations = iterations
        self._random = random

    async def new(self, name: str, password: str, *, key: bytes | None = None) -> LocalSigner:
        """Makes a wallet, or takes an existing private `key` into one, and returns it unlocked.

        Raises KeyExists, and WalletError for a name that is no file name or an empty password.
        """
        path = self._path(name)
        if not password:
            raise WalletError(
                "The password is empty", "choose one, since it is all that protects the wallet's file."
            )
        if path.exists():
            raise KeyExists(name)
        private = key if key is not None else self._random(32)
        if len(private) != 32 or not 0 < int.from_bytes(private, "big") < _CURVE_ORDER:
            raise WalletError(
                "That is no private key", "it has 32 bytes, above 0 and below the curve's order."
            )
        signer = LocalSigner(private)
        document = await asyncio.to_thread(self._encrypt, private, password)
        self._write(path, name, document)
        return signer

    def list(self) -> list[KeyInfo]:
        """The wallets, by name."""
        found = []
        for path in sorted(self._folder.glob("*.json")):
            try:
                address = str(json.loads(path.read_text())["address"])
                found.append(KeyInfo(path.stem, to_checksum_address(address), path))
            except (OSError, ValueError, KeyError, TypeError):
                continue  # some other file
        return found

    async def unlock(self, name: str, password: str) -> LocalSigner:
        """Raises KeyMissing, WrongPassword, or WalletError for a file that is no keystore."""
        path = self._path(name)
        try:
            document = path.read_text()
        except FileNotFoundError:
            raise KeyMissing(name) from None
        try:
            key = await asyncio.to_thread(Account.decrypt, document, password)
        except ValueError as error:
            if "MAC" in str(error):
                raise WrongPassword(name) from None
            raise WalletError(
                f"{path} is not a V3 keystore ({error})", "restore it from a backup."
            ) from error
        except (KeyError, TypeError, NotImplementedError) as error:
            raise WalletError(f"{path} is not a V3 keystore", "restore it from a backup.") from error
        return LocalSigner(bytes(key))

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise WalletError(f"`{name}` cannot name a wallet", "use letters, digits, `-`, `_` and `.`.")
        return self._folder / f"{name}.json"

    def _encrypt(self, key: bytes, password: str) -> str:
        encrypt = AccountClass.encrypt
        document = encrypt(key, password, kdf="scrypt", iterations=self._iterations)
        return json.dumps(document)

    def _write(self, path: Path, name: str, document: str) -> None:
        try:
            make_private(path, document)
        except FileExistsError:
            raise KeyExists(name) from None

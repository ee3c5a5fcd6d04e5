"""A folder of V3 keystores: `<name>.json`, each encrypted by scrypt under its own password. One whose key is in a
hardware wallet has a file there, too, which says where.
"""

import asyncio
import json
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eth_utils.address import to_checksum_address

from leasehold.chain._signer import LocalSigner
from leasehold.errors import KeyExists, KeyInDevice, KeyMissing, WalletError, WrongPassword
from leasehold.files import make_private

# Of secp256k1; eth-account does not look until it signs.
_CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_DEVICE_FILE = 1


@dataclass(frozen=True, slots=True)
class DeviceAccount:
    """Where a key is that is on no computer. path: its derivation path. at: where the device is plugged in."""

    path: str
    at: str


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """A wallet as the folder lists it, without opening it. device: where its key is, if not in the file."""

    name: str
    address: str
    path: Path
    device: DeviceAccount | None = None


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
        path = self._free(name)
        if not password:
            raise WalletError(
                "The password is empty", "choose one, since it is all that protects the wallet's file."
            )
        private = key if key is not None else self._random(32)
        if len(private) != 32 or not 0 < int.from_bytes(private, "big") < _CURVE_ORDER:
            raise WalletError(
                "That is no private key", "it has 32 bytes, above 0 and below the curve's order."
            )
        signer = LocalSigner(private)
        document = await asyncio.to_thread(self._encrypt, private, password)
        self._write(path, name, document)
        return signer

    def add_device(self, name: str, address: str, device: DeviceAccount) -> KeyInfo:
        """A wallet whose key stays in a device. Raises as `new`."""
        path = self._free(name)
        document = {"address": address, "version": _DEVICE_FILE, "device": asdict(device)}
        self._write(path, name, json.dumps(document))
        return KeyInfo(name, to_checksum_address(address), path, device)

    def check_free(self, name: str) -> None:
        """Raises KeyExists, and WalletError for a name that is no file name."""
        self._free(name)

    def list(self) -> list[KeyInfo]:
        """The wallets, by name."""
        found = []
        for path in sorted(self._folder.glob("*.json")):
            try:
                document = json.loads(path.read_text())
                address = to_checksum_address(str(document["address"]))
                found.append(KeyInfo(path.stem, address, path, _device_in(document)))
            except (OSError, ValueError, KeyError, TypeError):
                continue  # some other file
        return found

    async def unlock(self, name: str, password: str) -> LocalSigner:
        """Raises KeyMissing, KeyInDevice, WrongPassword, or WalletError for a file that is no keystore."""
        from eth_account import Account

        path = self._path(name)
        try:
            document = path.read_text()
        except FileNotFoundError:
            raise KeyMissing(name) from None
        if any(kept.name == name and kept.device is not None for kept in self.list()):
            raise KeyInDevice(name)
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

    def _free(self, name: str) -> Path:
        if (path := self._path(name)).exists():
            raise KeyExists(name)
        return path

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise WalletError(f"`{name}` cannot name a wallet", "use letters, digits, `-`, `_` and `.`.")
        return self._folder / f"{name}.json"

    def _encrypt(self, key: bytes, password: str) -> str:
        from eth_account.account import Account

        encrypt = Account.encrypt
        document = encrypt(key, password, kdf="scrypt", iterations=self._iterations)
        return json.dumps(document)

    def _write(self, path: Path, name: str, document: str) -> None:
        try:
            make_private(path, document)
        except FileExistsError:
            raise KeyExists(name) from None


def _device_in(document: Mapping[str, Any]) -> DeviceAccount | None:
    """Where the key is that the file does not have. Raises ValueError, KeyError or TypeError for what nobody wrote."""
    if "device" not in document:
        return None
    if document["version"] != _DEVICE_FILE:
        raise ValueError("a later version's")
    return DeviceAccount(str(document["device"]["path"]), str(document["device"]["at"]))

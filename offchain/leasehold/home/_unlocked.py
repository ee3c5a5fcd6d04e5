"""Wallets that are open for a while, each in a process of its own (`_wallet_holder`) beside a socket in the home.

Whoever may connect to the socket, which is this user, may have things signed until the time is up; nobody gets the key.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from leasehold.chain import TypedData
from leasehold.errors import WalletError, WrongPassword
from leasehold.home._errors import HolderRefused

MOST_SECONDS: Final = 12 * 3600
"""For which a wallet can be held open: a day's work, and never the night."""
MOST_REQUEST_BYTES: Final = 4 << 20
_PATIENCE = 60.0  # seconds: scrypt, beside others


class UnlockedWallet:
    """Signs by asking the process that holds the key. `seconds` are left of its time."""

    def __init__(self, place: Path, name: str, address: str, seconds: float) -> None:
        self._place = place
        self.name = name
        self._address = address
        self.seconds = seconds

    @property
    def address(self) -> str:
        """The account, checksummed."""
        return self._address

    async def sign_transaction(self, transaction: Mapping[str, int | str | bytes]) -> bytes:
        """As `Signer`. Raises HolderRefused, also where its time is up."""
        fields = {
            name: {"hex": value.hex()} if isinstance(value, bytes) else value
            for name, value in transaction.items()
        }
        return bytes.fromhex((await self._answer(ask="transaction", transaction=fields))["signed"])

    async def sign_typed_data(self, message: TypedData) -> bytes:
        """As `Signer`. Raises HolderRefused, also where its time is up."""
        plain = json.loads(json.dumps(dict(message), default=_as_text))
        return bytes.fromhex((await self._answer(ask="typed-data", message=plain))["signed"])

    async def identity(self) -> str | None:
        """What opens the wallet's results, if it has such a key. Raises HolderRefused."""
        identity = (await self._answer(ask="identity"))["identity"]
        return None if identity is None else str(identity)

    async def _answer(self, **asked: object) -> Mapping[str, Any]:
        if (answer := await _asked(self._place, asked)) is None:
            raise HolderRefused(self.name, "it is locked again")
        if "error" in answer:
            raise HolderRefused(self.name, str(answer["error"]).rstrip("."))
        return answer


class UnlockedWallets:
    """Of the keystore in `keys`. Their sockets are beside it, in a folder that is this user's alone."""

    def __init__(self, keys: Path) -> None:
        self._keys = keys
        self._folder = keys.parent / "unlocked"

    async def find(self, name: str) -> UnlockedWallet | None:
        """The wallet, where it is open."""
        place = self._place(name)
        if not place.exists():
            return None
        told = await _asked(place, {"ask": "who"})
        if told is None or "error" in told or told["name"] != name:
            return None
        return UnlockedWallet(place, name, str(told["address"]), float(told["seconds"]))

    async def all(self) -> list[UnlockedWallet]:
        """Those that are open now, by name."""
        names = sorted(path.stem for path in self._folder.glob("*.sock"))
        return [wallet for name in names if (wallet := await self.find(name)) is not None]

    async def unlock(self, name: str, password: str, seconds: float) -> UnlockedWallet:
        """Open it for so long, at most `MOST_SECONDS`; who was open before has the new time.

        Raises:
            WrongPassword. WalletError: there is no such wallet, or it cannot be held.
        """
        await self.lock(name)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        place = self._place(name)
        asked = {"name": name, "password": password, "seconds": seconds}
        told = await asyncio.to_thread(self._hold, place, json.dumps(asked))
        if "address" not in told:
            raise _refusal(name, told)
        return UnlockedWallet(place, name, str(told["address"]), float(told["seconds"]))

    async def lock(self, name: str) -> bool:
        """Whether it was open."""
        place = self._place(name)
        locked = place.exists() and await _asked(place, {"ask": "lock"}) is not None
        place.unlink(missing_ok=True)  # a holder whose socket is gone ends
        return locked

    def _hold(self, place: Path, asked: str) -> Mapping[str, Any]:
        """What the process says that was started, once it holds the wallet and has left this one behind."""
        command = [sys.executable, "-m", "leasehold.home._wallet_holder", str(self._keys), str(place)]
        try:
            run = subprocess.run(
                command, input=asked + "\n", capture_output=True, text=True, timeout=_PATIENCE, cwd="/"
            )
            told = json.loads(run.stdout or "{}")
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return {}
        return told if isinstance(told, dict) else {}

    def _place(self, name: str) -> Path:
        return self._folder / f"{name}.sock"


def _refusal(name: str, told: Mapping[str, Any]) -> WalletError:
    if told.get("code") == WrongPassword.code:
        return WrongPassword(name)
    return HolderRefused(name, str(told.get("error", "its process ended at once")).rstrip("."))


async def _asked(place: Path, asked: Mapping[str, object]) -> Mapping[str, Any] | None:
    """The answer, or `None` where nobody holds a wallet there."""
    try:
        with listening_path(place) as short:
            async with asyncio.timeout(_PATIENCE):
                reader, writer = await asyncio.open_unix_connection(short, limit=MOST_REQUEST_BYTES)
                writer.write(json.dumps(asked).encode() + b"\n")
                answer = json.loads(await reader.readline())
                writer.close()
    except (OSError, TimeoutError, ValueError):
        return None
    return answer if isinstance(answer, dict) else None


@contextlib.contextmanager
def listening_path(place: Path) -> Iterator[str]:
    """The socket's path, however long: the kernel takes 107 bytes, and one by way of its open folder is short."""
    if not os.path.isdir("/proc/self/fd"):
        yield str(place)
        return
    folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{place.name}"
    finally:
        os.close(folder)


def _as_text(value: object) -> str:
    """Bytes of a message as EIP-712 writes them in JSON."""
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    raise TypeError(f"{type(value).__name__} cannot be signed")

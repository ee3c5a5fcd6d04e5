"""The process that holds one wallet open for a while: `python -m leasehold.home._wallet_holder KEYS SOCKET`.

It reads one line, `{"name", "password", "seconds"}`, from standard input, opens the wallet, answers one line, and from
then on signs for whoever connects to the socket as the same user. The key is in its memory alone: it is never handed
out, and neither a debugger nor a core dump of that user's sees it. It ends when its time is up, even if the computer
slept meanwhile, when it is told to, and when the socket is taken away.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import resource
import socket
import struct
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leasehold.chain import Keystore, Signer
from leasehold.errors import WalletError
from leasehold.home._age_keys import AgeKeys
from leasehold.home._unlocked import MOST_REQUEST_BYTES, MOST_SECONDS, listening_path

_PR_SET_DUMPABLE = 4
_PATIENCE = 30.0  # seconds in which a request has to be there
_AT_ONCE = 16
_LOOK = 5.0  # seconds between looks at the clock: of the longest that a key outlives its time

Json = dict[str, Any]


@dataclass
class Holder:
    """One open wallet. `until` is of `now`, a clock that counts what the computer slept."""

    name: str
    signer: Signer
    identity: str | None
    until: float
    now: Callable[[], float]
    over: asyncio.Event = field(default_factory=asyncio.Event)
    _served: int = 0

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one question."""
        self._served += 1
        try:
            if self._served <= _AT_ONCE and _same_user(writer.get_extra_info("socket")):
                async with asyncio.timeout(_PATIENCE):
                    writer.write(json.dumps(await self._said(await reader.readline())).encode() + b"\n")
                    await writer.drain()
        except (OSError, ValueError, TimeoutError):
            pass  # whoever asked is gone, or never asked
        finally:
            self._served -= 1
            writer.close()

    async def _said(self, line: bytes) -> Json:
        if self.now() >= self.until:
            self.over.set()
            return {"error": "The wallet's time is up."}
        asked = json.loads(line)
        answer = _ANSWERS.get(asked.get("ask")) if isinstance(asked, dict) else None
        if answer is None:
            return {"error": "Nobody knows what that asks for."}
        try:
            return await answer(self, asked)
        except (WalletError, ValueError, TypeError, KeyError, AttributeError) as error:
            return {"error": f"It cannot be signed: {error}"}

    async def _told(self, asked: Json) -> Json:
        left = max(0.0, self.until - self.now())
        return {"name": self.name, "address": self.signer.address, "seconds": left}

    async def _transaction(self, asked: Json) -> Json:
        fields = {
            name: bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
            for name, value in asked["transaction"].items()
        }
        return {"signed": (await self.signer.sign_transaction(fields)).hex()}

    async def _typed_data(self, asked: Json) -> Json:
        return {"signed": (await self.signer.sign_typed_data(asked["message"])).hex()}

    async def _identity(self, asked: Json) -> Json:
        return {"identity": self.identity}

    async def _lock(self, asked: Json) -> Json:
        self.over.set()
        return {"locked": self.name}


_ANSWERS: dict[str | None, Callable[[Holder, Json], Awaitable[Json]]] = {
    "who": Holder._told,
    "transaction": Holder._transaction,
    "typed-data": Holder._typed_data,
    "identity": Holder._identity,
    "lock": Holder._lock,
}


def _same_user(peer: socket.socket) -> bool:
    """Whether the process at the other end is this user's, or root's, who could take the key anyway."""
    _, user, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return user in (os.getuid(), 0)


def _keep_to_itself() -> None:
    """No debugger of the same user attaches, and no crash writes the memory to a file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def slept_too() -> float:
    """Seconds of a clock that goes on while the computer sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


async def serve(holder: Holder, place: Path, *, ready: Callable[[], None]) -> None:
    """Answer at `place` until the wallet's time is up, it is locked, or the socket is gone."""
    with _listening(place) as listener:
        own = _inode(place)
        server = await asyncio.start_unix_server(holder.meet, sock=listener, limit=MOST_REQUEST_BYTES)
        ready()
        try:
            while _inode(place) == own and (left := holder.until - holder.now()) > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(holder.over.wait(), min(left, _LOOK))
                    return
        finally:
            server.close()
            if _inode(place) == own:
                _remove(place)


@contextlib.contextmanager
def _listening(place: Path) -> Iterator[socket.socket]:
    """A socket there that this user alone may connect to, in place of what a holder before left."""
    _remove(place)
    with socket.socket(socket.AF_UNIX) as listener, listening_path(place) as short:
        before = os.umask(0o177)
        try:
            listener.bind(short)
        finally:
            os.umask(before)
        yield listener


def _inode(place: Path) -> int:
    """0 where there is nothing."""
    try:
        return place.stat().st_ino
    except OSError:
        return 0


def _remove(place: Path) -> None:
    place.unlink(missing_ok=True)


async def hold(keys: Path, place: Path, asked: Json) -> None:
    """Open the wallet, say so, and hold it."""
    try:
        signer = await Keystore(keys).unlock(asked["name"], asked["password"])
        has_age_key = AgeKeys(keys).recipient(asked["name"]) is not None
        identity = await AgeKeys(keys).identity(asked["name"], asked["password"]) if has_age_key else None
    except WalletError as error:
        _say({"code": error.code, "error": str(error)})
        return
    seconds = min(float(asked["seconds"]), MOST_SECONDS)
    holder = Holder(asked["name"], signer, identity, slept_too() + seconds, slept_too)
    await serve(holder, place, ready=lambda: _say({"address": signer.address, "seconds": seconds}))


def _say(document: Json) -> None:
    """The one line that whoever began this waits for; then nobody is listening any more."""
    print(json.dumps(document), flush=True)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _on_its_own() -> bool:
    """Whether this is the process that stays: the one that was started hands its line on, and ends."""
    reading, writing = os.pipe()
    if os.fork():
        os.close(writing)
        with os.fdopen(reading) as line:
            print(line.readline(), end="", flush=True)
        return False
    os.setsid()
    os.dup2(writing, 1)
    os.close(writing)
    os.close(reading)
    return True


if __name__ == "__main__":
    _keep_to_itself()
    question = json.loads(sys.stdin.readline())
    if _on_its_own():
        asyncio.run(hold(Path(sys.argv[1]), Path(sys.argv[2]), question))

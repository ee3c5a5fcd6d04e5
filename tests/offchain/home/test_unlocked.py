"""Wallets that are held open: by a process of their own that signs and hands nothing out."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from eth_account import Account

from leasehold.chain import Keystore, LocalSigner
from leasehold.errors import WrongPassword
from leasehold.home import MOST_SECONDS, UnlockedWallet, UnlockedWallets
from leasehold.home._errors import HolderRefused
from leasehold.home._unlocked import listening_path
from leasehold.home._wallet_holder import Holder, serve

KEY = bytes(range(1, 33))
TRANSACTION = {
    "to": "0x" + "11" * 20, "value": 5, "nonce": 0, "gas": 21_000, "maxFeePerGas": 9, "maxPriorityFeePerGas": 1,
    "chainId": 31337, "type": 2, "data": b"\x01\x02",
}  # fmt: skip
MESSAGE = {
    "types": {"EIP712Domain": [{"name": "name", "type": "string"}], "Note": [{"name": "word", "type": "bytes32"}]},
    "primaryType": "Note",
    "domain": {"name": "test"},
    "message": {"word": b"\x07" * 32},
}  # fmt: skip


class Clock:
    """Seconds that go by when a test says so."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def holder(clock: Clock, *, identity: str | None = None) -> Holder:
    return Holder("me", LocalSigner(KEY), identity, clock() + 60, clock)


@pytest.fixture
async def held(tmp_path: Path) -> AsyncIterator[tuple[UnlockedWallets, Holder, Clock]]:
    """One that is served in this process, at the place where a home looks for it."""
    (tmp_path / "unlocked").mkdir()
    clock, ready = Clock(), asyncio.Event()
    one = holder(clock, identity="AGE-SECRET-KEY-1TEST")
    serving = asyncio.create_task(serve(one, tmp_path / "unlocked" / "me.sock", ready=ready.set))
    await ready.wait()
    yield UnlockedWallets(tmp_path / "keys"), one, clock
    one.over.set()
    await serving


async def found(wallets: UnlockedWallets) -> UnlockedWallet:
    wallet = await wallets.find("me")
    assert wallet is not None
    return wallet


async def test_it_signs_as_the_key_does(held: tuple[UnlockedWallets, Holder, Clock]) -> None:
    wallet, own = await found(held[0]), LocalSigner(KEY)
    assert wallet.address == own.address
    assert await wallet.sign_transaction(TRANSACTION) == await own.sign_transaction(TRANSACTION)
    assert await wallet.sign_typed_data(MESSAGE) == await own.sign_typed_data(MESSAGE)
    assert await wallet.identity() == "AGE-SECRET-KEY-1TEST"


async def test_its_time_goes_by(held: tuple[UnlockedWallets, Holder, Clock]) -> None:
    wallets, one, clock = held
    wallet = await found(wallets)
    assert wallet.seconds == 60
    clock.seconds += 60
    with pytest.raises(HolderRefused, match="time is up"):
        await wallet.sign_transaction(TRANSACTION)
    assert one.over.is_set()


async def test_once_locked_it_is_not_found(held: tuple[UnlockedWallets, Holder, Clock]) -> None:
    wallets, one, _ = held
    wallet = await found(wallets)
    assert await wallets.lock("me")
    assert one.over.is_set()
    assert await wallets.find("me") is None
    with pytest.raises(HolderRefused, match="locked again"):
        await wallet.identity()
    assert not await wallets.lock("me")


@pytest.mark.parametrize(
    "line",
    [
        b"\n", b"null\n", b"[]\n", b"{}\n", b"nonsense\n", b"\xff\xfe\n", b'{"ask": "key"}\n', b'{"ask": ["who"]}\n',
        b'{"ask": "transaction"}\n', b'{"ask": "transaction", "transaction": {"to": {"hex": "zz"}}}\n',
        b'{"ask": "typed-data", "message": {"types": {}}}\n', b"[" * 100_000 + b"\n", b"1" * (5 << 20) + b"\n",
    ],
    ids=lambda line: line[:40].decode(errors="replace").strip(),
)  # fmt: skip
async def test_odd_questions_get_no_key_and_end_nothing(
    held: tuple[UnlockedWallets, Holder, Clock], tmp_path: Path, line: bytes
) -> None:
    with listening_path(tmp_path / "unlocked" / "me.sock") as short:
        reader, writer = await asyncio.open_unix_connection(short)
        writer.write(line)
        said = b""
        try:
            await writer.drain()
            said = await reader.read()
        except ConnectionError:
            pass  # it was too much to listen to
        writer.close()
    assert not said or "error" in json.loads(said)
    assert KEY.hex().encode() not in said
    assert (await found(held[0])).address == LocalSigner(KEY).address


async def test_another_user_is_not_answered(
    held: tuple[UnlockedWallets, Holder, Clock], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever the socket's mode: who asks is known by the kernel's word."""
    wallets, _, _ = held
    real = socket.socket.getsockopt

    def other(self: socket.socket, level: int, option: int, size: int = 0) -> object:
        if option == socket.SO_PEERCRED:
            return b"\x01\x00\x00\x00\xe8\x03\x01\x00\xe8\x03\x01\x00"  # user 66,536
        return real(self, level, option, size)

    class Spoken:
        def __init__(self, peer: object) -> None:
            self.peer = peer

        def getsockopt(self, level: int, option: int, size: int = 0) -> object:
            return other(None, level, option, size)  # type: ignore[arg-type]

    from leasehold.home import _wallet_holder

    kept = _wallet_holder._same_user
    monkeypatch.setattr(_wallet_holder, "_same_user", lambda peer: kept(Spoken(peer)))  # type: ignore[arg-type]
    assert await wallets.find("me") is None
    monkeypatch.undo()
    assert await wallets.find("me") is not None


async def test_a_socket_that_nobody_listens_at_is_no_wallet(tmp_path: Path) -> None:
    (tmp_path / "unlocked").mkdir()
    with socket.socket(socket.AF_UNIX) as gone, listening_path(tmp_path / "unlocked" / "me.sock") as short:
        gone.bind(short)
    assert await UnlockedWallets(tmp_path / "keys").find("me") is None


@pytest.mark.slow
async def test_a_process_holds_it(tmp_path: Path) -> None:
    """Also in a home whose path is longer than a socket's may be."""
    keys = tmp_path / ("long" * 30) / "keys"
    own = await Keystore(keys, iterations=2).new("me", "secret", key=KEY)
    wallets = UnlockedWallets(keys)
    with pytest.raises(WrongPassword):
        await wallets.unlock("me", "wrong", 60)
    assert await wallets.find("me") is None
    held = await wallets.unlock("me", "secret", 10 * MOST_SECONDS)
    place = keys.parent / "unlocked" / "me.sock"
    try:
        assert held.seconds == MOST_SECONDS
        assert place.stat().st_mode & 0o777 == 0o600
        assert place.parent.stat().st_mode & 0o777 == 0o700
        assert [wallet.name for wallet in await wallets.all()] == ["me"]
        raw = await held.sign_transaction(TRANSACTION)
        assert Account.recover_transaction(raw) == own.address
        assert await held.identity() is None
        assert not any(KEY.hex() in path.read_text() for path in keys.rglob("*") if path.is_file())
    finally:
        assert await wallets.lock("me")
    assert not place.exists()


@pytest.mark.slow
async def test_whoever_takes_its_socket_away_ends_it(tmp_path: Path) -> None:
    await Keystore(tmp_path / "keys", iterations=2).new("me", "secret", key=KEY)
    wallets = UnlockedWallets(tmp_path / "keys")
    await wallets.unlock("me", "secret", 600)
    place = tmp_path / "unlocked" / "me.sock"
    with socket.socket(socket.AF_UNIX) as asking, listening_path(place) as short:
        asking.connect(short)
        credentials = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    process = int.from_bytes(credentials[:4], "little")
    place.unlink()
    ended = os.pidfd_open(process)
    try:
        readable = asyncio.Event()
        asyncio.get_running_loop().add_reader(ended, readable.set)
        await readable.wait()
    finally:
        asyncio.get_running_loop().remove_reader(ended)
        os.close(ended)

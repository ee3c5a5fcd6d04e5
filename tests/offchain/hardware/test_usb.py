"""Over USB: packets of 64 bytes, by a stand-in for hidapi's module, which has the device that a machine lacks."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from devnet.hardware_app import LedgerApp
from leasehold.hardware import (
    AnswerFalse,
    DeviceClosed,
    DeviceGone,
    DeviceMissing,
    DeviceSilent,
    LedgerSigner,
    Patience,
    SeveralDevices,
    UsbLibraryMissing,
    open_transport,
)
from leasehold.hardware._usb import UsbTransport

from .conftest import PERMIT, TRANSACTION

Damage = Callable[[list[bytes]], list[bytes]]


def whole(packets: list[bytes]) -> list[bytes]:
    return packets


class Hid:
    """hidapi's module, with one device plugged in, and its `device` at once."""

    def __init__(self, app: LedgerApp, damage: Damage = whole, *, plugged: int = 1) -> None:
        self.app, self.damage = app, damage
        self.opens, self.writes, self.answers = True, True, True
        self.entries = [
            {"path": path, "interface_number": number, "usage_page": 0}
            for device in range(plugged)
            for number, path in enumerate((b"/dev/hidraw%d" % device, b"/dev/fido%d" % device))
        ]
        self.closed, self.asked = threading.Event(), threading.Event()
        self._command, self._size = b"", 0
        self._waiting = deque[bytes]()

    def enumerate(self, vendor: int, product: int) -> list[dict[str, Any]]:
        assert (vendor, product) == (0x2C97, 0)
        return self.entries

    def device(self) -> Hid:
        return self

    def open_path(self, path: bytes) -> None:
        assert path.startswith(b"/dev/hidraw")
        if not self.opens:
            raise OSError("open failed")

    def write(self, data: bytes) -> int:
        if not self.writes:
            return -1
        assert len(data) == 65
        assert data[:4] == b"\0\x01\x01\x05"
        number, body = int.from_bytes(data[4:6], "big"), data[6:]
        if number == 0:
            self._size, self._command, body = int.from_bytes(body[:2], "big"), b"", body[2:]
        self._command += body
        if len(self._command) < self._size:
            return len(data)
        self.asked.set()
        if self.answers:
            self._waiting.extend(self.damage(self._packed(self.app.answer(self._command[: self._size]))))
        return len(data)

    def read(self, size: int, timeout_ms: int) -> list[int]:
        assert timeout_ms <= 100
        if self.closed.is_set():
            raise ValueError("not open")
        return list(self._waiting.popleft()) if self._waiting else []

    def close(self) -> None:
        self.closed.set()

    def _packed(self, answer: bytes) -> list[bytes]:
        data = len(answer).to_bytes(2, "big") + answer
        parts = [data[begin : begin + 59] for begin in range(0, len(data), 59)]
        return [
            (b"\x01\x01\x05" + number.to_bytes(2, "big") + part).ljust(64, b"\0")
            for number, part in enumerate(parts)
        ]


def signer_of(hid: Hid, monkeypatch: pytest.MonkeyPatch, patience: float = 5.0) -> LedgerSigner:
    monkeypatch.setitem(sys.modules, "hid", hid)
    return LedgerSigner(
        hid.app.address(),
        "m/44'/60'/0'/0/0",
        lambda: open_transport("usb"),
        patience=Patience(patience, patience),
    )


async def test_it_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    hid = Hid(LedgerApp())
    signer = signer_of(hid, monkeypatch)
    assert (await signer.sign_transaction(TRANSACTION))[0] == 2
    assert hid.closed.is_set()
    hid.closed.clear()
    assert len(await signer.sign_typed_data(PERMIT)) == 65


@pytest.mark.parametrize(
    "damage",
    [
        lambda packets: [b"\x01\x02" + packet[2:] for packet in packets],
        lambda packets: [*packets[1:], packets[0]],
        lambda packets: [packets[0], packets[0]],
        lambda packets: [packets[0][:5] + b"\xff\xff" + packets[0][7:]],
        lambda packets: [packets[0][:5] + b"\0\1" + packets[0][7:]],
        lambda packets: [packets[0][:4]],
    ],
    ids=["channel", "order", "twice", "endless", "no status", "cut"],
)
async def test_packets_that_are_wrong(monkeypatch: pytest.MonkeyPatch, damage: Damage) -> None:
    with pytest.raises(AnswerFalse):
        await signer_of(Hid(LedgerApp(), damage), monkeypatch).sign_transaction(TRANSACTION)


async def test_a_part_of_an_answer_is_waited_for_no_longer_than_for_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(DeviceSilent):
        await signer_of(Hid(LedgerApp(), lambda packets: packets[:1]), monkeypatch, 0.1).sign_transaction(
            TRANSACTION
        )


async def test_it_is_not_closed_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever presses Ctrl-C does not wait for a person, and hidapi falls over a device that is closed under it."""
    hid = Hid(LedgerApp())
    transport = await UsbTransport.open(hid)
    hid.answers = False
    asking = asyncio.create_task(transport.exchange(bytes.fromhex("e006000000"), 300))
    await asyncio.to_thread(hid.asked.wait)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await transport.close()
    assert hid.closed.is_set()


async def test_what_can_be_plugged_in(monkeypatch: pytest.MonkeyPatch) -> None:
    app = LedgerApp()
    with pytest.raises(DeviceMissing, match="No Ledger is there at usb"):
        await signer_of(Hid(app, plugged=0), monkeypatch).check()
    with pytest.raises(SeveralDevices, match="2 Ledgers are plugged in"):
        await signer_of(Hid(app, plugged=2), monkeypatch).check()
    shut = Hid(app)
    shut.opens = False
    with pytest.raises(DeviceClosed, match="udev rules"):
        await signer_of(shut, monkeypatch).check()
    away = Hid(app)
    away.writes = False
    with pytest.raises(DeviceGone):
        await signer_of(away, monkeypatch).check()
    by_usage = Hid(app)
    by_usage.entries = [{"path": b"/dev/hidraw0", "interface_number": -1, "usage_page": 0xFFA0}]
    await signer_of(by_usage, monkeypatch).check()


@pytest.mark.parametrize("module", [None, SimpleNamespace()], ids=["none", "another of that name"])
async def test_without_the_library(monkeypatch: pytest.MonkeyPatch, module: object) -> None:
    monkeypatch.setitem(sys.modules, "hid", module)
    with pytest.raises(UsbLibraryMissing, match=r"install leasehold\[ledger\]"):
        async with open_transport("usb"):
            pass


async def test_the_library_itself_is_spoken_to_as_it_is() -> None:
    """Whatever is plugged in here: that is looked up by the real one."""
    hid = pytest.importorskip("hid")
    assert isinstance(hid.enumerate(0x2C97, 0), list)
    device = hid.device()
    with pytest.raises(OSError, match="open failed"):
        device.open_path(b"/dev/nothing-is-here")
    with pytest.raises(ValueError, match="not open"):
        device.write(b"\0" * 65)
    with pytest.raises(ValueError, match="not open"):
        device.read(64, timeout_ms=1)

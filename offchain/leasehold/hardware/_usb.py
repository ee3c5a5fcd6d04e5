"""A Ledger over USB, by hidapi: an APDU in packets of 64 bytes (app-ethereum's `doc/ethapp.adoc`, "USB mapping").

hidapi blocks, so that it has a thread, which looks often whether anybody still waits: a device is never closed under
somebody who reads from it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from leasehold.hardware._errors import (
    AnswerFalse,
    DeviceClosed,
    DeviceGone,
    DeviceMissing,
    DeviceSilent,
    SeveralDevices,
    UsbLibraryMissing,
)
from leasehold.hardware._transport import MOST_ANSWER, USB

_VENDOR = 0x2C97
_INTERFACE = 0
_USAGE_PAGE = 0xFFA0  # where the system numbers no interfaces, as macOS
_PACKET = 64
_HEAD = b"\x01\x01\x05"  # channel, and the tag of an APDU
_SLICE = 100  # milliseconds between looks whether anybody still waits


class HidDevice(Protocol):
    """What of hidapi's `device` is used."""

    def open_path(self, path: bytes) -> None: ...

    def write(self, data: bytes) -> int: ...

    def read(self, size: int, timeout_ms: int) -> list[int]: ...

    def close(self) -> None: ...


class UsbTransport:
    """One that is open."""

    def __init__(self, device: HidDevice, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._device = device
        self._clock = clock
        self._turn = threading.Lock()

    @classmethod
    async def open(cls, library: Any = None) -> UsbTransport:
        """library: hidapi's module. Raises UsbLibraryMissing, DeviceMissing, SeveralDevices, DeviceClosed."""
        return await asyncio.to_thread(cls._opened, library if library is not None else _hidapi())

    @classmethod
    def _opened(cls, library: Any) -> UsbTransport:
        paths = sorted({bytes(entry["path"]) for entry in library.enumerate(_VENDOR, 0) if _talks(entry)})
        if not paths:
            raise DeviceMissing(USB)
        if len(paths) > 1:
            raise SeveralDevices(len(paths))
        device: HidDevice = library.device()
        try:
            device.open_path(paths[0])
        except OSError as error:
            raise DeviceClosed from error
        return cls(device)

    async def exchange(self, command: bytes, patience: float) -> bytes:
        """As `Transport`."""
        given_up = threading.Event()
        try:
            return await asyncio.to_thread(self._exchanged, command, patience, given_up)
        finally:
            given_up.set()

    async def close(self) -> None:
        """As `Transport`."""
        await asyncio.to_thread(self._closed)

    def _closed(self) -> None:
        with self._turn:
            self._device.close()

    def _exchanged(self, command: bytes, patience: float, given_up: threading.Event) -> bytes:
        until = self._clock() + patience
        with self._turn:
            try:
                for packet in _packets(command):
                    if self._device.write(b"\0" + packet) < 0:
                        raise DeviceGone
                return self._answer(until, patience, given_up)
            except (OSError, ValueError) as error:  # hidapi's, of a device that is away
                raise DeviceGone from error

    def _answer(self, until: float, patience: float, given_up: threading.Event) -> bytes:
        answer, size, number = b"", -1, 0
        while size < 0 or len(answer) < size:
            packet = bytes(self._device.read(_PACKET, timeout_ms=_SLICE))
            if not packet:
                if given_up.is_set() or self._clock() >= until:
                    raise DeviceSilent(patience)
                continue
            if packet[:3] != _HEAD or packet[3:5] != number.to_bytes(2, "big"):
                raise AnswerFalse("a packet out of turn")
            body, number = packet[5:], number + 1
            if size < 0:
                size, body = int.from_bytes(body[:2], "big"), body[2:]
                if not 2 <= size <= MOST_ANSWER:
                    raise AnswerFalse(f"an answer of {size} bytes")
            answer += body
        return answer[:size]


def _packets(command: bytes) -> Iterator[bytes]:
    whole = len(command).to_bytes(2, "big") + command
    room = _PACKET - len(_HEAD) - 2
    for number, begin in enumerate(range(0, len(whole), room)):
        yield (_HEAD + number.to_bytes(2, "big") + whole[begin : begin + room]).ljust(_PACKET, b"\0")


def _talks(entry: Mapping[str, Any]) -> bool:
    """Whether it is the interface for APDUs: a device has others, for FIDO and a keyboard."""
    return entry.get("interface_number") == _INTERFACE or entry.get("usage_page") == _USAGE_PAGE


def _hidapi() -> Any:
    try:
        import hid
    except ImportError as error:
        raise UsbLibraryMissing from error
    if not hasattr(hid, "device"):  # another package of the same name
        raise UsbLibraryMissing
    return hid

"""The way to a device: bytes there and back, one command after the other, each in bounded time.

A way is not believed: it may swap, forge, cut and withhold what it carries. Who asks checks what comes back.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final, Protocol

from leasehold._locks import locked_now
from leasehold.hardware._errors import (
    AnswerFalse,
    DeviceBusy,
    DeviceGone,
    DeviceMissing,
    DeviceSilent,
    PlaceUnfit,
)

USB: Final = "usb"
MOST_ANSWER: Final = 258
"""Bytes of data and status: what a short APDU can bring."""
_LOCAL = re.compile(r"tcp://(127\.0\.0\.1|localhost):([0-9]{1,5})")
_OPENED_WITHIN = 5.0  # seconds, on this computer


class Transport(Protocol):
    """One device that was opened."""

    async def exchange(self, command: bytes, patience: float) -> bytes:
        """What it answers to one APDU: data, then two bytes of status. patience: seconds.

        Raises DeviceSilent, DeviceGone, and AnswerFalse for what no device answers.
        """
        ...

    async def close(self) -> None:
        """Give it back."""
        ...


def check_place(place: str) -> None:
    """Raises PlaceUnfit for what is neither `usb` nor an emulator's address on this computer."""
    if place != USB:
        _address(place)


def _address(place: str) -> tuple[str, int]:
    parts = _LOCAL.fullmatch(place)
    if parts is None or not 0 < int(parts[2]) < 1 << 16:
        raise PlaceUnfit(place)
    return "127.0.0.1", int(parts[2])


@contextlib.asynccontextmanager
async def open_transport(place: str, lock: Path | None = None) -> AsyncIterator[Transport]:
    """The device at a place: `usb`, or `tcp://127.0.0.1:PORT` as the emulator Speculos serves it.

    lock: a file that who asks the device has to himself meanwhile.

    Raises:
        PlaceUnfit, DeviceMissing, DeviceClosed, SeveralDevices, UsbLibraryMissing. DeviceBusy.
    """
    with _alone(lock):
        if place == USB:
            from leasehold.hardware._usb import UsbTransport  # with hidapi, which most do not have

            transport: Transport = await UsbTransport.open()
        else:
            transport = await TcpTransport.open(place)
        try:
            yield transport
        finally:
            await transport.close()


@contextlib.contextmanager
def _alone(lock: Path | None) -> Iterator[None]:
    if lock is None:
        yield
        return
    lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock.open("a") as handle:
        if not locked_now(handle.fileno()):
            raise DeviceBusy
        yield


class TcpTransport:
    """An emulator on this computer. Framing as Speculos has it: four bytes of length, which of an answer does not
    count its status.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, place: str) -> TcpTransport:
        """Raises PlaceUnfit, DeviceMissing."""
        host, port = _address(place)
        try:
            async with asyncio.timeout(_OPENED_WITHIN):
                return cls(*await asyncio.open_connection(host, port))
        except OSError as error:  # TimeoutError is one
            raise DeviceMissing(place) from error

    async def exchange(self, command: bytes, patience: float) -> bytes:
        """As `Transport`."""
        try:
            async with asyncio.timeout(patience):
                self._writer.write(len(command).to_bytes(4, "big") + command)
                await self._writer.drain()
                size = int.from_bytes(await self._reader.readexactly(4), "big") + 2
                if size > MOST_ANSWER:
                    raise AnswerFalse(f"an answer of {size} bytes")
                return await self._reader.readexactly(size)
        except TimeoutError:
            raise DeviceSilent(patience) from None
        except (OSError, asyncio.IncompleteReadError) as error:
            raise DeviceGone from error

    async def close(self) -> None:
        """As `Transport`."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

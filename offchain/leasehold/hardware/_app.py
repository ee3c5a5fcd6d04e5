"""Ledger's Ethereum app, as its makers document what it takes and answers (LedgerHQ/app-ethereum, `doc/ethapp.adoc`).

By hand over the bare transport: the libraries that are there sign typed data by its hashes alone, and none bounds its
time nor checks what comes back (decision 0313).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from leasehold.hardware._errors import (
    AnswerFalse,
    AppClosed,
    BlindSigningOff,
    DeviceDeclined,
    DeviceLocked,
    DeviceUnfit,
    HardwareError,
)
from leasehold.hardware._path import packed_path
from leasehold.hardware._transport import Transport
from leasehold.hardware._typed_commands import TypedCommand

_CLASS = 0xE0
_ADDRESS, _TRANSACTION, _CONFIGURATION, _MESSAGE, _TYPED = 0x02, 0x04, 0x06, 0x08, 0x0C
_FIRST, _NEXT = 0x00, 0x80
_BY_HASHES, _BY_FIELDS = 0x00, 0x01
_CHUNK = 255
_CAN_BE_BLIND = 0x01
_SIGNATURE = 65

_FINE = 0x9000
_LOCKED = (0x5515, 0x6804, 0x6B0C)
_CLOSED = (0x6511, 0x6D00, 0x6D02, 0x6E00, 0x6E01)
_NOT_SATISFIED = 0x6982  # its PIN is wanted; or, while somebody is asked, he said no
_DECLINED = 0x6985
_LEFT_OVER = 0x6A00
_NO_SUCH_DATA = 0x6A80
UNKNOWN_COMMAND: Final = 0x6D00
OUT_OF_MEMORY: Final = 0x6A84


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds. at_once: for what a device answers by itself. a_person: for what somebody reads and decides."""

    at_once: float = 10.0
    a_person: float = 300.0


@dataclass(frozen=True, slots=True)
class AppConfiguration:
    """What the app says of itself. can_be_blind: whether its owner lets it sign what it cannot show."""

    can_be_blind: bool
    version: tuple[int, int, int]

    @property
    def release(self) -> str:
        return ".".join(map(str, self.version))


@dataclass(frozen=True, slots=True)
class DeviceSignature:
    """As it came. v: 0 or 1 of a transaction, 27 or 28 of words. r and s: 32 bytes each. Nothing of it is checked."""

    v: int
    r: bytes
    s: bytes


class EthereumApp:
    """A conversation with the app on one device."""

    def __init__(self, transport: Transport, patience: Patience) -> None:
        self._transport = transport
        self._patience = patience
        self._known: AppConfiguration | None = None

    async def configuration(self) -> AppConfiguration:
        """Asked for once. Raises DeviceLocked, AppClosed; and what each of these raises: DeviceSilent, DeviceGone,
        AnswerFalse.
        """
        if self._known is not None:
            return self._known
        status, data = await self._ask(_CONFIGURATION, 0, 0, b"", self._patience.at_once)
        if status != _FINE:
            raise self._failure(status, asked=False)
        if len(data) < 4:
            raise AnswerFalse("the app does not say which it is")
        self._known = AppConfiguration(bool(data[0] & _CAN_BE_BLIND), (data[1], data[2], data[3]))
        return self._known

    async def address(self, path: str, *, shown: bool = False) -> str:
        """The account at a path. shown: on the device, whose owner compares it and agrees.

        Raises PathUnfit, DeviceDeclined, and as `configuration`.
        """
        patience = self._patience.a_person if shown else self._patience.at_once
        status, data = await self._ask(_ADDRESS, int(shown), 0, packed_path(path), patience)
        if status != _FINE:
            raise self._failure(status, asked=shown)
        return _account(data)

    async def sign_transaction(self, path: str, payload: bytes) -> DeviceSignature:
        """payload: unsigned, with its type in front. Raises as `address`, BlindSigningOff, DeviceUnfit."""
        return await self._streamed(_TRANSACTION, packed_path(path) + payload)

    async def sign_message(self, path: str, message: bytes) -> DeviceSignature:
        """The app puts EIP-191's prefix in front. Raises as `sign_transaction`."""
        return await self._streamed(_MESSAGE, packed_path(path) + len(message).to_bytes(4, "big") + message)

    async def sign_fields(self, path: str, parts: list[TypedCommand]) -> DeviceSignature | None:
        """Typed data that the app hashes itself and shows field by field; `None` where this app, or its memory, is too
        small for it. Raises as `sign_transaction`.
        """
        for number, part in enumerate(parts):
            status, _ = await self._part(part)
            if number == 0 and status == _LEFT_OVER:  # of words that somebody gave up; now they are forgotten
                status, _ = await self._part(part)
            if status in (UNKNOWN_COMMAND, OUT_OF_MEMORY):
                return None
            if status != _FINE:
                raise self._failure(status, asked=True)
        return await self._signed(_TYPED, 0, _BY_FIELDS, packed_path(path))

    async def _part(self, part: TypedCommand) -> tuple[int, bytes]:
        return await self._ask(part.instruction, part.p1, part.p2, part.data, self._patience.a_person)

    async def sign_hashes(self, path: str, domain: bytes, message: bytes) -> DeviceSignature:
        """Typed data by its two hashes, which is all that the device can show. Raises as `sign_transaction`."""
        return await self._signed(_TYPED, 0, _BY_HASHES, packed_path(path) + domain + message)

    async def _streamed(self, instruction: int, data: bytes) -> DeviceSignature:
        *chunks, last = _chunks(data)
        for number, chunk in enumerate(chunks):
            p1 = _NEXT if number else _FIRST
            status, _ = await self._ask(instruction, p1, 0, chunk, self._patience.a_person)
            if status != _FINE:
                raise self._failure(status, asked=True)
        return await self._signed(instruction, _NEXT if chunks else _FIRST, 0, last)

    async def _signed(self, instruction: int, p1: int, p2: int, data: bytes) -> DeviceSignature:
        status, answer = await self._ask(instruction, p1, p2, data, self._patience.a_person)
        if status != _FINE:
            raise self._failure(status, asked=True)
        if len(answer) != _SIGNATURE:
            raise AnswerFalse(f"a signature of {len(answer)} bytes")
        return DeviceSignature(answer[0], answer[1:33], answer[33:])

    async def _ask(
        self, instruction: int, p1: int, p2: int, data: bytes, patience: float
    ) -> tuple[int, bytes]:
        command = bytes([_CLASS, instruction, p1, p2, len(data)]) + data
        answer = await self._transport.exchange(command, patience)
        if len(answer) < 2:
            raise AnswerFalse("an answer without a status")
        return int.from_bytes(answer[-2:], "big"), answer[:-2]

    def _failure(self, status: int, *, asked: bool) -> HardwareError:
        """asked: whether its owner was asked, who may have said no. He may also say so late, to what was given up."""
        if status == _DECLINED or (asked and status == _NOT_SATISFIED):
            return DeviceDeclined()
        if status in _LOCKED or status == _NOT_SATISFIED:
            return DeviceLocked()
        if status in _CLOSED:
            return AppClosed()
        if status == _NO_SUCH_DATA and self._known is not None and not self._known.can_be_blind:
            return BlindSigningOff()
        return DeviceUnfit(
            status, self._known.release if self._known is not None else "of an unknown release"
        )


def _chunks(data: bytes) -> Iterator[bytes]:
    for begin in range(0, len(data), _CHUNK):
        yield data[begin : begin + _CHUNK]


def _account(data: bytes) -> str:
    """The address in an answer, if it is its public key's. Raises AnswerFalse."""
    key, rest = _counted(data)
    written, rest = _counted(rest)
    if len(key) != 65 or key[0] != 4 or rest:
        raise AnswerFalse("no public key")
    address = to_checksum_address(keccak(key[1:])[-20:])
    if written.lower().removeprefix(b"0x") != address[2:].lower().encode():
        raise AnswerFalse("an address that is not its public key's")
    return address


def _counted(data: bytes) -> tuple[bytes, bytes]:
    size = data[0] if data else 0
    return data[1 : 1 + size], data[1 + size :]

"""Ledger's Ethereum app as its makers document it (LedgerHQ/app-ethereum, `doc/ethapp.adoc`): holds a seed, takes
APDUs, parses transactions and typed data by itself, shows its owner what it has understood, and signs.

It stands in for the device, which a machine lacks. What it answers to the same seed and commands is held to be what
the app answered, byte for byte, by recorded exchanges (`tests/offchain/hardware/test_recorded.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import rlp
from eth_account import Account
from eth_keys.datatypes import PrivateKey
from eth_utils.crypto import keccak

ANVILS_SEED = "test test test test test test test test test test test junk"
FINE, LOCKED, DECLINED, INVALID = 0x9000, 0x5515, 0x6985, 0x6A80
NOT_ALLOWED, NO_SUCH_COMMAND, NO_SUCH_CLASS, NO_SUCH_TYPE, WRONG_PARAMETER = (
    0x6980,
    0x6D00,
    0x6E00,
    0x6501,
    0x6B00,
)
Show = tuple[str, str]
Walk = Generator[str, bytes, bytes]
_HARDENED = 1 << 31
_NAMES = ("", "int", "uint", "address", "bool", "string", "bytes", "bytes")


class Refused(Exception):
    """The app answers with this status."""

    def __init__(self, status: int) -> None:
        super().__init__(hex(status))
        self.status = status


@dataclass(frozen=True)
class Screen:
    """What the device has shown before its owner pressed a button. kind: address, transaction, message, fields or
    hashes. blind: whether it warned that it cannot show what this does.
    """

    kind: str
    shows: tuple[Show, ...]
    blind: bool = False


@dataclass
class _Field:
    name: str
    kind: int
    custom: str
    size: int | None
    levels: tuple[int | None, ...]

    @property
    def written(self) -> str:
        width = "" if self.size is None else str(self.size * (1 if self.kind == 6 else 8))
        brackets = "".join("[]" if level is None else f"[{level}]" for level in self.levels)
        return (self.custom or _NAMES[self.kind] + width) + brackets


@dataclass
class _Typed:
    """Typed data that is being received."""

    structs: dict[str, list[_Field]] = field(default_factory=dict)
    walk: Walk | None = None
    expects: str = ""
    root: str = ""
    value: bytes = b""
    hashes: dict[str, bytes] = field(default_factory=dict)
    shows: list[Show] = field(default_factory=list)
    domain: tuple[Show, ...] = ()


@dataclass
class LedgerApp:
    """A device that was set up.

    version: what it says it is; before 1.9.19 it takes typed data by hashes alone. by_fields: where it is not set, that
    is so always, as on the smallest devices. verbose: whether it shows all fields of a message, or those of its domain
    and a hash. blind: the setting that lets it sign what it cannot show. flags: what else it says of itself. owner:
    looks at the screen, and agrees or not.
    """

    seed: str = ANVILS_SEED
    version: tuple[int, int, int] = (1, 22, 0)
    blind: bool = True
    flags: int = 0x02
    locked: bool = False
    open: bool = True
    by_fields: bool = True
    verbose: bool = True
    owner: Callable[[Screen], bool] = lambda screen: True
    screens: list[Screen] = field(default_factory=list)
    _stream: bytes = b""
    _streams: int = 0
    _typed: _Typed = field(default_factory=_Typed)

    def answer(self, command: bytes) -> bytes:
        """Data and status."""
        try:
            return self._answered(command) + FINE.to_bytes(2, "big")
        except Refused as refused:
            self._stream, self._typed = b"", _Typed()
            return refused.status.to_bytes(2, "big")

    def address(self, path: str = "m/44'/60'/0'/0/0") -> str:
        """The account at a path."""
        return str(self._key(path).public_key.to_checksum_address())

    def _answered(self, command: bytes) -> bytes:
        if self.locked:
            raise Refused(LOCKED)
        if not self.open or len(command) < 5 or command[0] != 0xE0:
            raise Refused(NO_SUCH_CLASS)
        _, instruction, p1, p2, size = command[:5]
        data = command[5:]
        if size != len(data):
            raise Refused(0x6983)
        known: dict[int, Callable[[int, int, bytes], bytes]] = {
            0x02: self._public_key,
            0x04: self._transaction,
            0x06: self._configuration,
            0x08: self._message,
            0x0C: self._sign_typed,
        }
        if self.by_fields and self.version >= (1, 9, 19):
            known |= {0x1A: self._define, 0x1C: self._implement}
        if instruction not in known:
            raise Refused(NO_SUCH_COMMAND)
        return known[instruction](p1, p2, data)

    def _asks(self, kind: str, *shows: Show, blind: bool = False) -> None:
        if blind and not self.blind:
            raise Refused(INVALID)
        self.screens.append(Screen(kind, shows, blind))
        if not self.owner(self.screens[-1]):
            raise Refused(DECLINED)

    def _key(self, path: str) -> PrivateKey:
        return _derived(self.seed, path)

    def _signed(self, path: str, digest: bytes, base: int) -> bytes:
        signature = self._key(path).sign_msg_hash(digest)
        r, s = (int(part).to_bytes(32, "big") for part in (signature.r, signature.s))
        return bytes([base + signature.v]) + r + s

    # ------------------------------------------------------------------------------------------- one command

    def _configuration(self, p1: int, p2: int, data: bytes) -> bytes:
        return bytes([int(self.blind) | self.flags, *self.version])

    def _public_key(self, p1: int, p2: int, data: bytes) -> bytes:
        path, _ = _path(data)
        key = self._key(path).public_key
        if p1:
            self._asks("address", ("Address", key.to_checksum_address()))
        written = key.to_checksum_address()[2:].encode()
        return bytes([65, 4]) + key.to_bytes() + bytes([len(written)]) + written

    def _sign_typed(self, p1: int, p2: int, data: bytes) -> bytes:
        path, rest = _path(data)
        if p2 == 0:
            if len(rest) != 64:
                raise Refused(INVALID)
            domain, message = rest[:32], rest[32:]
            self._asks("hashes", ("Domain hash", domain.hex()), ("Message hash", message.hex()), blind=True)
        else:
            typed, self._typed = self._typed, _Typed()
            if len(typed.hashes) != 2 or typed.walk is not None:
                raise Refused(INVALID)
            domain, message = typed.hashes.values()
            shows = typed.shows if self.verbose else [*typed.domain, ("Message hash", message.hex())]
            self._asks("fields", *shows, blind=True)  # its maker has no filters for it
        return self._signed(path, keccak(b"\x19\x01" + domain + message), 27)

    # -------------------------------------------------------------------------------------- several commands

    def _streamed(self, p1: int, data: bytes) -> bytes:
        if p1 == 0:
            self._stream, self._streams = b"", 0
        elif p1 != 0x80 or not self._streams:
            raise Refused(NOT_ALLOWED)
        self._stream += data
        self._streams += 1
        return self._stream

    def _transaction(self, p1: int, p2: int, data: bytes) -> bytes:
        path, payload = _path(self._streamed(p1, data))
        if payload[:1] != b"\x02":
            raise Refused(NO_SUCH_TYPE)
        size = _rlp_size(payload[1:])
        if size is None or len(payload) - 1 < size:
            if not self.blind:  # only what calls a contract is so long
                raise Refused(INVALID)
            return b""
        self._streams = 0
        try:
            chain, nonce, _, _, _, to, value, called, _ = rlp.decode(payload[1:], strict=True)
        except (rlp.DecodingError, ValueError):
            raise Refused(INVALID) from None
        digest = keccak(payload)
        shows = [
            ("Amount", str(int.from_bytes(value, "big"))),
            ("To", "0x" + to.hex()),
            ("Chain", str(int.from_bytes(chain, "big"))),
            ("Nonce", str(int.from_bytes(nonce, "big"))),
        ]
        if called:
            shows.append(("Transaction hash", "0x" + digest.hex()))
        self._asks("transaction", *shows, blind=bool(called))
        return self._signed(path, digest, 0)

    def _message(self, p1: int, p2: int, data: bytes) -> bytes:
        path, rest = _path(self._streamed(p1, data))
        size, text = int.from_bytes(rest[:4], "big"), rest[4:]
        if len(text) > size:
            raise Refused(INVALID)
        if len(text) < size:
            return b""
        self._streams = 0
        self._asks("message", ("Message", text.decode(errors="backslashreplace")))
        return self._signed(path, keccak(b"\x19Ethereum Signed Message:\n%d" % size + text), 27)

    # -------------------------------------------------------------------------------------------- typed data

    def _define(self, p1: int, p2: int, data: bytes) -> bytes:
        structs = self._typed.structs
        if p2 == 0x00:
            structs[data.decode()] = []
        elif p2 == 0xFF and structs:
            list(structs.values())[-1].append(_field(data))
        else:
            raise Refused(WRONG_PARAMETER)
        return b""

    def _implement(self, p1: int, p2: int, data: bytes) -> bytes:
        typed = self._typed
        if p2 == 0x00:
            if typed.walk is not None or data.decode() not in typed.structs:
                raise Refused(INVALID)
            typed.root = data.decode()
            typed.walk = self._struct(typed.root)
            self._walked(None)
            return b""
        if typed.walk is None:
            raise Refused(INVALID)
        if p2 == 0x0F and typed.expects == "array" and len(data) == 1:
            self._walked(data)
        elif p2 == 0xFF and typed.expects == "value":
            typed.value += data
            size = int.from_bytes(typed.value[:2], "big")
            if len(typed.value) - 2 > size or (p1 == 0 and len(typed.value) - 2 != size):
                raise Refused(INVALID)
            if p1 == 0:
                value, typed.value = typed.value[2:], b""
                self._walked(value)
        else:
            raise Refused(INVALID)
        return b""

    def _walked(self, data: bytes | None) -> None:
        """The next step of the structure that is received; its hash, when it is whole."""
        typed = self._typed
        assert typed.walk is not None
        try:
            typed.expects = next(typed.walk) if data is None else typed.walk.send(data)
        except StopIteration as whole:
            typed.hashes[typed.root] = whole.value
            typed.domain = typed.domain or tuple(typed.shows)
            typed.walk = None

    def _struct(self, name: str) -> Walk:
        if name not in self._typed.structs:
            raise Refused(INVALID)
        parts = keccak(text=self._type(name))
        for part in self._typed.structs[name]:
            parts += yield from self._element(part, part.levels)
        return keccak(parts)

    def _element(self, part: _Field, levels: tuple[int | None, ...]) -> Walk:
        if levels:
            count = (yield "array")[0]
            if levels[-1] is not None and levels[-1] != count:
                raise Refused(INVALID)
            parts = b""
            for _ in range(count):
                parts += yield from self._element(part, levels[:-1])
            return keccak(parts)
        if part.kind == 0:
            return (yield from self._struct(part.custom))
        value = yield "value"
        encoded, shown = _encoded(part, value)
        self._typed.shows.append((part.name, shown))
        return encoded

    def _type(self, name: str) -> str:
        """EIP-712's `encodeType`: the structure, then those that it needs, by name."""
        needed, ahead = set[str](), [name]
        while ahead:
            now = ahead.pop()
            if now not in needed:
                needed.add(now)
                ahead += [part.custom for part in self._typed.structs.get(now, []) if part.kind == 0]
        listed = [name, *sorted(needed - {name})]
        return "".join(
            f"{one}({','.join(f'{part.written} {part.name}' for part in self._typed.structs.get(one, []))})"
            for one in listed
        )


@cache
def _derived(seed: str, path: str) -> PrivateKey:
    Account.enable_unaudited_hdwallet_features()
    return PrivateKey(bytes(Account.from_mnemonic(seed, account_path=path).key))


def _path(data: bytes) -> tuple[str, bytes]:
    count = data[0] if data else 0
    if not 1 <= count <= 10 or len(data) < 1 + 4 * count:
        raise Refused(INVALID)
    steps = [int.from_bytes(data[place : place + 4], "big") for place in range(1, 1 + 4 * count, 4)]
    written = "/".join(f"{step - _HARDENED}'" if step >= _HARDENED else str(step) for step in steps)
    return "m/" + written, data[1 + 4 * count :]


def _rlp_size(data: bytes) -> int | None:
    """Bytes of the list with its head; `None` where its head is not whole."""
    if not data:
        return None
    if 0xC0 <= data[0] < 0xF8:
        return 1 + data[0] - 0xC0
    if data[0] < 0xC0:
        raise Refused(INVALID)
    width = data[0] - 0xF7
    return 1 + width + int.from_bytes(data[1 : 1 + width], "big") if len(data) > width else None


def _field(data: bytes) -> _Field:
    """A field's definition, taken apart to its last byte."""
    taken = iter(data)
    try:
        head = next(taken)
        kind = head & 0x0F
        custom = _text(taken) if kind == 0 else ""
        size = next(taken) if head & 0x40 else None
        levels = tuple(_level(taken) for _ in range(next(taken))) if head & 0x80 else ()
        made = _Field(_text(taken), kind, custom, size, levels)
    except StopIteration:
        raise Refused(INVALID) from None
    if kind >= len(_NAMES) or next(taken, None) is not None or (size is None) == (kind in (1, 2, 6)):
        raise Refused(INVALID)
    return made


def _text(taken: Any) -> str:
    return bytes([next(taken) for _ in range(next(taken))]).decode()


def _level(taken: Any) -> int | None:
    return next(taken) if next(taken) else None


def _encoded(part: _Field, value: bytes) -> tuple[bytes, str]:
    """32 bytes as EIP-712 wants them, and what the screen shows."""
    if part.kind in (5, 7):
        return keccak(value), value.decode() if part.kind == 5 else "0x" + value.hex()
    limit = {3: 20, 4: 1}.get(part.kind, part.size or 32)
    exact = part.kind in (3, 4)
    if not value or len(value) > limit or (exact and len(value) != limit):
        raise Refused(INVALID)
    if part.kind == 6:
        return value.ljust(32, b"\0"), "0x" + value.hex()
    if part.kind == 1:
        number = int.from_bytes(value, "big", signed=len(value) == part.size)
        return number.to_bytes(32, "big", signed=True), str(number)
    shown = "0x" + value.hex() if part.kind == 3 else str(int.from_bytes(value, "big"))
    return value.rjust(32, b"\0"), shown

"""Typed data (EIP-712) as the app takes it to show and to hash it itself: its structures, then its values.

As app-ethereum documents it (`doc/ethapp.adoc`, EIP712 SEND STRUCT DEFINITION and IMPLEMENTATION).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from leasehold.chain import TypedData

DEFINITION: Final = 0x1A
IMPLEMENTATION: Final = 0x1C
_NAME, _ARRAY, _FIELD = 0x00, 0x0F, 0xFF
_WHOLE, _MORE_FOLLOWS = 0x00, 0x01
_CHUNK = 255
_DOMAIN = "EIP712Domain"
_STRUCT, _INT, _UINT, _ADDRESS, _BOOL, _STRING, _FIXED, _BYTES = range(8)
_IS_ARRAY, _HAS_SIZE = 1 << 7, 1 << 6
_LEVELS = re.compile(r"\[([0-9]*)\]")
_SIZED = re.compile(r"(u?int|bytes)([0-9]*)")


class NotShowable(ValueError):
    """The app has no words for it: too many elements, a value too long, a type that it does not know."""


@dataclass(frozen=True, slots=True)
class TypedCommand:
    """One command: its instruction, P1, P2 and data."""

    instruction: int
    p1: int
    p2: int
    data: bytes


@dataclass(frozen=True, slots=True)
class _Kind:
    """A field's type taken apart. size: bytes, where it has one. levels: of arrays, as written; `None` is dynamic."""

    code: int
    name: str
    size: int | None
    levels: tuple[int | None, ...]


def typed_commands(message: TypedData) -> list[TypedCommand]:
    """What has to be sent before it is asked to sign. Raises NotShowable."""
    try:
        return list(_all(message))
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise NotShowable(str(error)) from error


def _all(message: TypedData) -> Iterator[TypedCommand]:
    types: Mapping[str, Sequence[Mapping[str, str]]] = message["types"]
    for name, fields in types.items():
        yield TypedCommand(DEFINITION, _WHOLE, _NAME, _short(name.encode()))
        for field in fields:
            yield TypedCommand(DEFINITION, _WHOLE, _FIELD, _short(_defined(field["name"], field["type"])))
    for root, values in ((_DOMAIN, message["domain"]), (message["primaryType"], message["message"])):
        yield TypedCommand(IMPLEMENTATION, _WHOLE, _NAME, _short(root.encode()))
        yield from _struct(types, root, values)


def _defined(name: str, written: str) -> bytes:
    kind = _kind(written)
    head = kind.code | (_IS_ARRAY if kind.levels else 0) | (_HAS_SIZE if kind.size is not None else 0)
    parts = bytes([head])
    if kind.code == _STRUCT:
        parts += _counted(kind.name.encode())
    if kind.size is not None:
        parts += bytes([kind.size])
    if kind.levels:
        parts += bytes([len(kind.levels)])
        parts += b"".join(b"\0" if length is None else bytes([1, length]) for length in kind.levels)
    return parts + _counted(name.encode())


def _kind(written: str) -> _Kind:
    base = written.partition("[")[0]
    levels = tuple(int(length) if length else None for length in _LEVELS.findall(written[len(base) :]))
    plain = {"address": _ADDRESS, "bool": _BOOL, "string": _STRING, "bytes": _BYTES}
    if base in plain:
        return _Kind(plain[base], base, None, levels)
    if (sized := _SIZED.fullmatch(base)) is None:
        return _Kind(_STRUCT, base, None, levels)
    if sized[1] == "bytes":
        return _Kind(_FIXED, base, int(sized[2]), levels)
    return _Kind(_UINT if sized[1] == "uint" else _INT, base, int(sized[2] or 256) // 8, levels)


def _struct(types: Mapping[str, Any], name: str, values: Mapping[str, Any]) -> Iterator[TypedCommand]:
    for field in types[name]:
        kind = _kind(field["type"])
        yield from _value(types, kind, kind.levels, values[field["name"]])


def _value(
    types: Mapping[str, Any], kind: _Kind, levels: tuple[int | None, ...], value: Any
) -> Iterator[TypedCommand]:
    """The innermost brackets, which are written first, hold the single values."""
    if levels:
        *inner, outer = levels
        if outer is not None and outer != len(value):
            raise NotShowable("an array of another length than its type says")
        yield TypedCommand(IMPLEMENTATION, _WHOLE, _ARRAY, bytes([len(value)]))
        for element in value:
            yield from _value(types, kind, tuple(inner), element)
    elif kind.code == _STRUCT:
        yield from _struct(types, kind.name, value)
    else:
        yield from _chunks(_encoded(kind, value))


def _chunks(value: bytes) -> Iterator[TypedCommand]:
    whole = len(value).to_bytes(2, "big") + value
    for begin in range(0, len(whole), _CHUNK):
        p1 = _MORE_FOLLOWS if begin + _CHUNK < len(whole) else _WHOLE
        yield TypedCommand(IMPLEMENTATION, p1, _FIELD, whole[begin : begin + _CHUNK])


def _encoded(kind: _Kind, value: Any) -> bytes:
    if kind.code in (_INT, _UINT):
        assert kind.size is not None
        number = int(value, 0) if isinstance(value, str) else int(value)
        if number < 0:
            return number.to_bytes(kind.size, "big", signed=True)
        return number.to_bytes(max(1, (number.bit_length() + 7) // 8), "big")
    if kind.code == _BOOL:
        return b"\1" if value is True else b"\0"
    if kind.code == _STRING:
        return str(value).encode()
    return bytes(value) if isinstance(value, bytes) else bytes.fromhex(str(value).removeprefix("0x"))


def _counted(text: bytes) -> bytes:
    return bytes([len(text)]) + text


def _short(data: bytes) -> bytes:
    if len(data) > _CHUNK:
        raise NotShowable("a name too long")
    return data

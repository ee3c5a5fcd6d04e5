"""EIP-712 structures as frozen dataclasses.

A structure is a dataclass whose fields carry their Solidity type: `machine: Annotated[int, "uint32"]`. Names
on the wire are the camelCase of the Python names; a trailing underscore (for names that are taken) falls off.
Values are checked when the structure is made, so that what cannot be encoded never exists, and addresses are
checksummed, so that two equal structures compare equal.

Integers travel in JSON as numbers up to 2**53 - 1 and as decimal texts above: JavaScript loses the rest.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self, TypedDict, cast, get_type_hints

from eth_utils.address import is_hex_address, to_checksum_address
from eth_utils.crypto import keccak

from leasehold.errors import TypedDataError

_SAFE_INTEGER = 2**53 - 1
_DOMAIN_FIELDS = [
    {"name": "name", "type": "string"},
    {"name": "version", "type": "string"},
    {"name": "chainId", "type": "uint256"},
    {"name": "verifyingContract", "type": "address"},
]


class TypedData(TypedDict):
    """What `eth_signTypedData_v4` takes: JSON-ready, so that any wallet can show and sign it."""

    domain: dict[str, object]
    types: dict[str, list[dict[str, str]]]
    primaryType: str  # EIP-712's own name
    message: dict[str, object]


@dataclass(frozen=True, slots=True)
class StructField:
    """A structure's field: its Python name, its name on the wire, its Solidity type."""

    attribute: str
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Domain:
    """Where a signature counts: one contract on one chain, under the name `Leasehold`, version 1."""

    chain_id: int
    verifying_contract: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "chain_id", checked("chainId", "uint256", self.chain_id))
        object.__setattr__(
            self, "verifying_contract", checked("verifyingContract", "address", self.verifying_contract)
        )

    def to_json(self) -> dict[str, object]:
        return {
            "name": "Leasehold",
            "version": "1",
            "chainId": self.chain_id,
            "verifyingContract": self.verifying_contract,
        }


@dataclass(frozen=True)
class Struct:
    """The root of every EIP-712 structure."""

    _fields: ClassVar[tuple[StructField, ...]]

    def __init_subclass__(cls) -> None:
        hints = {n: h for n, h in get_type_hints(cls, include_extras=True).items() if n != "_fields"}
        cls._fields = tuple(StructField(n, _wire_name(n), h.__metadata__[0]) for n, h in hints.items())

    def __post_init__(self) -> None:
        for field in self.layout():
            value = getattr(self, field.attribute)
            object.__setattr__(self, field.attribute, checked(field.name, field.type, value))

    @classmethod
    def layout(cls) -> tuple[StructField, ...]:
        """The fields in the order that EIP-712 hashes them."""
        return cls._fields

    def to_json(self) -> dict[str, object]:
        """The message by wire names, made of what JSON has."""
        return {f.name: _to_json(getattr(self, f.attribute)) for f in self.layout()}

    @classmethod
    def from_json(cls, message: object) -> Self:
        """The structure of a message by wire names.

        Raises TypedDataError for a field that is missing, unknown or of another type.
        """
        if not isinstance(message, Mapping):
            raise TypedDataError(cls.__name__, "is not an object")
        layout = cls.layout()
        unknown = {str(name) for name in message} - {f.name for f in layout}
        if unknown:
            raise TypedDataError(min(unknown), f"is no field of {cls.__name__}")
        for field in layout:
            if field.name not in message:
                raise TypedDataError(field.name, f"of {cls.__name__} is missing")
        return cls(**{f.attribute: _from_json(f, message[f.name]) for f in layout})

    def typed_data(self, domain: Domain) -> TypedData:
        """The whole request for a wallet."""
        return {
            "domain": domain.to_json(),
            "types": {"EIP712Domain": _DOMAIN_FIELDS, **_types(type(self))},
            "primaryType": type(self).__name__,
            "message": self.to_json(),
        }

    def digest(self, domain: Domain) -> bytes:
        """The 32 bytes that are signed."""
        from eth_account.messages import encode_typed_data

        message = encode_typed_data(full_message=cast(dict[str, Any], self.typed_data(domain)))
        return keccak(b"\x19" + message.version + message.header + message.body)


def _types(struct: type[Struct]) -> dict[str, list[dict[str, str]]]:
    types = {struct.__name__: [{"name": f.name, "type": f.type} for f in struct.layout()]}
    for nested in {f.type.removesuffix("[]") for f in struct.layout()} & set(_NESTED):
        types |= _types(_NESTED[nested])
    return types


def _wire_name(attribute: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), attribute.rstrip("_"))


# ----------------------------------------------------------------------------------------------------- values


def checked(name: str, kind: str, value: object) -> object:
    """`value` in its one form, or TypedDataError."""
    if kind.endswith("[]"):
        if not isinstance(value, tuple | list):
            raise TypedDataError(name, "is not a list")
        return tuple(checked(name, kind[:-2], item) for item in value)
    if kind.startswith("uint"):
        return _integer(name, int(kind[4:]), value)
    if kind == "address":
        if not isinstance(value, str) or not is_hex_address(value) or not value.startswith("0x"):
            raise TypedDataError(name, "is not an address")
        if to_checksum_address(value) != value and value[2:] not in (value[2:].lower(), value[2:].upper()):
            raise TypedDataError(name, "is an address with a wrong checksum")
        return to_checksum_address(value)
    if kind in _NESTED:
        return _instance(name, value, _NESTED[kind])
    expected = {"bool": bool, "string": str, "bytes": bytes, "bytes32": bytes}[kind]
    plain = _instance(name, value, expected)
    if kind == "bytes32" and len(cast(bytes, plain)) != 32:
        raise TypedDataError(name, "does not have 32 bytes")
    return plain


def _integer(name: str, bits: int, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << bits:
        raise TypedDataError(name, f"is not an integer of {bits} bits")
    return int(value)


def _instance(name: str, value: object, expected: type) -> object:
    if not isinstance(value, expected):
        raise TypedDataError(name, f"is not of type {expected.__name__}")
    return value


def _to_json(value: object) -> object:
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, Struct):
        return value.to_json()
    if isinstance(value, tuple):
        return [_to_json(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and value > _SAFE_INTEGER:
        return str(value)
    return value


def _from_json(field: StructField, value: object) -> object:
    return _value_from_json(field.name, field.type, value)


def _value_from_json(name: str, kind: str, value: object) -> object:
    if kind.endswith("[]"):
        if not isinstance(value, list):
            raise TypedDataError(name, "is not a list")
        return tuple(_value_from_json(name, kind[:-2], item) for item in value)
    if kind in _NESTED:
        return _NESTED[kind].from_json(value)
    if kind.startswith("uint") and isinstance(value, str):
        if not re.fullmatch(r"0|[1-9][0-9]{0,77}", value):
            raise TypedDataError(name, "is not a decimal integer")
        return int(value)
    if kind in ("bytes", "bytes32"):
        if not isinstance(value, str) or not re.fullmatch(r"0x(?:[0-9a-fA-F]{2})*", value):
            raise TypedDataError(name, "is not hexadecimal")
        return bytes.fromhex(value[2:])
    return value


@dataclass(frozen=True)
class Call(Struct):
    """One call of an `Execute`: which contract, with which call data."""

    target: Annotated[str, "address"]
    data: Annotated[bytes, "bytes"]


_NESTED: dict[str, type[Struct]] = {"Call": Call}

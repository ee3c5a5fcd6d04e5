"""The ABIs that ship with the package, as encoders and decoders made once for each function."""

import json
import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from eth_hash.auto import keccak

from leasehold._addresses import checksummed

CONTRACTS = (
    "Controller",
    "Accounts",
    "ControllerFactory",
    "Committee",
    "Faults",
    "Reputation",
    "Directory",
    "Lens",
)


def snake(name: str) -> str:
    """`maxPrice` to `max_price`; a Python keyword gets an underscore behind it."""
    snaked = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
    return snaked + "_" if keyword.iskeyword(snaked) else snaked


def canonical(item: Mapping[str, Any]) -> str:
    """The type as it stands in a signature: structs become tuples."""
    kind: str = item["type"]
    if not kind.startswith("tuple"):
        return kind
    return "(" + ",".join(canonical(c) for c in item["components"]) + ")" + kind[5:]


def code(text: str) -> bytes:
    """A short ASCII code as a bytes32. Raises ValueError for one that is longer, or not ASCII."""
    encoded = text.encode("ascii")
    if len(encoded) > 32:
        raise ValueError(f"`{text}` has more than 32 characters")
    return encoded.ljust(32, b"\0")


@cache
def load_abi(contract: str) -> tuple[Mapping[str, Any], ...]:
    """The ABI of one of `CONTRACTS`."""
    text = (files("leasehold.chain._generated") / f"abi/{contract}.json").read_text()
    return tuple(json.loads(text))


@dataclass(frozen=True, slots=True)
class Function:
    """One function of an ABI. Structs go in as dataclasses and come out as dicts with snake_case names."""

    name: str
    selector: bytes
    inputs: tuple[Mapping[str, Any], ...]
    outputs: tuple[Mapping[str, Any], ...]

    def encode(self, *values: object) -> bytes:
        """The calldata. Raises ValueError or an eth_abi error when a value does not fit its type."""
        from eth_abi.abi import encode as abi_encode

        plain = [_plain(item, value) for item, value in zip(self.inputs, values, strict=True)]
        return self.selector + abi_encode([canonical(item) for item in self.inputs], plain)

    def arguments(self, data: bytes) -> dict[str, Any]:
        """The arguments in calldata of this function, by their snake_case names.

        Raises ValueError when the bytes say anything but exactly these arguments: whoever is shown them sees all.
        """
        from eth_abi.abi import decode as abi_decode
        from eth_abi.abi import encode as abi_encode
        from eth_abi.exceptions import DecodingError

        types = [canonical(item) for item in self.inputs]
        try:
            values = abi_decode(types, data[4:])
        except (DecodingError, OverflowError) as error:
            raise ValueError(str(error)) from error
        if data[:4] != self.selector or abi_encode(types, values) != data[4:]:
            raise ValueError("the bytes hold more than the arguments")
        return {
            snake(item["name"]): _shaped(item, value) for item, value in zip(self.inputs, values, strict=True)
        }

    def decode(self, data: bytes) -> tuple[Any, ...]:
        """The returned values."""
        from eth_abi.abi import decode as abi_decode

        values = abi_decode([canonical(item) for item in self.outputs], data)
        return tuple(_shaped(item, value) for item, value in zip(self.outputs, values, strict=True))


@cache
def functions(contract: str) -> Mapping[str, Function]:
    """The functions of a contract by their Solidity names; none is overloaded."""
    found = {}
    for entry in load_abi(contract):
        if entry["type"] == "function":
            inputs, outputs = tuple(entry["inputs"]), tuple(entry["outputs"])
            signature = f"{entry['name']}({','.join(canonical(i) for i in inputs)})"
            found[entry["name"]] = Function(entry["name"], keccak(signature.encode())[:4], inputs, outputs)
    return found


def _plain(item: Mapping[str, Any], value: Any) -> Any:
    kind: str = item["type"]
    if kind.endswith("[]"):
        inner = {**item, "type": kind[:-2]}
        return [_plain(inner, v) for v in value]
    if kind == "tuple":
        return tuple(_plain(c, getattr(value, snake(c["name"]))) for c in item["components"])
    return value


def _shaped(item: Mapping[str, Any], value: Any) -> Any:
    kind: str = item["type"]
    if kind.endswith("[]"):
        inner = {**item, "type": kind[:-2]}
        return tuple(_shaped(inner, v) for v in value)
    if kind == "tuple":
        return {snake(c["name"]): _shaped(c, v) for c, v in zip(item["components"], value, strict=True)}
    return checksummed(value) if kind == "address" else value

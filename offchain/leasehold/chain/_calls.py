"""Calls as people read them: what a signer is shown before signing an `Execute`.

What is shown is all that the bytes say: calldata that does not decode, or holds more than its arguments, is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eth_utils.address import to_checksum_address

from leasehold.chain._abi import Function, functions
from leasehold.chain._eip712 import Call
from leasehold.errors import ChainError, error_type


@error_type(
    "call-unreadable", problem="A call of {target} cannot be shown ({reason})", advice="do not sign it."
)
class CallUnreadable(ChainError):
    """A call that cannot be shown, and so should not be signed."""

    target: str
    reason: str


@dataclass(frozen=True, slots=True)
class DecodedCall:
    """A call taken apart.

    function: as in Solidity. arguments: by snake_case names; structs are dicts. inner: the calls that a `multicall`
    or an `executeAsDelegate` makes.
    """

    contract: str
    target: str
    function: str
    arguments: Mapping[str, Any]
    inner: tuple["DecodedCall", ...] = ()


def decode_call(target: str, data: bytes, contracts: Mapping[str, str], *, depth: int = 2) -> DecodedCall:
    """What a call does.

    contracts: which contract lives at which address (`Pool.contracts`). Raises CallUnreadable for any other target,
    for a function that the contract does not have, for bytes that are not exactly its arguments, and for calls inside
    one another deeper than `depth`.
    """
    if depth < 0:
        raise CallUnreadable(target, "too many calls are inside one another")
    target = to_checksum_address(target)
    contract = contracts.get(target)
    if contract is None:
        raise CallUnreadable(target, "it is no contract of this pool")
    function = _by_selector(contract).get(data[:4])
    if function is None:
        raise CallUnreadable(target, f"{contract} has no function 0x{data[:4].hex()}")
    try:
        arguments = function.arguments(data)
    except ValueError as error:
        raise CallUnreadable(target, f"{function.name}: {error}") from error
    inner: tuple[DecodedCall, ...] = ()
    if (contract, function.name) == ("Controller", "multicall"):
        inner = tuple(
            decode_call(target, bytes(each), contracts, depth=depth - 1) for each in arguments["calls"]
        )
    elif (contract, function.name) == ("Accounts", "executeAsDelegate"):
        inner = (decode_call(arguments["pool"], bytes(arguments["data"]), contracts, depth=depth - 1),)
    return DecodedCall(contract, target, function.name, arguments, inner)


def decode_calls(calls: Sequence[Call], contracts: Mapping[str, str]) -> list[DecodedCall]:
    """`decode_call` for each."""
    return [decode_call(call.target, call.data, contracts) for call in calls]


def _by_selector(contract: str) -> dict[bytes, Function]:
    return {function.selector: function for function in functions(contract).values()}

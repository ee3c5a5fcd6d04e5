"""A real Safe on a development chain: the bytecode of 1.4.1 as its authors published it (npm)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from eth_abi.abi import encode
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from leasehold.chain import Rpc, Sender, Signer

_PUBLISHED: Final = Path("node_modules/@safe-global/safe-contracts/build/artifacts/contracts")
_ROOT: Final = Path(__file__).resolve().parents[2]
_NOBODY: Final = "0x" + "00" * 20


async def make_safe(rpc: Rpc, creator: Signer, owners: Sequence[str], threshold: int) -> str:
    """The address of a new Safe of these owners. creator pays."""
    sender = Sender(rpc, creator, poll=0.01)
    singleton = await _create(rpc, creator, "Safe.sol/Safe.json")
    handler = await _create(
        rpc, creator, "handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler.json"
    )
    factory = await _create(rpc, creator, "proxies/SafeProxyFactory.sol/SafeProxyFactory.json")
    setup = _call(
        "setup(address[],uint256,address,bytes,address,address,uint256,address)",
        owners, threshold, _NOBODY, b"", handler, _NOBODY, 0, _NOBODY,
    )  # fmt: skip
    make = _call("createProxyWithNonce(address,bytes,uint256)", singleton, setup, 0)
    address = to_checksum_address((await rpc.eth_call(factory, make))[12:32])
    await sender.send(factory, make)
    return address


async def _create(rpc: Rpc, creator: Signer, path: str) -> str:
    """A contract of theirs, deployed. A development chain signs for its own accounts."""
    code = json.loads((_ROOT / _PUBLISHED / path).read_text())["bytecode"]
    sent = await rpc.call(
        "eth_sendTransaction", [{"from": creator.address, "data": code, "gas": hex(9_000_000)}]
    )
    return str((await rpc.call("eth_getTransactionReceipt", [sent]))["contractAddress"])


def _call(signature: str, *values: object) -> bytes:
    kinds = signature[signature.index("(") + 1 : -1]
    return keccak(text=signature)[:4] + encode(kinds.split(","), values)

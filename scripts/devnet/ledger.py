"""Reads back what happened on a development chain: every transaction, by whom, to which function, for how much gas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files

from eth_typing import ABIFunction
from eth_utils.abi import function_abi_to_4byte_selector

from devnet.anvil import Anvil

_TOKEN = {"095ea7b3": "approve", "a9059cbb": "transfer"}


@dataclass(frozen=True)
class Transaction:
    """One mined transaction. `call` is the function's name, or "transfer of gas" where there was no calldata."""

    block: int
    sender: str
    to: str | None
    call: str
    gas: int
    succeeded: bool
    hash: str


def transactions(anvil: Anvil, first_block: int, contracts: Mapping[str, str]) -> Iterator[Transaction]:
    """All transactions from `first_block` to the head; `contracts` maps addresses to the names of their ABIs."""
    names = {address.lower(): _selectors(abi) for address, abi in contracts.items()}
    for number in range(first_block, anvil.block_number + 1):
        block = anvil.request("eth_getBlockByNumber", hex(number), True)
        for sent in block["transactions"]:
            receipt = anvil.request("eth_getTransactionReceipt", sent["hash"])
            selector = sent["input"][2:10]
            known = names.get((sent["to"] or "").lower(), _TOKEN)
            yield Transaction(
                block=number,
                sender=sent["from"],
                to=sent["to"],
                call=known.get(selector, selector) if selector else "transfer of gas",
                gas=int(receipt["gasUsed"], 16),
                succeeded=receipt["status"] == "0x1",
                hash=sent["hash"],
            )


def _selectors(abi: str) -> dict[str, str]:
    entries: list[ABIFunction] = json.loads(
        files("leasehold.chain._generated").joinpath(f"abi/{abi}.json").read_text()
    )
    functions = [entry for entry in entries if entry["type"] == "function"]
    return {function_abi_to_4byte_selector(entry).hex(): entry["name"] for entry in functions}

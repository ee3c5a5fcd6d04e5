"""The pool's contracts as web3.py's contract objects."""

from typing import Any

from eth_utils.address import to_checksum_address
from web3 import AsyncWeb3
from web3.contract import AsyncContract

from leasehold.chain._abi import load_abi


def web3_contract(w3: "AsyncWeb3[Any]", name: str, address: str) -> AsyncContract:
    """The contract of that name in the ABIs (`Controller`, `Accounts`, …) at an address."""
    contract: AsyncContract = w3.eth.contract(
        address=to_checksum_address(address), abi=[dict(entry) for entry in load_abi(name)]
    )
    return contract

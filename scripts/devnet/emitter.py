"""A contract that emits what it is told to, for tests that need many events or odd ones."""

from collections.abc import Sequence

from eth_utils.crypto import keccak

from devnet.anvil import Anvil

TRANSFERRED = keccak(text="Transferred(address,address,uint256)")


class Emitter:
    """Emits `Transferred` events from `address`, as many in one transaction as are asked for."""

    address = "0x00000000000000000000000000000000000E3177"

    def __init__(self, anvil: Anvil) -> None:
        self._anvil = anvil
        anvil.request("anvil_setCode", self.address, emitter_code())

    def calldata(self, amounts: Sequence[int]) -> str:
        word = bytes(12)
        sender, receiver = word + b"\x11" * 20, word + b"\x22" * 20
        parts = [TRANSFERRED + sender + receiver + amount.to_bytes(32, "big") for amount in amounts]
        return "0x" + b"".join(parts).hex()

    def emit(self, *amounts: int, gas: int = 29_000_000) -> str:
        """One transaction with an event for each amount, in a block when this returns."""
        transaction = {
            "from": self._anvil.accounts[0].address,
            "to": self.address,
            "data": self.calldata(amounts),
            "gas": hex(gas),
        }
        receipt = self._anvil.request("eth_sendTransactionSync", transaction)
        return str(receipt["transactionHash"])


def emitter_code() -> str:
    """for (at = 0; at < calldatasize; at += 128) log3(data: at + 96; topics: at, at + 32, at + 64)"""
    return "0x" + "".join(
        (
            "5f",  # 00 push at = 0
            "5b",  # 01 loop:
            "368110",  # 02 at < calldatasize
            "600957",  # 05 then go on
            "00",  # 08 else stop
            "5b",  # 09
            "80606001355f52",  # 0a mstore(0, calldataload(at + 96))
            "8060400135",  # calldataload(at + 64)
            "8160200135",  # calldataload(at + 32)
            "8235",  # calldataload(at)
            "60205f",  # 32 bytes from 0
            "a3",
            "608001",  # at += 128
            "600156",  # again
        )
    )

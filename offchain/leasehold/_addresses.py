"""Addresses in hexadecimal, and their usual spelling, whose capitals are a checksum (EIP-55).

eth-utils has the same, and takes 0.15 s to be imported: this is for what a prompt waits for.
"""

import re

_ADDRESS = re.compile("(0x)?[0-9a-f]{40}", re.IGNORECASE | re.ASCII)


def is_hex_address(value: object) -> bool:
    """Whether it is a text of 20 bytes in hexadecimal. Its capitals are not looked at."""
    return isinstance(value, str) and _ADDRESS.fullmatch(value) is not None


def checksummed(address: str) -> str:
    """The address with the capitals that EIP-55 gives it."""
    from eth_hash.auto import keccak

    digits = address[-40:].lower()
    marks = keccak(digits.encode()).hex()
    return "0x" + "".join(
        digit.upper() if mark > "7" else digit for digit, mark in zip(digits, marks, strict=False)
    )

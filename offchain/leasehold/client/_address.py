"""An account's address, as people write it."""

from __future__ import annotations

from eth_utils.address import is_checksum_address, is_hex_address, to_checksum_address

from leasehold.market import InvalidInput


def parse_address(text: str) -> str:
    """An account's address, checksummed.

    Raises:
        InvalidInput: it is none, or its checksum is wrong: somebody mistyped it.
    """
    digits = text.removeprefix("0x")
    if is_hex_address(text) and int(digits, 16) == 0:
        raise InvalidInput("That is the zero address, which is nobody's: name an account's.")
    if text == digits or not is_hex_address(text):
        raise InvalidInput(f"'{text}' is no account's address: it has 40 hex digits after 0x.")
    if digits not in (digits.lower(), digits.upper()) and not is_checksum_address(text):
        raise InvalidInput(f"'{text}' has a wrong checksum: copy the address again.")
    return to_checksum_address(text)

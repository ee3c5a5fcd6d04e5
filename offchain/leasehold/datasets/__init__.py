"""Data over IPFS: add, pin, fetch, verify; and the age format that seals it."""

from leasehold.datasets._age import (
    check_identity,
    check_recipient,
    decrypt,
    encrypt,
    new_identity,
    recipient_of,
)

__all__ = [
    "check_identity",
    "check_recipient",
    "decrypt",
    "encrypt",
    "new_identity",
    "recipient_of",
]

"""Lease ids: `slot << 16 | generation`, shown as `12` and, from the slot's second use on, `12.1`."""

import re
from typing import ClassVar

from leasehold.errors import LeaseholdError, error_type

_SHOWN = re.compile(r"([1-9][0-9]{0,75})(?:\.([0-9]{1,5}))?")


@error_type(
    "invalid-lease-id", problem="`{text}` is not a lease", advice="write its number, such as 12 or 12.1."
)
class InvalidLeaseId(LeaseholdError, ValueError):
    """A text that names no lease."""

    exit_code: ClassVar[int] = 2
    text: str


def format_lease(lease: int) -> str:
    """`12` for the first lease of slot 12, `12.1` for its second."""
    slot, generation = lease >> 16, lease & 0xFFFF
    return f"{slot}.{generation}" if generation else str(slot)


def parse_lease(text: str) -> int:
    """The id of a lease as `format_lease` shows it.

    Raises InvalidLeaseId for anything else.
    """
    found = _SHOWN.fullmatch(text.strip())
    generation = int(found[2] or 0) if found else 0
    if found is None or generation > 0xFFFF:
        raise InvalidLeaseId(text)
    return int(found[1]) << 16 | generation

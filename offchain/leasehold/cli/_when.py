"""Points in time, as people write them."""

from __future__ import annotations

from datetime import UTC, datetime

from leasehold.market import InvalidInput, parse_duration


def parse_when(text: str, now: int) -> int:
    """Unix seconds of `now`, of ``2h ago``, of ``2026-11-21T15:00:00Z`` (UTC where no zone is said), or as they are.

    Raises:
        InvalidInput: no point in time.
    """
    said = text.strip()
    if said == "now":
        return now
    if said.isascii() and said.isdigit():
        return int(said)
    if said.endswith(" ago"):
        return now - parse_duration(said.removesuffix(" ago"))
    try:
        moment = datetime.fromisoformat(said)
    except ValueError:
        raise InvalidInput(
            f"'{text}' is no time: write 2026-11-21T15:00:00Z, '2h ago', now, or unix seconds."
        ) from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())

"""From what was typed to the leases that are meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from leasehold import format_lease
from leasehold.cli._options import Several
from leasehold.client import Choice, PoolClient, Which, choose_leases
from leasehold.market import InvalidInput


async def meant(
    client: PoolClient, words: Sequence[str] | None, several: Several, which: Which = Which.LIVE
) -> tuple[int, ...]:
    """The leases' numbers. Raises as `choose_leases`."""
    choice = Choice(tuple(words or ()), read_labels(several.label or ()), several.everything)
    return await choose_leases(client, choice, which)


def read_labels(texts: Iterable[str]) -> dict[str, str]:
    """Labels as they are typed. Raises InvalidInput."""
    labels = {}
    for text in texts:
        word, equals, value = text.partition("=")
        if not equals or not word or not value:
            raise InvalidInput(f"`{text}` is no label", "write WORD=VALUE, such as project=vision.")
        labels[word] = value
    return labels


def shown_all(leases: Sequence[int]) -> str:
    """`lease 3`, or `leases 3, 4 and 5`."""
    texts = [format_lease(lease) for lease in leases]
    if len(texts) == 1:
        return f"lease {texts[0]}"
    return f"leases {', '.join(texts[:-1])} and {texts[-1]}"

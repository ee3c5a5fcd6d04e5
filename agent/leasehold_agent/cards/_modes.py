"""By what a machine's cards can be sold in parts, and in how small ones: what cannot be fenced is not sold.

- whole: a card has one tenant.
- mig: the hardware keeps slices apart, in memory, caches and compute.
"""

from __future__ import annotations

from dataclasses import dataclass

from leasehold.errors import SettingsError
from leasehold_agent.cards._mig import Mig
from leasehold_agent.cards._selection import MachinePart
from leasehold_agent.cards._tools import ToolFailed


@dataclass(frozen=True)
class Fences:
    """What keeps shares of a machine apart, by the words of its hardware document, and the fewest cells that it does.
    A machine without cards has none: its cores, memory and disk are counted by the cell. `cautions` are for its owner.
    """

    isolation: tuple[str, ...]
    smallest_share: int
    cautions: tuple[str, ...] = ()


async def fences_of(part: MachinePart, isolation: str, mig: Mig) -> Fences:
    """`isolation` is the setting. Raises SettingsError: it asks for what the cards cannot do."""
    if not part.cards:
        return Fences((), 1)
    uncut = [card for card in part.cards if not card.mig]
    if isolation == "mig" and uncut:
        raise SettingsError(
            f"isolation: MIG is not enabled on {uncut[0].uuid}. Where nothing runs on it, `nvidia-smi -i "
            f"{uncut[0].uuid} -mig 1` does that; or set `isolation` to `whole`."
        )
    if isolation == "whole" or uncut:
        return Fences(("whole",), 8, _of_some(part, len(uncut)))
    try:
        least = max([await mig.smallest_share(card.uuid) for card in part.cards])
    except ToolFailed as error:
        raise SettingsError(f"isolation: how the cards can be cut cannot be seen ({error}).") from error
    return Fences(("mig",), least, _of_several(part))


def _of_some(part: MachinePart, uncut: int) -> tuple[str, ...]:
    if not 0 < uncut < len(part.cards):
        return ()
    return (
        f"MIG is enabled on {len(part.cards) - uncut} of this machine's {len(part.cards)} cards: all are sold whole.",
    )


def _of_several(part: MachinePart) -> tuple[str, ...]:
    if len(part.cards) == 1:
        return ()
    return (
        "A process can use one slice only, so leases of several of these cards are declined: describe each card as a "
        "machine of its own to sell none.",
    )

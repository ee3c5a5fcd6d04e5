"""By what a machine's cards can be sold in parts, and in how small ones: what cannot be fenced is not sold.

- whole: a card has one tenant.
- mig: the hardware keeps slices apart, in memory, caches and compute.
- mps: processes of several tenants compute side by side. What each lease takes of the card's memory is limited by its
  control group, and its threads by its namespace; a fault that ends the work of one ends that of all on the card.
- mps, cooperative: the same without control groups and namespaces: limits of each process that bind whoever keeps to
  them. Sold as time slices are.
- time-slice: processes of several tenants take turns. Each has its own memory, which no other can read, and nothing
  limits how much; so it is sold only where the owner says so, to those who ask for it by name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from leasehold.errors import SettingsError
from leasehold_agent.cards._mig import Mig
from leasehold_agent.cards._mps_host import MpsHost
from leasehold_agent.cards._mps_words import keeps_addresses_apart
from leasehold_agent.cards._selection import MachinePart
from leasehold_agent.cards._tools import ToolFailed
from leasehold_agent.host import Card, takes_many

_NO_LIMIT = (
    "Time slices have no limit of memory: a tenant can take all of a card's, and what his neighbours ask for next "
    "fails. Only those who ask for them by name get one."
)


_ONE_FAULT = (
    "By MPS, a fault in one tenant's work ends that of all tenants on the card, and nothing shares out its memory's "
    "bandwidth."
)
_NO_FENCE = (
    "No limit of memory binds tenants here: {why}. Only those who ask for `mps` by name get a part of a card, with "
    "limits that bind whoever keeps to them."
)


@dataclass(frozen=True)
class Fences:
    """What keeps shares of a machine apart, by the words of its hardware document, and the fewest cells that it does.
    A machine without cards has none: its cores, memory and disk are counted by the cell. `cautions` are for its owner.
    `fault_domain`: what a fault of a tenant's work ends, `share` or `card`.
    """

    isolation: tuple[str, ...]
    smallest_share: int
    cautions: tuple[str, ...] = ()
    fault_domain: Literal["share", "card"] | None = None


async def fences_of(
    part: MachinePart,
    isolation: str,
    mig: Mig,
    takes_many: Callable[[str], bool] = takes_many,
    mps: MpsHost | None = None,
) -> Fences:
    """`isolation` is the setting. takes_many: whether several processes can compute on a card, by its UUID. mps: what
    this host has of it. Raises SettingsError: it asks for what the cards cannot do.
    """
    if not part.cards:
        return Fences((), 1)
    if isolation == "time-slice":
        for card in part.cards:
            await _check_turns(card, takes_many)
        return Fences(("time-slice",), 1, (_NO_LIMIT,), "share")
    if isolation == "mps":
        return await _by_mps(part, mps or MpsHost())
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
    return Fences(("mig",), least, _of_several(part), "share")


async def _by_mps(part: MachinePart, host: MpsHost) -> Fences:
    """How far it keeps tenants apart is tried, not believed."""
    for card in part.cards:
        _check_parts(card)
    try:
        await host.control("-v")
    except ToolFailed as error:
        raise SettingsError(f"isolation: MPS is not here ({error}).") from error
    problem = await host.problem(part.cards[0].uuid)
    if problem is None:
        return Fences(("mps",), 1, (_ONE_FAULT,), "card")
    return Fences(("mps", "cooperative"), 1, (_NO_FENCE.format(why=problem), _ONE_FAULT), "card")


def _check_parts(card: Card) -> None:
    """Raises SettingsError: MPS keeps nobody apart on the card."""
    if card.vendor != "nvidia":
        raise SettingsError("isolation: MPS is for NVIDIA's cards.")
    if card.mig:
        raise SettingsError(
            f"isolation: MIG is enabled on {card.uuid}: set `isolation` to `mig`, or switch it off where nothing runs "
            f"on it (`nvidia-smi -i {card.uuid} -mig 0`)."
        )
    if not keeps_addresses_apart([card.capability]):
        raise SettingsError(
            f"isolation: on {card.uuid} tenants by MPS would read each other's memory: it takes compute capability 7.0."
        )


async def _check_turns(card: Card, takes_many: Callable[[str], bool]) -> None:
    """Raises SettingsError: nobody could take turns on the card, or be seen to have left it."""
    if card.vendor != "nvidia":
        raise SettingsError(
            "isolation: time slices are sold of NVIDIA's cards only: others say not who computes."
        )
    if card.mig:
        raise SettingsError(
            f"isolation: MIG is enabled on {card.uuid}: set `isolation` to `mig`, or switch it off where nothing runs "
            f"on it (`nvidia-smi -i {card.uuid} -mig 0`)."
        )
    try:
        alone = not await asyncio.to_thread(takes_many, card.uuid)
    except OSError as error:
        raise SettingsError(
            f"isolation: whether several can compute on it cannot be seen ({error})."
        ) from error
    if alone:
        raise SettingsError(
            f"isolation: the compute mode of {card.uuid} lets one process in; `nvidia-smi -i {card.uuid} -c DEFAULT` "
            "lets several."
        )


def _of_some(part: MachinePart, uncut: int) -> tuple[str, ...]:
    if not 0 < uncut < len(part.cards):
        return ()
    return (
        f"MIG is enabled on {len(part.cards) - uncut} of this machine's {len(part.cards)} cards: all are sold whole.",
    )


def _of_several(part: MachinePart) -> tuple[str, ...]:
    if len(part.cards) == 1 or all(card.recuts for card in part.cards):
        return ()
    return (
        "A process can use one slice only, and these cards take a reset to be whole again, so leases of several of "
        "them are declined: describe each card as a machine of its own to sell none.",
    )

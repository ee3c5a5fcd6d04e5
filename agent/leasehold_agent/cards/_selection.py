"""Which of a host's cards, or how many of its CPU units, a machine is described with: no card of another machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leasehold.errors import SettingsError
from leasehold_agent.host import MAX_GPUS, Card, Inventory


@dataclass(frozen=True)
class InService:
    """A machine of this host: by the chain it has so many GPUs or CPU units, and the cards in its order, by hash."""

    units: int
    cards: tuple[str, ...] = ()


@dataclass(frozen=True)
class MachinePart:
    """What of the host one machine is: `units` of `host_units`. Cards in the machine's order; none on a CPU host."""

    cards: tuple[Card, ...]
    units: int
    host_units: int


@dataclass(frozen=True)
class Asked:
    """What the owner asks for; nothing of it is what nobody sells yet. `again`: a machine that is to be described anew.
    `cards` are UUIDs.
    """

    cards: Sequence[str] = ()
    units: int | None = None
    again: int | None = None


def choose_part(
    inventory: Inventory, asked: Asked, machines: Mapping[int, InService], cpu_units: int | None
) -> MachinePart:
    """The part of the host for the next machine, or for one that is described again. `machines` are those in service.

    Raises SettingsError: nothing is left, or what is asked for is not here, or another machine's.
    """
    again = asked.again
    if again is not None and again not in machines:
        raise SettingsError(f"Machine {again} is not one of this host's that are in service.")
    if asked.cards and asked.units is not None:
        raise SettingsError("Name cards or a number of units, not both.")
    if inventory.gpus or inventory.silent or any(machine.cards for machine in machines.values()):
        return _of_cards(inventory, asked, machines)
    if asked.cards:
        raise SettingsError("This host has no card.")
    return _of_units(inventory.units(cpu_units), asked, machines)


def _of_cards(inventory: Inventory, asked: Asked, machines: Mapping[int, InService]) -> MachinePart:
    if asked.units is not None:
        raise SettingsError("This host sells its cards, not units of its processors: name cards.")
    cards = inventory.gpus
    sold = {card: number for number, machine in machines.items() for card in machine.cards}
    free = [card for card in cards if card.uuid_hash not in sold]
    again = asked.again
    if again is None and not free and not asked.cards:
        if not cards:
            raise SettingsError(
                "No card of this host answers: mend that first, or its machine would have none."
            )
        again = _the_only_one(machines)
    missing = len(sold.keys() - {card.uuid_hash for card in cards})
    host_units = len(cards) + max(missing, len(inventory.silent))
    if again is None:
        chosen = _named(asked.cards, cards, sold) if asked.cards else _of_one_model(free)
        return _part(_one_machine(chosen), host_units)
    others = {card: number for card, number in sold.items() if number != again}
    spare = _named(asked.cards, cards, others) if asked.cards else free
    return _part(_in_order(machines[again].cards, cards, spare), host_units)


def _in_order(before: Sequence[str], cards: Sequence[Card], spare: Sequence[Card]) -> list[Card]:
    """A machine's cards in the order that its leases know; one that is gone is replaced in its place.

    Raises SettingsError where there is none to replace it with: the cards behind it would move up.
    """
    here = {card.uuid_hash: card for card in cards}
    models = {here[card].model for card in before if card in here}
    left = [card for card in spare if card.uuid_hash not in before and (card.model in models or not models)]
    chosen = []
    for gpu, card in enumerate(before):
        if card in here:
            chosen.append(here[card])
        elif left:
            chosen.append(left.pop(0))
        else:
            raise SettingsError(
                f"GPU {gpu} of the machine does not answer, and no spare card is here to take its place: mend it, or "
                "retire the machine and describe those that are left as another."
            )
    return chosen


def _named(uuids: Sequence[str], cards: Sequence[Card], sold: Mapping[str, int]) -> list[Card]:
    by_uuid = {card.uuid: card for card in cards}
    if len(set(uuids)) != len(uuids):
        raise SettingsError("A card is named twice.")
    for uuid in uuids:
        if uuid not in by_uuid:
            raise SettingsError(f"{uuid} is no card that answers here.")
        if (number := sold.get(by_uuid[uuid].uuid_hash)) is not None:
            raise SettingsError(f"{uuid} belongs to machine {number}, which is in service.")
    return [by_uuid[uuid] for uuid in uuids]


def _of_one_model(cards: Sequence[Card]) -> list[Card]:
    """As many as one machine may have, of the first one's model: the others are for another machine."""
    return [card for card in cards if card.model == cards[0].model][:MAX_GPUS]


def _one_machine(cards: Sequence[Card]) -> Sequence[Card]:
    if len(cards) > MAX_GPUS or len({card.model for card in cards}) > 1:
        raise SettingsError(
            f"A machine has at most {MAX_GPUS} GPUs, of one model: describe the others as another."
        )
    return cards


def _part(cards: Sequence[Card], host_units: int) -> MachinePart:
    return MachinePart(tuple(cards), len(cards), max(host_units, len(cards)))


def _of_units(host_units: int, asked: Asked, machines: Mapping[int, InService]) -> MachinePart:
    again = asked.again
    left = host_units - sum(machine.units for number, machine in machines.items() if number != again)
    if again is None and left < 1 and asked.units is None:
        again = _the_only_one(machines)
    if again is not None:
        # A machine has as many units for ever: the chain says how many.
        return MachinePart((), machines[again].units, max(host_units, machines[again].units))
    units = asked.units if asked.units is not None else min(left, MAX_GPUS)
    if units > MAX_GPUS:
        raise SettingsError(
            f"A machine has at most {MAX_GPUS} units: describe {units} as two or more machines."
        )
    if not 1 <= units <= left:
        raise SettingsError(f"{max(left, 0)} of this host's {host_units} CPU units are left, not {units}.")
    return MachinePart((), units, host_units)


def _the_only_one(machines: Mapping[int, InService]) -> int:
    """Where everything is sold, who describes means the machine that is there."""
    if len(machines) != 1:
        numbers = ", ".join(map(str, sorted(machines)))
        raise SettingsError(
            f"All of this host is in service already, as machines {numbers}: name one of them."
        )
    return next(iter(machines))

"""What happens in a run of chaos, drawn from its seed: the same seed draws the same run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

DEEDS = ("rent", "rent a job", "rent spot", "close", "extend", "resize", "replace", "terminate")
_TOGETHER, _DEEPEST = 3, 8


@dataclass(frozen=True)
class Blow:
    """A fault by its name. `size`, from 1 to 8, is what the fault makes of it: blocks, or steps of a clock."""

    fault: str
    size: int


@dataclass(frozen=True)
class Deed:
    """What a tenant does, or the provider. `pick` chooses among the leases that there are by then."""

    verb: str
    pick: int


@dataclass(frozen=True)
class Spell:
    """Faults that begin in this order and overlap, and what is done meanwhile."""

    blows: tuple[Blow, ...]
    deeds: tuple[Deed, ...]


def schedule(seed: int, faults: int, parts: Mapping[str, str]) -> list[Spell]:
    """Spells with so many faults in all. `parts` says what each fault strikes: one part is struck once at a time.

    No fault comes a second time before each has come once, so that a short run has all of them.
    """
    random, spells = Random(seed), list[list[Blow]]()
    for blow in _blows(random, faults, sorted(parts)):
        wanted = random.randint(1, _TOGETHER)
        struck = {parts[other.fault] for other in spells[-1]} if spells else set()
        if not spells or len(spells[-1]) >= wanted or parts[blow.fault] in struck:
            spells.append([])
        spells[-1].append(blow)
    return [Spell(tuple(blows), _deeds(random)) for blows in spells]


def _blows(random: Random, count: int, names: list[str]) -> Iterator[Blow]:
    deck: list[str] = []
    for _ in range(count):
        deck = deck or random.sample(names, len(names))
        yield Blow(deck.pop(), random.randint(1, _DEEPEST))


def _deeds(random: Random) -> tuple[Deed, ...]:
    return tuple(Deed(random.choice(DEEDS), random.randrange(1 << 16)) for _ in range(random.randint(1, 3)))

"""Thousands of strategies: at random first, then around what took most."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from .audit import Findings, audit
from .people import Setting
from .rules import Mends
from .strategies import Strategy, neighbour, some
from .world import World


@dataclass
class Found:
    """The first strategy that broke something, and what; or how many were tried in vain."""

    tried: int
    setting: Setting | None = None
    strategy: Strategy | None = None
    broken: tuple[str, ...] = ()


def play(setting: Setting, strategy: Strategy, mends: Mends) -> tuple[World, Findings]:
    world = World(setting, strategy, mends)
    world.run()
    return world, audit(world)


def search(mends: Mends, seed: int, tries: int) -> Found:
    """Until something breaks, or for so many strategies. A third of them at random, the others next to the best."""
    rng = Random(seed)
    best: list[tuple[int, Setting, Strategy]] = []
    for tried in range(1, tries + 1):
        if tried % 3 == 0 or not best:
            setting = Setting(
                rng.randrange(10**6), rng.random() < 0.6, rng.choice(["honest", "silent", "bought"])
            )
            strategy = some(rng)
        else:
            _, setting, strategy = rng.choice(best)
            strategy = neighbour(strategy, rng)
        world, found = play(setting, strategy, mends)
        if found.broken:
            return Found(tried, setting, strategy, tuple(found.broken))
        best = sorted([*best, (_promise(world), setting, strategy)], key=lambda one: -one[0])[:12]
    return Found(tries)


def _promise(world: World) -> int:
    """How far a strategy came: what it has of others, whether owed or not, and what others lost."""
    book = world.pool.book
    lost = sum(
        m.amount for m in book.moves if m.why in ("slash", "dissent", "silence") and _theirs(book, m.source)
    )
    got = sum(
        m.amount for m in book.moves if m.why in ("compensation", "report") and not _theirs(book, m.target)
    )
    return lost + 3 * got


def _theirs(book: object, account: str) -> bool:
    return book.owner(account) != "adversary"  # type: ignore[attr-defined]

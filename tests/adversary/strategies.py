"""What an adversary may do, at random, and a little better each time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from .people import DAYS, START
from .rules import DAY, HOUR

VERBS = (
    "propose",
    "join",
    "leave",
    "register",
    "rent",
    "close",
    "request",
    "attest",
    "report",
    "challenge",
    "accept",
    "retire",
)
VOTES = ("truth", "lie with a majority", "lie", "silence")


@dataclass(frozen=True)
class Act:
    """One thing at one time. The world reads its numbers as the verb needs them."""

    at: int
    verb: str
    a: int
    b: int
    c: int


@dataclass(frozen=True)
class Strategy:
    """What to do when, how to vote on others' machines and on one's own, and whether these are what they say."""

    acts: tuple[Act, ...]
    vote_on_others: str
    vote_on_own: str
    own_are_false: bool
    names_say_hardware: bool  # a lie names other hardware, which costs a stake, or only fails


def some_act(rng: Random) -> Act:
    at = START + rng.randrange((DAYS - 10) * DAY // HOUR) * HOUR
    return Act(at, rng.choice(VERBS), rng.randrange(64), rng.randrange(64), rng.randrange(64))


def some(rng: Random) -> Strategy:
    """Any strategy."""
    acts = tuple(some_act(rng) for _ in range(rng.randrange(4, 40)))
    return Strategy(acts, rng.choice(VOTES), rng.choice(VOTES), rng.random() < 0.3, rng.random() < 0.7)


def neighbour(strategy: Strategy, rng: Random) -> Strategy:
    """The same with something else, earlier, later, again or not at all."""
    acts = list(strategy.acts)
    for _ in range(rng.randrange(1, 4)):
        change = rng.randrange(5)
        if change == 0 or not acts:
            acts.append(some_act(rng))
            continue
        at = rng.randrange(len(acts))
        if change == 1:
            del acts[at]
        elif change == 2:
            acts[at] = replace(acts[at], at=max(START, acts[at].at + rng.randrange(-3 * DAY, 3 * DAY)))
        elif change == 3:
            again = replace(acts[at], at=acts[at].at + rng.randrange(HOUR, 8 * DAY), b=rng.randrange(64))
            acts.append(replace(again, at=min(again.at, START + (DAYS - 10) * DAY)))
        else:
            acts[at] = replace(acts[at], a=rng.randrange(64), c=rng.randrange(64))
    habits = rng.randrange(8)
    return replace(
        strategy,
        acts=tuple(acts[:120]),
        vote_on_others=rng.choice(VOTES) if habits == 0 else strategy.vote_on_others,
        vote_on_own=rng.choice(VOTES) if habits == 1 else strategy.vote_on_own,
        own_are_false=strategy.own_are_false != (habits == 2),
        names_say_hardware=strategy.names_say_hardware != (habits == 3),
    )

"""Who is honest and who is not, and what is true: which machines are what they say, and when they were down."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from .rules import DAY, HOUR, UNIT

ADVERSARY = "adversary"
TREASURY = "treasury"
DAYS = 60
START = 1_800_000_000
PRICE = 288 * UNIT // 100  # of a GPU-hour


@dataclass(frozen=True)
class Setting:
    """Who rules. An owner proposes versions with an arbiter of his own, whom nobody else accepts.

    owner: whether the adversary owns the pool, and its treasury
    arbiter: of the version that everybody has accepted, providers and seats
    """

    seed: int
    owner: bool
    arbiter: str
    honest_seats: int = 12
    machines: int = 5
    seats_purse: int = 6 * 550 * UNIT  # a third of the seats at their full price
    purse: int = 20_000 * UNIT  # for machines, leases, fees and bonds


@dataclass(frozen=True)
class Outage:
    machine: int  # index among the honest
    begin: int
    end: int
    reported: bool


@dataclass(frozen=True)
class Visit:
    """A lease that an honest tenant takes."""

    machine: int
    begin: int
    cells: int
    seconds: int


@dataclass(frozen=True)
class Fate:
    """What befalls the honest in sixty days, drawn before the adversary moves."""

    gpus: list[int]
    outages: list[Outage]
    visits: list[Visit]
    checks: list[tuple[int, int]]  # when, which machine: an honest tenant has it verified
    cheaper_at: int  # an honest owner makes the pool cheaper; 0: never


def fate(setting: Setting) -> Fate:
    """The same for the same seed."""
    rng = Random(setting.seed)
    machines = range(setting.machines)
    outages = []
    for m in machines:
        at = START
        while (at := at + rng.randrange(4 * DAY, 25 * DAY)) < START + (DAYS - 12) * DAY:
            lasts = rng.choice([5 * 60, 20 * 60, 3 * HOUR, 12 * HOUR, 50 * HOUR]) + rng.randrange(60)
            outages.append(Outage(m, at, at + lasts, rng.random() < 0.6))
            at += lasts
    visits = [
        Visit(m, START + rng.randrange(40 * DAY), rng.choice([1, 2, 4, 8]), rng.randrange(HOUR, 6 * DAY))
        for m in machines
        for _ in range(4)
    ]
    checks = [(START + rng.randrange(45 * DAY), m) for m in machines for _ in range(3)]
    cheaper = 0 if setting.owner or rng.random() < 0.4 else START + rng.randrange(20 * DAY)
    return Fate([rng.choice([1, 2, 8, 8]) for _ in machines], outages, visits, checks, cheaper)

"""Which containers of the owner's job are to be: a pure function of the cards that nobody has, and what is here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class IdleContainer:
    """A container of the owner's job, as it was found. mark: of the job that it was made for."""

    mark: str
    running: bool


@dataclass(frozen=True)
class IdlePlan:
    """By the SHA-256 of their UUIDs: cards that are left, and cards on which the job begins."""

    leave: frozenset[str] = frozenset()
    begin: frozenset[str] = frozenset()


def plan(free: Collection[str], here: Mapping[str, IdleContainer], mark: str | None) -> IdlePlan:
    """free: cards that nobody has. mark: of the job that is wanted, or None where none is.

    What is there for another job, or has ended, goes first; the next look begins anew where it is wanted.
    """
    wanted = frozenset(free) if mark is not None else frozenset()
    stays = {card for card, job in here.items() if card in wanted and job.running and job.mark == mark}
    return IdlePlan(frozenset(here.keys() - stays), wanted - here.keys())

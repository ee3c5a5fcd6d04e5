"""What the adversary took from others, and what the honest lost, held against what is true."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from . import faults
from .arithmetic import overlap
from .book import Move
from .people import ADVERSARY
from .rules import DAY
from .world import World

# What is paid for a service that was rendered: rent of time that ran, the pool's share of it, the fee for a view that
# was revealed and for a draw, the answer to a question; and what was one's own before.
EARNED = {"rent", "pool's fee", "fee", "draw", "answer", "refund", "deposit", "back", "own"}
WEEK = 7 * DAY


@dataclass
class Findings:
    """taken: what the adversary has of others beyond what is owed. broken: sentences, empty if all holds."""

    taken: int
    broken: list[str]


def audit(world: World) -> Findings:
    """All properties of one run."""
    broken: list[str] = []
    if _was_overruled(world):
        return Findings(0, broken)
    taken = _taken(world, broken)
    _seats(world, broken)
    _providers(world, broken)
    return Findings(taken, broken)


def _was_overruled(world: World) -> bool:
    """Whether honest seats lost to a bought arbiter whom they and the providers have accepted: that is what documents
    warn of, and nothing is promised to who trusts him.
    """
    return world.setting.arbiter == "bought" and any(
        move.why == "overturned" and world.pool.book.owner(move.source) != ADVERSARY
        for move in world.pool.book.moves
    )


def _taken(world: World, broken: list[str]) -> int:
    book = world.pool.book
    earned = paid = taken = 0
    shares: defaultdict[int, int] = defaultdict(int)
    for move in book.moves:
        source, target = (book.owner(account) == ADVERSARY for account in (move.source, move.target))
        if source and not target:
            paid += move.amount
        if source or not target:
            continue
        if move.why in EARNED:
            earned += move.amount
            if move.why == "fee" and move.amount > _part_of_fee(world, move.about):
                taken += move.amount
                broken.append(f"{move.amount} of round {move.about}'s fee, more than a seat's part")
        elif move.why == "compensation":
            shares[move.about] += move.amount
        elif move.why == "redress" and world.setting.arbiter != "honest":
            earned += (
                move.amount
            )  # stated: what a round that a bought arbiter takes back has paid, and no more
        elif move.why == "report" and world.verdicts[move.about].so:
            earned += move.amount
        else:
            taken += move.amount
            broken.append(f"{move.amount} taken: {move.why} {move.about} of {_whose(world, move)}")
    for number, amount in shares.items():
        owed = _owed(world, number)
        earned += min(amount, owed)
        if amount > owed:
            taken += amount - owed
            broken.append(f"{amount} of fault {number} where {owed} were owed")
    wealth = book.wealth(frozenset({ADVERSARY}))
    if wealth != world.before + earned + taken - paid:
        broken.append("the moves do not explain the wealth")
    return taken


def _part_of_fee(world: World, number: int) -> int:
    held = world.pool.seats.rounds[number]
    return held.paid // held.size


def _whose(world: World, move: Move) -> str:
    return world.pool.book.owner(move.source)


def _owed(world: World, number: int) -> int:
    """The part of the half that its tenants' cells and seconds are of the machine's.

    Of a fault that is not so: nothing; but what a committee decides that is as its provider has accepted it, and an
    arbiter lets stand whom its provider has accepted, is the risk that the documents state.
    """
    pool, fault, verdict = world.pool, world.pool.faults.faults[number], world.verdicts[number]
    if not verdict.so:
        stated = fault.kind is faults.Kind.FALSE_HARDWARE and world.setting.arbiter != "honest"
        if not (stated and _as_accepted(world, fault.round)):
            return 0
    machine = pool.leasing.machines[fault.machine]
    lost = 0
    for lease in pool.leasing.leases.values():
        if lease.machine == fault.machine and pool.book.owner(lease.tenant) == ADVERSARY:
            lost += lease.cells * overlap(fault.begin, fault.to, lease.start, lease.end)
    return fault.amount // 2 * lost // (machine.cells * (fault.to - fault.begin)) + 1


def _as_accepted(world: World, number: int) -> bool:
    """Whether a round had the size, the fee and the distance from the one before that its provider accepted."""
    rounds = world.pool.seats.rounds
    held = rounds[number]
    rules = world.pool.accepted(held.machine)
    since = held.requested_at - rules.reverify_interval
    close = any(
        other.machine == held.machine and since < other.requested_at < held.requested_at and other.outcome
        for other in rounds.values()
    )
    return held.size >= rules.committee_size and held.paid >= rules.verification_fee and not close


def _seats(world: World, broken: list[str]) -> None:
    """An honest seat loses by silence only, a tenth a week."""
    losses: defaultdict[str, list[int]] = defaultdict(list)
    for move in world.pool.book.moves:
        if not move.source.startswith("seat ") or move.why == "seat":
            continue
        if world.pool.book.owner(move.source) == ADVERSARY:
            continue
        if move.why != "silence":
            broken.append(f"{move.source} lost {move.amount} by {move.why}")
        losses[move.source].append(move.at)
    for seat, times in losses.items():
        if any(later - earlier < WEEK for earlier, later in pairwise(times)):
            broken.append(f"{seat} lost more than a tenth in a week")


def _providers(world: World, broken: list[str]) -> None:
    """An honest provider loses at most `maxSlashBps` in seven days, and by what is not so only where it is stated."""
    by_machine: defaultdict[int, list[faults.Fault]] = defaultdict(list)
    for number, fault in world.pool.faults.faults.items():
        if world.verdicts[number].honest and fault.state is faults.State.EXECUTED:
            by_machine[fault.machine].append(fault)
            false = not world.verdicts[number].so
            if false and world.setting.arbiter == "honest":
                broken.append(f"machine {fault.machine} lost {fault.amount} by what is not so")
            elif false and not (fault.round and _as_accepted(world, fault.round)):
                broken.append(f"machine {fault.machine} lost {fault.amount} to judges whom nobody accepted")
    for machine, filed in by_machine.items():
        rules = world.pool.accepted(machine)
        registered = world.pool.leasing.machines[machine].gpus * rules.min_stake_per_gpu
        for first in filed:
            week = [f.amount for f in filed if first.filed_at <= f.filed_at < first.filed_at + WEEK]
            if sum(week) * 10_000 > registered * rules.max_slash_bps:
                broken.append(f"machine {machine} lost {sum(week)} in a week")

"""What a guard does by itself: a pure function from how things stand to deeds. Each asks once more before it is sent.

An agent is not believed what costs its tenant money or time: that it says a lease is idle, or crashes, is told and
moves nothing. That it says nothing moves a challenge, in which its own stake answers; and one that lets itself be
challenged for the bond gets one a day at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from leasehold.chain import format_lease
from leasehold.guarding._alerts import keep_of
from leasehold.guarding._settings import GuardSettings, KeepSettings
from leasehold.guarding._sights import LeaseSight, Snapshot
from leasehold.market import Json, Money, extension_cost, parse_amount

CHALLENGE_EVERY = 86_400
"""Seconds between challenges of one machine by one guard."""


class GuardDo(StrEnum):
    """What is done. KEEP: fetch a checkpoint. RESTORE: give a standby the checkpoint of the lease whose place it took.
    FAIL_OVER: open the standby. CARRY: go on with a run, which rents again where its own rules say so
    (`leasehold.runs`). SETTLE: what faults have left to be settled.
    """

    KEEP = "keep"
    CARRY = "carry"
    RESTORE = "restore"
    FAIL_OVER = "fail-over"
    EXTEND = "extend"
    CHALLENGE = "challenge"
    PROVE = "prove"
    SETTLE = "settle"


@dataclass(frozen=True)
class Deed:
    """One thing to do. lease, machine: of what, 0 where none. seconds: to extend by. run: which. cid: a checkpoint."""

    do: GuardDo
    lease: int = 0
    machine: int = 0
    seconds: int = 0
    run: str = ""
    cid: str = ""

    def to_json(self) -> dict[str, Json]:
        return {
            "do": str(self.do),
            "lease": format_lease(self.lease) if self.lease else None,
            "machine": self.machine or None,
            "seconds": self.seconds or None,
            "run": self.run or None,
        }


def deeds_of(
    snapshot: Snapshot,
    settings: GuardSettings,
    challenged: Mapping[int, int],
    money: Money,
    *,
    delegate: bool,
) -> list[Deed]:
    """What is to be done now, in order. challenged: when a machine was last, unix seconds. delegate: it acts for an
    account that is not its wallet's, and cannot put up a bond for it.
    """
    deeds = [Deed(GuardDo.KEEP, sight.lease.id, cid=sight.checkpoint) for sight in kept(snapshot, settings)]
    if snapshot.own.waiting:  # it may be just that
        return deeds
    if settings.recover:
        deeds += [Deed(GuardDo.CARRY, run=job.name) for job in snapshot.jobs]
    for sight in snapshot.leases:
        deeds += _of_lease(sight, snapshot, settings, challenged, money, delegate)
    if settings.settle and snapshot.settleable:
        deeds.append(Deed(GuardDo.SETTLE))
    return list(dict.fromkeys(deeds))


def kept(snapshot: Snapshot, settings: GuardSettings) -> Iterator[LeaseSight]:
    """The leases whose newest checkpoint is fetched: of those that no run has, where checkpoints are to be fetched."""
    for sight in snapshot.leases:
        if sight.checkpoint and (settings.recover if sight.job is not None else settings.checkpoints):
            yield sight


def _of_lease(
    sight: LeaseSight,
    snapshot: Snapshot,
    settings: GuardSettings,
    challenged: Mapping[int, int],
    money: Money,
    delegate: bool,
) -> Iterator[Deed]:
    lease, now = sight.lease, snapshot.now
    if sight.begins and settings.failover and now < lease.end:
        yield Deed(GuardDo.RESTORE, lease.id)
    if not sight.runs or now >= lease.end:
        return
    if sight.answer_by and now > sight.answer_by and settings.settle:
        yield Deed(GuardDo.PROVE, machine=lease.machine)
    if sight.down:
        if settings.failover and lease.has_standby:
            yield Deed(GuardDo.FAIL_OVER, lease.id)
        return
    if settings.challenge and not delegate and not sight.answer_by:
        last = challenged.get(lease.machine, 0)
        rested = not last or not 0 <= now - last < CHALLENGE_EVERY
        if sight.silent >= settings.silent_after and rested:
            yield Deed(GuardDo.CHALLENGE, lease.id, lease.machine)
    keep = keep_of(sight, settings)
    if sight.job is not None or sight.exit_code is not None:
        return
    seconds = extension(sight, keep, now, money)
    if seconds and extension_cost(lease, seconds) <= snapshot.own.left:
        yield Deed(GuardDo.EXTEND, lease.id, seconds=seconds)


def extension(sight: LeaseSight, keep: KeepSettings | None, now: int, money: Money) -> int:
    """Seconds by which a rule extends a lease now; 0: by none. What it has held and paid in all stays in the budget."""
    lease = sight.lease
    if keep is None or lease.noticed or lease.end - now > keep.before:
        return 0
    seconds = min(keep.by, lease.start + keep.at_most - lease.end)
    if seconds <= 0:
        return 0
    budget = parse_amount(keep.budget, money.decimals)
    return seconds if lease.deposit + extension_cost(lease, seconds) <= budget else 0

"""From the events of the companions and of `Accounts` to rows: what each makes of the fault, seat, round … it names.

A row's newest version is looked up by its subject, changed, and put down again. The money that companions take and
give is in the pool's own events (`Charged`, `Transferred`, `StakeMoved`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import sqlalchemy as sa

from leasehold.chain import _tables as tables
from leasehold.chain._generated import events as ev
from leasehold.chain._log import Event
from leasehold.chain._rows import SEAT_BYTES
from leasehold.chain._types import ZERO_ADDRESS, ZERO_DIGEST, FaultKind, FaultState, RoundState

Row = dict[str, Any]


class Rows(Protocol):
    """What `Projection` offers for rows that are found by their subject."""

    def version(self, table: sa.Table, **subject: object) -> Row | None:
        """The newest version, or None."""

    def put(
        self, table: sa.Table, e: Event, subject: Mapping[str, object], values: Mapping[str, Any]
    ) -> None:
        """A new version with exactly these values."""

    def change(
        self, table: sa.Table, e: Event, subject: Mapping[str, object], values: Mapping[str, Any]
    ) -> Row:
        """A new version: the newest one with some values changed. Raises IndexBroken where there is none."""

    def verified(self, e: ev.RoundFinalized, revision: int) -> None:
        """A committee has measured the machine as of `revision`."""

    def is_this_pool(self, pool: str) -> bool: ...


# ------------------------------------------------------------------------------------------------------ challenges


def _challenged(rows: Rows, e: ev.Challenged) -> None:
    rows.put(
        tables.challenges,
        e,
        {"machine": e.machine},
        {
            "challenge": e.challenge,
            "machine": e.machine,
            "challenger": e.challenger,
            "lease": e.lease,
            "bond": e.bond,
            "at": e.log.timestamp,
            "answered_at": 0,
            "ended_at": 0,
            "fault": 0,
        },
    )


def _answered(rows: Rows, e: ev.Answered) -> None:
    rows.change(
        tables.challenges,
        e,
        {"machine": e.machine},
        {"answered_at": e.log.timestamp, "ended_at": e.log.timestamp},
    )


def _challenge_ended(rows: Rows, e: ev.ChallengeEnded) -> None:
    rows.change(tables.challenges, e, {"machine": e.machine}, {"ended_at": e.log.timestamp})


def machine_went_down(rows: Rows, e: ev.MachineWentDown) -> None:
    """Whoever said so, a challenge that stood until then has nothing left to ask."""
    standing = rows.version(tables.challenges, machine=e.machine)
    if standing is not None and not standing["ended_at"]:
        rows.change(tables.challenges, e, {"machine": e.machine}, {"ended_at": e.log.timestamp})


# ---------------------------------------------------------------------------------------------------------- faults


def _new_fault(e: ev.OutageOpened | ev.FaultFiled, rules: int) -> Row:
    return {
        "fault": e.fault,
        "machine": e.machine,
        "kind": e.kind,
        "state": FaultState.RUNNING,
        "from_": e.from_,
        "to": 0,
        "opened_at": e.log.timestamp,
        "filed_at": 0,
        "deadline": 0,
        "bps": 0,
        "amount": 0,
        "pot": 0,
        "reported": 0,
        "rest": 0,
        "sink": ZERO_ADDRESS,
        "compensated": 0,
        "rules": rules,
    }


def _outage_opened(rows: Rows, e: ev.OutageOpened) -> None:
    rows.put(tables.faults, e, {"fault": e.fault}, _new_fault(e, e.rules))
    if e.kind is FaultKind.CHALLENGED:  # one challenge stands at a time
        rows.change(tables.challenges, e, {"machine": e.machine}, {"fault": e.fault})


def _outage_attested(rows: Rows, e: ev.OutageAttested) -> None:
    rows.change(tables.faults, e, {"fault": e.fault}, {"kind": FaultKind.ATTESTED, "from_": e.from_})


def _fault_filed(rows: Rows, e: ev.FaultFiled) -> None:
    before = rows.version(tables.faults, fault=e.fault) or _new_fault(e, 0)
    judged = e.kind in (FaultKind.ATTESTED, FaultKind.FALSE_HARDWARE)
    filed = {
        "kind": e.kind,
        "state": FaultState.FILED if e.amount or judged else FaultState.EXECUTED,
        "from_": e.from_,
        "to": e.to,
        "filed_at": e.log.timestamp,
        "bps": e.bps,
        "amount": e.amount,
    }
    rows.put(tables.faults, e, {"fault": e.fault}, {**before, **filed})


def _outage_applied(rows: Rows, e: ev.OutageApplied) -> None:
    subject = {"fault": e.fault, "lease": e.lease}
    rows.put(tables.losses, e, subject, {**subject, "tenant": e.tenant, "part": e.part, "amount": 0})
    fault = rows.version(tables.faults, fault=e.fault)
    pot = e.part + (fault["pot"] if fault else 0)
    rows.change(tables.faults, e, {"fault": e.fault}, {"pot": pot})


def _appealed(rows: Rows, e: ev.Appealed) -> None:
    values = {"state": FaultState.APPEALED, "deadline": e.deadline}
    rows.change(tables.faults, e, {"fault": e.fault}, values)


def _ruled(rows: Rows, e: ev.Ruled) -> None:
    state = FaultState.UPHELD if e.stands else FaultState.DROPPED
    values: Row = {"state": state}
    if not e.stands:
        values["pot"] = 0
    rows.change(tables.faults, e, {"fault": e.fault}, values)


def _fault_executed(rows: Rows, e: ev.FaultExecuted) -> None:
    values = {
        "state": FaultState.EXECUTED,
        "amount": e.amount,
        "pot": e.pot,
        "reported": e.reported,
        "rest": e.rest,
        "sink": e.sink,
    }
    rows.change(tables.faults, e, {"fault": e.fault}, values)


def _compensated(rows: Rows, e: ev.Compensated) -> None:
    subject = {"fault": e.fault, "lease": e.lease}
    rows.change(tables.losses, e, subject, {"tenant": e.tenant, "amount": e.amount})
    fault = rows.version(tables.faults, fault=e.fault)
    compensated = e.amount + (fault["compensated"] if fault else 0)
    rows.change(tables.faults, e, {"fault": e.fault}, {"compensated": compensated})


# ------------------------------------------------------------------------------------------------------- committee


def _seat_joined(rows: Rows, e: ev.SeatJoined) -> None:
    values = {
        "seat": e.seat,
        "validator": e.validator,
        "stake": e.stake,
        "level": e.level,
        "joined_at": e.log.timestamp,
        "leaves_at": 0,
        "exited": False,
    }
    rows.put(tables.seats, e, {"seat": e.seat}, values)


def _seat_topped_up(rows: Rows, e: ev.SeatToppedUp) -> None:
    rows.change(tables.seats, e, {"seat": e.seat}, {"stake": e.stake})


def _seat_leaving(rows: Rows, e: ev.SeatLeaving) -> None:
    rows.change(tables.seats, e, {"seat": e.seat}, {"leaves_at": e.leaves_at})


def _seat_exited(rows: Rows, e: ev.SeatExited) -> None:
    rows.change(tables.seats, e, {"seat": e.seat}, {"stake": 0, "exited": True})


def _seat_fined(rows: Rows, e: ev.SeatFined) -> None:
    rows.change(tables.seats, e, {"seat": e.seat}, {"stake": e.stake})


def _verification_requested(rows: Rows, e: ev.VerificationRequested) -> None:
    values = {
        "round": e.round,
        "machine": e.machine,
        "revision": e.revision,
        "requester": e.requester,
        "state": RoundState.REQUESTED,
        "requested_at": e.log.timestamp,
        "block": e.block_,
        "misses": 0,
        "fee": e.fee,
        "seats": b"",
        "commit_until": 0,
        "reveal_until": 0,
        "spec": ZERO_DIGEST,
        "score": 0,
        "agreed": 0,
    }
    rows.put(tables.rounds, e, {"round": e.round}, values)


def _draw_missed(rows: Rows, e: ev.DrawMissed) -> None:
    before = rows.version(tables.rounds, round=e.round)
    misses = 1 + (before["misses"] if before else 0)
    rows.change(tables.rounds, e, {"round": e.round}, {"block": e.block_, "misses": misses})


def _committee_drawn(rows: Rows, e: ev.CommitteeDrawn) -> None:
    values = {
        "state": RoundState.DRAWN,
        "seats": b"".join(seat.to_bytes(SEAT_BYTES, "big") for seat in e.seats),
        "commit_until": e.commit_until,
        "reveal_until": e.reveal_until,
    }
    rows.change(tables.rounds, e, {"round": e.round}, values)


def _committed(rows: Rows, e: ev.Committed) -> None:
    subject = {"round": e.round, "seat": e.seat}
    values = {
        **subject,
        "commitment": e.commitment,
        "revealed": False,
        "passed": False,
        "spec": ZERO_DIGEST,
        "score": 0,
    }
    rows.put(tables.votes, e, subject, values)


def _revealed(rows: Rows, e: ev.Revealed) -> None:
    values = {"revealed": True, "passed": e.pass_, "spec": e.spec, "score": e.score}
    rows.change(tables.votes, e, {"round": e.round, "seat": e.seat}, values)


def _round_finalized(rows: Rows, e: ev.RoundFinalized) -> None:
    values = {"state": e.state, "spec": e.spec, "score": e.score, "agreed": e.agreed}
    made = rows.change(tables.rounds, e, {"round": e.round}, values)
    if e.state is RoundState.PASSED:
        rows.verified(e, made["revision"])


# ----------------------------------------------------------------------------------------- reputation and directory


def _rated(rows: Rows, e: ev.Rated) -> None:
    values = {
        "lease": e.lease,
        "provider": e.provider,
        "tenant": e.tenant,
        "stars": e.stars,
        "comment": e.comment,
        "fee": e.fee,
        "at": e.log.timestamp,
    }
    rows.put(tables.ratings, e, {"lease": e.lease}, values)


def _service_announced(rows: Rows, e: ev.ServiceAnnounced) -> None:
    subject = {"account": e.account, "kind": e.kind}
    values = {**subject, "endpoint": e.endpoint, "peer_id": e.peer_id, "at": e.log.timestamp}
    rows.put(tables.services, e, subject, values)


def _licence_issued(rows: Rows, e: ev.LicenceIssued) -> None:
    subject = {"account": e.account, "kind": e.kind}
    rows.put(tables.licences, e, subject, {**subject, "seats": e.seats, "expires_at": e.expires_at})


# ------------------------------------------------------------------------------------------------ offers, delegates


def _offer_taken(rows: Rows, e: ev.OfferTaken) -> None:
    word, bit = e.nonce >> 8, 1 << (e.nonce & 0xFF)
    _spoil(rows, e, e.provider, word, bit, e.nonce, e.lease)


def _offers_cancelled(rows: Rows, e: ev.OffersCancelled) -> None:
    _spoil(rows, e, e.provider, e.word, e.mask, 0, 0)


def _spoil(
    rows: Rows,
    e: ev.OfferTaken | ev.OffersCancelled,
    provider: str,
    word: int,
    mask: int,
    nonce: int,
    lease: int,
) -> None:
    subject = {"provider": provider, "word": word}
    before = rows.version(tables.offers, **subject)
    mask |= before["mask"] if before else 0
    rows.put(tables.offers, e, subject, {**subject, "mask": mask, "nonce": nonce, "lease": lease})


def _delegate_set(rows: Rows, e: ev.DelegateSet) -> None:
    if not rows.is_this_pool(e.pool):
        return
    subject = {"account": e.account, "delegate": e.delegate}
    ended = not e.cap and not e.expiry
    values = {
        **subject,
        "cap": e.cap,
        "period": e.period,
        "expiry": e.expiry,
        "since": 0 if ended else e.log.timestamp,
        "spent": 0,
    }
    rows.put(tables.delegates, e, subject, values)


def _delegate_spent(rows: Rows, e: ev.DelegateSpent) -> None:
    if not rows.is_this_pool(e.pool):
        return
    subject = {"account": e.account, "delegate": e.delegate}
    before = rows.version(tables.delegates, **subject)
    since = 0
    if before is not None:
        since = period_begin(before["since"], before["period"], e.log.timestamp)
    rows.change(tables.delegates, e, subject, {"since": since, "spent": e.spent})


def _group_deployed(rows: Rows, e: ev.GroupDeployed) -> None:
    packed = b"".join(bytes.fromhex(signer[2:]) for signer in e.signers)
    group = {"account": e.account, "threshold": e.threshold, "signers": packed, "salt": e.salt}
    rows.put(tables.groups, e, {"account": e.account}, group)
    for entry, signer in enumerate(e.signers):
        member = {"account": e.account, "member": signer}
        rows.put(tables.members, e, member, {**member, "entry": entry})


def period_begin(since: int, period: int, now: int) -> int:
    """When the period began that `now` is in: periods follow one another without a gap from `since` on."""
    return since if not period else since + (now - since) // period * period


HANDLERS: Mapping[type[Event], Callable[[Rows, Any], None]] = {
    ev.Challenged: _challenged,
    ev.Answered: _answered,
    ev.ChallengeEnded: _challenge_ended,
    ev.OutageOpened: _outage_opened,
    ev.OutageAttested: _outage_attested,
    ev.FaultFiled: _fault_filed,
    ev.OutageApplied: _outage_applied,
    ev.Appealed: _appealed,
    ev.Ruled: _ruled,
    ev.FaultExecuted: _fault_executed,
    ev.Compensated: _compensated,
    ev.SeatJoined: _seat_joined,
    ev.SeatToppedUp: _seat_topped_up,
    ev.SeatLeaving: _seat_leaving,
    ev.SeatExited: _seat_exited,
    ev.SeatFined: _seat_fined,
    ev.VerificationRequested: _verification_requested,
    ev.DrawMissed: _draw_missed,
    ev.CommitteeDrawn: _committee_drawn,
    ev.Committed: _committed,
    ev.Revealed: _revealed,
    ev.RoundFinalized: _round_finalized,
    ev.Rated: _rated,
    ev.ServiceAnnounced: _service_announced,
    ev.LicenceIssued: _licence_issued,
    ev.OfferTaken: _offer_taken,
    ev.OffersCancelled: _offers_cancelled,
    ev.DelegateSet: _delegate_set,
    ev.DelegateSpent: _delegate_spent,
    ev.GroupDeployed: _group_deployed,
}

"""The library's things as the gateway says them: pure functions.

Amounts are token units as texts, which no reader rounds; times are unix seconds.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from leasehold.chain import cid_of_digest, format_lease
from leasehold.market import Json, format_cells, free_cells, free_gpus

if TYPE_CHECKING:
    from leasehold.agreements import GroupTerms
    from leasehold.chain import (
        Block,
        Deployment,
        FaultRecord,
        LeaseRecord,
        RatingRecord,
        RoundRecord,
        SeatRecord,
        Terms,
        VoteRecord,
    )
    from leasehold.market import Listing, Money, Quote

_ZEROS = bytes(32)


def block_json(block: Block) -> dict[str, Json]:
    """The block at which something is said."""
    return {"number": block.number, "hash": block.hash, "time": block.timestamp}


def group_json(account: str, terms: GroupTerms, deployed: bool) -> dict[str, Json]:
    """A group or a Safe. deployed: whether its account has code, by which the chain itself tells of it."""
    return {
        "account": account,
        "threshold": terms.threshold,
        "signers": list(terms.signers),
        "salt": terms.salt,
        "safe": terms.safe is not None,
        "deployed": deployed or terms.safe is not None,
    }


def token_json(deployment: Deployment) -> dict[str, Json]:
    """The pool's token."""
    return {
        "address": deployment.token,
        "symbol": deployment.token_symbol,
        "decimals": deployment.token_decimals,
    }


def terms_json(terms: Terms) -> dict[str, Json]:
    """What a provider asks."""
    return {
        "price": str(terms.price),
        "spot_price": str(terms.spot_price) if terms.spot_price else None,
        "min": terms.min_duration,
        "max": terms.max_duration,
        "trial": terms.trial,
        "available_until": (terms.available_until_day + 1) * 86_400,
    }


def machine_json(listing: Listing, state: str, hardware: bytes, contact: bytes) -> dict[str, Json]:
    """A machine in a list. state: the search's word. hardware, contact: the documents' digests."""
    machine, document = listing.machine, listing.hardware
    return {
        "id": machine.id,
        "provider": machine.provider,
        "operator": machine.operator,
        "gpu": listing.model if listing.sells_gpus else None,
        "cpu": document.cpu.model if document is not None else None,
        "kind": {None: None, True: "gpu", False: "cpu"}[listing.sells_gpus],
        "class": listing.card_class,
        "gpus": machine.gpus,
        "free": free_gpus(machine.busy, machine.gpus),
        "cells": machine.gpus * 8,
        "free_cells": free_cells(machine),
        "busy": format_cells(machine.busy),
        "smallest": machine.smallest_share,
        "mem": listing.gpu_memory,
        "state": state,
        "verified": machine.status.name == "VERIFIED",
        "down_since": machine.down_since or None,
        **terms_json(machine.terms),
        "revision": machine.revision,
        "params": machine.params,
        "stake": str(machine.stake),
        "location": {"country": listing.country},
        "isolation": list(document.isolation) if document is not None else [],
        "last_seen": last_seen(listing),
        "images_cached": _images(listing),
        "hardware": document.model_dump(mode="json") if document is not None else None,
        "hardware_cid": cid_of_digest(hardware),
        "contact_cid": cid_of_digest(contact),
        "missing": listing.missing,
        **track_json(listing),
    }


def last_seen(listing: Listing) -> int | None:
    """When its agent signed last of itself, as far as is known here; its signature is not looked at here."""
    contact = listing.contact
    if contact is None:
        return None
    return max(contact.issued_at, contact.measured.at if contact.measured is not None else 0) or None


def _images(listing: Listing) -> list[Json]:
    images = listing.contact.images if listing.contact is not None else ()
    return [image.name or image.id for image in images[:64]]


def track_json(listing: Listing) -> dict[str, Json]:
    """What the chain remembers of it."""
    track = listing.track
    if track is None:
        return dict.fromkeys(("score", "stars", "ratings", "uptime", "started"))
    return {
        "score": track.score,
        "stars": _number(track.stars),
        "ratings": track.ratings,
        "uptime": _number(track.uptime),
        "started": _number(track.start_rate),
    }


def counts_json(listing: Listing) -> dict[str, Json]:
    """How its leases went."""
    track = listing.track
    if track is None:
        return {}
    return {
        "started": track.started,
        "declined": track.declined,
        "unstarted": track.unstarted,
        "terminated": track.terminated,
        "outages": track.outages,
        "downtime": track.downtime,
    }


def _number(value: Decimal | None) -> str | None:
    return None if value is None else str(value)


def lease_json(record: LeaseRecord) -> dict[str, Json]:
    """A lease."""
    lease = record.lease
    return {
        "id": format_lease(lease.id),
        "number": str(lease.id),
        "machine": lease.machine,
        "tenant": lease.tenant,
        "author": record.author,
        "state": lease.state.word,
        "live": lease.state.live,
        "cells": lease.cells,
        "placement": lease.placement,
        "spot": lease.spot,
        "noticed": lease.noticed,
        "opened_at": record.opened_at,
        "start": lease.start,
        "end": lease.end,
        "price": str(lease.price),
        "deposit": str(lease.deposit),
        "paid": str(record.paid),
        "fee": str(record.fee),
        "refunded": str(record.refunded),
        "revision": lease.revision,
        "params": lease.params,
        "reason": record.reason or None,
        "result": record.result_cid,
        "workload_cid": cid_of_digest(record.workload) if record.workload != _ZEROS else None,
        "endpoint_cid": cid_of_digest(record.endpoint) if record.endpoint != _ZEROS else None,
        "backup_lease": format_lease(record.backup_lease) if record.backup_lease else None,
    }


def fault_json(record: FaultRecord) -> dict[str, Json]:
    """An outage, or another fault."""
    return {
        "fault": record.fault,
        "machine": record.machine,
        "kind": record.kind.word,
        "state": record.state.name.lower(),
        "from": record.from_,
        "to": record.to or None,
        "filed_at": record.filed_at or None,
        "deadline": record.deadline or None,
        "bps": record.bps,
        "amount": str(record.amount),
        "to_tenants": str(record.pot),
        "compensated": str(record.compensated),
    }


def rating_json(record: RatingRecord) -> dict[str, Json]:
    """What a tenant gave for a lease, and by which fee it counts."""
    return {
        "lease": format_lease(record.lease),
        "tenant": record.tenant,
        "stars": record.stars,
        "fee": str(record.fee),
        "at": record.at,
        "comment_cid": cid_of_digest(record.comment) if record.comment != _ZEROS else None,
    }


def seat_json(record: SeatRecord) -> dict[str, Json]:
    """A validator's seat."""
    return {
        "seat": record.seat,
        "validator": record.validator,
        "stake": str(record.stake),
        "level": str(record.level),
        "joined_at": record.joined_at,
        "leaves_at": record.leaves_at or None,
        "exited": record.exited,
    }


def round_json(record: RoundRecord) -> dict[str, Json]:
    """A verification."""
    return {
        "round": record.round,
        "machine": record.machine,
        "revision": record.revision,
        "requester": record.requester,
        "state": record.state.word,
        "requested_at": record.requested_at,
        "fee": str(record.fee),
        "seats": list(record.seats),
        "commit_until": record.commit_until or None,
        "reveal_until": record.reveal_until or None,
        "score": record.score,
        "agreed": record.agreed,
    }


def vote_json(record: VoteRecord) -> dict[str, Json]:
    """A seat's vote, as far as it was shown."""
    return {
        "seat": record.seat,
        "revealed": record.revealed,
        "passed": record.passed if record.revealed else None,
        "score": record.score if record.revealed else None,
    }


def quote_json(quote: Quote, money: Money) -> dict[str, Json]:
    """What a lease costs and what comes back when."""
    return {
        "machine": quote.machine,
        "revision": quote.revision,
        "cells": quote.share,
        "seconds": quote.duration,
        "spot": quote.spot,
        "price": str(quote.price),
        "hourly": str(quote.hourly),
        "escrow": str(quote.deposit),
        "fee_bps": quote.fee_bps,
        "fee_at_most": str(quote.deposit * quote.fee_bps // 10_000),
        "hold_fee_per_hour": str(quote.hold_fee_per_hour),
        "hold_fee_at_most": str(quote.hold_fee_at_most),
        "penalty_at_most": str(quote.penalty_at_most),
        "trial": quote.trial,
        "start_window": quote.start_window,
        "notice": quote.notice,
        "refunds": [{"when": when, "back": back} for when, back in quote.refunds(money)],
    }

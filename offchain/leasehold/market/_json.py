"""Things of the market as JSON, one way for every face.

Amounts are whole tokens as texts, exact in both directions; times are unix seconds, durations seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.chain import ZERO_ADDRESS, format_lease
from leasehold.market._placing import format_cells, free_cells

if TYPE_CHECKING:
    from leasehold.chain import (
        DelegateRecord,
        Fault,
        Lease,
        LicenceRecord,
        Machine,
        Round,
        RoundRecord,
        Terms,
        VoteRecord,
    )
    from leasehold.chain.typed import Offer
    from leasehold.market._bill import Bill
    from leasehold.market._listing import Listing
    from leasehold.market._money import Money
    from leasehold.market._units import Json


def machine_state(machine: Machine) -> str:
    """What keeps the machine from taking leases, behind its verification."""
    problems = (
        ("delisted", machine.delisted),
        ("under-staked", machine.under_staked),
        ("stalled", machine.stalled),
    )
    words = [word for word, holds in (*problems, ("down", machine.down)) if holds]
    return ", ".join([machine.status.name.lower(), *words])


def machine_json(listing: Listing) -> dict[str, Json]:
    """A machine, with its documents as far as they could be had."""
    machine, money = listing.machine, listing.money
    return {
        "id": machine.id,
        "provider": machine.provider,
        "operator": machine.operator,
        "state": machine.status.name.lower(),
        "delisted": machine.delisted,
        "under_staked": machine.under_staked,
        "stalled": machine.stalled,
        "down_since": machine.down_since or None,
        "gpus": machine.gpus,
        "class": listing.card_class,
        "smallest_share": machine.smallest_share,
        "free_cells": free_cells(machine),
        "withheld": format_cells(machine.withheld),
        "revision": machine.revision,
        "stake": money.exact(machine.stake),
        "token": money.symbol,
        "terms": terms_json(machine.terms, money),
        "hardware": listing.hardware.model_dump(mode="json") if listing.hardware else None,
        "contact": listing.contact.model_dump(mode="json") if listing.contact else None,
        "missing": listing.missing,
    }


def terms_json(terms: Terms, money: Money) -> dict[str, Json]:
    """A machine's terms."""
    return {
        "price": money.exact(terms.price),
        "spot_price": money.exact(terms.spot_price),
        "min_duration": terms.min_duration,
        "max_duration": terms.max_duration,
        "trial": terms.trial,
        "available_until": (terms.available_until_day + 1) * 86_400,
    }


def lease_json(lease: Lease, bill: Bill, money: Money) -> dict[str, Json]:
    """A lease and its bill."""
    return {
        "id": format_lease(lease.id),
        "number": str(lease.id),
        "machine": lease.machine,
        "tenant": lease.tenant,
        "state": lease.state.word,
        "noticed": lease.noticed,
        "cells": lease.cells,
        "start": lease.start,
        "end": lease.end,
        "left": bill.left,
        "token": money.symbol,
        "price": money.exact(lease.price),
        "deposit": money.exact(lease.deposit),
        "used": money.exact(bill.used),
        "unused": money.exact(bill.unused),
    }


def fault_json(fault: Fault, money: Money) -> dict[str, Json]:
    """A fault."""
    return {
        "fault": fault.id,
        "machine": fault.machine,
        "kind": fault.kind.word,
        "state": fault.state.name.lower(),
        "from": fault.from_,
        "to": fault.to or None,
        "deadline": fault.deadline or None,
        "bps": fault.bps,
        "amount": money.exact(fault.amount),
        "token": money.symbol,
        "rules": fault.rules,
    }


def offer_json(offer: Offer, money: Money) -> dict[str, Json]:
    """Terms that a provider has signed, or is about to sign."""
    return {
        "machine": offer.machine,
        "revision": offer.revision,
        "price": money.exact(offer.price),
        "cells": offer.cells,
        "duration": offer.duration,
        "spot": offer.spot,
        "tenant": None if offer.tenant == ZERO_ADDRESS else offer.tenant,
        "nonce": str(offer.nonce),
        "expires_at": offer.expires_at,
        "token": money.symbol,
    }


def delegate_json(record: DelegateRecord, now: int, money: Money) -> dict[str, Json]:
    """An account's leave to act for another, as it stands now."""
    spent = record.spent_at(now)
    return {
        "account": record.account,
        "delegate": record.delegate,
        "cap": money.exact(record.cap),
        "period": record.period,
        "expiry": record.expiry,
        "spent": money.exact(spent),
        "left": money.exact(record.cap - spent),
        "over": record.expiry < now,
        "token": money.symbol,
    }


def licence_json(licence: LicenceRecord, now: int) -> dict[str, Json]:
    """A licence, and whether it counts now."""
    return {
        "account": licence.account,
        "kind": licence.kind,
        "seats": licence.seats,
        "expires_at": licence.expires_at,
        "valid": now <= licence.expires_at,
    }


def round_json(round_: Round | RoundRecord) -> dict[str, Json]:
    """How a verification stands."""
    from leasehold.chain import RoundRecord  # with the index's records, which a search does without

    drawn: dict[str, Json] = {}
    if isinstance(round_, RoundRecord):
        drawn = {"requester": round_.requester, "seats": list(round_.seats), "agreed": round_.agreed}
    return {
        "round": round_.round if isinstance(round_, RoundRecord) else round_.id,
        "machine": round_.machine,
        "revision": round_.revision,
        "state": round_.state.word,
        "score": round_.score,
        "spec": round_.spec.hex() if any(round_.spec) else None,
        "commit_until": round_.commit_until or None,
        "reveal_until": round_.reveal_until or None,
        **drawn,
    }


def vote_json(vote: VoteRecord) -> dict[str, Json]:
    """A committee's seat's vote, as far as it was shown."""
    return {
        "seat": vote.seat,
        "revealed": vote.revealed,
        "passed": vote.passed if vote.revealed else None,
        "score": vote.score if vote.revealed else None,
        "spec": vote.spec.hex() if vote.revealed and any(vote.spec) else None,
    }

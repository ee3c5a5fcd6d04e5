"""One machine whole: what it is, asks and has asked, how it has done, and what a share of it would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from leasehold.chain import MachineRecord, Terms, cost
from leasehold.client._errors import NoSuchMachine
from leasehold.errors import LeaseholdError
from leasehold.market import Json, Listing, Wish, machine_json, obstacle, parse_search, settleable, terms_json

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

TWO_HOURS: Final = 7_200
_MOST_PAST: Final = 16  # revisions that are shown, the newest


@dataclass(frozen=True)
class PastTerms:
    """Terms of a machine, from a revision on. since: unix seconds, or `None` where no node tells any more."""

    revision: int
    since: int | None
    terms: Terms


@dataclass(frozen=True)
class MachineView:
    """A machine at the head of the chain. past: its terms, the newest last. share, seconds: of what `price` and
    `spot_price` would be, token units; the latter `None` where it sells no spot. problem: why the pool would refuse
    that lease now.
    """

    listing: Listing
    past: tuple[PastTerms, ...]
    share: int
    seconds: int
    price: int
    spot_price: int | None
    problem: LeaseholdError | None

    def to_json(self) -> dict[str, Json]:
        """All of it for a program, as `Plan.to_json`; shares of 100 and stars as texts."""
        money, track = self.listing.money, self.listing.track
        return {
            **machine_json(self.listing),
            "track": None
            if track is None
            else {
                "score": track.score,
                "stars": None if track.stars is None else str(track.stars),
                "ratings": track.ratings,
                "started": track.started,
                "declined": track.declined,
                "unstarted": track.unstarted,
                "terminated": track.terminated,
                "start_rate": None if track.start_rate is None else str(track.start_rate),
                "uptime": str(track.uptime),
                "outages": track.outages,
                "downtime": track.downtime,
            },
            "past_terms": [
                {"revision": past.revision, "since": past.since, **terms_json(past.terms, money)}
                for past in self.past
            ],
            "offer": {
                "cells": self.share,
                "duration": self.seconds,
                "cost": money.exact(self.price),
                "spot_cost": None if self.spot_price is None else money.exact(self.spot_price),
                "problem": None if self.problem is None else str(self.problem),
            },
        }


async def view_machine(
    client: PoolClient, number: int, *, share: int | None = None, seconds: int = TWO_HOURS
) -> MachineView:
    """All that can be known of a machine. share: cells, by default the least that it leases.

    Raises:
        NoSuchMachine, ChainError.
    """
    index = await client.index()
    record = await index.machine(number)
    if record is None:
        raise NoSuchMachine(number)
    with client.observer.working("Fetching the machine's documents"):
        (listing,) = await client.listings([record], parse_search(""), at_hand=True, tracked=True)
    machine, now = listing.machine, await client.now()
    wish = Wish(share or machine.smallest_share, seconds, allow_unverified=True)
    leases = [known.lease for known in await index.leases(machine=number, live=True)]
    roomy, _ = settleable(machine, leases, wish, now)
    return MachineView(
        listing,
        await _past(client, await index.terms_history(number)),
        wish.share,
        seconds,
        cost(machine.terms.price, wish.share, seconds, up=True),
        cost(machine.terms.spot_price, wish.share, seconds, up=True) if machine.terms.spot_price else None,
        obstacle(roomy, await client.pool.params_version(), wish, now, client.money),
    )


async def _past(client: PoolClient, history: Sequence[tuple[int, MachineRecord]]) -> tuple[PastTerms, ...]:
    """With the times of their blocks, as far as a node knows them."""
    latest = history[-_MOST_PAST:]
    headers = await client.rpc.headers([block for block, _ in latest])
    return tuple(
        PastTerms(record.machine.revision, None if header is None else header.timestamp, record.machine.terms)
        for (_, record), header in zip(latest, headers, strict=True)
    )

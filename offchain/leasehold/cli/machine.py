"""`leasehold machine`: one machine whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, Invocation, shared
from leasehold.cli._hints import said
from leasehold.cli._options import SECONDS, SHARE, MachineId, option
from leasehold.client import MachineView, view_machine
from leasehold.market import (
    Listing,
    Money,
    Track,
    format_duration,
    format_share,
    format_size,
    format_time,
    machine_state,
    terms_rows,
)

_SHOWN = 8  # images, datasets, past terms


@shared(ANSWERS)
async def machine(
    call: Invocation,
    machine: MachineId,
    share: Annotated[
        int | None, option("--share SHARE", "Of which the cost is shown; by default the least."), SHARE
    ] = None,
    seconds: Annotated[int | None, option("--for DURATION", "For how long; by default 2h."), SECONDS] = None,
) -> None:
    """Show one machine whole: hardware, terms and their history, how it has done, what it has, what a share costs."""
    async with open_session(call, account=False) as client:
        view = await view_machine(client, machine, share=share, seconds=seconds or 7_200)
    rows = [
        *_what(view.listing),
        *_offer(view),
        *_done(view.listing.track),
        *_has(view.listing),
        *_past(view),
    ]
    call.out.sheet(view.to_json(), f"Machine {machine}: {view.listing.model or 'unknown model'}", rows)
    if view.listing.missing and not call.out.as_json:
        call.out.warn(f"Machine {machine}: {view.listing.missing}")


def _what(listing: Listing) -> Iterator[tuple[str, str]]:
    machine, hardware = listing.machine, listing.hardware
    yield "state", f"{machine_state(machine)}, {machine.status.name.lower()}"
    yield "provider", machine.provider
    unit = "CPU units" if listing.sells_gpus is False else "GPUs"
    yield unit, f"{machine.gpus}, leased from {format_share(machine.smallest_share)} on"
    if listing.card_class:
        yield "class", listing.card_class
    if listing.gpu_memory:
        yield "memory of each", format_size(listing.gpu_memory)
    if hardware is not None:
        yield (
            "host",
            (
                f"{hardware.cpu.cores} cores of {hardware.cpu.model}, {format_size(hardware.memory_bytes)} of memory, "
                f"{format_size(hardware.disk.bytes)} of disk"
            ),
        )
    if listing.country:
        yield "country", listing.country
    yield "stake", listing.money.show(machine.stake)


def _offer(view: MachineView) -> Iterator[tuple[str, str]]:
    money = view.listing.money
    yield from terms_rows(view.listing.machine.terms, money, view.listing.sells_gpus)
    spot = "" if view.spot_price is None else f", as spot {money.show(view.spot_price)}"
    what = f"{format_share(view.share)} for {format_duration(view.seconds)}"
    yield what, f"{money.show(view.price)}{spot}"
    if view.problem is not None:
        yield "but not now", said(view.problem)


def _done(track: Track | None) -> Iterator[tuple[str, str]]:
    if track is None:
        return
    yield "provider's score", f"{track.score} of 1000"
    stars = (
        "nobody has rated it" if track.stars is None else f"{track.stars} of 5, by {track.ratings} tenants"
    )
    yield "stars", stars
    begun = "no lease yet" if track.start_rate is None else f"{track.start_rate} % of its leases"
    yield (
        "started",
        f"{begun}: {track.started} began, {track.declined} declined, {track.unstarted} left unstarted",
    )
    yield "ended early", f"{track.terminated}"
    down = f"{track.outages} outages, {format_duration(track.downtime)}" if track.outages else "no outage"
    yield "up", f"{track.uptime} % of the last 30 days: {down}"


def _has(listing: Listing) -> Iterator[tuple[str, str]]:
    contact = listing.contact
    if contact is None:
        return
    images = [image.name or image.id for image in contact.images]
    yield "images", _some(images)
    yield "datasets", _some(list(contact.datasets))
    for begin, end in contact.maintenance:
        yield "maintenance", f"{format_time(begin)} to {format_time(end)}"


def _some(texts: list[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more or "none"


def _past(view: MachineView) -> Iterator[tuple[str, str]]:
    for past in view.past[-_SHOWN:]:
        since = "before" if past.since is None else format_time(past.since)
        yield f"price since {since}", _prices(past.terms.price, past.terms.spot_price, view.listing.money)


def _prices(price: int, spot: int, money: Money) -> str:
    return f"{money.show(price)}" + (f", spot {money.show(spot)}" if spot else "")

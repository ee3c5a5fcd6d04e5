"""Machines: as they are found, and one whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from leasehold.errors import LeaseholdError
from leasehold.market import (
    Listing,
    Money,
    Track,
    format_amount,
    format_duration,
    format_share,
    format_size,
    format_time,
    free_cells,
    machine_state,
    terms_rows,
)
from leasehold.tables._table import Pairs, Table

if TYPE_CHECKING:
    from leasehold.client import ImageListing, MachineView

_EVER: Final = 2**48  # seconds
MACHINE_COLUMNS: Final = (
    "id", "model", ">free", ">least", ">mem", ">cores", ">ram", ">disk", "in", "state", ">price",
)  # fmt: skip
_SHOWN: Final = 8  # images, datasets, past terms


def machines_table(listings: Iterable[Listing]) -> Table:
    """Machines as a search finds them. Prices are whole tokens an hour, for a whole GPU or CPU unit."""
    return Table(MACHINE_COLUMNS, [_row(listing) for listing in listings])


def image_table(machines: Iterable[ImageListing]) -> Table:
    """The same, and how soon each would run an image."""
    rows = [(*_row(row.listing), _cold_start(row.whole_seconds)) for row in machines]
    return Table((*MACHINE_COLUMNS, ">cold start"), rows)


def machine_rows(view: MachineView, said: Callable[[LeaseholdError], str] = str) -> Pairs:
    """One machine: what it is, asks, has done and has. said: how this face tells why it cannot be rented now."""
    listing = view.listing
    return (
        *_what(listing),
        *_offer(view, said),
        *_done(listing.track),
        *_has(listing),
        *_past(view),
    )


def _row(listing: Listing) -> tuple[str, ...]:
    machine, hardware = listing.machine, listing.hardware
    cells = free_cells(machine)
    free = format_share(cells) if cells in (1, 2, 4) else f"{cells / 8:g}"
    return (
        str(machine.id),
        listing.model or "?",
        f"{free}/{machine.gpus}",
        format_share(machine.smallest_share),
        format_size(listing.gpu_memory) if listing.gpu_memory else "-",
        str(hardware.cpu.cores) if hardware else "?",
        format_size(hardware.memory_bytes) if hardware else "?",
        format_size(hardware.disk.bytes) if hardware else "?",
        listing.country or "-",
        _state(listing),
        format_amount(machine.terms.price, listing.money.decimals, places=6),
    )


def _cold_start(seconds: int | None) -> str:
    if seconds is None:
        return "?"
    return format_duration(seconds) if seconds else "at hand"


def _state(listing: Listing) -> str:
    state, now = machine_state(listing.machine), int(time.time())
    window = listing.contact.maintenance_in(now, _EVER) if listing.contact else None
    return state if window is None else f"{state}, maintenance {format_time(window[0])}"


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
        memory, disk = format_size(hardware.memory_bytes), format_size(hardware.disk.bytes)
        yield (
            "host",
            f"{hardware.cpu.cores} cores of {hardware.cpu.model}, {memory} of memory, {disk} of disk",
        )
    if listing.country:
        yield "country", listing.country
    yield "stake", listing.money.show(machine.stake)


def _offer(view: MachineView, said: Callable[[LeaseholdError], str]) -> Iterator[tuple[str, str]]:
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
    rated = track.stars is not None
    yield "stars", f"{track.stars} of 5, by {track.ratings} tenants" if rated else "nobody has rated it"
    begun = "no lease yet" if track.start_rate is None else f"{track.start_rate} % of its leases"
    became = f"{track.started} began, {track.declined} declined, {track.unstarted} left unstarted"
    yield "started", f"{begun}: {became}"
    yield "ended early", f"{track.terminated}"
    down = f"{track.outages} outages, {format_duration(track.downtime)}" if track.outages else "no outage"
    yield "up", f"{track.uptime} % of the last 30 days: {down}"


def _has(listing: Listing) -> Iterator[tuple[str, str]]:
    contact = listing.contact
    if contact is None:
        return
    yield "images", _some([image.name or image.id for image in contact.images])
    yield "datasets", _some(contact.datasets)
    for begin, end in contact.maintenance:
        yield "maintenance", f"{format_time(begin)} to {format_time(end)}"


def _some(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more or "none"


def _past(view: MachineView) -> Iterator[tuple[str, str]]:
    for past in view.past[-_SHOWN:]:
        since = "before" if past.since is None else format_time(past.since)
        yield f"price since {since}", _prices(past.terms.price, past.terms.spot_price, view.listing.money)


def _prices(price: int, spot: int, money: Money) -> str:
    return f"{money.show(price)}" + (f", spot {money.show(spot)}" if spot else "")

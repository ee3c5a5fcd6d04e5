"""Machines as lines of a table."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from leasehold.market import (
    Listing,
    format_amount,
    format_duration,
    format_share,
    format_size,
    format_time,
    free_cells,
    machine_state,
)

if TYPE_CHECKING:
    from leasehold.client import ImageListing

FOR_EVER = 2**48  # seconds
MACHINE_COLUMNS = (
    "id", "model", ">free", ">least", ">mem", ">cores", ">ram", ">disk", "in", "state", ">price",
)  # fmt: skip


def machine_row(listing: Listing) -> tuple[str, ...]:
    """A line of `leasehold machines`."""
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


def cold_start_text(row: ImageListing) -> str:
    """How soon the machine has an image."""
    if (seconds := row.whole_seconds) is None:
        return "?"
    return format_duration(seconds) if seconds else "at hand"


def _state(listing: Listing) -> str:
    state, now = machine_state(listing.machine), int(time.time())
    window = listing.contact.maintenance_in(now, FOR_EVER) if listing.contact else None
    return state if window is None else f"{state}, maintenance {format_time(window[0])}"

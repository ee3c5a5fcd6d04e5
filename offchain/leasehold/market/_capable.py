"""What a machine cannot give a workload, as far as its documents say: known before anything is paid for.

The agent decides in the end (`check_fits` of its `_container`), with what it keeps for itself taken off; this refuses
what cannot be so on any account, by name.
"""

from __future__ import annotations

from collections.abc import Sequence

from leasehold.chain import CELLS_PER_GPU
from leasehold.market._errors import MachineUnavailable
from leasehold.market._listing import Listing, sort
from leasehold.market._units import format_size
from leasehold.workload import Share, Workload

MAX_UNITS = 8
COOPERATIVE = "cooperative"
"""Beside `mps` in what a machine says of its shares: their limits bind only who keeps to them."""


def lacking(listing: Listing, workload: Workload, cells: int) -> str | None:
    """What of the workload's wishes the machine cannot serve in a lease of so many cells, or `None`."""
    return (
        _share(listing, workload, cells) or _hardware(listing, workload, cells) or _ports(listing, workload)
    )


def lists_image(listing: Listing, workload: Workload) -> bool:
    """Whether the machine says that it has the image. What a registry or IPFS serves, any machine can get."""
    if not workload.image.startswith("sha256:"):
        return True
    images = listing.contact.images if listing.contact is not None else ()
    return workload.image in {image.id for image in images if "@" not in image.name}


def _share(listing: Listing, workload: Workload, cells: int) -> str | None:
    """Slices, and parts by MPS, by name only where the machine says that it has them. No part of a card whose tenant
    has not said that he takes it without a limit that holds, where that is all there is.
    """
    hardware = listing.hardware
    held = Share.CELLS if cells % CELLS_PER_GPU else Share.WHOLE
    offered = set(hardware.isolation) if hardware is not None else {Share.MIG, Share.MPS, Share.TIME_SLICE}
    in_parts = {Share.MPS, Share.TIME_SLICE} & offered if held is Share.CELLS else set()
    if workload.share not in {None, held, *({Share.MIG} & offered), *in_parts}:
        return f"share: the lease would hold its GPUs as `{held}`, not `{workload.share}`"
    fenced = Share.MIG in offered or (Share.MPS in offered and COOPERATIVE not in offered)
    if not in_parts or fenced or workload.share in in_parts:
        return None
    if Share.MPS in offered:
        return "share: parts of its GPUs have limits that bind only who keeps to them: ask for `mps` by name"
    return (
        "share: parts of its GPUs are time on them, without a limit of memory: ask for `time-slice` by name"
    )


def _hardware(listing: Listing, workload: Workload, cells: int) -> str | None:
    hardware = listing.hardware
    if hardware is None:
        return None
    units = min(len(hardware.gpus), MAX_UNITS) or hardware.cpu_units
    part = cells / (units * CELLS_PER_GPU) if units else 1.0
    cores = round(hardware.cpu.cores * part, 3)
    if workload.cpu is not None and workload.cpu > cores:
        return f"cpu: {workload.cpu:g} cores are more than the {cores:g} that this share of it has"
    for name, asked, most in (
        ("memory", workload.memory, hardware.memory_bytes),
        ("shm", workload.shm, hardware.memory_bytes),
        ("disk", workload.disk, hardware.disk.bytes),
    ):
        if asked is not None and asked > int(most * part):
            have = format_size(int(most * part))
            return f"{name}: {format_size(asked)} is more than the {have} that this share of it has"
    if workload.runtime == "gvisor" and "runsc" not in hardware.runtimes:
        return "runtime: it has no gVisor"
    return None


def _ports(listing: Listing, workload: Workload) -> str | None:
    if listing.contact is None or listing.contact.ports is None:
        return None
    first, last = listing.contact.ports
    for port in workload.ports:
        if port.host is not None and not first <= port.host <= last:
            return f"ports: it publishes host ports {first} to {last}, not {port.host}"
    return None


def capable(listings: Sequence[Listing], workload: Workload | None, share: int) -> list[Listing]:
    """Those that can give the workload what it asks for.

    Raises:
        MachineUnavailable: the machine cannot, or of several none can; says what is missing, of the cheapest.
    """
    if workload is None:
        return list(listings)
    missing = {listing.id: lacking(listing, workload, share) for listing in listings}
    able = [listing for listing in listings if missing[listing.id] is None]
    if able or not listings:
        return able
    cheapest = sort(listings)[0]
    many = f"None of the {len(listings)} machines that match can serve this. " if len(listings) > 1 else ""
    raise MachineUnavailable(
        f"{many}Machine {cheapest.id} cannot: {missing[cheapest.id]}. Ask for less, or choose another share or machine."
    )

"""What leases work on and leave: volumes, checkpoints, outputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from leasehold.chain import format_lease
from leasehold.market import format_size, format_time
from leasehold.tables._table import Table
from leasehold.workload import Manifest, ManifestEntry

if TYPE_CHECKING:
    from leasehold.client import VolumeSeen
    from leasehold.market.wire import CheckpointStanding

VOLUME_COLUMNS: Final = ("volume", "machine", "attached to", "size", "used", "export")
CHECKPOINT_COLUMNS: Final = ("checkpoint", "taken", "why", "read")
OUTPUT_COLUMNS: Final = ("output", ">size", "")


def checkpoints_table(kept: Iterable[CheckpointStanding]) -> Table:
    """What is kept of what a lease has got to, the newest last."""
    rows = [(made.cid, format_time(made.at), made.why, format_size(made.read)) for made in kept]
    return Table(CHECKPOINT_COLUMNS, rows)


def volumes_table(seen: Iterable[VolumeSeen]) -> Table:
    """What is kept on machines, as their agents say."""
    return Table(VOLUME_COLUMNS, [_volume(one) for one in seen])


def outputs_table(manifest: Manifest) -> Table:
    """What a workload has left, and what of it could not travel."""
    rows = [(output.path, format_size(output.size), _note(output)) for output in manifest.outputs]
    return Table(OUTPUT_COLUMNS, rows)


def _volume(seen: VolumeSeen) -> tuple[str, ...]:
    volume = seen.volume
    return (
        volume.name,
        str(seen.machine),
        format_lease(seen.lease) if volume.attached else "",
        format_size(volume.size or 0),
        "" if volume.used is None else format_size(volume.used),
        (volume.export.cid or volume.export.state) if volume.export else "",
    )


def _note(output: ManifestEntry) -> str:
    if output.missing:
        return "the workload never made it"
    return f"{output.skipped} entries could not travel" if output.skipped else ""

"""What people agree upon: offers, delegates, names; and the volumes that they keep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from leasehold.chain import ZERO_ADDRESS, format_lease
from leasehold.market import Money, format_duration, format_share, format_size, format_time
from leasehold.tables._table import Table
from leasehold.workload import Manifest, ManifestEntry

if TYPE_CHECKING:
    from leasehold.chain import DelegateRecord
    from leasehold.chain.typed import Offer
    from leasehold.client import NamedThing, VolumeSeen
    from leasehold.market.wire import CheckpointStanding

OFFER_COLUMNS: Final = ("nonce", ">machine", ">price", ">share", "for", "until", "state")
DELEGATE_COLUMNS: Final = ("for", "delegate", ">cap", "in each", ">left", "until")
VOLUME_COLUMNS: Final = ("volume", "machine", "attached to", "size", "used", "export")
OUTPUT_COLUMNS: Final = ("output", ">size", "")
NAME_COLUMNS: Final = ("kind", "thing", "name", "labels")


def offers_table(offers: Iterable[tuple[Offer, str]], money: Money) -> Table:
    """Offers, each with what became of it."""
    rows = [
        (
            str(offer.nonce),
            str(offer.machine),
            money.exact(offer.price),
            format_share(offer.cells),
            "anybody" if offer.tenant == ZERO_ADDRESS else offer.tenant,
            format_time(offer.expires_at),
            state,
        )
        for offer, state in offers
    ]
    return Table(OFFER_COLUMNS, rows)


def delegates_table(records: Iterable[DelegateRecord], now: int, money: Money, account: str) -> Table:
    """Who may act for whom, and how far. now: unix seconds of the chain. account: whose own place says `you`."""

    def shown(who: str) -> str:
        return "you" if who == account else who

    rows = [
        (
            shown(record.account),
            shown(record.delegate),
            money.show(record.cap),
            format_duration(record.period) if record.period else "-",
            money.show(record.cap - record.spent_at(now)),
            format_time(record.expiry) + (" (over)" if record.expiry < now else ""),
        )
        for record in records
    ]
    return Table(DELEGATE_COLUMNS, rows)


def checkpoints_table(kept: Iterable[CheckpointStanding]) -> Table:
    """What is kept of what a lease has got to, the newest last."""
    rows = [(made.cid, format_time(made.at), made.why, format_size(made.read)) for made in kept]
    return Table(("checkpoint", "taken", "why", "read"), rows)


def volumes_table(seen: Iterable[VolumeSeen]) -> Table:
    """What is kept on machines, as their agents say."""
    return Table(VOLUME_COLUMNS, [_volume(one) for one in seen])


def outputs_table(manifest: Manifest) -> Table:
    """What a workload has left, and what of it could not travel."""
    rows = [(output.path, format_size(output.size), _note(output)) for output in manifest.outputs]
    return Table(OUTPUT_COLUMNS, rows)


def names_table(things: Iterable[NamedThing]) -> Table:
    """What things are called, and their labels."""
    rows = [(thing.kind.value, thing.thing, thing.tag.name or "", _labels(thing)) for thing in things]
    return Table(NAME_COLUMNS, rows)


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


def _labels(thing: NamedThing) -> str:
    return " ".join(f"{word}={value}" for word, value in thing.tag.labels.items())

"""How long a machine takes to have an image at hand, as far as its documents say: what is missing, by its speed.

Engines tell whole images and no layers, so that a machine that has most of one counts as if it had none of it.
Unpacking is not counted, and nor is whoever else fetches meanwhile: it is for comparing machines.
"""

from __future__ import annotations

from typing import Final

from leasehold.images import PLATFORM, ResolvedImage
from leasehold.market._listing import Listing

_BITS: Final = 8


def has_image(listing: Listing, image: ResolvedImage) -> bool:
    """Whether the machine says that it has it: by its content, whatever it is called there."""
    images = listing.contact.images if listing.contact is not None else ()
    return any(kept.id in image.ids or kept.name.partition("@")[2] in image.ids for kept in images)


def cold_start(listing: Listing, image: ResolvedImage) -> float | None:
    """Seconds until the machine has fetched it, 0 where it has it; `None` where it has not said how fast it fetches."""
    if has_image(listing, image):
        return 0.0
    measured = listing.contact.measured if listing.contact is not None else None
    if measured is None or not measured.down:
        return None
    return image.download * _BITS / measured.down


def platform_of(listing: Listing) -> str:
    """For which of an image's platforms it runs; one that does not say is taken for the usual one."""
    named = listing.hardware.architecture if listing.hardware is not None else ""
    return f"linux/{named}" if named else PLATFORM


def runs_on(listing: Listing, image: ResolvedImage) -> bool:
    """Whether the image is made for it. One that names no platform is taken to be."""
    return not image.platforms or platform_of(listing) in image.platforms

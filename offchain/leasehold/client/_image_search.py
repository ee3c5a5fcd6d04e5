"""Machines for an image: those it is made for, and what their agents are asked: who has it, how fast the others are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.images import NoSuchPlatform, ResolvedImage
from leasehold.market import Listing, cold_start, has_image, platform_of

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

COLD_START = "cold-start"


@dataclass(frozen=True)
class ImageListing:
    """A machine, and the image as it is for its processors."""

    listing: Listing
    image: ResolvedImage

    @property
    def at_hand(self) -> bool:
        return has_image(self.listing, self.image)

    @property
    def seconds(self) -> float | None:
        """Until it has the image; `None` where it has not said how fast it fetches."""
        return cold_start(self.listing, self.image)

    @property
    def whole_seconds(self) -> int | None:
        """The same for people and programs: 0 where it has the image, and nowhere else."""
        return None if self.seconds is None else math.ceil(self.seconds)


async def search_for_image(
    client: PoolClient, named: str, query: str = "", *, by: str = COLD_START, retired: bool = False
) -> list[ImageListing]:
    """The machines on which the image runs, in order of their estimated cold start, or of a field as `search` does.

    Raises:
        QueryError, InvalidInput: the search, or the order, is none. ImageError: the image cannot be looked up.
    """
    plain = by.removeprefix("-")
    listings = await client.search(query, by="price" if plain == COLD_START else by, retired=retired)
    with client.observer.working(f"Asking what {named} is, and who has it"):
        images = await _by_platform(client, named, {platform_of(listing) for listing in listings})
        fresh = await client.contacts().refreshed(listings)
    rows = [
        ImageListing(listing, image)
        for listing in fresh
        if (image := images.get(platform_of(listing))) is not None
    ]
    return rows if plain != COLD_START else by_cold_start(rows, last_first=by.startswith("-"))


def by_cold_start(rows: list[ImageListing], *, last_first: bool = False) -> list[ImageListing]:
    """Those that have it first, and who has not said how fast it fetches last, either way; ties stay as they are."""
    known = [row for row in rows if row.seconds is not None]
    known.sort(key=lambda row: row.seconds or 0.0, reverse=last_first)
    return known + [row for row in rows if row.seconds is None]


async def _by_platform(client: PoolClient, named: str, platforms: set[str]) -> dict[str, ResolvedImage]:
    """The image for each platform that it is made for. Of a list of images all are of one moment: the tag's."""
    resolver, images = client.images(), dict[str, ResolvedImage]()
    first = await resolver.resolve(named)
    for platform in platforms:
        if not first.platforms or platform == first.platform:
            images[platform] = first
        elif platform in first.platforms:
            images[platform] = await resolver.resolve(first.reference, platform)
    if platforms and not images:
        raise NoSuchPlatform(named, min(platforms), first.platforms)
    return images

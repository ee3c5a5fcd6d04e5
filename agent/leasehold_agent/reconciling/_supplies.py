"""Where workloads, images and datasets come from, and where results go."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from leasehold.datasets import Ipfs
from leasehold_agent.engine import ImageNote, Images
from leasehold_agent.store import CodeStore, DatasetCache, PackOutputs, UploadedWorkloads


@dataclass
class Supplies:
    """`packing`: the outputs of one lease at a time, so that what is free on the disk counts once."""

    ipfs: Ipfs
    uploads: UploadedWorkloads
    images: Images
    datasets: DatasetCache
    pack: PackOutputs
    code: CodeStore
    packing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def used(self, image: str | None, datasets: Iterable[str]) -> None:
        """A lease had these until now. Blocks for as long as a few small files take."""
        if image is not None:
            self.images.used(image)
        for name in datasets:
            self.datasets.used(name)

    async def forget_unused(self, images: Collection[str], datasets: Collection[str], disk: Path) -> bool:
        """Of the images that are none of `images`, the datasets that are none of `datasets`, and code, remove what was
        used longest ago; whether there was anything. disk: where room is wanted; datasets that lie elsewhere stay.
        """
        idle: list[tuple[float, ImageNote | str | Path]] = list(
            await asyncio.to_thread(self.images.idle, images)
        )
        if await asyncio.to_thread(self.datasets.lies_on, disk):
            idle += await asyncio.to_thread(self.datasets.idle, datasets)
        if await asyncio.to_thread(self.code.lies_on, disk):
            idle += await asyncio.to_thread(self.code.idle)
        for used, kept in sorted(idle, key=lambda use: use[0]):
            if isinstance(kept, str):
                gone = await self.datasets.forget(kept, used)
            elif isinstance(kept, Path):
                gone = await asyncio.to_thread(self.code.forget, kept, used)
            else:
                gone = await self.images.forget(kept, used)
            if gone:
                return True
        return False

"""Where workloads, images and datasets come from, and where results go."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from leasehold.datasets import Ipfs
from leasehold_agent.engine import Images
from leasehold_agent.store import DatasetCache, PackOutputs, UploadedWorkloads


@dataclass
class Supplies:
    """`packing`: the outputs of one lease at a time, so that what is free on the disk counts once."""

    ipfs: Ipfs
    uploads: UploadedWorkloads
    images: Images
    datasets: DatasetCache
    pack: PackOutputs
    packing: asyncio.Lock = field(default_factory=asyncio.Lock)

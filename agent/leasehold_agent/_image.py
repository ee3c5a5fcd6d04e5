"""Images: what a workload names becomes an image id that the engine has, checked against what was named."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import structlog

from leasehold.chain import InvalidCid
from leasehold.datasets import Ipfs
from leasehold.errors import DatasetCorrupt, DatasetTooLarge, DatasetUnavailable, DatasetUnsafe
from leasehold_agent._engine import Engine
from leasehold_agent._errors import Declined, EngineRefused, ImageDelayed
from leasehold_agent._identity import write_private
from leasehold_agent._registries import Registries, registry_of

_log = structlog.get_logger("leasehold_agent")
_USELESS = (DatasetUnavailable, DatasetCorrupt, DatasetUnsafe, DatasetTooLarge, InvalidCid)
_NO_SUCH = ("not found", "manifest unknown", "name unknown", "does not exist", "denied", "unauthorized")
"""What registries say of an image that they do not have for everybody. Whatever else goes wrong may pass."""
_IMAGE_ID = re.compile(r"sha256:[0-9a-f]{64}")


class Images:
    """Finds a workload's image. `root` remembers which image each archive of IPFS held. `reserve`: bytes
    of free space that no archive gets. `registries`: those that the engine may ask.
    """

    def __init__(
        self,
        engine: Engine,
        source: Ipfs,
        root: Path,
        *,
        wait: float,
        reserve: int = 0,
        registries: Sequence[str] = (),
    ) -> None:
        self._engine = engine
        self._source = source
        self._root = root
        self._wait = wait
        self._reserve = reserve
        self._registries = Registries(registries)

    async def ensure(self, image: str) -> str:
        """The engine's id or reference of `image`, fetched if need be.

        Raises Declined("image-unknown") or ("unsupported"), ImageDelayed where its registry may answer later.
        """
        if image.startswith("ipfs:"):
            return await self._from_archive(image.removeprefix("ipfs:"))
        if await self._engine.image_size(image) is not None:
            return image
        if image.startswith("sha256:"):
            raise Declined(
                "image-unknown", f"This host has no image {image}; its contact lists those it has."
            )
        await self._registries.check(image)
        try:
            await self._engine.pull(image)
        except EngineRefused as error:
            _log.warning("pull", image=image, problem=str(error))
            if any(words in str(error).lower() for words in _NO_SUCH):
                raise Declined(
                    "image-unknown", f"{registry_of(image)} has no {image} for all to pull."
                ) from None
            raise ImageDelayed(registry_of(image)) from None
        return image

    async def _from_archive(self, cid: str) -> str:
        """The archive is verified by its CID; the id it loads to is the engine's own digest of the
        content.
        """
        note = self._root / cid
        if note.exists():
            known = note.read_text().strip()
            if _IMAGE_ID.fullmatch(known) and await self._engine.image_size(known) is not None:
                return known
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=self._root, prefix=".fetch-") as folder:
            try:
                # Half of what is free: the engine unpacks it beside.
                room = max(0, shutil.disk_usage(folder).free - self._reserve) // 2
                await self._source.fetch(cid, Path(folder), timeout=self._wait, max_bytes=room)
                loaded = await self._engine.load_image(Path(folder, cid), f"leasehold/ipfs:{cid[:128]}")
            except _USELESS as error:
                raise Declined("image-unknown", f"The image {cid} cannot be had: {error}") from error
            except FileNotFoundError as error:
                raise Declined("image-unknown", f"{cid} is a folder, and no image archive.") from error
            except EngineRefused as error:
                raise Declined("image-unknown", f"{cid} is no image archive: {error}") from error
        write_private(note, loaded.encode())
        return loaded

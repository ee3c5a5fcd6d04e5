"""Images: what a workload names becomes an image id that the engine has, checked against what was named."""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

import structlog

from leasehold.chain import InvalidCid
from leasehold.datasets import Ipfs
from leasehold.errors import DatasetCorrupt, DatasetTooLarge, DatasetUnavailable, DatasetUnsafe
from leasehold.files import replace_file
from leasehold_agent._errors import Declined, EngineRefused, ImageDelayed, ImageTooLarge, NoRoom
from leasehold_agent.engine._engine import OURS, Engine
from leasehold_agent.engine._registries import Registries, registry_of

_log = structlog.get_logger("leasehold_agent")
_USELESS = (DatasetUnavailable, DatasetCorrupt, DatasetUnsafe, DatasetTooLarge, InvalidCid)
_NO_SUCH = ("not found", "manifest unknown", "name unknown", "does not exist", "denied", "unauthorized")
"""What registries say of an image that they do not have for everybody. Whatever else goes wrong may pass."""
_PULLED = "pulled-"
DEFAULT_LIMIT = 32 << 30
_IMAGE_ID = re.compile(r"sha256:[0-9a-f]{64}")


class Images:
    """Finds a workload's image. `root` remembers which image each archive of IPFS held. `reserve`: bytes
    of free space that no image gets. `registries`: those that the engine may ask. `limit`: the most bytes that an image
    may come to. `disk`: where the engine keeps its images, if it can be seen from here.
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
        limit: int = DEFAULT_LIMIT,
        disk: Path | None = None,
    ) -> None:
        self._engine = engine
        self._source = source
        self._root = root
        self._wait = wait
        self._reserve = reserve
        self._registries = Registries(registries)
        self._limit = limit
        self._disk = disk
        self._promised = 0
        self._pulls = self._begun = 0
        self._alone = asyncio.Lock()

    async def ensure(self, image: str) -> str:
        """The engine's id or reference of `image`, fetched if need be.

        Raises Declined("image-unknown") or ("unsupported"), ImageDelayed where its registry may answer later, NoRoom.
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
            await self._pull(image)
            await asyncio.to_thread(
                self._note, f"{_PULLED}{hashlib.sha256(image.encode()).hexdigest()}", image
            )
        except ImageTooLarge as error:
            raise Declined("unsupported", f"image: {error}") from error
        except EngineRefused as error:
            _log.warning("pull", image=image, problem=str(error))
            if any(words in str(error).lower() for words in _NO_SUCH):
                raise Declined(
                    "image-unknown", f"{registry_of(image)} has no {image} for all to pull."
                ) from None
            raise ImageDelayed(registry_of(image)) from None
        return image

    async def _pull(self, image: str) -> None:
        """Where several take the disk's last room at once nobody knows which it was: each then has it to itself."""
        self._begun += 1
        mine, beside = self._begun, self._pulls > 0
        try:
            await self._pull_beside_others(image)
        except NoRoom:
            if not beside and self._begun == mine:
                raise
            async with self._alone:
                await self._pull_beside_others(image)

    async def _pull_beside_others(self, image: str) -> None:
        self._pulls += 1
        try:
            await self._engine.pull(image, self._limit, self._room)
        finally:
            self._pulls -= 1
        if (size := await self._engine.image_size(image)) is not None and size > self._limit:
            await self._engine.forget_image(image)
            raise ImageTooLarge(self._limit)

    def _room(self) -> int:
        """Bytes that are free for images, less those that some need which are being unpacked."""
        if self._disk is None or not self._disk.is_dir():
            return self._limit
        return shutil.disk_usage(self._disk).free - self._reserve - self._promised

    async def _from_archive(self, cid: str) -> str:
        """The archive is verified by its CID; the id it loads to is the engine's own digest of the content."""
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
                most = min(room, self._limit)
                await self._source.fetch(cid, Path(folder), timeout=self._wait, max_bytes=most)
                loaded = await self._load(Path(folder, cid), f"{OURS}{cid[:128]}")
            except ImageTooLarge as error:
                raise Declined("unsupported", f"image: {error}") from error
            except _USELESS as error:
                raise Declined("image-unknown", f"The image {cid} cannot be had: {error}") from error
            except FileNotFoundError as error:
                raise Declined("image-unknown", f"{cid} is a folder, and no image archive.") from error
            except EngineRefused as error:
                raise Declined("image-unknown", f"{cid} is no image archive: {error}") from error
        self._note(cid, loaded)
        return loaded

    def _note(self, name: str, image: str) -> None:
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(self._root / name, image.encode())

    async def forget_unused(self, needed: Collection[str]) -> bool:
        """Remove the image that was fetched longest ago and is none of `needed`, as workloads name them; whether there
        was one. What containers are made of stays, and so does what the host's owner has given a name.
        """
        for note, named, image in await asyncio.to_thread(self._fetched):
            if named not in needed and await self._engine.forget_image(image):
                await asyncio.to_thread(note.unlink, missing_ok=True)
                return True
        return False

    def _fetched(self) -> list[tuple[Path, str, str]]:
        """Notes of what was fetched, as workloads name it and as the engine does, the oldest first."""
        if not self._root.is_dir():
            return []
        notes = [path for path in self._root.iterdir() if path.is_file() and not path.name.startswith(".")]
        fetched = [
            (note, note.read_text().strip()) for note in sorted(notes, key=lambda note: note.stat().st_mtime)
        ]
        return [
            (note, image if note.name.startswith(_PULLED) else f"ipfs:{note.name}", image)
            for note, image in fetched
        ]

    async def _load(self, archive: Path, name: str) -> str:
        """Raises EngineRefused, ImageTooLarge, NoRoom; FileNotFoundError where the archive is a folder."""
        surveyed = await self._engine.survey(archive, self._limit)
        if surveyed.needs > self._room():
            raise NoRoom(surveyed.needs)
        self._promised += surveyed.needs
        try:
            return await self._engine.load_image(surveyed, name)
        finally:
            self._promised -= surveyed.needs

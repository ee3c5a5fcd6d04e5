"""Images: what a workload names becomes an image id that the engine has, checked against what was named.

Whoever names an image gets it only where he might have it: the host's own by a name that its owner gave it, an archive
by its CID, and what comes from a registry as its registry says. A lease's `registry` login goes with one pull to one
registry; the `docker login` of the host's owner is nobody's, but for registries that he lists.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from leasehold.chain import InvalidCid
from leasehold.datasets import Ipfs, recipient_of
from leasehold.errors import (
    DatasetCorrupt,
    DatasetTooLarge,
    DatasetUnavailable,
    DatasetUnsafe,
    SealBroken,
    WrongIdentity,
)
from leasehold.images import registry_of
from leasehold.market import format_size
from leasehold.workload import RegistryLogin
from leasehold_agent._errors import Declined, EngineRefused, ImageDelayed, ImageTooLarge, NoRoom
from leasehold_agent.engine._engine import OURS, Engine
from leasehold_agent.engine._image_notes import ImageNote, ImageNotes
from leasehold_agent.engine._image_rules import ImageRules
from leasehold_agent.engine._registries import Registries
from leasehold_agent.engine._registry_access import RegistryAccess, auth_header
from leasehold_agent.engine._sealed_archive import open_archive

_log = structlog.get_logger("leasehold_agent")
_USELESS = (DatasetUnavailable, DatasetCorrupt, DatasetUnsafe, DatasetTooLarge, InvalidCid)
_NO_SUCH = (
    "not found",
    "manifest unknown",
    "name unknown",
    "does not exist",
    "denied",
    "unauthorized",
    "no basic auth credentials",
    "invalid reference",
    "must be lowercase",
)
"""What registries say of an image that they do not have for everybody. Whatever else goes wrong may pass."""
_OTHER_PROCESSOR = "no matching manifest"
DEFAULT_LIMIT = 32 << 30
_LONE_TRIES = 5
_IMAGE_ID = re.compile(r"sha256:[0-9a-f]{64}")


def _untold(_: str) -> None:
    """Progress that nobody looks at."""


@dataclass(frozen=True)
class Claimant:
    """Who wants an image: the account whose workload names it, and what it shows to the image's registry. gives_way:
    it comes only while nobody else's does. key: the age identity that opens a sealed archive.
    """

    account: str = ""
    login: RegistryLogin | None = None
    gives_way: bool = False
    key: str | None = field(default=None, repr=False)


class Images:
    """Finds a workload's image. `root` remembers what came for leases. `reserve`: bytes
    of free space that no image gets. `registries`: those that the engine may ask, and `logins` those of them for which
    its owner's `docker login` counts. `limit`: the most bytes that an image may come to. `disk`: where the engine keeps
    its images, if it can be seen from here; `netns` its network namespace, if it has another. `rules`: what the owner
    lets run.
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
        logins: Sequence[str] = (),
        limit: int = DEFAULT_LIMIT,
        disk: Path | None = None,
        netns: Path | None = None,
        rules: ImageRules | None = None,
    ) -> None:
        self._engine = engine
        self._source = source
        self._root = root
        self._notes = ImageNotes(root)
        self._wait = wait
        self._reserve = reserve
        self._registries = Registries(registries)
        self._owners_logins = frozenset(map(str.lower, logins))
        self._access = RegistryAccess(netns)
        self._rules = rules or ImageRules()
        self._limit = limit
        self._disk = disk
        self._promised = 0
        self._pulls = self._begun = 0
        self._alone = asyncio.Lock()
        self._giving_way: set[asyncio.Future[None]] = set()

    async def ensure(
        self, image: str, claimant: Claimant | None = None, told: Callable[[str], None] = _untold
    ) -> str:
        """The engine's id or reference of `image`, fetched if need be. `told` hears how far that is.

        Raises Declined("image-unknown") or ("unsupported"), ImageDelayed where its registry may answer later, NoRoom.
        """
        self._rules.check(image)
        if image.startswith("ipfs:"):
            key = None if claimant is None else claimant.key
            known = await self._from_archive(image.removeprefix("ipfs:"), key, told)
        elif image.startswith("sha256:"):
            known = await self._of_the_host(image)
        else:
            known = await self._from_registry(image, claimant or Claimant(), told)
        await asyncio.to_thread(self._notes.used, image)
        return known

    async def without_volumes(self, named: str, image: str) -> str:
        """The engine's id of `image` with no volumes declared, which is itself where it declares none.

        named: as the workload names it. Raises EngineRefused where the engine makes none.
        """
        local = await self._engine.local_image(image)
        if local is None or not local.volumes:
            return image
        known = await asyncio.to_thread(lambda: self._notes.of(named, bare=True))
        if known is None or await self._engine.local_image(known.image) is None:
            made = await self._engine.without_volumes(image)
            known = ImageNote(named, made, bare=True)
            await asyncio.to_thread(self._notes.keep, known)
        return known.image

    async def _of_the_host(self, image: str) -> str:
        """By its id alone only what has a name here may be had: others came for somebody, or are kept for him."""
        local = await self._engine.local_image(image)
        if local is None or not local.tags:
            raise Declined(
                "image-unknown", f"This host has no image {image}; its contact lists those it has."
            )
        return image

    async def _from_registry(self, image: str, claimant: Claimant, told: Callable[[str], None]) -> str:
        note = await asyncio.to_thread(self._notes.of, image)
        local = await self._engine.local_image(image)
        if local is not None and (local.tags or (note is not None and note.open_to(claimant.account))):
            return image
        await self._registries.check(image)
        if claimant.login is not None or (note is not None and note.private_to):
            await self._access.check(image, claimant.login)
        try:
            pull = self._pull_and_give_way if claimant.gives_way else self._pull
            await pull(image, await self._key(image, claimant.login), told)
        except ImageTooLarge as error:
            raise Declined("unsupported", f"image: {error}") from error
        except EngineRefused as error:
            raise self._refusal(image, claimant, str(error)) from None
        by = claimant.account if claimant.login is not None else None
        pulled = await self._engine.local_image(image)
        await asyncio.to_thread(self._notes.came, image, pulled.id if pulled is not None else image, by)
        return image

    async def _key(self, image: str, login: RegistryLogin | None) -> bytes | None:
        if login is not None:
            return auth_header(login)
        return await self._engine.owners_key(image) if registry_of(image) in self._owners_logins else None

    def _refusal(self, image: str, claimant: Claimant, problem: str) -> Declined | ImageDelayed:
        """What the tenant hears of what the engine says, which is for the host's log."""
        secrets = claimant.login and (claimant.login.password, claimant.login.identity_token)
        for secret in filter(None, secrets or ()):
            problem = problem.replace(secret, "…")
        _log.warning("pull", image=image, problem=problem)
        registry, said = registry_of(image), problem.lower()
        if _OTHER_PROCESSOR in said:
            return Declined("unsupported", f"image: {registry} has no {image} for this host's processor.")
        if any(words in said for words in _NO_SUCH):
            whom = "all" if claimant.login is None else "the workload's `registry` login"
            return Declined("image-unknown", f"{registry} has no {image} for {whom} to pull.")
        return ImageDelayed(registry)

    async def _pull_and_give_way(self, image: str, key: bytes | None, told: Callable[[str], None]) -> None:
        """Takes no room and no line from whoever pays: it is none of the pulls that these find beside theirs. Raises
        NoRoom, and ImageDelayed where one of them is under way or begins.
        """
        if self._pulls:
            raise ImageDelayed(registry_of(image))
        pulling = asyncio.ensure_future(self._pull_within_limit(image, key, told))
        self._giving_way.add(pulling)
        try:
            await asyncio.wait({pulling})
        finally:
            self._giving_way.discard(pulling)
            pulling.cancel()
            await asyncio.wait({pulling})
        if pulling.cancelled():
            raise ImageDelayed(registry_of(image))
        pulling.result()

    async def _pull(self, image: str, key: bytes | None, told: Callable[[str], None]) -> None:
        """Where several take the disk's last room at once nobody knows which it was: each then has it to itself, and
        tries again where another has begun meanwhile. Raises NoRoom where it was this one, ImageDelayed where that did
        not come out.
        """
        if await self._fits(image, key, told):
            return
        async with self._alone:
            for _ in range(_LONE_TRIES):
                if await self._fits(image, key, told):
                    return
        raise ImageDelayed(registry_of(image))

    async def _fits(self, image: str, key: bytes | None, told: Callable[[str], None]) -> bool:
        """Whether it has come. Raises NoRoom where there was none for it, with nobody beside."""
        self._begun += 1
        mine, beside = self._begun, self._pulls > 0
        try:
            await self._pull_beside_others(image, key, told)
        except NoRoom:
            if not beside and self._begun == mine:
                raise
            return False
        return True

    async def _pull_beside_others(self, image: str, key: bytes | None, told: Callable[[str], None]) -> None:
        self._pulls += 1
        try:
            if giving_way := set(self._giving_way):
                for pulling in giving_way:
                    pulling.cancel()
                await asyncio.wait(giving_way)
            await self._pull_within_limit(image, key, told)
        finally:
            self._pulls -= 1

    async def _pull_within_limit(self, image: str, key: bytes | None, told: Callable[[str], None]) -> None:
        await self._engine.pull(image, self._limit, self._room, key=key, told=told)
        if (size := await self._engine.image_size(image)) is not None and size > self._limit:
            await self._engine.forget_image(image)
            raise ImageTooLarge(self._limit)

    def _room(self) -> int:
        """Bytes that are free for images, less those that some need which are being unpacked."""
        if self._disk is None or not self._disk.is_dir():
            return self._limit
        return shutil.disk_usage(self._disk).free - self._reserve - self._promised

    async def _from_archive(self, cid: str, key: str | None, told: Callable[[str], None]) -> str:
        """The archive is verified by its CID; the id it loads to is the engine's own digest of the content. What came
        sealed is here for nobody who does not show the key: it gets no name, by which others could have it.
        """
        note = await asyncio.to_thread(self._notes.of, f"ipfs:{cid}")
        opener = "" if key is None else recipient_of(key)
        mine = note is not None and note.opened_by == opener and _IMAGE_ID.fullmatch(note.image)
        known = note.image if note is not None and mine else None
        if known is not None and await self._engine.image_size(known) is not None:
            return known

        def show(done: int, total: int) -> None:
            told(f"{done * 100 // max(1, total)} % of {format_size(total)}")

        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=self._root, prefix=".fetch-") as folder:
            try:
                # Half of what is free: the engine unpacks it beside. A third, where it is opened beside as well.
                room = max(0, shutil.disk_usage(folder).free - self._reserve) // (2 if key is None else 3)
                most = min(room, self._limit)
                await self._source.fetch(cid, Path(folder), timeout=self._wait, max_bytes=most, progress=show)
                told("unpacking")
                if key is not None:
                    await open_archive(Path(folder, cid), key, most)
                loaded = await self._load(Path(folder, cid), None if key else f"{OURS}{cid[:128]}")
            except ImageTooLarge as error:
                raise Declined("unsupported", f"image: {error}") from error
            except (WrongIdentity, SealBroken) as error:
                raise Declined(
                    "image-unknown", f"The image {cid} is not sealed to the key that the workload has for it."
                ) from error
            except _USELESS as error:
                raise Declined("image-unknown", f"The image {cid} cannot be had: {error}") from error
            except FileNotFoundError as error:
                raise Declined("image-unknown", f"{cid} is a folder, and no image archive.") from error
            except EngineRefused as error:
                raise Declined("image-unknown", f"{cid} is no image archive: {error}") from error
        await asyncio.to_thread(self._notes.keep, ImageNote(f"ipfs:{cid}", loaded, opened_by=opener))
        return loaded

    def used(self, image: str) -> None:
        """A lease had it until now, as its workload names it. Blocks for as long as a small file takes."""
        self._notes.used(image)

    async def public(self) -> list[tuple[str, str]]:
        """What came from registries for leases and everybody may have, and the engine has still: the engine's ids, and
        how workloads name it.
        """
        notes = await asyncio.to_thread(self._notes.by_last_use)
        there = await self._engine.image_ids()
        open_to_all = [
            note for _, note in notes if not note.private_to and not note.bare and "@" in note.named
        ]
        return sorted({(note.image, note.named) for note in open_to_all if note.image in there})

    def idle(self, needed: Collection[str]) -> list[tuple[float, ImageNote]]:
        """What came for leases and is none of `needed`, as workloads name them, what was used longest ago first, with
        unix seconds. Blocks for as long as small files take.
        """
        return [(used, note) for used, note in self._notes.by_last_use() if note.named not in needed]

    async def forget(self, note: ImageNote, used: float) -> bool:
        """Remove what was idle, unless it has been used since; whether it is gone. What containers are made of stays,
        and what the host's owner has given a name.

        What was private is remembered for as long as the engine has any of it.
        """
        if await asyncio.to_thread(self._notes.last_use, note) != used:
            return False
        gone = await self._engine.forget_image(note.named if _is_reference(note) else note.image)
        if gone and note.private_to:
            gone = await self._engine.forget_image(note.image)
        if gone:
            await asyncio.to_thread(self._notes.drop, note)
        return gone

    async def _load(self, archive: Path, name: str | None) -> str:
        """Raises EngineRefused, ImageTooLarge, NoRoom; FileNotFoundError where the archive is a folder."""
        surveyed = await self._engine.survey(archive, self._limit)
        if surveyed.needs > self._room():
            raise NoRoom(surveyed.needs)
        self._promised += surveyed.needs
        try:
            return await self._engine.load_image(surveyed, name)
        finally:
            self._promised -= surveyed.needs


def _is_reference(note: ImageNote) -> bool:
    """Whether the engine knows it by what workloads call it; archives, and what has no volumes any more, by the id."""
    return not note.bare and not note.named.startswith("ipfs:")

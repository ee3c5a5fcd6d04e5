"""From an image's name to its digest, as its registry has it now: asked by the renter, shown, and then signed for.

A tag is somebody else's to move. So it is looked up once, on the renter's side, and what is sealed is the digest of
what came, which is computed here: what the registry says of it only has to agree.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from leasehold.images._access import Login, authorization, base_url
from leasehold.images._errors import (
    DigestDiffers,
    ImageNotFound,
    NoSuchPlatform,
    RegistryBusy,
    RegistryLoginRefused,
    RegistryOdd,
    RegistryUnreachable,
)
from leasehold.images._http import Ask, RegistryAnswer
from leasehold.images._http import ask as ask_registry
from leasehold.images._manifest import (
    ACCEPTED,
    MOST_BYTES,
    ImageIndex,
    ImageManifest,
    NotAnImage,
    parse_manifest,
)
from leasehold.images._reference import ImageReference, parse_reference

PLATFORM: Final = "linux/amd64"
_SECONDS: Final = 60.0
_MOST_GREETING: Final = 64 << 10
_OK, _WANTS_A_LOGIN, _WITHHELD, _TOO_MANY = 200, 401, (403, 404), 429

LoginFor = Callable[[str], Awaitable[Login | None]]
"""The login that the user has for a registry, if any."""


@dataclass(frozen=True)
class ResolvedImage:
    """named: as it was asked for. reference: `<name>@sha256:…`, which a workload takes and an engine pulls. digest: of
    the list of images, where there is one for each platform, and else of the image. ids: all digests by which engines
    may know it. platforms: those in the list; none where there is none. download: packed bytes of its layers for
    `platform`. login: what had to be shown for it; None where everybody may have it.
    """

    named: str
    reference: str
    digest: str
    ids: frozenset[str]
    platform: str
    platforms: tuple[str, ...]
    download: int
    login: Login | None = None


async def no_login(server: str) -> Login | None:
    """Of somebody who has none."""
    return None


class ImageResolver:
    """Asks registries: first as anybody, and as the user where that is refused. login_for: the user's logins."""

    def __init__(self, login_for: LoginFor = no_login, ask: Ask = ask_registry) -> None:
        self._login_for, self._ask = login_for, ask

    async def resolve(self, image: str, platform: str | None = None) -> ResolvedImage:
        """What `image` is now. Takes a minute at most. platform: by default the usual one, or the first that there is.

        Raises:
            ImageNameInvalid, ImageNotFound, NoSuchPlatform. RegistryUnreachable, RegistryBusy. RegistryOdd,
            DigestDiffers, RealmElsewhere: it is not to be trusted with this.
        """
        reference = parse_reference(image)
        try:
            async with asyncio.timeout(_SECONDS):
                return replace(await self._looked_up(reference, platform), named=image)
        except TimeoutError:
            raise RegistryUnreachable(reference.registry, "it takes too long") from None

    async def check_login(self, login: Login) -> None:
        """Raises RegistryLoginRefused where the registry does not know it, RegistryUnreachable, RealmElsewhere."""
        questions = _Questions(self._ask, ImageReference(login.server, "library/none"), login)
        if not await questions.known():
            raise RegistryLoginRefused(login.server, login.user)

    async def _looked_up(self, reference: ImageReference, platform: str | None) -> ResolvedImage:
        try:
            return await _resolved(_Questions(self._ask, reference, None), reference, platform)
        except (ImageNotFound, RegistryBusy):
            login = await self._login_for(reference.registry)
            if login is None:
                raise
        return await _resolved(_Questions(self._ask, reference, login), reference, platform)


async def _resolved(questions: _Questions, reference: ImageReference, platform: str | None) -> ResolvedImage:
    digest, manifest = await questions.manifest(reference.wanted)
    ids, platforms = {digest}, tuple[str, ...]()
    if isinstance(manifest, ImageIndex):
        platforms = manifest.platforms
        platform = platform or (PLATFORM if PLATFORM in platforms else next(iter(platforms), PLATFORM))
        chosen = manifest.of(platform)
        if chosen is None:
            raise NoSuchPlatform(str(reference), platform, platforms)
        inner, manifest = await questions.manifest(chosen)
        ids.add(inner)
    if isinstance(manifest, ImageIndex):
        raise RegistryOdd(reference.registry, str(reference), "its list leads to another list")
    return ResolvedImage(
        str(reference),
        reference.at(digest),
        digest,
        frozenset({*ids, manifest.config}),
        platform or PLATFORM,
        platforms,
        manifest.download,
        questions.login,
    )


class _Questions:
    """Asked of one registry about one repository, by one login or none."""

    def __init__(self, ask: Ask, reference: ImageReference, login: Login | None) -> None:
        self._ask, self._reference, self.login = ask, reference, login
        self._base = base_url(reference.registry)
        self._headers = {"Host": self._base.partition("://")[2], "Accept": ACCEPTED}

    async def known(self) -> bool:
        """Whether the registry lets this login in."""
        url = f"{self._base}/v2/"
        answer = await self._answer(url, _MOST_GREETING)
        if answer.status == _WANTS_A_LOGIN and await self._enter(answer):
            answer = await self._answer(url, _MOST_GREETING)
        return answer.status == _OK

    async def manifest(self, wanted: str) -> tuple[str, ImageManifest | ImageIndex]:
        """Under a tag or a digest, with the digest of what came."""
        registry, image = self._reference.registry, str(self._reference)
        url = f"{self._base}/v2/{self._reference.repository}/manifests/{wanted}"
        answer = await self._answer(url, MOST_BYTES)
        if answer.status == _WANTS_A_LOGIN and await self._enter(answer):
            answer = await self._answer(url, MOST_BYTES)
        self._check(answer)
        digest = f"sha256:{hashlib.sha256(answer.body).hexdigest()}"
        if wanted.startswith("sha256:") and wanted != digest:
            raise DigestDiffers(registry, image)
        if answer.digest is not None and answer.digest.startswith("sha256:") and answer.digest != digest:
            raise DigestDiffers(registry, image)
        try:
            return digest, parse_manifest(answer.body)
        except NotAnImage as error:
            raise RegistryOdd(registry, image, str(error)) from None

    async def _answer(self, url: str, most: int) -> RegistryAnswer:
        try:
            return await self._ask("GET", url, self._headers, most=most)
        except (OSError, ValueError) as error:
            raise RegistryUnreachable(self._reference.registry, _reason(error)) from None

    async def _enter(self, answer: RegistryAnswer) -> bool:
        """Show from now on what it wants to see; whether that can be had, and is not what it has just refused."""
        registry, repository = self._reference.registry, self._reference.repository
        try:
            shown = await authorization(self._ask, answer.challenges, registry, repository, self.login)
        except (OSError, ValueError) as error:
            raise RegistryUnreachable(registry, _reason(error)) from None
        if shown is None or self._headers.get("Authorization") == shown:
            return False
        self._headers["Authorization"] = shown
        return True

    def _check(self, answer: RegistryAnswer) -> None:
        registry, status = self._reference.registry, answer.status
        if status == _TOO_MANY:
            raise RegistryBusy(registry)
        if status == _WANTS_A_LOGIN or status in _WITHHELD:
            whom = f"user {self.login.user}" if self.login is not None else "everybody"
            raise ImageNotFound(registry, str(self._reference), whom)
        if status != _OK:
            raise RegistryUnreachable(registry, f"it answers {status}")


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer"
    return "its answer cannot be read" if isinstance(error, ValueError) else str(error).rstrip(".")

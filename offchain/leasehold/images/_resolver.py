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

from leasehold.images._access import Login
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
    MOST_BYTES,
    ImageIndex,
    ImageManifest,
    NotAnImage,
    parse_manifest,
)
from leasehold.images._reference import ImageReference, parse_reference
from leasehold.images._visit import Visit

PLATFORM: Final = "linux/amd64"
_SECONDS: Final = 60.0
_MOST_GREETING: Final = 64 << 10
_OK, _WITHHELD, _TOO_MANY = 200, (401, 403, 404), 429

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
        answer = await Visit(self._ask, login.server, None, login).answer("/v2/", _MOST_GREETING)
        if answer.status != _OK:
            raise RegistryLoginRefused(login.server, login.user)

    async def _looked_up(self, reference: ImageReference, platform: str | None) -> ResolvedImage:
        try:
            return await _resolved(self._visit(reference, None), reference, platform)
        except (ImageNotFound, RegistryBusy):
            login = await self._login_for(reference.registry)
            if login is None:
                raise
        return await _resolved(self._visit(reference, login), reference, platform)

    def _visit(self, reference: ImageReference, login: Login | None) -> Visit:
        return Visit(self._ask, reference.registry, reference.repository, login)


async def _resolved(visit: Visit, reference: ImageReference, platform: str | None) -> ResolvedImage:
    digest, manifest = await _manifest(visit, reference, reference.wanted)
    ids, platforms = {digest}, tuple[str, ...]()
    if isinstance(manifest, ImageIndex):
        platforms = manifest.platforms
        platform = platform or (PLATFORM if PLATFORM in platforms else next(iter(platforms), PLATFORM))
        chosen = manifest.of(platform)
        if chosen is None:
            raise NoSuchPlatform(str(reference), platform, platforms)
        inner, manifest = await _manifest(visit, reference, chosen)
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
        visit.login,
    )


async def _manifest(
    visit: Visit, reference: ImageReference, wanted: str
) -> tuple[str, ImageManifest | ImageIndex]:
    """Under a tag or a digest, with the digest of what came."""
    registry, image = reference.registry, str(reference)
    answer = await visit.answer(f"/v2/{reference.repository}/manifests/{wanted}", MOST_BYTES)
    _check(answer, reference, visit.login)
    digest = f"sha256:{hashlib.sha256(answer.body).hexdigest()}"
    said = (wanted, answer.digest or "")
    if any(named.startswith("sha256:") and named != digest for named in said):
        raise DigestDiffers(registry, image)
    try:
        return digest, parse_manifest(answer.body)
    except NotAnImage as error:
        raise RegistryOdd(registry, image, str(error)) from None


def _check(answer: RegistryAnswer, reference: ImageReference, login: Login | None) -> None:
    if answer.status == _TOO_MANY:
        raise RegistryBusy(reference.registry)
    if answer.status in _WITHHELD:
        whom = f"user {login.user}" if login is not None else "everybody"
        raise ImageNotFound(reference.registry, str(reference), whom)
    if answer.status != _OK:
        raise RegistryUnreachable(reference.registry, f"it answers {answer.status}")

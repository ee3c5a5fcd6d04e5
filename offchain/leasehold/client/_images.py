"""From a workload whose image has a tag to one that names its digest: what is shown, sealed and signed for.

An image that not everybody may have is looked up with the login that the workload names, that lies in the home, or that
`docker login` has left. The first two go with the workload to the machine, whose owner can read them; Docker's is for
this computer alone, since nobody left it there for strangers.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from leasehold.client._errors import LoginStaysHere
from leasehold.images import (
    ImageResolver,
    Login,
    LoginUnreadable,
    ResolvedImage,
    docker_login,
    is_loopback,
    registry_of,
)
from leasehold.market import Json, format_size
from leasehold.workload import RegistryLogin, Workload

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


@dataclass(frozen=True)
class PinnedWorkload:
    """A workload whose image cannot become another. image: what its registry said; `None` where nobody had to be asked.
    cautions: sentences that somebody should read before it is handed over.
    """

    workload: Workload
    image: ResolvedImage | None = None
    cautions: tuple[str, ...] = ()

    def rows(self) -> tuple[tuple[str, str], ...]:
        """What the tag stands for: rows for people."""
        if self.image is None:
            return ()
        size = format_size(self.image.download)
        return (("image", f"{self.image.named} is {self.image.digest} now, {size} to fetch"),)

    def to_json(self) -> dict[str, Json]:
        """The same for a program."""
        if self.image is None:
            return {}
        return {
            "image": self.image.reference,
            "image_named": self.image.named,
            "image_bytes": self.image.download,
        }


async def pin(client: PoolClient, workload: Workload) -> PinnedWorkload:
    """The same workload, with its image's digest in place of a tag, and the login that a machine needs for it.

    Raises:
        ImageError: its registry does not have it, or cannot be asked. LoginStaysHere: it is private, and no login may
        go with it.
    """
    if workload.pinned:
        return PinnedWorkload(workload)
    with client.observer.working(f"Asking {registry_of(workload.image)} for {workload.image}"):
        image = await client.images(workload.registry).resolve(workload.image)
    changes: dict[str, object] = {"image": image.reference}
    cautions: tuple[str, ...] = ()
    if workload.registry is None and (login := image.login) is not None:
        if client.home.registry_logins.all().get(login.server) != login:
            raise LoginStaysHere(login.server, image.named, login.user)
        changes["registry"] = _registry_login(login)
    if "registry" in changes or (workload.registry is not None and image.login is not None):
        assert image.login is not None
        cautions += (
            f"The login of {image.login.user} for {image.login.server} goes with the workload: the machine's owner can "
            "read it.",
        )
    if is_loopback(registry_of(image.reference)):
        cautions += (
            f"{registry_of(image.reference)} is this computer; to the machine it is the machine itself.",
        )
    return PinnedWorkload(workload.model_copy(update=changes), image, cautions)


def resolver(client: PoolClient, own: RegistryLogin | None = None) -> ImageResolver:
    """Asks with the user's logins where everybody is refused. own: the one that a workload names, which comes first."""

    async def login_for(server: str) -> Login | None:
        if own is not None and own.server == server:
            return Login(server, own.username, own.password, own.identity_token)
        if (
            kept := client.home.registry_logins.all().get(server)
        ) is not None or client.docker_config is None:
            return kept
        return await asyncio.to_thread(docker_login, client.docker_config, server)

    return ImageResolver(login_for)


def _registry_login(login: Login) -> RegistryLogin:
    try:
        return RegistryLogin(
            server=login.server,
            username=login.username,
            password=login.password,
            identity_token=login.identity_token,
        )
    except ValidationError:
        raise LoginUnreadable(login.server, "a workload takes no such login") from None

"""Whether somebody may have an image, asked of its registry by the agent itself.

Two things the engine does not do. It takes a password to wherever the registry points (`realm`), unseen; so the agent
looks first, and a password goes to the registry that the tenant named, or not at all. And it gives an image that it has
to whoever names it, without asking anybody; so what came here by one tenant's password is given to another only where
the registry would.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import structlog

from leasehold.images import (
    ACCEPTED,
    RealmElsewhere,
    RegistryAnswer,
    authorization,
    base_url,
    registry_of,
    repository_of,
)
from leasehold.workload import RegistryLogin
from leasehold_agent._errors import Declined, ImageDelayed
from leasehold_agent.engine._registry_http import ask

_log = structlog.get_logger("leasehold_agent")
_GRANTED, _SENT_ON, _WITHHELD, _WANTS_A_PASSWORD = 200, (302, 303, 307, 308), (403, 404), 401


@dataclass(frozen=True)
class RegistryAccess:
    """`netns`: the engine's network namespace, where it is not the agent's own."""

    netns: Path | None = None

    async def check(self, image: str, login: RegistryLogin | None) -> None:
        """Raises Declined where `image` is not for whoever has `login`, ImageDelayed where that cannot be seen now."""
        registry = registry_of(image)
        try:
            granted = await self._granted(image, registry, login)
        except (OSError, ValueError) as error:
            _log.warning("registry", registry=registry, problem=type(error).__name__)
            raise ImageDelayed(registry) from None
        if not granted:
            whom = "the workload's `registry` login" if login is not None else "all"
            raise Declined("image-unknown", f"{registry} has no {image} for {whom} to pull.")

    async def _granted(self, image: str, registry: str, login: RegistryLogin | None) -> bool:
        base, repository = base_url(registry), repository_of(image)
        ping = await ask("GET", f"{base}/v2/", {"Host": urlsplit(base).netloc}, self.netns)
        headers = {"Host": urlsplit(base).netloc, "Accept": ACCEPTED}
        if ping.status == _WANTS_A_PASSWORD:
            shown = await self._shown(ping, registry, repository, login)
            if shown is None:
                return False
            headers["Authorization"] = shown
        digest = image.partition("@")[2]
        answer = await ask("HEAD", f"{base}/v2/{repository}/manifests/{digest}", headers, self.netns)
        if answer.status == _GRANTED or answer.status in _SENT_ON:
            return True
        if answer.status == _WANTS_A_PASSWORD or answer.status in _WITHHELD:
            return False
        raise OSError(f"status {answer.status}")

    async def _shown(
        self, ping: RegistryAnswer, registry: str, repository: str, login: RegistryLogin | None
    ) -> str | None:
        """What the registry wants to see with each question; None where it cannot be had."""
        asked = partial(ask, netns=self.netns)
        try:
            return await authorization(asked, ping.challenges, registry, repository, login)
        except RealmElsewhere as error:
            raise Declined(
                "unsupported",
                f"registry: {registry} wants its passwords sent to {error.host}; this host sends them to the registry "
                "alone.",
            ) from None


def auth_header(login: RegistryLogin) -> bytes:
    """The login as the engine is told it with one pull, after which it forgets it."""
    if login.identity_token is not None:
        said = {"identitytoken": login.identity_token, "serveraddress": login.server}
    else:
        account = {"username": login.username or "", "password": login.password or ""}
        said = {**account, "serveraddress": login.server}
    return base64.urlsafe_b64encode(json.dumps(said).encode())

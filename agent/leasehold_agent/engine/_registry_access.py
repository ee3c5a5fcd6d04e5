"""Whether somebody may have an image, asked of its registry by the agent itself.

Two things the engine does not do. It takes a password to wherever the registry points (`realm`), unseen; so the agent
looks first, and a password goes to the registry that the tenant named, or not at all. And it gives an image that it has
to whoever names it, without asking anybody; so what came here by one tenant's password is given to another only where
the registry would.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import structlog

from leasehold.workload import RegistryLogin, registry_of, repository_of
from leasehold_agent._errors import Declined, ImageDelayed
from leasehold_agent.engine._registry_http import RegistryAnswer, ask

_log = structlog.get_logger("leasehold_agent")
_SERVED_BY = {"docker.io": "registry-1.docker.io"}
_REALMS = {"docker.io": "auth.docker.io", "registry.gitlab.com": "gitlab.com"}
"""Public registries whose passwords belong to a second host of the same house."""
_MANIFESTS = (
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
)
_GRANTED, _SENT_ON, _WITHHELD, _WANTS_A_PASSWORD = 200, (302, 303, 307, 308), (403, 404), 401
_PARAMETER = re.compile(r'([a-zA-Z_]+)="([^"]*)"')


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
        headers = {"Host": urlsplit(base).netloc, "Accept": ", ".join(_MANIFESTS)}
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
        realms = [value for value in ping.challenges if value.lower().startswith("bearer ")]
        if not realms:
            return _basic(login)
        # Whichever of several the engine would choose, none may lead elsewhere.
        wanted = [dict(_PARAMETER.findall(value)) for value in realms]
        for parameters in wanted:
            check_realm(registry, parameters.get("realm", ""))
        return await self._token(wanted[0], repository, login)

    async def _token(
        self, wanted: Mapping[str, str], repository: str, login: RegistryLogin | None
    ) -> str | None:
        realm = wanted["realm"]
        about = {"service": wanted.get("service", ""), "scope": f"repository:{repository}:pull"}
        headers = {"Host": urlsplit(realm).netloc, "Accept": "application/json"}
        if login is not None and login.identity_token is not None:
            form = {**about, "grant_type": "refresh_token", "client_id": "leasehold"}
            body = urlencode({**form, "refresh_token": login.identity_token}).encode()
            headers |= {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": str(len(body))}
            answer = await ask("POST", realm, headers, self.netns, body=body)
        else:
            if (basic := _basic(login)) is not None:
                headers["Authorization"] = basic
            joint = "&" if urlsplit(realm).query else "?"
            answer = await ask("GET", f"{realm}{joint}{urlencode(about)}", headers, self.netns)
        if answer.status != _GRANTED:
            return None
        said = json.loads(answer.body)
        token = (said.get("token") or said.get("access_token")) if isinstance(said, dict) else None
        return f"Bearer {token}" if isinstance(token, str) and token.isascii() else None


def base_url(registry: str) -> str:
    """Where the engine asks. Without encryption it does so on its own loopback alone, or where its owner says so."""
    scheme = "http" if _is_loopback(registry) else "https"
    return f"{scheme}://{_SERVED_BY.get(registry, registry)}"


def check_realm(registry: str, realm: str) -> None:
    """Raises Declined("unsupported") where a password would go to another host than the registry's, or in clear."""
    to, own = urlsplit(realm), urlsplit(base_url(registry))
    same = to.netloc == own.netloc if own.scheme == "http" else to.hostname == own.hostname
    if to.scheme != own.scheme or not (same or to.netloc == _REALMS.get(registry)):
        raise Declined(
            "unsupported",
            f"registry: {registry} wants its passwords sent to {(to.hostname or 'nowhere')[:64]!a}; this host sends "
            "them to the registry alone.",
        )


def auth_header(login: RegistryLogin) -> bytes:
    """The login as the engine is told it with one pull, after which it forgets it."""
    if login.identity_token is not None:
        said = {"identitytoken": login.identity_token, "serveraddress": login.server}
    else:
        account = {"username": login.username or "", "password": login.password or ""}
        said = {**account, "serveraddress": login.server}
    return base64.urlsafe_b64encode(json.dumps(said).encode())


def _basic(login: RegistryLogin | None) -> str | None:
    if login is None or login.password is None:
        return None
    return "Basic " + base64.b64encode(f"{login.username}:{login.password}".encode()).decode()


def _is_loopback(registry: str) -> bool:
    host = urlsplit(f"//{registry}").hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

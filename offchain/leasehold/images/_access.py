"""Where a registry is asked, and what it wants to see with each question: nothing, a password, or a token for one.

A password, and what is given for one, goes to the registry that stands in front of the image's name, or to the second
host that its house is known to have, and never in clear but on a loopback. Where a registry points elsewhere, nothing
is asked there at all: who answers there could be anybody's, a cloud's metadata as well.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final, Protocol
from urllib.parse import urlencode, urlsplit

import orjson

from leasehold.images._errors import RealmElsewhere
from leasehold.images._http import Ask
from leasehold.images._reference import HUB, HUB_SERVES

_REALMS: Final = {
    HUB: "auth.docker.io",
    "registry.gitlab.com": "gitlab.com",
    "nvcr.io": "authn.nvidia.com",
}
"""Public registries whose passwords belong to a second host of the same house."""
_MOST_TOKEN: Final = 64 << 10
_LONGEST_TOKEN: Final = 16 << 10
_GRANTED: Final = 200
_BEARER: Final = re.compile(r"\s*bearer(?![a-z0-9!#$%&'*+.^_`|~-])", re.IGNORECASE)
_PARAMETER: Final = re.compile(r'([a-zA-Z_]+)=(?:"([^"]*)"|([^\s",]+))')


class Credentials(Protocol):
    """Who asks: a user with a password, or an identity token."""

    @property
    def username(self) -> str | None: ...
    @property
    def password(self) -> str | None: ...
    @property
    def identity_token(self) -> str | None: ...


@dataclass(frozen=True)
class Login:
    """A login for one registry. server: as it stands in front of an image's name."""

    server: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    identity_token: str | None = field(default=None, repr=False)

    @property
    def user(self) -> str:
        """Who it is, for people."""
        return self.username or "the holder of its token"


def base_url(registry: str) -> str:
    """Where it is asked. Without encryption that is on a loopback alone, where engines ask so as well."""
    scheme = "http" if is_loopback(registry) else "https"
    return f"{scheme}://{HUB_SERVES if registry == HUB else registry}"


def check_realm(registry: str, realm: str) -> None:
    """Raises RealmElsewhere where a password would go to another host than the registry's, or in clear."""
    own = urlsplit(base_url(registry))
    try:
        to = urlsplit(realm)
        host, place = to.hostname or "nowhere", to.netloc
    except ValueError:
        raise RealmElsewhere(registry, "nowhere") from None
    same = place == own.netloc if own.scheme == "http" else host == own.hostname
    if to.scheme != own.scheme or not (same or place == _REALMS.get(registry)):
        raise RealmElsewhere(registry, ascii(host[:64])[1:-1])


async def authorization(
    ask: Ask, challenges: Sequence[str], registry: str, repository: str | None, login: Credentials | None
) -> str | None:
    """What the registry that answered with `challenges` wants to see with each question; None where it cannot be had.
    repository: what is to be pulled; `None` where it is asked only who somebody is.

    Raises RealmElsewhere, OSError where nobody answers, ValueError where the answer is none.
    """
    bearers = [value for value in challenges if _BEARER.match(value)]
    if not bearers:
        return _basic(login)
    # Whichever of several an engine would choose, none may lead elsewhere.
    wanted = [_parameters(registry, value) for value in bearers]
    for parameters in wanted:
        check_realm(registry, parameters.get("realm", ""))
    return await _token(ask, wanted[0], repository, login)


async def _token(
    ask: Ask, wanted: Mapping[str, str], repository: str | None, login: Credentials | None
) -> str | None:
    realm = wanted["realm"]
    about = {} if repository is None else {"scope": f"repository:{repository}:pull"}
    if "service" in wanted:  # NVIDIA's names none
        about["service"] = wanted["service"]
    headers = {"Host": urlsplit(realm).netloc, "Accept": "application/json"}
    if login is not None and login.identity_token is not None:
        form = {**about, "grant_type": "refresh_token", "client_id": "leasehold"}
        body = urlencode({**form, "refresh_token": login.identity_token}).encode()
        headers |= {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": str(len(body))}
        answer = await ask("POST", realm, headers, body=body, most=_MOST_TOKEN)
    else:
        if (basic := _basic(login)) is not None:
            headers["Authorization"] = basic
        joint = "&" if urlsplit(realm).query else "?"
        url = f"{realm}{joint}{urlencode(about)}" if about else realm
        answer = await ask("GET", url, headers, most=_MOST_TOKEN)
    return _bearer(answer.body) if answer.status == _GRANTED else None


def _bearer(body: bytes) -> str | None:
    said = orjson.loads(body)
    token = (said.get("token") or said.get("access_token")) if isinstance(said, dict) else None
    fits = isinstance(token, str) and token.isascii() and token.isprintable() and len(token) <= _LONGEST_TOKEN
    return f"Bearer {token}" if fits else None


def _parameters(registry: str, challenge: str) -> dict[str, str]:
    """Raises RealmElsewhere for what an engine may read otherwise: a name that is there twice, or an escape."""
    named = [(name.lower(), quoted or bare) for name, quoted, bare in _PARAMETER.findall(challenge)]
    parameters = dict(named)
    if "\\" in challenge or len(parameters) < len(named):
        raise RealmElsewhere(registry, "more than one host")
    return parameters


def _basic(login: Credentials | None) -> str | None:
    if login is None or login.password is None:
        return None
    return "Basic " + base64.b64encode(f"{login.username}:{login.password}".encode()).decode()


def is_loopback(registry: str) -> bool:
    """Whether it is a registry of the very computer that asks."""
    host = urlsplit(f"//{registry}").hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

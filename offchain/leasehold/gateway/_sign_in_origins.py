"""Origins of pages elsewhere that may sign in: the app on IPFS, or on a server of its publisher's.

Whoever runs a page of such an origin can ask those who open it for a session, and use it. So an origin is named whole;
there is no sign for several, and none for pages that have no origin of their own. A gateway for IPFS that serves every
site under one name, by path, has one origin for all of them: those that are known are refused. One that gives each site
a name (`https://CID.ipfs.example`) gives it an origin, and a CID's content never changes.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from leasehold.errors import SettingsError

_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_ORIGIN: Final = re.compile(
    rf"(?P<scheme>https?)://(?P<host>{_LABEL}(?:\.{_LABEL})*|\[[0-9a-f:.]{{2,45}}\])(?::(?P<port>[1-9][0-9]{{0,4}}))?"
)
_HERE: Final = re.compile(r"127\.0\.0\.1|\[::1\]|(?:.+\.)?localhost")
_USUAL: Final = {"http": "80", "https": "443"}
SHARED: Final = frozenset(
    (
        "4everland.io",
        "cf-ipfs.com",
        "cloudflare-ipfs.com",
        "dweb.link",
        "gateway.ipfs.io",
        "gateway.pinata.cloud",
        "hardbin.com",
        "ipfs.filebase.io",
        "ipfs.infura.io",
        "ipfs.io",
        "nftstorage.link",
        "trustless-gateway.link",
        "w3s.link",
    )
)
"""Hosts at which everybody's sites have one origin."""


def check_origins(origins: Collection[str]) -> None:
    """Of pages elsewhere that may read: what is public, so that one may come without TLS.

    Raises:
        SettingsError: one is no origin as browsers write it, and so would never be one that asks.
    """
    for origin in origins:
        _formed(origin)


def check_sign_in_origins(origins: Collection[str], sites: Collection[str]) -> None:
    """sites: the gateway's own, whose pages have a session in a cookie.

    Raises:
        SettingsError: one is no origin as browsers write it, is anybody's, or is the gateway's own.
    """
    own = {site.rstrip("/").lower() for site in sites}
    for origin in origins:
        _check(origin)
        if origin in own:
            raise SettingsError(f"{origin} is the gateway's own address", "name it among its sites alone.")


def _formed(origin: str) -> re.Match[str]:
    form = _ORIGIN.fullmatch(origin)
    if form is None or form["port"] == _USUAL[form["scheme"]] or int(form["port"] or 0) > 65_535:
        raise SettingsError(
            f"`{origin[:200]}` is no page's origin",
            "write it whole, as browsers do: https://app.example, without a path, a usual port or a capital.",
        )
    return form


def _check(origin: str) -> None:
    form = _formed(origin)
    if form["scheme"] == "http" and _HERE.fullmatch(form["host"]) is None:
        raise SettingsError(
            f"What {origin} serves can be changed on its way", "let pages sign in that come over TLS."
        )
    if form["host"].removeprefix("www.") in SHARED:
        raise SettingsError(
            f"Whatever is on IPFS is served at {origin}, as one origin",
            "name the one of a subdomain, https://CID.ipfs.….",
        )

"""The message of Sign-in with Ethereum (EIP-4361): its form, read strictly, and whether it may be believed now.

Both are pure. What a wallet shows its owner is this text, so that whatever it may hold besides the standard's lines is
refused: a second `URI:` line, another order, a control character, an address whose capitals are no checksum.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from leasehold._addresses import checksummed
from leasehold.gateway._refusals import SignInRefused

MAX_MESSAGE: Final = 4096
"""Bytes of a message; a wallet shows some hundred."""
AHEAD_SECONDS: Final = 60
"""By which a browser's clock may be ahead."""
OLD_SECONDS: Final = 600
"""After which a message counts no more, whatever it says of its end."""

_URI: Final = r"[A-Za-z][A-Za-z0-9+.-]{0,31}:[!#$%&'()*+,\-./0-9:;=?@A-Z_a-z~\[\]]{1,2048}"
_TIME: Final = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)
_FORM: Final = re.compile(
    r"(?:(?P<scheme>https?)://)?(?P<domain>[A-Za-z0-9.:\[\]-]{1,255})"
    r" wants you to sign in with your Ethereum account:\n"
    r"(?P<address>0x[0-9A-Fa-f]{40})\n"
    r"\n"
    r"(?:(?P<statement>[ !#$%&'()*+,\-./0-9:;=?@A-Z_a-z~\[\]]{1,1024})\n)?"
    r"\n"
    rf"URI: (?P<uri>{_URI})\n"
    r"Version: 1\n"
    r"Chain ID: (?P<chain>0|[1-9][0-9]{0,77})\n"
    r"Nonce: (?P<nonce>[A-Za-z0-9]{8,128})\n"
    rf"Issued At: (?P<issued>{_TIME})"
    rf"(?:\nExpiration Time: (?P<expires>{_TIME}))?"
    rf"(?:\nNot Before: (?P<begins>{_TIME}))?"
    r"(?:\nRequest ID: [!$%&'()*+,\-.0-9:;=@A-Z_a-z~]{0,128})?"
    rf"(?:\nResources:(?:\n- {_URI}){{0,16}})?",
    re.ASCII,
)


@dataclass(frozen=True)
class SignInMessage:
    """What a message says. Times are unix seconds; scheme, expires and begins are `None` where it does not say."""

    text: str
    scheme: str | None
    domain: str
    address: str
    uri: str
    chain: int
    nonce: str
    issued: float
    expires: float | None
    begins: float | None

    @classmethod
    def parse(cls, text: str) -> SignInMessage:
        """Raises SignInRefused for what is no such message."""
        form = _FORM.fullmatch(text) if len(text) <= MAX_MESSAGE else None
        if form is None:
            raise SignInRefused(
                "That is no message of Sign-in with Ethereum (EIP-4361);", "have a new one signed."
            )
        if checksummed(form["address"]) != form["address"]:
            raise SignInRefused("The address in the message has no checksum (EIP-55);", "write it with one.")
        return cls(
            text=text,
            scheme=form["scheme"],
            domain=form["domain"],
            address=form["address"],
            uri=form["uri"],
            chain=int(form["chain"]),
            nonce=form["nonce"],
            issued=_seconds(form["issued"]),
            expires=None if form["expires"] is None else _seconds(form["expires"]),
            begins=None if form["begins"] is None else _seconds(form["begins"]),
        )


def check_message(
    message: SignInMessage, origin: str, sites: Collection[str], chain: int, now: float
) -> None:
    """Whether it asks for a session here, now. origin: of the page that sent it, which the wallet has compared; sites:
    origins of this gateway, of which the message names one: what was signed for another gateway, which hands it on,
    signs nobody in.

    Raises:
        SignInRefused: it is for another page, gateway, chain or time.
    """
    place = urlsplit(origin)
    if message.domain != place.netloc or message.scheme not in (None, place.scheme):
        raise SignInRefused(
            f"The message is for {message.domain}, and this is {place.netloc};", "do not sign such a message."
        )
    if not any(_lies_in(message.uri, site) for site in sites):
        raise SignInRefused(
            "The message names another address than this gateway's;", "do not sign such a message."
        )
    if message.chain != chain:
        raise SignInRefused(
            f"The message is for chain {message.chain}, and the pool is on {chain};",
            "switch the wallet's network.",
        )
    _check_time(message, now)


def _lies_in(uri: str, site: str) -> bool:
    return uri == site or uri.startswith((site + "/", site + "?", site + "#"))


def _check_time(message: SignInMessage, now: float) -> None:
    if message.issued > now + AHEAD_SECONDS:
        raise SignInRefused("The message is from the future;", "set this device's clock.")
    if message.issued < now - OLD_SECONDS or (message.expires is not None and message.expires <= now):
        raise SignInRefused("The message is too old;", "have a new one signed.")
    if message.begins is not None and message.begins > now:
        raise SignInRefused("The message counts only later;", "have a new one signed.")


def _seconds(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise SignInRefused(f"There is no such time as {text};", "have a new message signed.") from None

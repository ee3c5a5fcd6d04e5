"""Where somebody wants to be told, as he says it to whoever guards for others.

Such a place is a stranger's word. It may be anybody's: so it is asked for a code first (`confirmation`), and counted by
whose it may be (`key`, `site`) and not by how it is written; and refused as just this place (`place`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Final, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from leasehold.guarding._alerts import Alert, AlertKind
from leasehold.guarding._channels import Channel, Mail, Ntfy, Webhook
from leasehold.guarding._reach import LONGEST_URL, AlertReach, same_address
from leasehold.guarding._settings import MailServer
from leasehold.market import InvalidInput, Json

NTFY: Final = "https://ntfy.sh"
_MAIL: Final = re.compile(r"[A-Za-z0-9._+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,63}")
"""Of what standards allow, what people have: nothing that a mail server might read as a way to somewhere else."""


class AlertWay(StrEnum):
    """By what somebody is told."""

    WEBHOOK = "webhook"
    NTFY = "ntfy"
    MAIL = "mail"


@dataclass(frozen=True)
class _Known:
    """A secret that is at hand."""

    secret: str

    def read(self) -> str:
        return self.secret


class AlertRecipient(BaseModel):
    """One place. address: a webhook's URL; a mail address; of ntfy the server's, or nothing for ntfy.sh. topic, token:
    of ntfy. All of it is the account's own business: who knows a topic reads it, and who knows a webhook writes to it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    way: AlertWay
    address: Annotated[str, Field(max_length=LONGEST_URL)] = ""
    topic: Annotated[str, Field(pattern=r"^(?:[A-Za-z0-9_-]{1,64})?$")] = ""
    token: Annotated[str, Field(pattern=r"^[!-~]{0,200}$")] = ""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.way is AlertWay.NTFY) != bool(self.topic) or (self.token and self.way is not AlertWay.NTFY):
            raise ValueError("a topic and a token are of ntfy, which takes a topic")
        return self

    def checked(self, reach: AlertReach) -> AlertRecipient:
        """It, as it is written best. Raises InvalidInput where nothing may be sent."""
        if self.way is AlertWay.MAIL:
            address = self.address.strip()
            if not _MAIL.fullmatch(address):
                raise InvalidInput("That is no mail address;", "write it as ada@example.org.")
        else:
            address = reach.checked(self.address or NTFY if self.way is AlertWay.NTFY else self.address)
        if self.way is AlertWay.NTFY and urlsplit(address)[2:] not in (("", "", ""), ("/", "", "")):
            raise InvalidInput(
                "An ntfy server's address has nothing behind its host;",
                "write it as https://ntfy.example.org, and the topic beside it.",
            )
        return self.model_copy(update={"address": address})

    @property
    def site(self) -> str:
        """Whose computer gets it: a host, or a mail address's domain."""
        if self.way is AlertWay.MAIL:
            return self.address.rpartition("@")[2].lower()
        return (urlsplit(self.address).hostname or "").lower().rstrip(".")

    @property
    def place(self) -> str:
        """Just this place, by which it is refused: nobody has one that is another's, too. Nothing can be read in it."""
        if self.way is AlertWay.MAIL:
            return _digest("mail", self.site, self.address.rpartition("@")[0].lower())
        parts = urlsplit(same_address(self.address))
        return _digest("web", f"{self.site}:{parts.port or ''}", f"{self._path}?{parts.query}")

    @property
    def key(self) -> str:
        """By which it is counted: the same for whatever may arrive at the same person's, and at others', too. Nothing
        can be read in it.
        """
        if self.way is AlertWay.MAIL:  # one box has a thousand such names
            box = self.address.rpartition("@")[0].partition("+")[0].replace(".", "").lower()
            return _digest("mail", self.site, box)
        return _digest("web", self.site, self._path.partition(";")[0].rstrip("/").lower())

    @property
    def _path(self) -> str:
        """On a web server. A topic of ntfy has one, too, at which others post to it."""
        path = urlsplit(same_address(self.address)).path
        return re.sub("/+", "/", f"/{self.topic if self.way is AlertWay.NTFY else path}")

    @property
    def shown(self) -> str:
        """As much of it as its account needs to know it again: who looks over a shoulder has no use of that."""
        if self.way is AlertWay.MAIL:
            return f"{self.address[:1]}…@{self.site}"
        return f"{self.site}/{self.topic[:3]}…" if self.way is AlertWay.NTFY else f"{self.site}/…"

    def channel(self, secret: str, reach: AlertReach, server: MailServer | None) -> Channel | None:
        """The way there. secret: signs a webhook's. server: takes letters; without one there is no way to a box."""
        if self.way is AlertWay.WEBHOOK:
            return Webhook(self.address, _Known(secret), reach=reach)
        if self.way is AlertWay.NTFY:
            token = _Known(self.token) if self.token else None
            return Ntfy(self.address, self.topic, token, reach=reach)
        return None if server is None else Mail(server, self.address)


def _digest(*parts: str) -> str:
    return sha256(" ".join(parts).encode()).hexdigest()


def confirmation(account: str, site: str, code: str, now: int) -> dict[str, Json]:
    """What a place is sent before anything else is. site: where the code is to be brought. now: unix seconds."""
    said = (
        f"Account {account} wants to be told here how its leases stand, by {site}. If that is yours, bring there this "
        f"code: {code}. If it is not, do nothing, and nothing else is sent."
    )
    return {**Alert(AlertKind.CONFIRM, code, said).to_json(now), "code": code}

"""What a guard is to do: one validated object, from the table `[guard]` of a home's config.toml.

No secret stands in it: each is named by the file or the variable of the environment that holds it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from leasehold.guarding._errors import GuardSecretMissing, GuardSettingWrong
from leasehold.market import InvalidInput, parse_duration, parse_size

_MOST_SECRET = 4_096


def _seconds(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("it should be a duration such as 30m")
    if not isinstance(value, str):
        return value
    try:
        return parse_duration(value)
    except InvalidInput as error:
        raise ValueError(error.problem) from None


def _address(text: str) -> str:
    """Without TLS only what does not leave this computer."""
    parts = urlsplit(text)
    if parts.username or parts.password:
        raise ValueError("a password stands in it: name the file that holds it")
    if parts.scheme == "https" and parts.hostname:
        return text
    if parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost"):
        return text
    raise ValueError("it should begin with https://")


def _label(text: str) -> str:
    if not re.fullmatch(r"[^=\s]+=[^=\s]+", text):
        raise ValueError("it should be WORD=VALUE")
    return text


def _bytes(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return int(parse_size(value))
    except InvalidInput as error:
        raise ValueError(error.problem) from None


Span = Annotated[int, BeforeValidator(_seconds), Field(gt=0, le=366 * 86_400)]
Maybe = Annotated[int, BeforeValidator(_seconds), Field(ge=0, le=366 * 86_400)]
Address = Annotated[str, Field(max_length=2_000), AfterValidator(_address)]
Amount = Annotated[str, Field(pattern=r"^[0-9]{1,12}(\.[0-9]{1,18})?$")]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Secret(_Table):
    """Where a secret lies: a file that its owner alone may read, or a variable of the environment."""

    file: Path | None = None
    env: str | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.file is None) == (self.env is None):
            raise ValueError("name a file or an env, and one of them")
        return self

    def read(self) -> str:
        """Raises GuardSecretMissing."""
        if self.env is not None:
            value, place = os.environ.get(self.env, ""), f"the environment's {self.env}"
        else:
            assert self.file is not None
            path = self.file.expanduser()
            place = str(path)
            try:
                with path.open("rb") as file:
                    value = file.read(_MOST_SECRET + 1).decode().split("\n", 1)[0].strip()
            except (OSError, UnicodeDecodeError) as error:
                raise GuardSecretMissing(place) from error
        if not value or len(value) > _MOST_SECRET:
            raise GuardSecretMissing(place)
        return value


class WebhookSettings(_Table):
    """A JSON document is posted to `url`. secret: by which it is signed (HMAC-SHA256)."""

    url: Address
    secret: Secret


class MailServer(_Table):
    """What takes letters, by SMTP. tls: `starttls` (port 587), `tls` (465), or `none`, on this computer alone."""

    host: Annotated[str, Field(min_length=1, max_length=253)]
    sender: Annotated[str, Field(pattern=r"^[^\s@<>]+@[^\s@<>]+$", max_length=320)]
    port: Annotated[int, Field(ge=1, le=65_535)] | None = None
    tls: Literal["starttls", "tls", "none"] = "starttls"
    user: str | None = None
    password: Secret | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.user is None) != (self.password is None):
            raise ValueError("a user and a password belong together")
        if self.tls == "none" and self.host not in ("127.0.0.1", "::1", "localhost"):
            raise ValueError("without TLS letters go to this computer alone")
        return self

    @property
    def at(self) -> int:
        """The port."""
        return self.port or {"starttls": 587, "tls": 465, "none": 25}[self.tls]


class MailSettings(MailServer):
    """Letters to one address."""

    to: Annotated[str, Field(pattern=r"^[^\s@<>]+@[^\s@<>]+$", max_length=320)]


class NtfySettings(_Table):
    """A topic of an ntfy server. Who knows a public topic reads it: `token` is for one that is kept."""

    topic: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    url: Address = "https://ntfy.sh"
    token: Secret | None = None


class KeepSettings(_Table):
    """Leases that are extended before they end: all, or those with `label`.

    by: how much at a time. before: how long before the end. at_most: of a lease's life since its start. budget: the
    most that one may hold and have paid in all, whole tokens.
    """

    by: Span
    at_most: Span
    budget: Amount
    label: Annotated[str, AfterValidator(_label)] | None = None
    before: Span = 900


class GuardSettings(_Table):
    """What a guard warns of, and what it does. Durations in seconds, or as people write them.

    every: seconds between looks. end_near: how long before its end a lease is warned of. idle_after: how long a lease
    without work is idle; 0: nobody is told. silent_after: how long an agent may say nothing. cheaper_by: by how many
    percent another machine has to be cheaper; 0: nobody looks. gas_low: coins in the wallet under which it is told.
    challenge: machines that are silent; each costs a bond where they answer after all. settle: prove silence, apply
    outages, have compensation paid. failover: open a standby while the machine is down. recover: go on with runs that
    were begun so. checkpoints: most bytes that one comes to which one's own node fetches, where its workload
    does not say; 0: only those of runs are fetched. keep: leases that are extended, by a name for each.
    """

    every: Annotated[int, BeforeValidator(_seconds), Field(ge=1, le=3_600)] = 60
    end_near: Maybe = 1_800
    idle_after: Maybe = 1_800
    silent_after: Span = 600
    cheaper_by: Annotated[int, Field(ge=0, le=99)] = 20
    gas_low: Amount = "0.01"
    challenge: bool = False
    settle: bool = True
    failover: bool = True
    recover: bool = True
    checkpoints: Annotated[int, BeforeValidator(_bytes), Field(ge=0, le=1 << 50)] = 10 << 30
    keep: Annotated[dict[str, KeepSettings], Field(max_length=64)] = {}
    webhook: WebhookSettings | None = None
    mail: MailSettings | None = None
    ntfy: NtfySettings | None = None

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Self:
        """Raises GuardSettingWrong: the first that is wrong, and why."""
        try:
            return cls.model_validate(dict(table))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "guard"
            raise GuardSettingWrong(place, _why(first)) from None


def _why(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "there is no such setting"
    message = str(error["msg"]).removeprefix("Value error, ")
    return message[:1].lower() + message[1:].rstrip(".")

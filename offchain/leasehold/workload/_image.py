"""What a workload says of its image: which registry it comes from and who may fetch it there, and how it is started.

What is said here holds in place of what the image itself says, as the same words do for `docker run`.
"""

import re
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from leasehold.images import is_server, server_of
from leasehold.workload._values import Bytes, Text, WorkloadPart, refuse

_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_LONGEST_HOSTNAME: Final = 63
"""The kernel keeps 64 bytes of a name, and some programs want a zero behind it."""
_HIGHEST_ID: Final = 2**31 - 1
_COUNTED_FOR_ALL: Final = ("nproc", "sigpending", "msgqueue")
_OF_THE_HOST: Final = ("core", "nice", "rtprio", "rttime")


def _server(value: str) -> str:
    if not is_server(value.lower()):
        raise refuse("is not a registry as it stands in front of an image's name, such as ghcr.io")
    return server_of(value)


def _workdir(value: str) -> str:
    if "\0" in value or not value.startswith("/") or ".." in value.split("/") or len(value) > 1024:
        raise refuse("is not an absolute path without `..`")
    return value


def _hostname(value: str) -> str:
    """A name by RFC 1123, in small letters."""
    if len(value) > _LONGEST_HOSTNAME or not re.fullmatch(rf"{_LABEL}(?:\.{_LABEL})*", value.lower()):
        raise refuse(
            f"is not a host name of at most {_LONGEST_HOSTNAME} letters, digits and inner hyphens, with dots between"
        )
    return value.lower()


def _user(value: object) -> object:
    """`1000`, `1000:100`, `www-data` or `www-data:adm`; a bare number may be written as one."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        return value
    parts = text.split(":")
    if len(parts) > 2 or not all(
        re.fullmatch(r"[0-9]{1,10}|[A-Za-z_][A-Za-z0-9_.-]{0,31}", p) for p in parts
    ):
        raise refuse("is not a user such as 1000, 1000:100 or www-data")
    if any(part.isdigit() and int(part) > _HIGHEST_ID for part in parts):
        raise refuse(f"has a number above {_HIGHEST_ID}")
    return text


def no_others(value: object) -> object:
    """Refuses by name the limits that are not one container's own."""
    for name in value if isinstance(value, dict) else ():
        if name in _COUNTED_FOR_ALL:
            raise refuse(f"cannot have `{name}`, which the kernel counts for all leases of a host together")
        if name in _OF_THE_HOST:
            raise refuse(f"cannot have `{name}`, which is the host's to say")
    return value


Entrypoint = Annotated[tuple[Text, ...], Field(max_length=1024)]
Workdir = Annotated[str, AfterValidator(_workdir)]
User = Annotated[str, BeforeValidator(_user)]
Hostname = Annotated[str, AfterValidator(_hostname)]
Title = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,62}[A-Za-z0-9._-])?$")]
"""What a lease is called by its tenant. It is shown on terminals: nothing in it moves a cursor."""
_Credential = Annotated[Text, Field(min_length=1, max_length=16_384)]


class RegistryLogin(WorkloadPart):
    """Who fetches the image: a user with a password, or an identity token, for the image's own registry."""

    server: Annotated[str, AfterValidator(_server)]
    username: Annotated[str, StringConstraints(pattern=r"^[!-9;-~]{1,255}$")] | None = None
    password: _Credential | None = Field(default=None, repr=False)
    identity_token: _Credential | None = Field(default=None, repr=False)

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.username is None) != (self.password is None):
            raise refuse("needs `username` and `password` together")
        if (self.password is None) == (self.identity_token is None):
            raise refuse("needs either `username` and `password`, or `identity_token`")
        return self


class Ulimits(WorkloadPart):
    """Limits of each process in the container, which it cannot raise. `unlimited` is as much as the lease's memory."""

    nofile: Annotated[int, Field(strict=True, ge=64, le=2**20)] | None = None
    memlock: Bytes | Literal["unlimited"] | None = None
    stack: Bytes | Literal["unlimited"] | None = None

"""A fleet: hosts of one provider in a file that lies on the provider's own computer, beside the wallet.

price = "1.20"                  # of every host that says nothing else
sudo = true

[hosts.gpu01]
ssh = "ops@10.0.0.11"           # as ssh takes it; by default the host's name
labels = ["rack-1"]

[hosts.gpu02]
price = "0.90"
gpus = 4
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from leasehold.client._errors import FleetUnreadable, NoSuchHost
from leasehold.client._joining import AskedTerms
from leasehold.fields import in_words
from leasehold.market import InvalidInput, parse_duration

MOST_HOSTS = 1_000


def _seconds(value: object) -> object:
    """Of a duration as people write it; whole seconds stay what they are."""
    try:
        return parse_duration(value) if isinstance(value, str) else value
    except InvalidInput as error:
        raise ValueError(error.problem) from error


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=63)]
# No option, no space, and nothing that a shell of somebody's `ProxyCommand` would read as more than a name.
Target = Annotated[
    str, StringConstraints(pattern=r"^(ssh://)?[A-Za-z0-9_\[][A-Za-z0-9_.@:%\[\]-]*$", max_length=255)
]
Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]+$", max_length=64)]
Amount = Annotated[Decimal, BeforeValidator(lambda value: str(value) if isinstance(value, float) else value)]
Duration = Annotated[int, BeforeValidator(_seconds)]


class _Asked(BaseModel):
    """What stands of one host, or at the top for all. Durations are written `90m`, `3d`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sudo: bool | None = None
    price: Amount | None = None
    spot_price: Amount | None = None
    min: Duration | None = None
    max: Duration | None = None
    trial: Duration | None = None
    until: date | None = None
    gpus: Annotated[int, Field(ge=1, le=8)] | None = None
    smallest_share: Literal[1, 2, 4, 8] | None = None


class _Entry(_Asked):
    ssh: Target | None = None
    machine: Annotated[int, Field(ge=1)] | None = None
    labels: Annotated[tuple[Label, ...], Field(max_length=32)] = ()


class _File(_Asked):
    ssh_config: Path | None = None
    at_once: Annotated[int, Field(ge=1, le=64)] = 8
    seconds: Annotated[int, Field(ge=1, le=3_600)] = 300
    hosts: Annotated[dict[Name, _Entry], Field(min_length=1, max_length=MOST_HOSTS)]


@dataclass(frozen=True)
class FleetHost:
    """One host. target: as ssh takes it. sudo: whether the account there is another than root. machine: its number,
    where the file says which one it is, as for a host that joined by itself.
    """

    name: str
    target: str
    labels: tuple[str, ...]
    sudo: bool
    asked: AskedTerms
    gpus: int | None = None
    smallest_share: int | None = None
    machine: int | None = None


@dataclass(frozen=True)
class Fleet:
    """Hosts in the order of the file. at_once: how many are asked at the same time; seconds: how long one may take.
    ssh_config: read by ssh in place of its own.
    """

    hosts: tuple[FleetHost, ...]
    at_once: int = 8
    seconds: int = 300
    ssh_config: Path | None = None

    @classmethod
    def load(cls, path: Path) -> Fleet:
        """Read the file. Raises FleetUnreadable, which names the first thing that is wrong."""
        try:
            file = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise FleetUnreadable(str(path), error.strerror or "it cannot be read") from error
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise FleetUnreadable(str(path), f"{where}: {in_words(first['msg'])}") from error
        except ValueError as error:
            raise FleetUnreadable(str(path), str(error)) from error
        config = None if file.ssh_config is None else path.parent / file.ssh_config.expanduser()
        return cls(tuple(_hosts(file)), file.at_once, file.seconds, config)

    def only(self, wanted: Collection[str]) -> Fleet:
        """The same with those hosts alone that have one of these names or labels; with none, all. Raises NoSuchHost."""
        if not wanted:
            return self
        chosen = tuple(host for host in self.hosts if {host.name, *host.labels} & set(wanted))
        known = {word for host in chosen for word in (host.name, *host.labels)}
        if unknown := [word for word in wanted if word not in known]:
            raise NoSuchHost(unknown[0])
        return replace(self, hosts=chosen)


def _hosts(file: _File) -> Iterator[FleetHost]:
    for name, entry in file.hosts.items():
        said = file.model_dump(include=set(_Asked.model_fields)) | entry.model_dump(
            include=set(_Asked.model_fields), exclude_none=True
        )
        asked = AskedTerms(
            price=said["price"],
            spot_price=said["spot_price"],
            shortest=said["min"],
            longest=said["max"],
            trial=said["trial"],
            until=said["until"],
        )
        gpus, share, sudo = said["gpus"], said["smallest_share"], bool(said["sudo"])
        yield FleetHost(name, entry.ssh or name, entry.labels, sudo, asked, gpus, share, entry.machine)

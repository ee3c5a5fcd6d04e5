"""Naming and labelling what is at hand: leases of the account, machines, datasets, accounts.

12, train, gang:12      leases, as `choose_leases` reads them
machine:7               a machine
bafy…, Qm…              a dataset
0x…                     an account
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from leasehold.chain import format_lease
from leasehold.client._address import parse_address
from leasehold.client._choosing import Choice, choose_leases, known_leases, tag_of
from leasehold.client._errors import NoSuchMachine
from leasehold.client._tenant_errors import NotTheTenant
from leasehold.home import Kind, Tag
from leasehold.market import Json

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

MACHINE: Final = "machine:"
_CIDS: Final = ("bafy", "bafk", "Qm")


@dataclass(frozen=True)
class NamedThing:
    """A thing, as people write it, and what it is called here."""

    kind: Kind
    thing: str
    tag: Tag

    @property
    def words(self) -> tuple[str, ...]:
        """All that people write for it."""
        return (self.thing, f"{self.kind}:{self.thing}", *([self.tag.name] if self.tag.name else ()))

    def to_json(self) -> dict[str, Json]:
        """For a program."""
        return {
            "kind": self.kind.value,
            "thing": self.thing,
            "name": self.tag.name,
            "labels": dict(self.tag.labels),
        }


async def name_things(client: PoolClient, word: str, name: str | None) -> list[NamedThing]:
    """Call what the word means by a name; `None` takes it away. Of leases a word may mean several.

    Raises:
        BadName, NameTaken, TooManyNames. NoSuchMachine, NotTheTenant: it is no machine, or somebody else's lease. As
        `choose_leases`.
    """
    names = client.home.names(client.deployment)
    kind, keys = await _things(client, word)
    return [NamedThing(kind, _shown(kind, key), names.call(kind, key, name)) for key in keys]


async def label_things(client: PoolClient, word: str, labels: Mapping[str, str | None]) -> list[NamedThing]:
    """Put labels on what the word means; `None` takes one off. Raises as `name_things`, and BadLabel."""
    names = client.home.names(client.deployment)
    kind, keys = await _things(client, word)
    return [NamedThing(kind, _shown(kind, key), names.label(kind, key, labels)) for key in keys]


async def named_things(client: PoolClient) -> list[NamedThing]:
    """Everything that is called or labelled something: of leases those of the account that were handed over so, too."""
    names, handed = client.home.names(client.deployment), client.home.lease_names.all()
    tags = {kind: names.all(kind) for kind in Kind}
    for lease in await known_leases(client):
        tag = tag_of(lease.record, tags[Kind.LEASE], handed)
        if tag.name is not None:
            tags[Kind.LEASE][str(lease.id)] = tag
    return [NamedThing(kind, _shown(kind, key), tag) for kind in Kind for key, tag in tags[kind].items()]


async def _things(client: PoolClient, word: str) -> tuple[Kind, list[str]]:
    """What a word means: the kind, and each thing's key. Raises as `name_things`."""
    if word.startswith(MACHINE):
        number = word.removeprefix(MACHINE)
        machine = int(number) if number.isascii() and number.isdigit() and len(number) < 19 else 0
        if await (await client.index()).machine(machine) is None:
            raise NoSuchMachine(machine)
        return Kind.MACHINE, [str(machine)]
    if word.startswith("0x"):
        return Kind.ADDRESS, [parse_address(word)]
    if word.startswith(_CIDS) and len(word) > 40:
        return Kind.DATASET, [word]
    chosen = await choose_leases(client, Choice((word,)))
    own = {lease.id for lease in await known_leases(client)}
    for lease in chosen:
        if lease not in own:
            raise NotTheTenant(lease, (await client.known_lease(lease)).tenant)
    return Kind.LEASE, [str(lease) for lease in chosen]


def _shown(kind: Kind, key: str) -> str:
    return format_lease(int(key)) if kind is Kind.LEASE else key

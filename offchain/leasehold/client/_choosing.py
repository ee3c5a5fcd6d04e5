"""Which leases somebody means: by number, by name, by gang, by label, or all of them.

    12, 12.1        a lease by its number, anybody's
    train           what the account has under that name: of several, all, which are then one thing
    gang:12         lease 12, and what was opened together with it

A name stands for the leases that still hold cells; where there is none any more, for those that had it last. It was
given to a workload as that was handed over from this home, or to a lease afterwards, which counts more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from typing import TYPE_CHECKING, Final

from leasehold.chain import InvalidLeaseId, LeaseRecord, format_lease, parse_lease
from leasehold.client._choosing_errors import (
    ChosenTwice,
    NoLeaseChosen,
    NoLeaseLabelled,
    NoSuchLeaseName,
    OnlyOneLease,
)
from leasehold.home import Kind, Tag

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

GANG: Final = "gang:"


class Which(Enum):
    """What can be done with which leases: those that hold cells, those that are over, or all."""

    LIVE = "running"
    OVER = "ended"
    ANY = ""

    def has(self, record: LeaseRecord) -> bool:
        """Whether the lease is one of these."""
        return self is Which.ANY or record.lease.state.live is (self is Which.LIVE)


@dataclass(frozen=True)
class Choice:
    """Leases as somebody names them: by words (see above), by labels that they all have, or all of the account's."""

    words: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    everything: bool = False


@dataclass(frozen=True)
class KnownLease:
    """A lease of the account as the index has it, and what it is called here."""

    record: LeaseRecord
    tag: Tag

    @property
    def id(self) -> int:
        """Its number on chain."""
        return self.record.lease.id


async def choose_leases(client: PoolClient, choice: Choice, which: Which = Which.ANY) -> tuple[int, ...]:
    """The leases' numbers on chain, none twice, in the order in which they were named.

    A lease that is named by its number is given as it is, whatever its state and whosever it is, and nothing is asked
    for it. Names, gangs, labels and all mean the account's leases, and of these only such as `which` says.

    Raises:
        NoLeaseChosen: nothing was named, or the account has none such. ChosenTwice: in more ways than one.
        NoSuchLeaseName, NoLeaseLabelled. SettingsError: the home's names are damaged. ChainError.
    """
    ways = bool(choice.words) + bool(choice.labels) + choice.everything
    if ways > 1:
        raise ChosenTwice()
    if not ways:
        raise NoLeaseChosen(which.value)
    if choice.words:
        chosen = [number for word in choice.words for number in await _meant(client, word, which)]
        return tuple(dict.fromkeys(chosen))
    known = [lease for lease in await known_leases(client) if which.has(lease.record)]
    chosen = [lease.id for lease in known if lease.tag.has(choice.labels)]
    if not chosen and choice.labels:
        raise NoLeaseLabelled(which.value, tuple(f"{word}={value}" for word, value in choice.labels.items()))
    if not chosen:
        raise NoLeaseChosen(which.value)
    return tuple(chosen)


async def choose_lease(client: PoolClient, word: str, which: Which = Which.ANY) -> int:
    """The one lease that a word means. Raises as `choose_leases`, and OnlyOneLease: it means several."""
    chosen = await choose_leases(client, Choice((word,)), which)
    if len(chosen) > 1:
        raise OnlyOneLease(word, tuple(map(format_lease, chosen)))
    return chosen[0]


def is_named(word: str) -> bool:
    """Whether a word means a lease of the account's, and not anybody's by its number."""
    try:
        parse_lease(word)
    except InvalidLeaseId:
        return True
    return False


async def known_leases(client: PoolClient, *, live: bool | None = None) -> list[KnownLease]:
    """All leases of the account, those that are over too, by number, with what they are called here. live: only those
    that hold cells, or only those that do not. Raises as `choose_leases`.
    """
    tags, handed = client.home.names(client.deployment).all(Kind.LEASE), client.home.lease_names.all()
    records = await (await client.index()).leases(tenant=client.account, live=live)
    return [KnownLease(record, tag_of(record, tags, handed)) for record in records]


def tag_of(record: LeaseRecord, tags: Mapping[str, Tag], handed: Mapping[bytes, str]) -> Tag:
    """What a lease is called. tags: by number, as `NameBook.all` has them. handed: by the workload's digest."""
    tag = tags.get(str(record.lease.id), Tag())
    return tag if tag.name is not None else Tag(handed.get(record.workload), tag.labels)


async def _meant(client: PoolClient, word: str, which: Which) -> list[int]:
    """What one word means. Raises as `choose_leases`."""
    if not is_named(word):
        return [parse_lease(word)]
    if word.startswith(GANG):
        return await _gang(client, parse_lease(word.removeprefix(GANG)), which)
    known = await known_leases(client)
    named = [lease for lease in known if lease.tag.name == word and which.has(lease.record)]
    live = [lease for lease in named if lease.record.lease.state.live]
    if live or named:
        latest = max(lease.record.opened_at for lease in named)
        return [lease.id for lease in live or named if live or lease.record.opened_at == latest]
    names = {lease.tag.name for lease in known if lease.tag.name is not None and which.has(lease.record)}
    near = get_close_matches(word, sorted(names), n=1)
    raise NoSuchLeaseName(word, which.value, near[0] if near else "")


async def _gang(client: PoolClient, first: int, which: Which) -> list[int]:
    """What was opened in one transaction with a lease: at one moment, with one workload. One that was given another
    workload since belongs to it still. Raises as `choose_leases`.
    """
    index = await client.index()
    records = await index.leases(tenant=client.account)
    opened_at = next((record.opened_at for record in records if record.lease.id == first), None)
    if opened_at is None:
        return [first]  # the verb says what is wrong with it
    beside = [record for record in records if record.opened_at == opened_at]
    workloads = {record.lease.id: await index.lease_history(record.lease.id) for record in beside}
    same = workloads[first][0].workload
    gang = [record for record in beside if workloads[record.lease.id][0].workload == same]
    chosen = [record.lease.id for record in gang if which.has(record)]
    if not chosen:
        raise NoLeaseChosen(which.value)
    return chosen

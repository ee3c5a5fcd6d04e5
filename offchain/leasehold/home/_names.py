"""What a person calls things, and the labels put on them: leases, machines, datasets, accounts. The chain knows none.

    names = home.names(deployment)
    names.call(Kind.LEASE, lease, "train")
    names.label(Kind.LEASE, lease, {"project": "vision"})

Several leases may have one name, and are then one thing; of the others a name stands for one thing only. Who renames
from two prompts at once loses neither name: writers wait for one another.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from leasehold.chain import Deployment
from leasehold.errors import SettingsError
from leasehold.files import write_private
from leasehold.home._errors import BadLabel, BadName, NameTaken, TooManyNames

MOST_NAMED: Final = 4_096
"""Things of a kind that are called or labelled something."""
MOST_LABELS: Final = 32
"""Of one thing."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,62}[A-Za-z0-9._-])?")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,62}[A-Za-z0-9])?")
_VALUE = re.compile(r"[A-Za-z0-9 ._:/@+-]{1,128}")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]*")


class Kind(StrEnum):
    """What a name stands for."""

    LEASE = "lease"
    MACHINE = "machine"
    DATASET = "dataset"
    ADDRESS = "address"

    @property
    def of_a_pool(self) -> bool:
        """Whether it is another thing in another pool: datasets and accounts are the same in all."""
        return self in (Kind.LEASE, Kind.MACHINE)


@dataclass(frozen=True)
class Tag:
    """What one thing is called, if anything, and its labels."""

    name: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def has(self, labels: Mapping[str, str]) -> bool:
        """Whether it has all of these."""
        return labels.items() <= self.labels.items()


class NameBook:
    """As they are used with one pool, in files under a home. Without a pool: those that are the same in all.

    A thing goes by its text: a lease by its number on chain, a machine by its id, a dataset by its CID, an account by
    its address.
    """

    def __init__(self, home: Path, deployment: Deployment | None) -> None:
        self._folder, self._deployment = home / "names", deployment
        self._lock = home / "locks" / "names"

    def all(self, kind: Kind) -> dict[str, Tag]:
        """Everything of the kind that is called or labelled something, the longest known first.

        Raises:
            SettingsError: the file is damaged.
        """
        return self._read(self._path(kind))[kind]

    def of(self, kind: Kind, thing: object) -> Tag:
        """What the thing is called. Raises SettingsError as `all`."""
        return self.all(kind).get(str(thing), Tag())

    def called(self, kind: Kind, name: str) -> tuple[str, ...]:
        """The things of the kind with that name. Raises SettingsError as `all`."""
        return tuple(thing for thing, tag in self.all(kind).items() if tag.name == name)

    def call(self, kind: Kind, thing: object, name: str | None) -> Tag:
        """Give the thing a name, or with `None` take it away.

        Raises:
            BadName. NameTaken: another has it, and the kind is not of leases. TooManyNames. SettingsError.
        """
        if name is not None:
            check_name(name)
        with self._changing(kind) as tags:
            taken = next(
                (other for other, tag in tags.items() if name is not None and tag.name == name), None
            )
            if kind is not Kind.LEASE and taken not in (None, str(thing)):
                raise NameTaken(str(name), kind.value, str(taken))
            before = tags.pop(str(thing), Tag())
            tags[str(thing)] = Tag(name, before.labels)
        return tags[str(thing)]

    def label(self, kind: Kind, thing: object, labels: Mapping[str, str | None]) -> Tag:
        """Put labels on the thing, in place of those that it has under the same word; `None` takes one off.

        Raises:
            BadLabel, TooManyNames, SettingsError.
        """
        for word, value in labels.items():
            check_label(word, value)
        with self._changing(kind) as tags:
            before = tags.pop(str(thing), Tag())
            after = {word: value for word, value in {**before.labels, **labels}.items() if value is not None}
            if len(after) > MOST_LABELS:
                raise TooManyNames(f"labels on one {kind.value}", MOST_LABELS)
            tags[str(thing)] = Tag(before.name, after)
        return tags[str(thing)]

    @contextmanager
    def _changing(self, kind: Kind) -> Iterator[dict[str, Tag]]:
        """The things of the kind, to be changed; written when the block ends well. Others wait meanwhile."""
        path = self._path(kind)
        with _alone(self._lock):
            kinds = self._read(path)
            yield kinds[kind]
            if len(kinds[kind]) > MOST_NAMED:
                raise TooManyNames(f"things of the kind {kind.value}", MOST_NAMED)
            write_private(
                path, json.dumps({known: _told(tags) for known, tags in kinds.items()}, indent=2) + "\n"
            )

    def _path(self, kind: Kind) -> Path:
        if not kind.of_a_pool:
            return self._folder / "everywhere.json"
        assert self._deployment is not None
        # The genesis too: a development chain repeats ids and addresses.
        known = self._deployment
        return self._folder / f"{known.chain_id}-{known.genesis[2:18]}-{known.controller}.json"

    @staticmethod
    def _read(path: Path) -> dict[Kind, dict[str, Tag]]:
        try:
            kept = json.loads(path.read_text()) if path.exists() else {}
            return {
                kind: {str(thing): _tag(tag) for thing, tag in kept.get(kind, {}).items()} for kind in Kind
            }
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise SettingsError(f"{path} is damaged ({error}): correct it, or move it away.") from error


def _tag(kept: Any) -> Tag:
    name = kept.get("name")
    labels = {str(word): str(value) for word, value in kept.get("labels", {}).items()}
    return Tag(None if name is None else str(name), labels)


def _told(tags: Mapping[str, Tag]) -> dict[str, Any]:
    """What is called nothing and has no labels is not kept."""
    return {
        thing: {"name": tag.name, "labels": dict(tag.labels)}
        for thing, tag in tags.items()
        if tag.name is not None or tag.labels
    }


def check_name(name: str) -> None:
    """Refuse what could be taken for a number or an address, or cannot be typed. Raises BadName."""
    if not _NAME.fullmatch(name) or _NUMBER.fullmatch(name) or _ADDRESS.fullmatch(name):
        raise BadName(name)


def check_label(word: str, value: str | None) -> None:
    """Raises BadLabel. value: `None` where the label is to be taken off."""
    if not _LABEL.fullmatch(word) or (value is not None and not _VALUE.fullmatch(value)):
        raise BadLabel(word if value is None else f"{word}={value}")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Waits for whoever else changes names now, which takes them a moment."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)

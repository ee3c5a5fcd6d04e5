"""What a guard of somebody's leases remembers: what it told, what it has yet to tell, and who of several it is.

Everything is one file, written whole: what was told and what is yet to be sent change together, so that a guard which
is killed forgets no alert and tells none anew. Losing the file costs alerts told twice, and no money.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import orjson

from leasehold._locks import locked_now
from leasehold.chain import Deployment
from leasehold.files import write_private

MOST_CAUSES = 2_000
"""Causes that are remembered; those told longest ago go first."""
MOST_PENDING = 200
"""Alerts that wait for their channels; of more the oldest are dropped, and counted."""


@dataclass(frozen=True)
class ToldCause:
    """A cause that was told. since: when it was first seen. over: when it was first seen no more; 0: it stands. Unix
    seconds.
    """

    since: int
    over: int = 0


@dataclass(frozen=True)
class NotedSilence:
    """Of a lease whose agent says nothing: for how many seconds, as far as that is known, in how many looks in a row,
    and when the last of them was, unix seconds by the chain.
    """

    seconds: int
    looks: int
    at: int


@dataclass(frozen=True)
class Pending:
    """An alert that a channel has not taken yet. alert: as it is sent. tries: so far. due: when it is tried again."""

    channel: str
    alert: Mapping[str, Any]
    first: int
    tries: int = 0
    due: int = 0


@dataclass(frozen=True)
class Remembered:
    """What a guard knew at its last look.

    term: how often a guard took over: whoever finds a later one than his own there acts no more. looked: unix seconds
    of its last look. watched: leases that were live then. challenged: when a machine was last challenged. dropped:
    alerts that no channel took in time. trouble: why it cannot look, if so. silent: leases whose agents say nothing.
    """

    term: int = 0
    looked: int = 0
    told: Mapping[str, ToldCause] = field(default_factory=dict)
    pending: tuple[Pending, ...] = ()
    watched: tuple[int, ...] = ()
    challenged: Mapping[int, int] = field(default_factory=dict)
    dropped: int = 0
    trouble: str = ""
    silent: Mapping[int, NotedSilence] = field(default_factory=dict)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Raises KeyError, TypeError, ValueError, AttributeError."""
        told = {str(cause): ToldCause(**standing) for cause, standing in document["told"].items()}
        return cls(
            int(document["term"]),
            int(document["looked"]),
            told,
            tuple(Pending(**pending) for pending in document["pending"]),
            tuple(int(lease) for lease in document["watched"]),
            {int(machine): int(at) for machine, at in document["challenged"].items()},
            int(document["dropped"]),
            str(document["trouble"]),
            {int(lease): NotedSilence(**known) for lease, known in document.get("silent", {}).items()},
        )

    @classmethod
    def read(cls, written: bytes) -> Self:
        """What was written; of what nobody can read, nothing is remembered."""
        try:
            return cls.of(orjson.loads(written))
        except (ValueError, KeyError, TypeError, AttributeError):
            return cls()

    def written(self) -> bytes:
        """It, as JSON."""
        return orjson.dumps(dataclasses.asdict(self.bounded()), option=orjson.OPT_NON_STR_KEYS)

    def bounded(self) -> Self:
        """The same within what is kept."""
        told = dict(sorted(self.told.items(), key=lambda pair: pair[1].since)[-MOST_CAUSES:])
        over = max(0, len(self.pending) - MOST_PENDING)
        return dataclasses.replace(self, told=told, pending=self.pending[over:], dropped=self.dropped + over)


class GuardNotes:
    """Of one account's leases in one pool: a file, and a lock beside it that the guard who acts holds."""

    def __init__(self, home: Path, deployment: Deployment, account: str) -> None:
        # The genesis too: a development chain repeats ids and addresses.
        pool = f"{deployment.chain_id}-{deployment.genesis[2:18]}-{deployment.controller}"
        self._path = home / "guard" / f"{pool}-{account}.json".lower()

    def load(self) -> Remembered:
        """What was noted. A file that is damaged or missing is that of a guard that remembers nothing."""
        try:
            return Remembered.read(self._path.read_bytes())
        except OSError:
            return Remembered()

    def keep(self, remembered: Remembered) -> None:
        """Write it; it is on the disk when this returns. Raises OSError: what stood there stands."""
        write_private(self._path, remembered.written())

    @contextlib.contextmanager
    def hold(self) -> Iterator[bool]:
        """Whether this process is the guard, as long as the context lasts. The lock dies with its process."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield locked_now(handle)
        finally:
            os.close(handle)

    @property
    def held(self) -> bool:
        """Whether a guard holds it now."""
        with self.hold() as free:
            return not free

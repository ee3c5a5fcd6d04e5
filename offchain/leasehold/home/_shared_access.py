"""What others may see of one's leases, and what one may see of others': sessions that were given away, and came in."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from leasehold.agreements import AccessFile, Document, Hex, read_file, unhex, write_file
from leasehold.chain import Deployment
from leasehold.chain.typed import SessionKey

MOST_GIVEN = 256
"""Of those that are over none is kept: so many can be given at a time."""


class _Given(Document):
    leasehold: Literal["access-given"] = "access-given"
    version: Literal[1] = 1
    given: tuple[AccessFile, ...] = Field(default_factory=tuple)


class _Received(Document):
    leasehold: Literal["access-received"] = "access-received"
    version: Literal[1] = 1
    access: AccessFile
    private_key: Hex


class SharedAccess:
    """Of one pool, private files under a home."""

    def __init__(self, home: Path, deployment: Deployment) -> None:
        # The genesis too: a development chain repeats ids and addresses.
        pool = f"{deployment.chain_id}-{deployment.genesis[2:18]}-{deployment.controller}"
        self._given = home / "access" / f"given-{pool}.json"
        self._received = home / "access" / f"received-{pool}"

    def given(self, now: int) -> tuple[AccessFile, ...]:
        """What was given from here and is not over, by unix seconds. Raises FileRefused: the file is damaged."""
        kept = read_file(self._given, _Given).given if self._given.exists() else ()
        return tuple(access for access in kept if access.expires_at > now)

    def note_given(self, access: AccessFile, now: int) -> None:
        """Remember one more. Raises FileRefused."""
        write_file(self._given, _Given(given=(*self.given(now), access)[-MOST_GIVEN:]), private=True)

    def note_withdrawn(self, lease: int, key: str, now: int) -> None:
        """Remember it no more. Raises FileRefused."""
        left = tuple(access for access in self.given(now) if not (access.covers(lease) and access.key == key))
        write_file(self._given, _Given(given=left), private=True)

    def keep(self, access: AccessFile, private_key: bytes) -> None:
        """Keep what came in, in place of what there was for these leases. Raises FileRefused."""
        document = _Received(access=access, private_key="0x" + private_key.hex())
        for lease in access.leases:
            write_file(self._received / f"{lease}.json", document, private=True)

    def received(self, now: int) -> tuple[AccessFile, ...]:
        """What came in and is not over. Raises FileRefused."""
        kept = [read_file(path, _Received).access for path in sorted(self._received.glob("*.json"))]
        return tuple(dict.fromkeys(access for access in kept if access.expires_at > now))

    def key(self, lease: int, now: int) -> SessionKey | None:
        """What opens a lease of somebody else's, if that came in and is not over. Raises FileRefused."""
        path = self._received / f"{lease}.json"
        if not path.exists():
            return None
        kept = read_file(path, _Received)
        return kept.access.opened(unhex(kept.private_key)) if kept.access.expires_at > now else None

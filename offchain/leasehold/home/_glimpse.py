"""Words that stand for things which a home knows, for whoever types one: files are read, nobody is asked.

Whoever presses a key waits for this, so that what the chain's modules know is imported where it is used.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_MOST: Final = 100  # of each kind


@dataclass(frozen=True)
class Glimpse:
    """What can be named, as the last one who used the folder left it."""

    home: Path

    def groups(self) -> list[str]:
        """Names of groups in the address book."""
        try:
            return sorted(map(str, json.loads((self.home / "groups.json").read_text())["groups"]))
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def wallets(self) -> list[str]:
        """Names of wallets."""
        from leasehold.home import Home

        return [wallet.name for wallet in Home(self.home).keystore.list()]

    def leases(self, live: bool | None = None) -> list[str]:
        """Leases that the index has, by name and by number, the newest first. live: those that hold cells, or those
        that are over.
        """
        from leasehold.chain import LeaseState, format_lease

        states = [int(state) for state in LeaseState if live is None or state.live is live]
        numbers = self.newest("lease", f"WHERE state IN ({', '.join(map(str, states))})")
        tags = self._tags()
        names = [tags.get(str(number), {}).get("name") for number in numbers]
        return [*dict.fromkeys(str(name) for name in names if name), *map(format_lease, numbers)]

    def labels(self) -> list[str]:
        """Labels that some lease has."""
        kept = [tag.get("labels", {}) for tag in self._tags().values()]
        return sorted({f"{word}={value}" for labels in kept for word, value in labels.items()})

    def newest(self, kind: str, where: str = "") -> list[int]:
        """Numbers of a kind that the index has, the newest first. kind: `lease`, `machine`, `fault`, `round` or `seat`.
        where: what holds of their newest rows, in SQL.
        """
        from leasehold.home import Home

        path = Home(self.home).index
        newest = f"SELECT *, max(place) FROM chain_{kind}s GROUP BY {kind}"
        query = f"SELECT {kind} FROM ({newest}) {where} ORDER BY {kind} DESC LIMIT {_MOST}"
        try:
            with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as index:
                return [int(row[0]) for row in index.execute(query)]
        except sqlite3.Error:
            return []

    def _tags(self) -> dict[str, dict[str, Any]]:
        """What leases are called, by their numbers on chain, in whichever pool."""
        tags: dict[str, dict[str, Any]] = {}
        for path in (self.home / "names").glob("*.json"):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                tags |= json.loads(path.read_text()).get("lease", {})
        return tags

"""Which outputs the workloads asked for that were handed over from here, by their digest: what a machine says that they
left behind is held to it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from leasehold.home._lease_names import LeaseNames


class LeaseOutputs:
    """A file under a home. A damaged one is as good as none."""

    def __init__(self, home: Path) -> None:
        self._kept = LeaseNames(home, "outputs.json")

    def keep(self, digest: bytes, paths: Iterable[str]) -> None:
        """That a workload asked for the paths, in its container."""
        self._kept.keep(digest, json.dumps(list(paths)))

    def of(self, digests: Iterable[bytes]) -> tuple[str, ...] | None:
        """All that these workloads asked for, each path once; `None` where one of them is not known here."""
        kept, paths = self._kept.all(), list[str]()
        for digest in digests:
            try:
                paths += map(str, json.loads(kept[digest]))
            except (KeyError, ValueError, TypeError):
                return None
        return tuple(dict.fromkeys(paths))

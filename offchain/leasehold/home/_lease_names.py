"""What a person called the workloads that were handed over from here, and which images they run, by their digest: the
chain knows no names, and images are sealed.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from leasehold.files import write_private

_MOST = 1_024  # names; the oldest go first


class LeaseNames:
    """A file under a home. A damaged one is as good as none: it holds nothing that costs anything."""

    def __init__(self, home: Path, file: str = "names.json") -> None:
        self._path = home / file

    def all(self) -> dict[bytes, str]:
        """By digest, the oldest first."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            loaded = json.loads(self._path.read_text()).items()
            return {bytes.fromhex(digest): str(name) for digest, name in loaded}
        return {}

    def keep(self, digest: bytes, name: str | None) -> None:
        """Nothing is kept of what has no name."""
        if name is None:
            return
        kept = [(known, called) for known, called in self.all().items() if known != digest]
        latest = [*kept, (digest, name)][-_MOST:]
        write_private(self._path, json.dumps({known.hex(): called for known, called in latest}, indent=2))

"""The contact document as it stands: said again where what it says has changed, and not more often than every so often.

The chain names the document that `join` sent; a later one needs no transaction, for the operator signs it (EIP-712
`Contact`) and whoever asks the agent gets both. Each is issued later than the one before, also where the host's clock
went back, so that of two that are signed anybody can tell which one counts.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from leasehold.datasets import Ipfs
from leasehold.errors import DatasetError
from leasehold.files import replace_file
from leasehold.market import canonical

NAME: Final = "contact.json"
_ISSUED: Final = "issued_at"


class Introduction:
    """What this host says of how it is reached and what it has at hand. make: what it would say now."""

    def __init__(self, state_dir: Path, ipfs: Ipfs, make: Callable[[], Awaitable[dict[str, object]]]) -> None:
        self._file, self._ipfs, self._make = state_dir / NAME, ipfs, make
        self.document = b"{}"

    async def open(self) -> None:
        """Take up what was said last, by `describe` or by an agent before. Raises what `make` does, and OSError."""
        try:
            raw = self._file.read_bytes()
            if isinstance(json.loads(raw), dict):
                self.document = raw
                return
        except (FileNotFoundError, ValueError):
            pass
        await self.refresh()

    async def refresh(self) -> bool:
        """Say what is so now; whether that is news. Raises what `make` does, and OSError: then the old stands."""
        said, now = json.loads(self.document), await self._make()
        if {**said, _ISSUED: 0} == {**json.loads(canonical(now)), _ISSUED: 0}:
            return False
        now[_ISSUED] = max(int(str(now[_ISSUED])), int(said.get(_ISSUED, 0)) + 1)
        document = canonical(now)
        replace_file(self._file, document)
        self.document = document
        with contextlib.suppress(DatasetError):  # whoever wants it asks the agent
            await self._ipfs.put_block(document, pin=False)
        return True

"""What machines' operators have signed of one's leases: kept, for they may sign something else tomorrow."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from leasehold.chain import Deployment
from leasehold.files import write_private
from leasehold.market import StatementInvalid, read_statements, write_statements
from leasehold.market.wire import SignedStatement

MOST = 256
"""Of one lease. The first and the last of each state of a container are kept, so that this is many restarts."""
_CHANGING = frozenset({"time", "block", "block_hash"})


class Statements:
    """Of one pool's leases, a file each under a home."""

    def __init__(self, home: Path, deployment: Deployment) -> None:
        pool = f"{deployment.chain_id}-{deployment.genesis[2:18]}-{deployment.controller}"
        self._folder = home / "statements" / pool

    def of(self, lease: int) -> list[SignedStatement]:
        """What is kept of the lease, oldest first. What cannot be read any more is not kept."""
        with suppress(OSError, StatementInvalid):
            return read_statements((self._folder / f"{lease}.json").read_bytes())
        return []

    def keep(self, lease: int, signed: SignedStatement) -> list[SignedStatement]:
        """What is kept with this one, which came last. Of several that say the same the first and the last stay."""
        kept = self.of(lease)
        if len(kept) > 1 and _said(kept[-2]) == _said(kept[-1]) == _said(signed):
            kept.pop()
        kept = [*kept, signed][-MOST:]
        write_private(self._folder / f"{lease}.json", write_statements(kept))
        return kept


def _said(signed: SignedStatement) -> dict[str, object]:
    """What a statement says, but for when."""
    return {name: value for name, value in signed.statement.items() if name not in _CHANGING}

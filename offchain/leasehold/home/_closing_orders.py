"""Orders to close leases when their jobs are done, kept beside what was handed to the machines' agents.

An agent may lose its disk, or be away as the order is made: whoever looks after the lease from here gives it once more.
"""

from __future__ import annotations

from pathlib import Path

import orjson
from pydantic import ValidationError

from leasehold.chain import ClosingOrder, Deployment
from leasehold.files import write_private
from leasehold.market.wire import ClosingOrderDocument

_MOST = 256  # files; the oldest go first


class ClosingOrders:
    """Of one pool's leases, a small file each under a home. Whoever has one may close that lease, and nothing else."""

    def __init__(self, home: Path, deployment: Deployment) -> None:
        # The genesis too: a development chain repeats ids and addresses.
        pool = f"{deployment.chain_id}-{deployment.genesis[2:18]}-{deployment.controller}"
        self._folder, self._controller = home / "closing-orders" / pool, deployment.controller

    def keep(self, order: ClosingOrder, workload: bytes) -> None:
        """Keep one, in place of the lease's earlier one. workload: the digest of what the lease runs until then."""
        document = {"account": order.account, **ClosingOrderDocument.of(order, workload).model_dump()}
        write_private(self._folder / str(order.lease), orjson.dumps(document))
        kept = [path for path in self._folder.iterdir() if path.name[0] != "."]
        for old in sorted(kept, key=lambda path: path.stat().st_mtime)[:-_MOST]:
            old.unlink(missing_ok=True)

    def get(self, lease: int) -> tuple[ClosingOrder, bytes] | None:
        """The lease's order and what it was given for, or `None` where there is none that can be read."""
        try:
            raw = orjson.loads((self._folder / str(lease)).read_bytes())
            document = ClosingOrderDocument.model_validate(raw)
            order = document.order(str(raw["account"]), self._controller, lease)
        except (OSError, ValidationError, ValueError, KeyError, TypeError):
            return None
        return order, bytes.fromhex(document.workload)

    def forget(self, lease: int) -> None:
        """The lease is over, or nobody wants it closed any more."""
        (self._folder / str(lease)).unlink(missing_ok=True)

"""A tenant's order to close his lease when its job is done, in the lease's folder, for this user's eyes alone.

Whoever has it may send it at any time, so it is kept as a secret is. It goes with the folder.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import ValidationError

from leasehold.chain import ClosingOrder
from leasehold.files import replace_file
from leasehold.market.wire import ClosingOrderDocument
from leasehold_agent.store._last_read import LastRead


@dataclass(frozen=True)
class KeptOrder:
    """The order, and the workload (SHA-256 of its sealed bytes, in hex) whose end it is for."""

    order: ClosingOrder
    workload: str


def keep_order(path: Path, kept: KeptOrder) -> None:
    """Write it, in place of an earlier one. Raises OSError: the lease's folder is gone, or the disk is full."""
    document = ClosingOrderDocument.of(kept.order, bytes.fromhex(kept.workload)).model_dump()
    place = {"account": kept.order.account, "controller": kept.order.controller}
    replace_file(path, orjson.dumps(place | document))


def read_order(path: Path, lease: int) -> KeptOrder | None:
    """The order of that lease, or None if there is none that can be read."""
    if (written := _written.of(path)) is None:
        return None
    try:
        raw = orjson.loads(written)
        document = ClosingOrderDocument.model_validate(raw)
        return KeptOrder(document.order(raw["account"], raw["controller"], lease), document.workload)
    except (ValidationError, ValueError, KeyError, TypeError):
        return None


def _read(path: Path) -> bytes | None:
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes()
    return None


_written = LastRead(_read)

"""The branch of the chain that a call is meant for: the one with the block at which it was decided on.

A reorganisation may give a lease's number to somebody else. What was decided about it on the one branch must not be
done on the other, where the same bytes mean something else (docs/decisions/0245-what-is-meant-for-one-branch.md).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.chain._ordered import Block
    from leasehold.chain._rpc import Rpc

_decided: "ContextVar[Block | None]" = ContextVar("leasehold-decided-at", default=None)


@contextmanager
def decided_at(block: "Block | None") -> Iterator[None]:
    """What a `Sender` is asked to send in here is sent only where the chain has that block; None: wherever."""
    before = _decided.set(block)
    try:
        yield
    finally:
        _decided.reset(before)


def decided() -> "Block | None":
    """The block of the innermost `decided_at`."""
    return _decided.get()


async def is_there(rpc: "Rpc", block: "Block") -> bool | None:
    """Whether the chain has that block; None where the node does not have as many blocks. Raises as `Rpc.call`.

    By its number: a node knows blocks of other branches by their hashes too.
    """
    header = await rpc.header(block.number)
    return None if header is None else header.hash == block.hash

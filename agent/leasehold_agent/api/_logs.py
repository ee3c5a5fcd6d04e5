"""A lease's log as one stream of bytes that a client can take up again where it broke off.

Offsets count bytes from the container's first line. A container's log is append-only until the engine
rotates it; a reader whose place was rotated away goes on with the oldest line there is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass

from leasehold_agent._runtime import WHOLE_LOG, LeaseRuntime, LogView

_MOST_TAIL_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class LogStream:
    """`offset` is where the first byte of `chunks` stands in the log, or None where that was not asked."""

    offset: int | None
    chunks: AsyncIterator[bytes]


async def read_log(
    runtime: LeaseRuntime,
    lease: int,
    *,
    tail: int | None,
    follow: bool,
    offset: int,
    view: LogView = WHOLE_LOG,
) -> LogStream:
    """The log from `offset`, or its last `tail` lines; with `follow`, until the container ends.

    Offsets count what a view shows: who goes on asks for the same view.
    """
    if not follow and not offset:
        return LogStream(None if tail is not None else 0, runtime.logs(lease, tail, False, view))
    if tail is None and not offset:
        return LogStream(0, runtime.logs(lease, None, True, view))
    ending, length = await _survey(runtime, lease, tail or 0, view)
    if offset:
        start = offset if offset <= length else 0
        return LogStream(start, _from(runtime.logs(lease, None, follow, view), start, b""))
    return LogStream(length - len(ending), _from(runtime.logs(lease, None, follow, view), length, ending))


async def _survey(runtime: LeaseRuntime, lease: int, tail: int, view: LogView) -> tuple[bytes, int]:
    """The log's last `tail` lines (4 MiB at most) and its length in bytes.

    Only blocks are kept, and lines looked for at the end: a log is long and its lines are short.
    """
    blocks: deque[bytes] = deque()
    kept, length = 0, 0
    async for chunk in runtime.logs(lease, None, False, view):
        length += len(chunk)
        if tail:
            blocks.append(chunk)
            kept += len(chunk)
            while kept - len(blocks[0]) >= _MOST_TAIL_BYTES:
                kept -= len(blocks.popleft())
    return _last_lines(b"".join(blocks)[-_MOST_TAIL_BYTES:], tail), length


def _last_lines(data: bytes, tail: int) -> bytes:
    at = len(data) - 1 if data.endswith(b"\n") else len(data)
    for _ in range(tail):
        if (at := data.rfind(b"\n", 0, max(0, at))) < 0:
            return data if tail else b""
    return data[at + 1 :] if tail else b""


async def _from(chunks: AsyncIterator[bytes], skip: int, first: bytes) -> AsyncIterator[bytes]:
    if first:
        yield first
    async for chunk in chunks:
        if skip >= len(chunk):
            skip -= len(chunk)
            continue
        yield chunk[skip:]
        skip = 0

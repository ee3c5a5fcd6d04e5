"""What a stranger says over HTTP is bounded in its pieces, too."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from leasehold._bounded import Pieces, Unreadable, unpacked


async def pieces_of(size: int, count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * size


async def test_a_body_in_pieces_of_a_byte_is_given_up_before_a_second_of_anybody_s_turn() -> None:
    """A machine's agent had a gateway do nothing else by 700 KB of these for 10 s, of which it gave nobody a turn for
    0.7 s at a time.
    """
    with pytest.raises(Unreadable, match="pieces"):
        await unpacked("", pieces_of(1, 10_000), 1 << 20)
    assert len(await unpacked("", pieces_of(16, 10_000), 1 << 20)) == 160_000
    assert len(await unpacked("", pieces_of(1, 1_000), 1 << 20)) == 1_000


def test_who_says_a_dot_a_second_is_followed_for_days() -> None:
    now = [0.0]
    pieces = Pieces(lambda: now[0])
    for second in range(100_000):
        now[0] = float(second)
        pieces.take(b".")
    at_once = (pieces.take(b".") for _ in range(6_000_000))
    with pytest.raises(Unreadable):
        list(at_once)

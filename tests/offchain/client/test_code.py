"""Whether packs of code are compressed on their way, by how fast they go."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pytest
import zstandard

from leasehold.client import _code
from leasehold.market.wire import CodeTaken

PIECE = b"import something\n" * 60_000


class Folder:
    """As many pieces as are wanted."""

    def pieces(self, wanted: Collection[bytes]) -> Iterator[bytes]:
        for _ in wanted:
            yield PIECE


class Agent:
    """Takes so many seconds for a connection, and so many bytes a second."""

    def __init__(self, clock: list[float], seconds: float, rate: float) -> None:
        self._clock, self._seconds, self._rate = clock, seconds, rate
        self.packed = list[bool]()

    async def put_code(self, lease: int, pack: bytes) -> CodeTaken:
        self.packed.append(pack.startswith(zstandard.FRAME_HEADER))
        self._clock[0] += self._seconds + len(pack) / self._rate
        return CodeTaken(taken=1, left=1)


async def sent(monkeypatch: pytest.MonkeyPatch, seconds: float, rate: float) -> list[bool]:
    """Of each pack, whether it was compressed."""
    clock = [0.0]
    monkeypatch.setattr("leasehold.client._code.time.monotonic", lambda: clock[0])
    agent, folder = Agent(clock, seconds, rate), Folder()
    lacking: Any = [bytes([number]) for number in range(40)]
    await _code._sent(agent, 1, folder, lacking)  # type: ignore[arg-type]
    return agent.packed


async def test_a_slow_link_gets_them_compressed_from_the_second_on(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *others = await sent(monkeypatch, 0.01, 2e6)
    assert not first
    assert others
    assert all(others)


async def test_a_fast_link_gets_them_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any(await sent(monkeypatch, 0.0, 200e6))


async def test_a_connection_that_begins_slowly_is_no_slow_link(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy agent: of the first MiB's way, most is letting it in."""
    assert not any(await sent(monkeypatch, 0.1, 100e6))


async def test_a_link_in_between_is_told_by_a_full_pack(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, *others = await sent(monkeypatch, 0.01, 8e6)
    assert not first
    assert not second
    assert any(others)

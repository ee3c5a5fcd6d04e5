"""What runs beside the loop for as long as the agent does: nothing that it meets ends it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from leasehold_agent import _serve
from leasehold_agent.chain import _pool_gate as _chain_gate


class Enough(BaseException):
    """The test has seen what it wanted to see."""


def _sleeping(times: int) -> Callable[[float], Awaitable[None]]:
    left = [times]

    async def sleep(_: float) -> None:
        await asyncio.sleep(0)
        left[0] -= 1
        if not left[0]:
            raise Enough

    return sleep


async def test_a_status_that_cannot_be_written_does_not_end_the_agent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def odd(*_: object) -> None:
        raise ValueError("a note that is no JSON")

    monkeypatch.setattr(_serve, "write_status", odd)
    facts = SimpleNamespace(settings=SimpleNamespace(tick_seconds=1))
    host: Any = SimpleNamespace(clock=lambda: 0.0, sleep=_sleeping(3), facts=facts)
    gate: Any = SimpleNamespace(gas=lambda: asyncio.sleep(0, SimpleNamespace(warning=None)))
    reserve: Any = SimpleNamespace(mend=lambda: None)
    with capture_logs() as logs, pytest.raises(Enough):
        await _serve._watch(host, cast(Any, None), gate, reserve)
    assert [line["event"] for line in logs] == ["status"] * 3


async def test_an_odd_chain_does_not_end_the_agent() -> None:
    nothing = cast(Any, object())  # what is asked of it is answered by AttributeError
    with capture_logs() as logs, pytest.raises(Enough):
        await _chain_gate.follow(nothing, None, nothing, nothing, lambda: None, sleep=_sleeping(3))
    assert [line["event"] for line in logs] == ["index"] * 3


async def test_an_index_that_fails_again_and_again_is_built_anew() -> None:
    """Whatever it fails at may be what it holds. A full disk is waited for."""
    cleared: list[None] = []

    async def clear() -> None:
        cleared.append(None)
        raise sqlite3.OperationalError("database or disk is full")

    nothing, index = cast(Any, object()), cast(Any, SimpleNamespace(clear=clear))
    with capture_logs(), pytest.raises(Enough):
        await _chain_gate.follow(nothing, None, nothing, index, lambda: None, sleep=_sleeping(10))
    assert len(cleared) == 2


async def test_what_is_noted_is_sent_before_the_next_turn() -> None:
    """A card that has fallen ill does not wait for a provider's long turns."""
    noted, looks = asyncio.Event(), list[None]()

    async def look(_: object) -> None:
        looks.append(None)
        if len(looks) == 1:
            asyncio.get_running_loop().call_soon(noted.set)
        else:
            raise Enough

    facts = SimpleNamespace(settings=SimpleNamespace(tick_seconds=1e9))
    host: Any = SimpleNamespace(facts=facts, snapshot=None)
    with pytest.raises(Enough):
        await _serve._sell(host, cast(Any, SimpleNamespace(look=look)), noted)
    assert len(looks) == 2


async def test_a_driver_that_hangs_is_not_asked_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each inventory would leave a thread behind for good, until the agent may have no more."""
    asked: list[None] = []
    monkeypatch.setattr(_serve, "take_inventory", lambda: asked.append(None))
    host: Any = SimpleNamespace(
        estranged="not here", snapshot=None, sleep=_sleeping(5), facts=SimpleNamespace()
    )
    with pytest.raises(Enough):
        await _serve.watch_cards(host, cast(Any, None), lambda: None, lambda: True)
    assert asked == []

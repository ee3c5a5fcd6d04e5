"""What runs beside the loop for as long as the agent does: nothing that it meets ends it."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from leasehold_agent import _serve
from leasehold_agent._config import AgentSettings
from leasehold_agent.cards import CardPart, Devices, MpsDaemons, MpsServers, PartsBook, ToolFailed
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
    hours = itertools.count(step=3_600.0)
    host: Any = SimpleNamespace(clock=lambda: next(hours), sleep=_sleeping(3), facts=facts)
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


async def test_parts_of_cards_are_mended_whatever_it_meets() -> None:
    met: list[Exception] = [ToolFailed(("tool",), "no"), OSError("no card"), ValueError("odd")]

    async def mend() -> None:
        if met:
            raise met.pop(0)

    host: Any = SimpleNamespace(devices=SimpleNamespace(mps=SimpleNamespace(mend=mend)), sleep=_sleeping(4))
    with capture_logs() as logs, pytest.raises(Enough):
        await _serve.keep_parts(host, lambda: False)
    assert [line["event"] for line in logs] == ["mps"] * 3
    met, host.sleep = [OSError("asked")], _sleeping(2)
    with capture_logs() as logs, pytest.raises(Enough):
        await _serve.keep_parts(host, lambda: True)
    assert (logs, len(met)) == ([], 1)
    host.devices.mps = None
    await _serve.keep_parts(host, lambda: False)


@pytest.mark.parametrize(
    ("isolation", "driver", "left", "mps", "service"),
    [
        ("mps", "615.71.05", False, "hard", MpsServers),
        ("mps", "570.1", False, "cooperative", MpsDaemons),
        ("whole", "615.71.05", True, "", MpsServers),
        ("whole", "615.71.05", False, "", None),
    ],
)
def test_by_what_parts_of_cards_are_sold(
    tmp_path: Path, isolation: str, driver: str, left: bool, mps: str, service: type | None
) -> None:
    """An owner who sells them no more still has those go that are left."""
    settings = AgentSettings.model_validate({"isolation": isolation, "mps_dir": tmp_path})
    identity: Any = SimpleNamespace(operator=SimpleNamespace(address="0xABCDEF0123456789"))
    facts: Any = SimpleNamespace(
        settings=settings,
        inventory=SimpleNamespace(driver=driver, cuda="13.4"),
        engine=SimpleNamespace(groups="systemd"),
        mps="",
    )
    host: Any = SimpleNamespace(facts=facts, devices=Devices())
    if left:
        PartsBook(tmp_path / "abcdef01").put(7, CardPart("GPU-1", 1, 1))
    _serve._sell_parts(host, identity)
    assert facts.mps == mps
    sold = host.devices.mps
    assert (None if sold is None else type(sold.service)) == service

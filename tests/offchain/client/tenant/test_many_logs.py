"""Logs of several leases as one: whose each line is, and that a silent agent ends no other's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest

from leasehold.cli._several_logs import print_logs
from leasehold.client import logs_of
from leasehold.home import Kind
from leasehold.market.wire import AgentUnreachable

from .conftest import RENTER, World
from .test_choosing import FIRST, SECOND, THIRD


class Agents:
    """Stand for the machines' agents."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    @asynccontextmanager
    async def agent_of(self, lease: int) -> AsyncIterator[Agents]:
        yield self

    async def logs(
        self,
        lease: int,
        *,
        tail: int | None = None,
        follow: bool = False,
        since: int | None = None,
        timestamps: bool = False,
    ) -> AsyncGenerator[bytes, None]:
        if lease == SECOND:
            raise AgentUnreachable("Nobody answers there.")
        yield b"one\ntw"
        yield b"o\n"
        if follow:
            try:
                await asyncio.Event().wait()
            finally:
                self.closed.set()


async def test_each_line_has_its_lease(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with world.acting(RENTER) as client:
        monkeypatch.setattr(client, "agent_of", Agents().agent_of)
        lines = [line async for line in logs_of(client, (FIRST, SECOND, THIRD))]
        for lease in (FIRST, THIRD):
            assert [line.text for line in lines if line.lease == lease] == ["one", "two"]
        (silent,) = [line for line in lines if line.problem is not None]
        assert silent.lease == SECOND
        client.home.names(client.deployment).call(Kind.LEASE, FIRST, "train")
        await print_logs(client, (FIRST, SECOND), tail=None, follow=False)
        printed = capsys.readouterr()
        assert printed.out == "1 train | one\n1 train | two\n"
        assert printed.err == "2       | Nobody answers there.\n"


async def test_who_stops_reading_leaves_nobody_reading(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world.acting(RENTER) as client:
        agents = Agents()
        monkeypatch.setattr(client, "agent_of", agents.agent_of)
        async with aclosing(logs_of(client, (FIRST, THIRD), follow=True)) as lines:  # type: ignore[type-var]
            assert (await anext(lines)).text == "one"
        assert agents.closed.is_set()

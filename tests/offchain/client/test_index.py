"""The index that a home's commands share, brought to the chain's head."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from devnet.pool import PoolChain
from leasehold.client import _index
from leasehold.client._index import SharedIndex
from leasehold.client._observer import Observer
from leasehold.home import Home


async def test_a_head_that_never_comes_is_not_waited_for(
    chain: PoolChain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answer is another chain's, which is longer, as one of several nodes may give it."""
    monkeypatch.setattr(_index, "_LOOK", 0.01)
    asks, lies = chain.rpc.header, [True]

    async def header(*block: Any) -> Any:
        said = await asks(*block)
        if lies:
            lies.clear()
            return replace(said, number=said.number + 1_000)
        return said

    monkeypatch.setattr(chain.rpc, "header", header)
    async with contextlib.AsyncExitStack() as stack:
        shared = SharedIndex(Home(tmp_path), chain.deployment, chain.rpc, Observer(), stack)
        index = await shared.at_head()
        head, cursor = await asks(), await index.head()
        assert head is not None
        assert cursor is not None
        assert cursor.hash == head.hash


async def test_commands_that_go_on_take_turns_with_it(chain: PoolChain, tmp_path: Path) -> None:
    """A run follows its lease for hours, and in another terminal its leases are listed: each reads on where the other
    has come.
    """
    async with contextlib.AsyncExitStack() as stack:
        long, other = (
            SharedIndex(Home(tmp_path), chain.deployment, chain.rpc, Observer(), stack) for _ in range(2)
        )
        await long.at_head()
        for shared in (other, long, other, long):
            await chain.token(1).approve(chain.deployment.controller)
            await chain.pool(1).deposit(chain.address(1), 1)
            index = await shared.at_head(again=True)
            head, cursor = await chain.rpc.header(), await index.head()
            assert head is not None
            assert cursor is not None
            assert cursor.number == head.number

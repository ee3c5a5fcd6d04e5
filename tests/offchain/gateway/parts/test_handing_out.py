"""Results by way of a gateway: what hangs from those that the chain names, and nothing else of IPFS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncEngine

from leasehold.chain import cid_of_digest
from leasehold.errors import DatasetCorrupt, DatasetUnavailable
from leasehold.gateway import _handing_out
from leasehold.gateway._handing_out import MOST_AT_ONCE, MOST_BLOCKS, HandingOut, Published
from leasehold.gateway._places import Places
from leasehold.gateway._sessions import SessionStore
from leasehold.gateway._signing_in import SigningIn

ORIGIN = "https://gate.example"
ADA = "0x" + "1" * 40
LEASE, MACHINE = 12 << 16, 7
PLACE = "/api/v1/leases/12/results/blocks"
NOW = 1_700_000_000.0


def cid_of(data: bytes) -> str:
    return cid_of_digest(sha256(data).digest())


ROOT, PART, LEAF, OTHER = b"root", b"part", b"leaf", b"somebody else's"
HANGING = {cid_of(ROOT): [PART], cid_of(PART): [LEAF], cid_of(LEAF): [], cid_of(OTHER): [LEAF]}


@dataclass
class Node:
    """An IPFS node in memory, which notes what it was asked for."""

    asked: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    stuck: bool = False

    async def get_block(
        self,
        cid: str,
        timeout: float,  # noqa: ASYNC109  # as the library's
    ) -> bytes:
        self.asked.append(cid)
        if self.stuck:
            await asyncio.Event().wait()
        if cid in self.gone:
            raise DatasetUnavailable(cid)
        return next(data for data in (ROOT, PART, LEAF, OTHER) if cid_of(data) == cid)

    async def blocks_below(
        self,
        chain: Sequence[str],
        cids: Sequence[str],
        *,
        timeout: float,  # noqa: ASYNC109  # as the library's
    ) -> list[bytes]:
        hanging = [chain[0]]
        for cid in [*chain, *cids]:
            if cid not in hanging:
                raise DatasetCorrupt(cid, "it does not hang there")
            if cid in chain:
                hanging = [cid_of(data) for data in HANGING[cid]]
        return [await self.get_block(cid, timeout) for cid in cids]


@dataclass
class World:
    browser: httpx.AsyncClient
    stranger: httpx.AsyncClient
    node: Node
    near: list[int]
    results: dict[int, Published]
    handing_out: HandingOut


@pytest.fixture
async def world(engine: AsyncEngine, app_of: Callable[..., FastAPI]) -> AsyncIterator[World]:
    node, near, results = Node(), list[int](), {LEASE: Published(MACHINE, cid_of(ROOT))}

    async def published(lease: int) -> Published | None:
        return results.get(lease)

    async def brought_near(machine: int) -> None:
        near.append(machine)

    async def nobody(account: str, digest: bytes, proof: bytes) -> bool:
        return False

    handing_out = HandingOut(
        node,
        published,
        brought_near,
        Places(MOST_AT_ONCE),
        caller_of=lambda request: request.headers.get("x-network", ""),
    )
    signing_in = SigningIn(engine, origins=[ORIGIN], chain_id=1, is_authorized=nobody, now=lambda: NOW)
    app = app_of([_handing_out.router], handing_out, signing_in)
    token, _ = await SessionStore(engine).begin(ADA, ORIGIN, NOW)
    transport = httpx.ASGITransport(app)
    cookie = {"cookie": f"__Host-leasehold={token}"}
    async with (
        httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers=cookie) as browser,
        httpx.AsyncClient(transport=transport, base_url=ORIGIN) as stranger,
    ):
        yield World(browser, stranger, node, near, results, handing_out)


def framed(*blocks: bytes) -> bytes:
    return b"".join(len(block).to_bytes(4, "big") + block for block in blocks)


async def test_blocks_are_handed_out_from_the_root_down(world: World) -> None:
    root = await world.browser.get(PLACE, params={"cids": cid_of(ROOT)})
    assert (root.status_code, root.content) == (200, framed(ROOT))
    assert root.headers["content-type"] == "application/octet-stream"
    assert world.near == [MACHINE]
    leaf = {"below": f"{cid_of(ROOT)},{cid_of(PART)}", "cids": cid_of(LEAF)}
    assert (await world.browser.get(PLACE, params=leaf)).content == framed(LEAF)
    assert world.near == [MACHINE]  # it is near already


@pytest.mark.parametrize(
    ("below", "cids"),
    [
        ("", ""),
        ("", cid_of(OTHER)),
        ("", f"{cid_of(ROOT)},{cid_of(OTHER)}"),
        (cid_of(OTHER), cid_of(LEAF)),
        (cid_of(ROOT), ""),
        (cid_of(PART), cid_of(LEAF)),
        (cid_of(ROOT), cid_of(OTHER)),
        (cid_of(ROOT), cid_of(LEAF)),
        (f"{cid_of(ROOT)},{cid_of(OTHER)}", cid_of(LEAF)),
    ],
)
async def test_what_does_not_hang_from_the_results_is_fetched_for_nobody(
    world: World, below: str, cids: str
) -> None:
    answer = await world.browser.get(PLACE, params={"below": below, "cids": cids})
    assert answer.status_code in (400, 404)
    assert world.node.asked == []


async def test_nothing_is_handed_to_who_is_not_signed_in(world: World) -> None:
    assert (await world.stranger.get(PLACE, params={"cids": cid_of(ROOT)})).status_code == 401
    assert world.node.asked == []


async def test_a_lease_without_results_has_none(world: World) -> None:
    world.results.clear()
    assert (await world.browser.get(PLACE, params={"cids": cid_of(ROOT)})).status_code == 404


async def test_what_nobody_has_is_said(world: World) -> None:
    world.node.gone.add(cid_of(ROOT))
    answer = await world.browser.get(PLACE, params={"cids": cid_of(ROOT)})
    assert (answer.status_code, answer.json()["code"]) == (404, "not-here")


async def test_more_than_a_few_at_once_are_refused(world: World) -> None:
    many = ",".join([cid_of(LEAF)] * (MOST_BLOCKS + 1))
    assert (await world.browser.get(PLACE, params={"below": cid_of(ROOT), "cids": many})).status_code == 400


async def test_a_node_that_dawdles_over_each_block_holds_no_place_for_long(world: World) -> None:
    """Who publishes results may have their blocks come as slowly as he likes, one after the other."""
    world.node.stuck, world.handing_out.seconds = True, 0.01
    answer = await world.browser.get(PLACE, params={"cids": cid_of(ROOT)})
    assert (answer.status_code, answer.json()["code"]) == (404, "not-here")
    assert world.handing_out.places.count == 0


async def test_accounts_of_one_network_keep_nobody_else_from_results(world: World) -> None:
    """An account costs a signature: eight of them had all places."""
    with ExitStack() as held:
        for number in range(MOST_AT_ONCE["caller"]):
            held.enter_context(world.handing_out.places.taken(account=str(number), caller="theirs"))
        wanted = {"cids": cid_of(ROOT)}
        theirs = await world.browser.get(PLACE, params=wanted, headers={"x-network": "theirs"})
        assert theirs.status_code == 429
        assert (
            await world.browser.get(PLACE, params=wanted, headers={"x-network": "ours"})
        ).status_code == 200

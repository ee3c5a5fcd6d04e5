"""Uploads: bounded, resumable, and nobody's but the account's that signed in."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import event, select
from sqlalchemy.ext.asyncio import AsyncEngine

from leasehold.chain import cid_of_digest
from leasehold.errors import IpfsUnreachable
from leasehold.gateway import _uploading
from leasehold.gateway._errors import TooManyCalls
from leasehold.gateway._gateway_tables import kept
from leasehold.gateway._keeping import KEPT_SECONDS, LEAST, SMALL_QUOTA, AccountPins
from leasehold.gateway._places import Places
from leasehold.gateway._sessions import SessionStore
from leasehold.gateway._signing_in import SigningIn
from leasehold.gateway._uploading import MOST_AT_ONCE, OFFSET_TYPE, Uploading
from leasehold.gateway._uploads import MOST_OPEN, UPLOAD_SECONDS, Uploads
from leasehold.market.wire import MAX_UPLOAD
from leasehold.rates import RateLimit

ORIGIN = "https://gate.example"
ADA, EVE, GRACE = "0x" + "1" * 40, "0x" + "2" * 40, "0x" + "3" * 40
"""Of whom Grace has something in the pool."""
QUOTA = 4 << 20


@dataclass
class Node:
    """An IPFS node's pins, in memory: the outermost edge."""

    pins: dict[str, bytes] = field(default_factory=dict)
    unpinned: dict[str, bytes] = field(default_factory=dict)
    down: bool = False
    gate: asyncio.Event | None = None

    async def block(self, data: bytes) -> str:
        if self.down:
            raise IpfsUnreachable("/ip4/127.0.0.1/tcp/5001", "refused")
        cid = cid_of_digest(hashlib.sha256(data).digest())
        self.pins[cid] = data
        return cid

    async def add(self, pieces: Iterator[bytes]) -> str:
        if self.gate is not None:
            await self.gate.wait()
        return await self.block(b"".join(pieces))

    async def pin(self, cid: str) -> None:
        if cid not in self.pins:  # unpinned, and not collected yet
            self.pins[cid] = self.unpinned[cid]

    async def unpin(self, cid: str) -> None:
        if self.down:
            raise IpfsUnreachable("/ip4/127.0.0.1/tcp/5001", "refused")
        self.pins.pop(cid, None)


class Clock:
    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        return self.time


@dataclass
class World:
    app: FastAPI
    engine: AsyncEngine
    node: Node
    clock: Clock
    folder: Path
    uploading: Uploading

    async def browser(self, account: str) -> httpx.AsyncClient:
        token, _ = await SessionStore(self.engine).begin(account, ORIGIN, self.clock())
        headers = {"origin": ORIGIN, "cookie": f"__Host-leasehold={token}"}
        return httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url=ORIGIN, headers=headers)

    def restarted(self) -> Uploads:
        return Uploads(self.engine, self.folder, self.uploading.keeping, self.node, self.clock)


@pytest.fixture
async def world(engine: AsyncEngine, tmp_path: Path, app_of: Callable[..., FastAPI]) -> AsyncIterator[World]:
    node, clock = Node(), Clock()

    async def quota_of(account: str) -> int:
        return 2 * SMALL_QUOTA if account == GRACE else QUOTA

    async def nobody(account: str, digest: bytes, proof: bytes) -> bool:
        return False

    keeping = AccountPins(engine, node, quota_of, clock, altogether=4 * QUOTA)
    uploads = Uploads(engine, tmp_path / "spool", keeping, node, clock)
    uploading = Uploading(node, keeping, uploads, Places(MOST_AT_ONCE), lambda _: "here")
    signing_in = SigningIn(engine, origins=[ORIGIN], chain_id=1, is_authorized=nobody, now=clock)
    app = app_of([_uploading.router], uploading, signing_in)
    yield World(app, engine, node, clock, tmp_path / "spool", uploading)
    await uploads.close()


@pytest.fixture
async def ada(world: World) -> AsyncIterator[httpx.AsyncClient]:
    async with await world.browser(ADA) as browser:
        yield browser


@pytest.fixture
async def eve(world: World) -> AsyncIterator[httpx.AsyncClient]:
    async with await world.browser(EVE) as browser:
        yield browser


async def begun(browser: httpx.AsyncClient, size: int) -> str:
    answer = await browser.post("/api/v1/uploads", json={"size": size, "name": "data.age"})
    assert answer.status_code == 201, answer.text
    return str(answer.headers["location"])


async def sent(browser: httpx.AsyncClient, place: str, offset: int, data: bytes) -> httpx.Response:
    headers = {"upload-offset": str(offset), "content-type": OFFSET_TYPE}
    return await browser.patch(place, content=data, headers=headers)


# -------------------------------------------------------------------------------------------------------- sealed


async def test_a_sealed_workload_is_pinned_under_its_own_digest(world: World, ada: httpx.AsyncClient) -> None:
    data = b"sealed" * 1000
    cid = cid_of_digest(hashlib.sha256(data).digest())
    assert (await ada.put("/api/v1/sealed", content=data)).json() == {"cid": cid}
    assert (await ada.put(f"/api/v1/sealed/{cid}", content=data)).json() == {"cid": cid}
    assert world.node.pins == {cid: data}


async def test_what_is_not_what_the_path_names_is_not_kept(world: World, ada: httpx.AsyncClient) -> None:
    cid = cid_of_digest(hashlib.sha256(b"other").digest())
    answer = await ada.put(f"/api/v1/sealed/{cid}", content=b"sealed")
    assert answer.json()["code"] == "conflict"
    assert not world.node.pins


async def test_who_names_it_wrongly_takes_it_from_nobody_else(
    world: World, ada: httpx.AsyncClient, eve: httpx.AsyncClient
) -> None:
    """A sealed workload is on IPFS for everybody, and so for whoever wants its lease not to start."""
    data = b"sealed by Ada"
    own = (await ada.put("/api/v1/sealed", content=data)).json()["cid"]
    other = cid_of_digest(hashlib.sha256(b"other").digest())
    assert (await eve.put(f"/api/v1/sealed/{other}", content=data)).status_code == 409
    assert world.node.pins == {own: data}


async def test_a_sealed_workload_is_bounded(world: World, ada: httpx.AsyncClient) -> None:
    for data, status in ((b"", 400), (b"x" * (MAX_UPLOAD + 1), 413)):
        assert (await ada.put("/api/v1/sealed", content=data)).status_code == status
    assert not world.node.pins


async def test_only_who_is_signed_in_uploads_and_only_from_the_gateways_page(
    world: World, ada: httpx.AsyncClient
) -> None:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(world.app), base_url=ORIGIN, headers={"origin": ORIGIN}
    ) as nobody:
        for call in (
            nobody.put("/api/v1/sealed", content=b"x"),
            nobody.post("/api/v1/uploads", json={"size": 1}),
        ):
            assert (await call).status_code == 401
    evil = {"origin": "https://evil.example"}
    assert (await ada.put("/api/v1/sealed", content=b"x", headers=evil)).status_code == 403
    assert (await ada.post("/api/v1/uploads", json={"size": 1}, headers=evil)).status_code == 403
    assert not world.node.pins
    assert not list(world.folder.iterdir())


# ------------------------------------------------------------------------------------------------------- uploads


async def test_an_upload_goes_on_where_it_broke_off(world: World, ada: httpx.AsyncClient) -> None:
    data = bytes(range(256)) * 8192
    place = await begun(ada, len(data))

    async def breaks() -> AsyncIterator[bytes]:
        yield data[:1_500_000]
        raise httpx.ReadError("the network is gone")

    with pytest.raises(httpx.ReadError):
        await ada.patch(place, content=breaks(), headers={"upload-offset": "0", "content-type": OFFSET_TYPE})
    head = await ada.head(place)
    assert (head.headers["upload-offset"], head.headers["upload-length"]) == ("1500000", str(len(data)))
    answer = (await sent(ada, place, 1_500_000, data[1_500_000:])).json()
    assert answer["offset"] == len(data)
    assert world.node.pins == {answer["cid"]: data}
    assert not list(world.folder.iterdir())
    assert (await ada.get(place)).json() == answer


@pytest.mark.parametrize("offset", [1, 5, 11, 10**14])
async def test_another_offset_is_refused(ada: httpx.AsyncClient, offset: int) -> None:
    place = await begun(ada, 10)
    assert (await sent(ada, place, offset, b"x")).status_code == 409
    assert (await sent(ada, place, 0, b"abc")).json()["offset"] == 3
    assert (await sent(ada, place, 0, b"abc")).status_code == 409


@pytest.mark.parametrize("offset", ["", "-1", "1.0", "0x0", "٣", "9" * 20])
async def test_an_offset_is_a_number(ada: httpx.AsyncClient, offset: str) -> None:
    place = await begun(ada, 10)
    headers = {b"upload-offset": offset.encode(), b"content-type": OFFSET_TYPE.encode()}
    assert (await ada.patch(place, content=b"x", headers=headers)).status_code == 400


async def test_more_than_was_said_is_refused(ada: httpx.AsyncClient) -> None:
    place = await begun(ada, 4)
    assert (await sent(ada, place, 0, b"12345")).status_code == 413
    assert (await ada.head(place)).headers["upload-offset"] == "0"


async def test_anothers_upload_looks_like_none(ada: httpx.AsyncClient, eve: httpx.AsyncClient) -> None:
    place = await begun(ada, 10)
    missing = place[:-22] + "A" * 22
    for path in (place, missing, "/api/v1/uploads/..%2f..%2fsecret", "/api/v1/uploads/%00"):
        refused = [await eve.get(path), await sent(eve, path, 0, b"x"), await eve.delete(path)]
        assert {answer.status_code for answer in refused} == {404}
        assert (await eve.head(path)).status_code == 404
    assert (await ada.head(place)).headers["upload-offset"] == "0"


async def test_what_is_no_id_is_not_looked_for(world: World, ada: httpx.AsyncClient) -> None:
    """PostgreSQL refuses some texts, which would look like a database that gives no answer."""
    asked: list[str] = []

    @event.listens_for(world.engine.sync_engine, "before_cursor_execute")
    def note(
        connection: object, cursor: object, statement: str, parameters: object, context: object, many: bool
    ) -> None:
        asked.append(repr(parameters))

    for path in ("/api/v1/uploads/a%00b", "/api/v1/uploads/" + "%00" * 22):
        assert (await ada.get(path)).status_code == 404
    assert asked
    assert not [parameters for parameters in asked if "\\x00" in parameters]


async def test_two_cannot_write_at_once(world: World, ada: httpx.AsyncClient) -> None:
    place = await begun(ada, 10)
    begun_, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        begun_.set()
        await go_on.wait()
        yield b"12345"

    first = asyncio.create_task(
        ada.patch(place, content=slow(), headers={"upload-offset": "0", "content-type": OFFSET_TYPE})
    )
    await begun_.wait()
    assert (await sent(ada, place, 0, b"x")).status_code == 409
    assert (await ada.delete(place)).status_code == 409
    go_on.set()
    assert (await first).json()["offset"] == 5


async def test_an_upload_counts_against_the_quota_before_it_comes(
    ada: httpx.AsyncClient, eve: httpx.AsyncClient
) -> None:
    place = await begun(ada, QUOTA)
    assert (await ada.post("/api/v1/uploads", json={"size": 1})).status_code == 403
    assert (await ada.put("/api/v1/sealed", content=b"x")).status_code == 403
    await begun(eve, QUOTA)
    assert (await ada.delete(place)).status_code == 204
    await begun(ada, QUOTA)


async def test_accounts_that_cost_nothing_leave_half_to_those_who_have_something_in_the_pool(
    world: World,
) -> None:
    """Signing in is free, and so is saying how much one is about to send."""
    for number in range(4, 6):
        async with await world.browser("0x" + f"{number}" * 40) as sybil:
            await begun(sybil, QUOTA)
    async with await world.browser(EVE) as eve, await world.browser(GRACE) as grace:
        full = await eve.post("/api/v1/uploads", json={"size": 1})
        assert (full.status_code, full.json()["code"]) == (507, "no-room")
        await begun(grace, 2 * QUOTA)
        assert (await grace.post("/api/v1/uploads", json={"size": 1})).status_code == 507


async def test_accounts_of_one_network_bring_so_much_a_day(world: World) -> None:
    async def quota_of(account: str) -> int:
        return 2 * SMALL_QUOTA if account == GRACE else SMALL_QUOTA

    async def pin() -> str:
        return await world.node.block(b"0123456789")

    limits = {"strangers": RateLimit(15 * LEAST, 86_400), "daily": RateLimit(25 * LEAST, 86_400)}
    keeping = AccountPins(world.engine, world.node, quota_of, world.clock, **limits)
    await keeping.keep(ADA, "cid", 10 * LEAST, pin, network="198.51.100.1")
    with pytest.raises(TooManyCalls):
        await keeping.keep(EVE, "cid", 10 * LEAST, pin, network="198.51.100.1")
    await keeping.keep(EVE, "cid", 10 * LEAST, pin, network="198.51.100.2")
    for _ in range(2):
        await keeping.keep(GRACE, "cid", 10 * LEAST, pin, network="198.51.100.1")
    with pytest.raises(TooManyCalls):
        await keeping.keep(GRACE, "cid", 10 * LEAST, pin, network="198.51.100.1")
    world.clock.time += 43_200
    await keeping.keep(EVE, "cid", 10 * LEAST, pin, network="198.51.100.1")


async def test_an_account_has_only_so_many_under_way(ada: httpx.AsyncClient) -> None:
    for _ in range(MOST_OPEN):
        await begun(ada, 1)
    assert (await ada.post("/api/v1/uploads", json={"size": 1})).status_code == 429


@pytest.mark.parametrize(
    "body", [{"size": 0}, {"size": -1}, {"size": 1 << 60}, {"size": 1, "name": "a\0"}, {}]
)
async def test_what_is_no_upload_is_refused(ada: httpx.AsyncClient, body: dict[str, object]) -> None:
    assert (await ada.post("/api/v1/uploads", json=body)).status_code == 400


async def test_what_expires_goes(world: World, ada: httpx.AsyncClient) -> None:
    place = await begun(ada, 10)
    await sent(ada, place, 0, b"abc")
    (world.folder / "stray").write_bytes(b"x")
    world.clock.time += UPLOAD_SECONDS
    await world.uploading.uploads.sweep()
    assert not list(world.folder.iterdir())
    async with await world.browser(ADA) as again:
        assert (await again.get(place)).status_code == 404
        await begun(again, QUOTA)


async def test_a_pin_ends_with_the_last_account_that_keeps_it(
    world: World, ada: httpx.AsyncClient, eve: httpx.AsyncClient
) -> None:
    await ada.put("/api/v1/sealed", content=b"same")
    world.clock.time += 10
    await eve.put("/api/v1/sealed", content=b"same")
    world.clock.time += KEPT_SECONDS - 10
    await world.uploading.keeping.sweep()
    assert len(world.node.pins) == 1
    world.clock.time += 10
    world.node.down = True
    with pytest.raises(IpfsUnreachable):
        await world.uploading.keeping.sweep()
    world.node.down = False
    await world.uploading.keeping.sweep()
    assert not world.node.pins


async def test_what_another_replica_keeps_meanwhile_stays_pinned(
    world: World, ada: httpx.AsyncClient, eve: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two gateways on one node: one lets a CID go that the other pins for somebody at that moment."""
    await ada.put("/api/v1/sealed", content=b"same")
    world.clock.time += KEPT_SECONDS
    (cid,) = world.node.pins
    unpin, brought = world.node.unpin, False

    async def kept_by_the_other(_: str) -> None:
        nonlocal brought
        if not brought:
            brought = True
            other = AccountPins(world.engine, world.node, _much, world.clock)
            await other.keep(EVE, cid, 4, lambda: world.node.block(b"same"), network="there")
        data = world.node.pins[cid]
        await unpin(cid)
        world.node.unpinned[cid] = data

    monkeypatch.setattr(world.uploading.keeping, "_unpin", kept_by_the_other)
    await world.uploading.keeping.sweep()
    assert cid in world.node.pins


async def test_what_its_account_keeps_anew_does_not_end(world: World, ada: httpx.AsyncClient) -> None:
    """A sweep looks at what is over, and lets it go one by one: meanwhile it may have been brought again."""
    await ada.put("/api/v1/sealed", content=b"same")
    world.clock.time += KEPT_SECONDS
    (cid,) = world.node.pins
    keeping = AccountPins(world.engine, world.node, _much, world.clock)
    await keeping.keep(ADA, cid, 4, lambda: world.node.block(b"same"), network="there")
    await world.uploading.keeping._let_go(cid, ADA)
    assert cid in world.node.pins
    world.clock.time += KEPT_SECONDS
    await world.uploading.keeping.sweep()
    assert not world.node.pins


async def test_what_could_not_be_pinned_is_not_counted(world: World, ada: httpx.AsyncClient) -> None:
    world.node.down = True
    assert (await ada.put("/api/v1/sealed", content=b"same")).status_code >= 500
    async with world.engine.connect() as connection:
        assert (await connection.execute(select(kept))).all() == []


async def test_many_small_things_count_as_more_than_their_bytes(world: World, ada: httpx.AsyncClient) -> None:
    """Of one byte each, whoever likes had the node pin millions."""
    answers = [
        await ada.put("/api/v1/sealed", content=b"%d" % number) for number in range(QUOTA // LEAST + 1)
    ]
    assert {answer.status_code for answer in answers[:-1]} == {200}
    assert answers[-1].status_code == 403
    assert (await ada.post("/api/v1/uploads", json={"size": 1})).status_code == 403


async def test_accounts_of_one_network_keep_nobody_else_from_uploading(
    world: World, ada: httpx.AsyncClient
) -> None:
    """An account costs a signature: sixteen of them had all places, for as long as they sent a byte a minute."""
    with ExitStack() as held:
        for number in range(MOST_AT_ONCE["caller"]):
            held.enter_context(world.uploading.places.taken(account=str(number), caller="here"))
        assert (await ada.put("/api/v1/sealed", content=b"same")).status_code == 429
        assert world.uploading.places.count < MOST_AT_ONCE["all"]


async def _much(_: str) -> int:
    return 1 << 30


async def test_a_gateway_that_died_before_it_added_adds_when_it_is_asked(
    world: World, ada: httpx.AsyncClient
) -> None:
    world.node.gate = asyncio.Event()
    place = await begun(ada, 3)
    found = await world.uploading.uploads.append(ADA, place[-22:], 0, _once(b"abc"), seconds=0)
    assert (found.offset, found.cid) == (3, None)
    await world.uploading.uploads.close()
    world.node.gate = None
    settled = await world.restarted().settled(ADA, place[-22:])
    assert settled.cid is not None
    assert world.node.pins == {settled.cid: b"abc"}


async def test_a_node_that_is_down_loses_nothing(world: World, ada: httpx.AsyncClient) -> None:
    place = await begun(ada, 3)
    world.node.down = True
    assert (await sent(ada, place, 0, b"abc")).status_code == 502
    world.node.down = False
    assert (await ada.get(place)).json()["cid"] in world.node.pins


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data

"""What is public comes compressed to who takes that; what is somebody's own never does."""

from __future__ import annotations

import gzip

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from leasehold.gateway._compressing import PUBLIC, CompressedAnswers
from leasehold.gateway._opened_parts import routers_of_parts

from .conftest import PROVIDER, World
from .listening import scope_of

LIST = "/api/v1/machines"
LONG = b'{"words": "' + b"lease " * 400 + b'"}'
JSON = (b"content-type", b"application/json")


async def asked(world: World, path: str, takes: str = "gzip", **more: str) -> httpx.Response:
    return await world.client.get(path, headers={"Accept-Encoding": takes, **more})


async def filled(world: World) -> None:
    for number in range(1, 9):
        await world.machine(number)
    await world.fetched()


async def test_a_list_is_the_same_in_a_fifth_of_the_bytes(world: World) -> None:
    await filled(world)
    plain, packed = await asked(world, LIST, "identity"), await asked(world, LIST)
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content == plain.content
    assert int(packed.headers["content-length"]) * 5 < len(plain.content)
    assert "content-encoding" not in plain.headers
    for answer in (plain, packed):  # what keeps answers in between gives nobody another's
        assert answer.headers["vary"] == "Accept-Encoding"
        assert answer.headers["cache-control"] == "no-cache"


async def test_a_search_by_the_route_and_a_plain_one_come_alike(world: World) -> None:
    await filled(world)
    plain, odd = await asked(world, f"{LIST}?limit=8"), await asked(world, f"{LIST}?limit=08")
    assert plain.headers["content-encoding"] == odd.headers["content-encoding"] == "gzip"
    assert plain.content == odd.content


@pytest.mark.parametrize("takes", ["identity", "", "gzip;q=0", "br", "*"])
async def test_who_does_not_name_gzip_gets_none(world: World, takes: str) -> None:
    await filled(world)
    assert "content-encoding" not in (await asked(world, LIST, takes)).headers


async def test_what_is_short_or_a_refusal_stays_as_it_is(world: World) -> None:
    for path in (LIST, f"{LIST}?q={'a+' * 30}nothing:1", f"{LIST}/9", "/healthz", "/openapi.json"):
        assert "content-encoding" not in (await asked(world, path)).headers, path


async def test_what_a_session_may_get_is_never_compressed() -> None:
    """Whatever the answer is: a path that is not named as public is not even looked at."""
    for path in (
        "/api/v1/session", "/api/v1/sign-in", "/api/v1/uploads", "/api/v1/agents/1/leases/1/logs", "/api/v1/groups",
        "/api/v1/leases/1.1/purse", "/api/v1/machinesx", "/api/v1//machines", "/metrics", "/",
    ):  # fmt: skip
        start, body = await through([head(), whole(LONG)], path)
        assert body["body"] == LONG, path
        assert start["headers"] == head()["headers"], path


async def test_a_public_answer_that_begins_a_session_or_has_no_length_is_not_touched() -> None:
    for more in ((b"set-cookie", b"session=1"), (b"content-encoding", b"br")):
        start, body = await through([head(more), whole(LONG)])
        assert (body["body"], start["headers"]) == (LONG, head(more)["headers"])
    stream = [{**head(), "headers": [JSON]}, {**whole(LONG), "more_body": True}, whole(b"")]
    assert await through(stream) == stream
    pieces = [head(), {**whole(LONG), "more_body": True}, whole(b"")]
    assert await through(pieces) == pieces
    changed = await through([head(), whole(LONG)], method="POST")
    assert changed == [head(), whole(LONG)]


async def test_the_same_bytes_are_compressed_once_and_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    said = iter([LONG, LONG, LONG + b" ", LONG])

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(head())
        await send(whole(next(said)))

    monkeypatch.setattr("leasehold.gateway._compressing._KEPT", 1)
    behind, made = CompressedAnswers(app), []
    for _ in range(4):
        _, body = await sent(behind)
        made.append(body["body"])
    assert made[0] is made[1]
    assert made[3] == made[0]
    assert made[3] is not made[0]
    assert gzip.decompress(made[2]) == LONG + b" "


def test_no_public_path_asks_who_it_is_for(world: World) -> None:
    """The paths that are compressed read the chain. What knows sessions or agents is a part, and has none of them."""
    paths = {path: said for path, said in world.app.openapi()["paths"].items() if named(path) in PUBLIC}
    assert {named(path) for path in paths} == PUBLIC
    for path, said in paths.items():
        assert said.keys() == {"get"}, path
        assert {one["in"] for one in said["get"].get("parameters", ())} <= {"path", "query"}, path
    kept = [getattr(route, "path", "") for router in routers_of_parts for route in router.routes]
    assert len(kept) > 20
    assert [path for path in kept if named(path) in PUBLIC] == []


def named(path: str) -> str:
    """What follows `/api/v1/`."""
    return path.removeprefix("/api/v1/").partition("/")[0]


async def test_a_providers_table_stays_as_it_is(world: World) -> None:
    await filled(world)
    assert (
        "content-encoding" not in (await asked(world, f"/api/v1/providers/{PROVIDER}/earnings.csv")).headers
    )


def head(*more: tuple[bytes, bytes]) -> Message:
    length = (b"content-length", b"%d" % len(LONG))
    return {"type": "http.response.start", "status": 200, "headers": [JSON, length, *more]}


def whole(body: bytes) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": False}


async def through(messages: list[Message], path: str = LIST, method: str = "GET") -> list[Message]:
    """What becomes of an answer."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)

    return await sent(CompressedAnswers(app), path, method)


async def sent(app: CompressedAnswers, path: str = LIST, method: str = "GET") -> list[Message]:
    said: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        said.append(message)

    scope = scope_of("http", path, b"")
    await app({**scope, "method": method, "headers": [(b"accept-encoding", b"gzip")]}, receive, send)
    return said

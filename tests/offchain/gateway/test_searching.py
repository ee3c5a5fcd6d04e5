"""A plain search has the answer that the route has, without it; whatever is not plain is the route's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leasehold.gateway._searching import PlainSearches

from .conftest import TERMS, UNIT, World
from .listening import scope_of

PATH = "/api/v1/machines"
PLAIN = (
    "", "&", "limit=1&", "q=", "q=gpu:H100+price%3C2.5", "q=&sort=-price&limit=2", "limit=1", "limit=200", "after=1",
    "sort=id&limit=2&after=2", "sort=-free", "sort=id&after=00000002", "q=" + "x" * 500, "q=%C3%A9", "q=%ff", "q=\xe9",
    "q=image:pytorch%20country:de", "q=state:retired", "q=a%26b",
)  # fmt: skip
ODD = (
    "limit=0", "limit=201", "limit=01", "limit=+1", "limit=1.0", "limit=1e1", "limit=%D9%A3", "limit=", "limit=-1",
    "limit=x", "q=1&q=gpu:H100", "limit=1&limit=2", "q=" + "x" * 501, "sort=", "sort=" + "x" * 41, "sort=nothing",
    "sort=--price", "sort=image", "after=", "after=x", "after=99", "after=-1", "after=" + "9" * 18, "limit", "=",
    "after=" + "9" * 19, "after=1&after=2", "after=%D9%A3", "q=nothing:1", "other=1", "Q=gpu:H100", "q=" + "a+" * 30,
)  # fmt: skip
EITHER = (
    "q=%00",
    "q=gpu:",
    "q=price%3C",
    "q=%22a+b%22+c",
    "q=%22",
    "q=gpu:H100;limit=1",
    "q=-",
    "q=()",
    "q=%ED%A0%80",
)


async def ready(world: World) -> None:
    for number in range(1, 4):
        await world.machine(number, replace(TERMS, price=number * UNIT))
    await world.fetched()


async def asked(app: ASGIApp, world: World, query: str) -> list[Message]:
    """What is answered, message by message."""
    said: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        said.append(message)

    scope = scope_of("http", PATH, query.encode("latin-1")) | {"scheme": "http", "app": world.app}
    await app(scope, receive, send)
    return said


def behind() -> PlainSearches:
    """The same as stands in the application, with nothing behind it."""

    async def passed_on(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "passed on"})

    return PlainSearches(passed_on)


async def test_the_answer_is_the_routes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await ready(world)
    queries = (*PLAIN, *ODD, *EITHER)
    ours = [await asked(world.app, world, query) for query in queries]
    monkeypatch.setattr("leasehold.gateway._searching._is_search", lambda scope: False)
    theirs = [await asked(world.app, world, query) for query in queries]
    for query, here, there in zip(queries, ours, theirs, strict=True):
        assert here[1:] == there[1:], query
        assert here[0]["status"] == there[0]["status"], query
        assert here[0]["status"] in (200, 400, 404), query
        assert sorted(here[0]["headers"]) == sorted(there[0]["headers"]), query


async def test_a_plain_search_asks_no_route_and_another_does(world: World) -> None:
    await ready(world)
    for query in PLAIN:
        start, body = await asked(behind(), world, query)
        assert (start["status"], body["type"]) == (200, "http.response.body"), query
    for query in ODD:
        assert await asked(behind(), world, query) == [{"type": "passed on"}], query


@pytest.mark.parametrize(
    "other",
    [{"method": "HEAD"}, {"method": "POST"}, {"method": "OPTIONS"}, {"path": PATH + "/"}, {"path": PATH + "/1"},
     {"type": "websocket"}],
    ids=str,
)  # fmt: skip
async def test_other_calls_go_on(world: World, other: dict[str, str]) -> None:
    await ready(world)
    passed: list[Message] = []

    async def send(message: Message) -> None:
        passed.append(message)

    scope = scope_of("http", PATH) | {"app": world.app} | other
    await behind()(scope, None, send)  # type: ignore[arg-type]  # nothing is received
    assert passed == [{"type": "passed on"}]


async def test_a_gateway_that_has_read_nothing_says_so(world: World) -> None:
    world.gateway.market.head = None
    assert await asked(behind(), world, "") == [{"type": "passed on"}]
    refused = await world.client.get(PATH)
    assert (refused.status_code, refused.json()["code"]) == (503, "not-ready")


async def test_a_plain_search_is_counted_and_has_securitys_headers(world: World) -> None:
    await ready(world)
    before = world.app.state.counted[200]
    answer = await world.client.get(PATH)
    assert world.app.state.counted[200] == before + 1
    assert answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-cache"

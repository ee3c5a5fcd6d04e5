"""Whatever is asked: an answer that says what is wrong, in bounded time, and never a failure of its own."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from leasehold.errors import SettingsError
from leasehold.gateway._errors import GatewayFull
from leasehold.gateway._front import POLICY
from leasehold.gateway._limits import CallRates
from leasehold.gateway._places import Places
from leasehold.gateway._refusals import Busy
from leasehold.gateway._visitors import networks, visitor
from leasehold.rates import RateLimit, network

from .conftest import CONTROLLER, PROVIDER, Opening, World, contact

ODD = (
    "", " ", "0", "-1", "1e9", "9" * 30, "0x", "null", "true", "None", "../../etc/passwd", "%00", "\0", "'", '"', ";",
    "٣", "𝟙", "é", "\ud7ff", "a" * 600, "{}", "[]", "<script>", "{{7*7}}", "1 or 1=1", "1;drop table chain_machines",
    "$(id)", "\r\nX-Injected: 1", "１", "1.5", "1_000", "+1", "0b1", " 1", "1 ", "12.1.1", "12.99999999", "65536.70000",
)  # fmt: skip
PLACES = (
    "/api/v1/pools/{}", "/api/v1/machines/{}", "/api/v1/machines/{}/quote?seconds=60", "/api/v1/leases/{}",
    "/api/v1/leases/{}/events", "/api/v1/providers/{}", "/api/v1/providers/{}/earnings.csv", "/api/v1/rounds/{}",
    "/api/v1/documents/{}", "/{}", "/api/{}", "/api/v1/{}",
)  # fmt: skip
LISTS: Mapping[str, tuple[str, ...]] = {
    "/api/v1/machines": ("q", "sort", "limit", "after"),
    "/api/v1/machines/1/quote": ("seconds", "cells", "spot"),
    "/api/v1/leases": ("tenant", "provider", "machine", "state", "limit", "after"),
    "/api/v1/validators": ("limit", "after"),
    "/api/v1/rounds": ("machine", "limit", "after"),
    "/api/v1/faults": ("machine", "limit", "after"),
    "/api/v1/prices": ("class", "days"),
    f"/api/v1/providers/{PROVIDER}": ("days",),
    f"/api/v1/pools/{CONTROLLER}": ("x",),
    "/api/v1/statistics": ("x",),
    "/api/v1/templates": ("x",),
}


def check(answer: httpx.Response) -> None:
    """It is no failure of the gateway's, and a refusal is a problem document."""
    assert answer.status_code < 500, (answer.request.url, answer.text)
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert set(json.loads(answer.content)) == {"type", "title", "status", "detail", "hint", "code"}


@pytest.fixture
async def wide(opened: Opening) -> World:
    world: World = await opened(calls=10**6)
    await world.machine(1)
    await world.fetched()
    await world.open(1)
    return world


async def test_odd_things_in_paths(wide: World) -> None:
    for place in PLACES:
        for odd in ODD:
            path = place.format(httpx.QueryParams({"x": odd}).__str__()[2:].replace("+", "%20"))
            check(await wide.client.get(path))


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.slow] if number % 3 else []) for number, path in enumerate(LISTS)],
)
async def test_odd_things_in_queries(wide: World, path: str) -> None:
    for name in LISTS[path]:
        for odd in ODD:
            check(await wide.client.get(path, params={name: odd}))
            check(await wide.client.get(path, params=[(name, odd), (name, "1")]))


async def test_searches_made_of_anything(wide: World) -> None:
    rng = random.Random(13)
    parts = ("gpu", "price", "mem", "uptime", "image", "id", ":", "=", "!=", "<", ">=", ",", "-", '"', "\\", " ", "80",
             "2.5", "1h", "yes", "H100", "%", "\0", "é", "(" * 50, "a" * 90, "12.4.1")  # fmt: skip
    for _ in range(400):
        text = "".join(rng.choices(parts, k=rng.randint(1, 14)))
        check(await wide.client.get("/api/v1/machines", params={"q": text}))


async def test_methods_and_bodies_that_nothing_takes(wide: World) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS", "HEAD", "BREW"):
        answer = await wide.client.request(method, "/api/v1/machines", content=b"x" * 100_000)
        assert answer.status_code in (404, 405)


async def test_a_search_of_too_many_terms_and_an_address_without_end_are_refused(wide: World) -> None:
    many = await wide.client.get("/api/v1/machines", params={"q": " ".join(["a"] * 25)})
    assert many.status_code == 400
    long = await wide.client.get("/api/v1/machines", params={"q": "a" * 5_000})
    assert long.status_code == 413
    check(long)


async def test_every_answer_has_securitys_headers(wide: World) -> None:
    for path in ("/api/v1/machines", "/nothing", "/api/v1/machines?limit=0", "/healthz"):
        headers = (await wide.client.get(path)).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers
    assert "unsafe" not in POLICY
    assert "frame-ancestors 'none'" in POLICY


async def test_only_pages_that_are_on_the_list_may_read_the_answers(opened: Opening) -> None:
    world = await opened(origins=("https://app.example",))
    own = await world.client.get("/api/v1/machines", headers={"Origin": "https://app.example"})
    assert own.headers["access-control-allow-origin"] == "https://app.example"
    assert own.headers["vary"] == "Origin"
    assert "access-control-allow-credentials" not in own.headers
    for origin in (
        "https://app.example.evil",
        "null",
        "https://APP.example",
        "https://app.example, https://evil",
    ):
        other = await world.client.get("/api/v1/machines", headers={"Origin": origin})
        assert "access-control-allow-origin" not in other.headers
        assert other.headers["vary"] == "Origin"
    before = await world.client.options(
        "/api/v1/machines", headers={"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    )
    assert before.status_code == 204
    assert "POST" in before.headers["access-control-allow-methods"]


async def test_a_page_that_may_sign_in_may_read_the_answers_and_never_with_a_cookie(opened: Opening) -> None:
    world = await opened(sign_in_origins=("https://app.example",))
    asks = {"Access-Control-Request-Method": "DELETE", "Access-Control-Request-Headers": "authorization"}
    for origin, allowed in (("https://app.example", "https://app.example"), ("https://evil.example", None)):
        answer = await world.client.get("/api/v1/machines", headers={"Origin": origin})
        before = await world.client.options("/api/v1/session", headers={"Origin": origin, **asks})
        for said in (answer.headers, before.headers):
            assert said.get("access-control-allow-origin") == allowed
            assert said["vary"] == "Origin"
            assert "access-control-allow-credentials" not in said
        granted = before.headers.get("access-control-allow-headers", "").split(", ")
        assert ("Authorization" in granted) == (allowed is not None)


async def test_the_name_that_a_caller_gives_the_gateway_is_in_no_answer(wide: World) -> None:
    for path in (
        "/api/v1/machines",
        "/api/v1/machines/",
        "/api/v1",
        "//evil.example/%2e%2e",
        "/openapi.json",
    ):
        answer = await wide.client.get(
            path, headers={"Host": "evil.example", "X-Forwarded-Host": "evil.example"}
        )
        assert answer.status_code not in (301, 302, 307, 308)
        assert b"http://evil" not in answer.content
        assert not any("evil" in value for value in answer.headers.values())


async def test_an_address_that_calls_too_often_is_told_when_to_come_again(opened: Opening) -> None:
    world = await opened(calls=5)
    answers = [await world.client.get("/api/v1/machines") for _ in range(7)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 2
    assert int(answers[-1].headers["retry-after"]) >= 1
    check(answers[-1])
    assert (await world.client.get("/healthz")).status_code == 200


async def test_who_writes_another_address_into_a_header_is_counted_all_the_same(opened: Opening) -> None:
    world = await opened(calls=2)
    codes = [
        (
            await world.client.get("/api/v1/machines", headers={"X-Forwarded-For": f"203.0.113.{n}"})
        ).status_code
        for n in range(4)
    ]
    assert codes == [200, 200, 429, 429]


@pytest.mark.parametrize(
    ("client", "said", "expected"),
    [
        ("10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", ["1.1.1.1, 203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", ["1.1.1.1", "203.0.113.9, 10.0.0.2"], "203.0.113.9"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["nonsense"], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.9, nonsense"], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.9, 127.0.0.1"], "127.0.0.1"),
        ("198.51.100.7", ["203.0.113.9"], "198.51.100.7"),
        ("::ffff:10.0.0.1", ["2001:db8:1:2:3::4"], "2001:db8:1:2::/64"),
        ("10.0.0.1", [", ".join(["203.0.113.9"] + ["10.0.0.3"] * 50)], "10.0.0.3"),
    ],
)
def test_only_known_proxies_are_believed(client: str, said: list[str], expected: str) -> None:
    scope: dict[str, Any] = {
        "client": (client, 1),
        "headers": [(b"x-forwarded-for", value.encode()) for value in said],
    }
    assert visitor(scope, networks(["10.0.0.0/8"])) == expected


def test_a_proxy_that_cannot_be_read_is_told_of() -> None:
    with pytest.raises(SettingsError, match=r"10\.0\.0\.0"):
        networks(["example.com"])


def test_buckets_forget_whom_they_have_not_seen() -> None:
    now = 0.0
    buckets = CallRates(RateLimit(1, 60), lambda: now, most=10)
    for number in range(1_000):
        buckets.take(network(f"2001:db8:{number:x}::1"))
    assert len(buckets._levels) == 10


def test_places_are_given_back() -> None:
    places = Places({"all": 2, "caller": 1})
    places.enter(caller="a")
    with pytest.raises(Busy):
        places.enter(caller="a")
    places.enter(caller="b")
    with pytest.raises(GatewayFull):
        places.enter(caller="c")
    with pytest.raises(Busy):
        places.enter(caller="a")
    places.leave(caller="a")
    with places.taken(caller="c"):
        assert places.count == 2
    assert set(places._taken) == {("caller", "b"), ("all", "")}


async def test_a_document_is_given_only_where_the_pool_names_it(wide: World) -> None:
    whole = (await wide.get("/api/v1/machines/1"))["machine"]
    given = await wide.client.get(f"/api/v1/documents/{whole['contact_cid']}")
    assert given.content == contact()
    assert given.headers["content-type"] == "application/octet-stream"
    assert "immutable" in given.headers["cache-control"]
    secret = wide.blocks.keep(b"somebody else's block")
    cid = await wide.blocks.put_block(b"somebody else's block")
    refused = await wide.client.get(f"/api/v1/documents/{cid}")
    assert refused.status_code == 404
    assert not wide.gateway.documents.here(secret)


async def test_a_document_that_nobody_serves_is_waited_for_by_few(wide: World) -> None:
    await wide.machine(2, reached=b'{"other": 1}')
    cid = (await wide.get("/api/v1/machines/2"))["machine"]["contact_cid"]
    wide.blocks.kept.clear()
    answer = await wide.client.get(f"/api/v1/documents/{cid}")
    assert answer.status_code == 504
    assert wide.gateway.fetching.count == 0
    for _ in range(4):
        wide.gateway.fetching.enter(caller="127.0.0.1")
    refused = await wide.client.get(f"/api/v1/documents/{cid}")
    assert (refused.status_code, refused.json()["code"]) == (429, "busy"), (
        "its own limit is nobody else's fault"
    )
    assert int(refused.headers["retry-after"]) >= 1
    for number in range(12):
        wide.gateway.fetching.enter(caller=f"198.51.100.{number}")
    assert (await wide.client.get(f"/api/v1/documents/{cid}")).status_code == 429
    wide.gateway.fetching.leave(caller="127.0.0.1")
    wide.gateway.fetching.enter(caller="198.51.100.99")
    assert (await wide.client.get(f"/api/v1/documents/{cid}")).status_code == 503


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>Leasehold</title>")
    (folder / "assets/index-Ab3dE_9k.js").write_text("export {}")
    (folder / "favicon.svg").write_text("<svg/>")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    return folder


async def test_the_dapps_files_and_the_pages_that_it_draws(opened: Opening, site: Path) -> None:
    world = await opened(dapp=site)
    for path in ("/", "/machines/7", "/rent/ubuntu-ssh"):
        page = await world.client.get(path)
        assert page.text.startswith("<!doctype html>")
        assert page.headers["content-type"].startswith("text/html")
        assert page.headers["cache-control"] == "no-cache"
        assert page.headers["content-security-policy"] == POLICY
    script = await world.client.get("/assets/index-Ab3dE_9k.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert "immutable" in script.headers["cache-control"]
    icon = await world.client.get("/favicon.svg")
    assert icon.headers["cache-control"] == "no-cache"
    again = await world.client.get("/favicon.svg", headers={"If-None-Match": icon.headers["etag"]})
    assert again.status_code == 304
    assert (await world.client.get("/api/v1/nothing")).status_code == 404
    assert (await world.client.get("/missing.js")).status_code == 404


async def test_the_dapps_files_are_sent_packed_to_who_takes_that(opened: Opening, site: Path) -> None:
    text = 'export const words = ["lease", "tenant", "escrow"];\n' * 400
    (site / "assets/index-Ab3dE_9k.js").write_text(text)
    world = await opened(dapp=site)

    async def asked(takes: str, **more: str) -> httpx.Response:
        headers = {"Accept-Encoding": takes, **more}
        return await world.client.get("/assets/index-Ab3dE_9k.js", headers=headers)

    packed = await asked("br, gzip;q=0.8")
    assert packed.text == text
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(text) / 10
    plain = {
        takes: await asked(takes) for takes in ("identity", "", "gzip;q=0", "gzip; q=0.000", "notgzip", "*")
    }
    for answer in plain.values():
        assert answer.text == text
        assert "content-encoding" not in answer.headers
    for answer in (packed, *plain.values()):  # what keeps answers in between gives nobody another's
        assert answer.headers["vary"] == "Accept-Encoding"
    assert packed.headers["etag"] != plain["identity"].headers["etag"]
    again = await asked("gzip", **{"If-None-Match": packed.headers["etag"]})
    assert (again.status_code, again.headers["vary"]) == (304, "Accept-Encoding")
    assert (await asked("identity", **{"If-None-Match": packed.headers["etag"]})).status_code == 200
    small = await world.client.get("/favicon.svg", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in small.headers  # it would be larger


@pytest.mark.parametrize(
    "path",
    ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/assets/..%2f..%2fsecret.txt", "/link.txt",
     "/%5c..%5csecret.txt", "/./../secret.txt", "/assets/%00/../../secret.txt", "/etc/passwd.txt"],
)  # fmt: skip
async def test_no_path_leads_out_of_the_dapps_folder(opened: Opening, site: Path, path: str) -> None:
    world = await opened(dapp=site)
    answer = await world.client.get(path)
    assert answer.status_code == 404
    assert b"secret" not in answer.content


def test_a_folder_that_is_no_site_is_told_of(tmp_path: Path) -> None:
    from leasehold.gateway._site import read_site

    with pytest.raises(SettingsError, match=r"index\.html"):
        read_site(tmp_path)

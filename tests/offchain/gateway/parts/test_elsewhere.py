"""A page of another origin than its gateway's signs in: what it gets, and each way of making something else of it."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from fastapi import FastAPI
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from leasehold.gateway._gateway_tables import sessions
from leasehold.gateway._sessions import MOST_SESSIONS, PAGE_SECONDS, SESSION_SECONDS
from leasehold.gateway._signing_in import SigningIn, router

from .test_signing_in import ADA, EVE, SAFE, AppOf, Browse, Chain, Clock, nonce, signed, text, whose

SITE = "https://gate.example"
PAGE = "https://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi.ipfs.example"
SECOND = "https://app.example"
UNLISTED = "https://other.example"
BEARER = "leasehold-page-"
SESSION = "/api/v1/session"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def chain() -> Chain:
    return Chain()


@pytest.fixture
def make(engine: AsyncEngine, clock: Clock, chain: Chain, app_of: AppOf) -> Callable[..., FastAPI]:
    """A gateway by the origins of its own and of pages elsewhere."""

    def made(*elsewhere: str, own: tuple[str, ...] = (SITE,)) -> FastAPI:
        signing_in = SigningIn(
            engine, origins=own, elsewhere=elsewhere, chain_id=31337, is_authorized=chain, now=clock
        )
        return app_of([router], signing_in)

    return made


@pytest.fixture
def app(make: Callable[..., FastAPI]) -> FastAPI:
    return make(PAGE, SECOND)


def asks(address: str, number: str, clock: Clock, *, page: str = PAGE, gateway: str = SITE) -> str:
    """What a page has signed: its own place as the domain, the gateway it talks to as the URI."""
    host = page.partition("://")[2]
    plain = text(address, number, clock, gateway)
    return host + plain[plain.index(" wants") :]


async def begin(
    browser: httpx.AsyncClient,
    clock: Clock,
    account: LocalAccount = ADA,
    *,
    page: str = PAGE,
    gateway: str = SITE,
    **headers: str,
) -> httpx.Response:
    message = asks(account.address, await nonce(browser), clock, page=page, gateway=gateway)
    return await browser.post(SESSION, json=signed(account, message), headers=headers)


async def token_of(
    browser: httpx.AsyncClient, clock: Clock, account: LocalAccount = ADA, *, page: str = PAGE
) -> str:
    return str((await begin(browser, clock, account, page=page)).json()["token"])


async def bearing(browser: httpx.AsyncClient, token: str, method: str = "GET") -> httpx.Response:
    return await browser.request(method, SESSION, headers={"Authorization": f"Bearer {token}"})


async def test_a_page_elsewhere_signs_in_is_known_by_its_token_and_signs_out(
    app: FastAPI, browse: Browse, clock: Clock
) -> None:
    async with browse(app, origin=PAGE, base=SITE) as page:
        begun = await begin(page, clock)
        assert begun.status_code == 200
        said = begun.json()
        assert (said["account"], said["expires_at"]) == (ADA.address, int(clock()) + PAGE_SECONDS)
        assert said["token"].startswith(BEARER)
        assert begun.headers["cache-control"] == "no-store"
        assert (await bearing(page, said["token"])).json() == {
            "account": ADA.address,
            "expires_at": said["expires_at"],
        }
        assert (await bearing(page, said["token"], "DELETE")).status_code == 204
        assert (await bearing(page, said["token"])).status_code == 401


async def test_a_contract_signs_in_from_elsewhere_by_its_own_rule(
    app: FastAPI, browse: Browse, clock: Clock
) -> None:
    async with browse(app, origin=PAGE, base=SITE) as page:
        message = asks(SAFE, await nonce(page), clock)
        body = {"message": message, "signature": "0x" + b"owners".hex()}
        assert (await page.post(SESSION, json=body)).json()["account"] == SAFE


async def test_what_was_signed_for_another_gateway_signs_nobody_in_here(
    app: FastAPI, browse: Browse, clock: Clock
) -> None:
    """THE attack: a page asks a hostile gateway, which hands on the nonce of this one, and what comes of it."""
    async with browse(app, origin=PAGE, base=SITE) as thief:
        for gateway in (
            "https://hostile.example",
            SITE + ".hostile.example",
            SITE + "@hostile.example",
            SITE + ":8443",
            "http://gate.example",
            "https://hostile.example/" + SITE,
            PAGE,  # the page's own address names no gateway
        ):
            assert (await begin(thief, clock, gateway=gateway)).status_code == 401, gateway
        assert (await begin(thief, clock, gateway=SITE + "/pool/")).status_code == 200


async def test_what_was_signed_at_a_page_serves_at_no_other_place(
    app: FastAPI, browse: Browse, clock: Clock
) -> None:
    """Neither at another page that may sign in, nor at the gateway's own, and the other way round neither."""
    for page, sent_from in ((PAGE, SECOND), (PAGE, SITE), (SITE, PAGE), (UNLISTED, PAGE)):
        async with browse(app, origin=sent_from, base=SITE) as thief:
            answer = await begin(thief, clock, page=page)
            assert (answer.status_code, answer.headers.get("set-cookie")) == (401, None), (page, sent_from)


@pytest.mark.parametrize(
    "origin", [UNLISTED, "null", PAGE + ".evil.example", "http" + PAGE[5:], PAGE.upper()]
)
async def test_a_page_that_is_not_named_gets_nothing(
    app: FastAPI, browse: Browse, clock: Clock, origin: str
) -> None:
    async with browse(app, origin=PAGE, base=SITE) as page, browse(app, origin=origin, base=SITE) as other:
        token = await token_of(page, clock)
        assert (await begin(other, clock, page=origin)).status_code == 403
        assert (await begin(other, clock, page=PAGE)).status_code == 403
        assert (await other.get(SESSION)).status_code == 403  # before its wallet is asked for anything
        for method in ("GET", "DELETE"):
            assert (await bearing(other, token, method)).status_code == 403
        assert (await bearing(page, token)).status_code == 200


async def test_no_page_elsewhere_signs_in_unless_the_operator_says_so(
    make: Callable[..., FastAPI], browse: Browse, clock: Clock
) -> None:
    async with browse(make(), origin=PAGE, base=SITE) as page:
        assert (await begin(page, clock)).status_code == 403


async def test_a_page_that_is_named_no_more_has_no_session_any_more(
    app: FastAPI, make: Callable[..., FastAPI], browse: Browse, clock: Clock
) -> None:
    async with browse(app, origin=PAGE, base=SITE) as page:
        token = await token_of(page, clock)
    for changed, status in ((make(SECOND), 403), (make(SECOND, own=(SITE, PAGE)), 401)):
        async with browse(changed, origin=PAGE, base=SITE) as page:
            assert (await bearing(page, token)).status_code == status


async def test_no_cookie_is_set_read_or_ended_for_a_page_elsewhere(
    app: FastAPI, browse: Browse, clock: Clock
) -> None:
    """A page of the same site may send the gateway's cookie along, and a browser takes what comes back with it."""
    async with browse(app, base=SITE) as own, browse(app, origin=PAGE, base=SITE) as page:
        own_token = (await _own_session(own, clock)).cookies["__Host-leasehold"]
        page.cookies.set("__Host-leasehold", own_token)
        assert (await page.get(SESSION)).status_code == 403
        for answer in (await begin(page, clock, EVE), await page.delete(SESSION)):
            assert "set-cookie" not in answer.headers
        assert await whose(own) == ADA.address


async def test_two_sessions_at_once_are_none(app: FastAPI, browse: Browse, clock: Clock) -> None:
    async with browse(app, base=SITE) as own, browse(app, origin=PAGE, base=SITE) as page:
        own_token = (await _own_session(own, clock)).cookies["__Host-leasehold"]
        token = await token_of(page, clock, EVE)
        both = {"Authorization": f"Bearer {token}", "Cookie": f"__Host-leasehold={own_token}"}
        for browser in (own, page):
            for method in ("GET", "DELETE"):
                assert (await browser.request(method, SESSION, headers=both)).status_code == 400
        twice = [("Authorization", f"Bearer {token}"), ("Authorization", f"Bearer {token}")]
        assert (await page.get(SESSION, headers=twice)).status_code == 400
        assert await whose(own) == ADA.address
        assert (await bearing(page, token)).json()["account"] == EVE.address


async def test_a_token_is_no_cookie_and_a_cookie_no_token(app: FastAPI, browse: Browse, clock: Clock) -> None:
    """Else a neighbour of the domain plants his own token as a cookie, and the gateway's page is signed in as he is."""
    async with browse(app, base=SITE) as own, browse(app, origin=PAGE, base=SITE) as page:
        token = await token_of(page, clock, EVE)
        for planted in (token, token.removeprefix(BEARER)):
            for name in ("__Host-leasehold", "leasehold"):
                answer = await own.get(SESSION, headers={"Cookie": f"{name}={planted}"})
                assert answer.status_code == 401
        cookie = (await _own_session(own, clock)).cookies["__Host-leasehold"]
        for made_up in (cookie, BEARER + cookie):
            assert (await bearing(page, made_up)).status_code in (401, 403)


async def test_a_token_serves_no_page_of_the_gateways_own(app: FastAPI, browse: Browse, clock: Clock) -> None:
    async with browse(app, origin=PAGE, base=SITE) as page:
        token = await token_of(page, clock)
    for origin in (SITE, None, SECOND):
        async with browse(app, origin=origin, base=SITE) as other:
            assert (await bearing(other, token)).status_code == 403


async def test_signing_in_again_ends_the_session_that_the_page_came_with_and_no_other(
    app: FastAPI, browse: Browse, clock: Clock
) -> None:
    async with browse(app, base=SITE) as own, browse(app, origin=PAGE, base=SITE) as page:
        await _own_session(own, clock)
        planted = await token_of(page, clock, EVE)
        begun = await begin(page, clock, Authorization=f"Bearer {planted}")
        assert (await bearing(page, planted)).status_code == 401
        assert (await bearing(page, begun.json()["token"])).json()["account"] == ADA.address
        assert await whose(own) == ADA.address


async def test_a_pages_session_is_over_sooner_than_a_cookies(
    app: FastAPI, browse: Browse, clock: Clock
) -> None:
    async with browse(app, origin=PAGE, base=SITE) as page:
        token = await token_of(page, clock)
        clock.time += PAGE_SECONDS - 1
        assert (await bearing(page, token)).status_code == 200
        clock.time += 1
        assert (await bearing(page, token)).status_code == 401
    assert PAGE_SECONDS < SESSION_SECONDS


async def test_an_account_has_only_so_many_sessions_of_both_kinds(
    app: FastAPI, browse: Browse, clock: Clock, engine: AsyncEngine
) -> None:
    async with browse(app, base=SITE) as own, browse(app, origin=PAGE, base=SITE) as page:
        await _own_session(own, clock)
        for _ in range(MOST_SESSIONS):
            clock.time += 1
            await token_of(page, clock)
        assert await whose(own) is None
    async with engine.connect() as connection:
        rows = (await connection.execute(select(func.count()).select_from(sessions))).scalar()
    assert rows == MOST_SESSIONS


async def test_the_database_holds_no_token(
    app: FastAPI, browse: Browse, clock: Clock, engine: AsyncEngine
) -> None:
    async with browse(app, origin=PAGE, base=SITE) as page:
        token = await token_of(page, clock)
    async with engine.connect() as connection:
        (row,) = (await connection.execute(select(sessions))).all()
    assert token not in repr(row)
    assert token.encode() not in bytes(row.digest)


async def test_a_message_serves_once_from_elsewhere_too(app: FastAPI, browse: Browse, clock: Clock) -> None:
    async with browse(app, origin=PAGE, base=SITE) as page:
        body = signed(ADA, asks(ADA.address, await nonce(page), clock))
        assert (await page.post(SESSION, json=body)).status_code == 200
        assert (await page.post(SESSION, json=body)).status_code == 401


async def test_without_a_site_a_gateway_knows_itself_at_the_loopback_alone(
    make: Callable[..., FastAPI], browse: Browse, clock: Clock
) -> None:
    app, here = make(PAGE, own=()), "http://127.0.0.1:8088"
    async with browse(app, origin=PAGE, base=here) as page:
        assert (await begin(page, clock, gateway=here)).status_code == 200
        assert (await begin(page, clock, gateway="http://127.0.0.1:9999")).status_code == 401
    rebound = "http://rebound.example:8088"
    async with browse(app, origin=PAGE, base=rebound) as page:
        assert (await begin(page, clock, gateway=rebound)).status_code == 403


async def test_a_proxys_own_word_in_authorization_is_no_session(
    app: FastAPI, browse: Browse, clock: Clock
) -> None:
    async with browse(app, base=SITE) as own:
        await _own_session(own, clock)
        for said in ("Basic dXNlcjpwYXNz", "Bearer a.proxys.token", "Leasehold abc"):
            answer = await own.get(SESSION, headers={"Authorization": said})
            assert answer.json()["account"] == ADA.address


async def _own_session(own: httpx.AsyncClient, clock: Clock) -> httpx.Response:
    message = text(ADA.address, await nonce(own), clock)
    answer = await own.post(SESSION, json=signed(ADA, message))
    assert "token" not in answer.json()
    return answer


def test_the_texts_of_the_tests_are_signed_as_wallets_sign() -> None:
    message = encode_defunct(text=asks(ADA.address, "12345678", Clock()))
    assert Account.recover_message(message, signature=ADA.sign_message(message).signature) == ADA.address

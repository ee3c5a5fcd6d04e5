"""Signing in: whose session it is, and each way of coming by another's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import httpx
import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from fastapi import FastAPI
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncEngine
from starlette.types import Receive, Scope, Send

from leasehold.errors import RpcUnavailable
from leasehold.gateway._errors import said_of
from leasehold.gateway._gateway_tables import sessions, spent_nonces
from leasehold.gateway._sessions import MOST_SESSIONS, SESSION_SECONDS
from leasehold.gateway._signing_in import SigningIn, router

ADA: LocalAccount = Account.from_key("0x" + "11" * 32)
EVE: LocalAccount = Account.from_key("0x" + "22" * 32)
SAFE = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
ORIGIN = "https://gate.example"
OTHER = "https://other.example"
Browse = Callable[..., httpx.AsyncClient]
AppOf = Callable[..., FastAPI]


class Clock:
    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        return self.time


class Chain:
    """What the chain says of a contract's signature: the outermost edge."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bytes, bytes]] = []

    async def __call__(self, account: str, digest: bytes, proof: bytes) -> bool:
        self.asked.append((account, digest, proof))
        return account == SAFE and proof == b"\x02owners"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def chain() -> Chain:
    return Chain()


@pytest.fixture
def app(engine: AsyncEngine, clock: Clock, chain: Chain, app_of: AppOf) -> FastAPI:
    return app_of([router], made(engine, clock, chain))


def made(engine: AsyncEngine, clock: Clock, chain: Chain) -> SigningIn:
    origins = [ORIGIN, OTHER, "http://localhost:8000"]
    return SigningIn(engine, origins=origins, chain_id=31337, is_authorized=chain, now=clock)


def text(address: str, nonce: str, clock: Clock, origin: str = ORIGIN) -> str:
    issued = datetime.fromtimestamp(clock(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    place = origin.partition("://")[2]
    return (
        f"{place} wants you to sign in with your Ethereum account:\n{address}\n\n\n"
        f"URI: {origin}\nVersion: 1\nChain ID: 31337\nNonce: {nonce}\nIssued At: {issued}"
    )


def signed(account: LocalAccount, message: str) -> dict[str, str]:
    signature = account.sign_message(encode_defunct(text=message)).signature
    return {"message": message, "signature": "0x" + bytes(signature).hex()}


async def nonce(browser: httpx.AsyncClient) -> str:
    return str((await browser.get("/api/v1/session/nonce")).json()["nonce"])


async def sign_in(
    browser: httpx.AsyncClient, clock: Clock, account: LocalAccount = ADA, origin: str = ORIGIN
) -> httpx.Response:
    message = text(account.address, await nonce(browser), clock, origin)
    return await browser.post("/api/v1/session", json=signed(account, message))


async def whose(browser: httpx.AsyncClient) -> str | None:
    answer = await browser.get("/api/v1/session")
    return str(answer.json()["account"]) if answer.status_code == 200 else None


async def test_a_wallet_signs_in_and_out(app: FastAPI, browse: Browse, clock: Clock) -> None:
    async with browse(app) as browser:
        assert await whose(browser) is None
        answer = await sign_in(browser, clock)
        assert answer.json() == {"account": ADA.address, "expires_at": int(clock()) + SESSION_SECONDS}
        assert await whose(browser) == ADA.address
        assert (await browser.delete("/api/v1/session")).status_code == 204
        assert not browser.cookies
        assert await whose(browser) is None


async def test_the_cookie_is_kept_from_scripts_and_other_sites(
    app: FastAPI, browse: Browse, clock: Clock
) -> None:
    async with browse(app) as browser:
        cookie = (await sign_in(browser, clock)).headers["set-cookie"]
    assert cookie.startswith("__Host-leasehold=")
    assert {"HttpOnly", "Secure", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert "Domain" not in cookie


async def test_on_a_plain_loopback_the_cookie_has_another_name(
    app: FastAPI, browse: Browse, clock: Clock
) -> None:
    local = "http://localhost:8000"
    async with browse(app, origin=local, base=local) as browser:
        cookie = (await sign_in(browser, clock, origin=local)).headers["set-cookie"]
        assert cookie.startswith("leasehold=")
        assert "Secure" not in cookie
        assert await whose(browser) == ADA.address


async def test_the_database_holds_no_id(
    app: FastAPI, browse: Browse, clock: Clock, engine: AsyncEngine
) -> None:
    async with browse(app) as browser:
        await sign_in(browser, clock)
        token = browser.cookies["__Host-leasehold"]
    async with engine.connect() as connection:
        rows = (await connection.execute(select(sessions))).all()
    assert len(rows) == 1
    assert token not in repr(rows)
    assert token.encode() not in bytes(rows[0].digest)


async def test_a_message_serves_once(app: FastAPI, browse: Browse, clock: Clock) -> None:
    async with browse(app) as browser, browse(app) as thief:
        body = signed(ADA, text(ADA.address, await nonce(browser), clock))
        assert (await browser.post("/api/v1/session", json=body)).status_code == 200
        again = await thief.post("/api/v1/session", json=body)
        assert (again.status_code, again.json()["code"]) == (401, "sign-in-refused")
        assert await whose(thief) is None
        assert await whose(browser) == ADA.address


async def test_a_message_serves_once_even_at_another_replica(
    app: FastAPI, engine: AsyncEngine, browse: Browse, clock: Clock, chain: Chain, app_of: AppOf
) -> None:
    async with browse(app) as browser, browse(app_of([router], made(engine, clock, chain))) as replica:
        number = await nonce(browser)
        body = signed(ADA, text(ADA.address, number, clock))
        assert (await replica.post("/api/v1/session", json=body)).status_code == 200
        assert (await browser.post("/api/v1/session", json=body)).status_code == 401


async def test_a_bad_signature_uses_up_nobodys_nonce(app: FastAPI, browse: Browse, clock: Clock) -> None:
    async with browse(app) as browser, browse(app) as thief:
        message = text(ADA.address, await nonce(browser), clock)
        forged = {**signed(EVE, message)}
        assert (await thief.post("/api/v1/session", json=forged)).status_code == 401
        assert (await browser.post("/api/v1/session", json=signed(ADA, message))).status_code == 200


async def test_asking_for_nonces_costs_the_database_nothing(
    app: FastAPI, browse: Browse, engine: AsyncEngine
) -> None:
    async with browse(app) as browser:
        numbers = {await nonce(browser) for _ in range(50)}
    async with engine.connect() as connection:
        kept = (await connection.execute(select(func.count()).select_from(spent_nonces))).scalar()
    assert len(numbers) == 50
    assert kept == 0


@pytest.mark.parametrize("made_up", ["0" * 76, "ab" * 38, "zz" * 38, "12345678"])
async def test_a_nonce_of_ones_own_signs_nobody_in(
    app: FastAPI, browse: Browse, clock: Clock, made_up: str
) -> None:
    async with browse(app) as browser:
        body = signed(ADA, text(ADA.address, made_up, clock))
        assert (await browser.post("/api/v1/session", json=body)).status_code == 401


async def test_a_nonce_in_capitals_is_not_a_second_one(app: FastAPI, browse: Browse, clock: Clock) -> None:
    async with browse(app) as browser:
        number = await nonce(browser)
        for spelled, status in ((number, 200), (number.upper(), 401)):
            body = signed(ADA, text(ADA.address, spelled, clock))
            assert (await browser.post("/api/v1/session", json=body)).status_code == status


async def test_an_old_nonce_signs_nobody_in(app: FastAPI, browse: Browse, clock: Clock) -> None:
    async with browse(app) as browser:
        number = await nonce(browser)
        clock.time += 700
        body = signed(ADA, text(ADA.address, number, clock))
        assert (await browser.post("/api/v1/session", json=body)).status_code == 401


async def test_a_message_for_one_domain_serves_no_other(app: FastAPI, browse: Browse, clock: Clock) -> None:
    async with browse(app, origin=OTHER, base=OTHER) as browser:
        body = signed(ADA, text(ADA.address, await nonce(browser), clock, ORIGIN))
        assert (await browser.post("/api/v1/session", json=body)).status_code == 401


@pytest.mark.parametrize(
    "origin", [None, "https://evil.example", "null", ORIGIN + ".evil.example", "http://gate.example"]
)
async def test_another_sites_page_signs_nobody_in_or_out(
    app: FastAPI, browse: Browse, clock: Clock, origin: str | None
) -> None:
    async with browse(app) as browser, browse(app, origin=origin) as evil:
        await sign_in(browser, clock)
        evil.cookies = browser.cookies
        body = signed(EVE, text(EVE.address, await nonce(browser), clock))
        assert (await evil.post("/api/v1/session", json=body)).status_code == 403
        assert (await evil.delete("/api/v1/session")).status_code == 403
        assert await whose(browser) == ADA.address


async def test_without_a_site_only_the_loopback_signs_in(
    engine: AsyncEngine, browse: Browse, clock: Clock, chain: Chain, app_of: AppOf
) -> None:
    """And no name that somebody's DNS has lead there."""
    app = app_of([router], SigningIn(engine, origins=[], chain_id=31337, is_authorized=chain, now=clock))
    for origin, status in (
        ("http://127.0.0.1:8088", 200),
        ("http://localhost:8088", 200),
        ("http://rebound.example:8088", 403),
        ("https://127.0.0.1:8088", 403),
    ):
        async with browse(app, origin=origin, base=origin) as browser:
            assert (await sign_in(browser, clock, origin=origin)).status_code == status, origin
    async with browse(app, origin="http://localhost:8088", base="http://rebound.example:8088") as browser:
        assert (await sign_in(browser, clock, origin="http://localhost:8088")).status_code == 403


async def test_a_session_is_not_moved_to_another_domain(app: FastAPI, browse: Browse, clock: Clock) -> None:
    async with browse(app) as browser, browse(app, origin=OTHER, base=OTHER) as other:
        await sign_in(browser, clock)
        other.cookies.set("__Host-leasehold", browser.cookies["__Host-leasehold"])
        assert await whose(other) is None


async def test_a_session_of_the_plain_cookie_counts_on_no_secured_page(
    app: FastAPI, browse: Browse, clock: Clock
) -> None:
    """A neighbour of the domain can set the plain cookie, with a session of his own in it."""
    async with browse(app) as thief, browse(app) as victim:
        await sign_in(thief, clock, EVE)
        victim.cookies.set("leasehold", thief.cookies["__Host-leasehold"])
        assert await whose(victim) is None


async def test_signing_in_ends_the_session_that_the_browser_came_with(
    app: FastAPI, browse: Browse, clock: Clock
) -> None:
    async with browse(app) as browser, browse(app) as thief:
        await sign_in(thief, clock, EVE)
        planted = thief.cookies["__Host-leasehold"]
        browser.cookies.set("__Host-leasehold", planted, domain="gate.example")
        await sign_in(browser, clock)
        assert browser.cookies.get("__Host-leasehold", domain="gate.example") != planted
        assert await whose(thief) is None


async def test_a_session_ends_by_itself(app: FastAPI, browse: Browse, clock: Clock) -> None:
    async with browse(app) as browser:
        await sign_in(browser, clock)
        token = browser.cookies["__Host-leasehold"]
        clock.time += SESSION_SECONDS
        answer = await browser.get("/api/v1/session", headers={"cookie": f"__Host-leasehold={token}"})
        assert answer.status_code == 401


async def test_an_account_has_only_so_many_sessions(
    app: FastAPI, browse: Browse, clock: Clock, engine: AsyncEngine
) -> None:
    async with browse(app) as first, browse(app) as eve:
        await sign_in(first, clock)
        await sign_in(eve, clock, EVE)
        for _ in range(MOST_SESSIONS):
            clock.time += 1
            async with browse(app) as more:
                await sign_in(more, clock)
        assert await whose(first) is None
        assert await whose(eve) == EVE.address
    async with engine.connect() as connection:
        kept = (await connection.execute(select(func.count()).select_from(sessions))).scalar()
    assert kept == MOST_SESSIONS + 1


async def test_a_contract_signs_in_by_its_own_rule(
    app: FastAPI, browse: Browse, clock: Clock, chain: Chain
) -> None:
    async with browse(app) as browser:
        message = text(SAFE, await nonce(browser), clock)
        refused = await browser.post("/api/v1/session", json={"message": message, "signature": "0x1234"})
        assert refused.status_code == 401
        body = {"message": message, "signature": "0x" + b"owners".hex()}
        assert (await browser.post("/api/v1/session", json=body)).json()["account"] == SAFE
    assert {asked[0] for asked in chain.asked} == {SAFE}


async def test_who_asks_slow_contracts_keeps_nobody_else_from_signing_in(
    engine: AsyncEngine, clock: Clock, app_of: AppOf
) -> None:
    asked, go_on = asyncio.Semaphore(0), asyncio.Event()

    async def slow(account: str, digest: bytes, proof: bytes) -> bool:
        asked.release()
        await go_on.wait()
        return True

    signing_in = SigningIn(engine, origins=[ORIGIN], chain_id=31337, is_authorized=slow, now=clock)
    app = app_of([router], signing_in)

    def of(visitor: str) -> httpx.AsyncClient:
        async def seen(scope: Scope, receive: Receive, send: Send) -> None:
            await app({**scope, "visitor": visitor}, receive, send)

        return httpx.AsyncClient(
            transport=httpx.ASGITransport(seen), base_url=ORIGIN, headers={"origin": ORIGIN}
        )

    async def sent(browser: httpx.AsyncClient) -> int:
        body = {"message": text(SAFE, await nonce(browser), clock), "signature": "0x1234"}
        return (await browser.post("/api/v1/session", json=body)).status_code

    async with of("198.51.100.1") as eve, of("198.51.100.2") as ada:
        waiting = [asyncio.create_task(sent(eve)) for _ in range(2)]
        for _ in range(2):
            await asked.acquire()
        assert await sent(eve) == 429
        waiting.append(asyncio.create_task(sent(ada)))
        await asked.acquire()
        go_on.set()
        assert await asyncio.gather(*waiting) == [200] * 3


async def test_a_key_never_asks_the_chain_and_old_wallets_are_understood(
    app: FastAPI, browse: Browse, clock: Clock, chain: Chain
) -> None:
    async with browse(app) as browser:
        body = signed(ADA, text(ADA.address, await nonce(browser), clock))
        v = int(body["signature"][-2:], 16) - 27
        body["signature"] = body["signature"][:-2] + f"{v:02x}"
        assert (await browser.post("/api/v1/session", json=body)).status_code == 200
    assert not chain.asked


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b'{"message": "x"}', "application/json", 400),
        (b'{"message": "x", "signature": "0x00", "more": 1}', "application/json", 400),
        (b'{"message": "x", "signature": "0x00"}', "text/plain", 400),
        (b"[" * 100_000, "application/json", 413),
    ],
)
async def test_a_body_of_another_form_is_refused(
    app: FastAPI, browse: Browse, content: bytes, kind: str, status: int
) -> None:
    async with browse(app) as browser:
        answer = await browser.post("/api/v1/session", content=content, headers={"content-type": kind})
        assert answer.status_code == status


async def test_nobody_is_told_which_nodes_do_not_answer(
    engine: AsyncEngine, app_of: AppOf, browse: Browse, clock: Clock
) -> None:
    """A signature that only a contract could have made has the chain asked, by nodes that are the operator's."""

    async def away(account: str, digest: bytes, proof: bytes) -> bool:
        raise RpcUnavailable(("node.example:8545: HTTP 429",))

    signing = SigningIn(engine, origins=[ORIGIN], chain_id=31337, is_authorized=away, now=clock)
    async with browse(app_of([router], signing)) as browser:
        message = text(ADA.address, await nonce(browser), clock)
        answer = await browser.post("/api/v1/session", json={"message": message, "signature": "0x00"})
    assert (answer.status_code, answer.json()["code"]) == (503, "nodes-unreachable")
    assert "node.example" not in answer.text
    assert "node.example" not in said_of(RpcUnavailable(("node.example:8545: HTTP 429",)))

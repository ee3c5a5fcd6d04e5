"""Who says where he is told, and what that can be misused for: a gateway sends one code to whom it does not know."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from devnet.edges import Edge, answers, edge, takes_mail
from leasehold.gateway import _alerting
from leasehold.gateway._alerting import DAY, Alerting, ConfirmationBounds
from leasehold.gateway._gateway_tables import recipients, refused_recipients
from leasehold.gateway._recipients import (
    CODE_SECONDS,
    MOST_EACH,
    MOST_TRIES,
    REFUSED_SECONDS,
    HeldRecipient,
    Recipients,
)
from leasehold.gateway._sessions import SessionStore
from leasehold.gateway._signing_in import SigningIn
from leasehold.gateway._watching import Ways
from leasehold.guarding import AlertKind, AlertReach, AlertRecipient, AlertWishes, MailServer
from leasehold.guarding._channels import Webhook
from leasehold.rates import RateLimit, TokenBuckets

from .conftest import ORIGIN

ADA, BOB = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F", "0x0000000000000000000000000000000000000022"
PATH = "/api/v1/alerts"


@dataclass
class Clock:
    time: float = 1_000_000.0

    def __call__(self) -> float:
        return self.time


@dataclass
class Desk:
    """A gateway's page at which somebody is signed in, and what it sends to."""

    page: httpx.AsyncClient
    alerting: Alerting
    held: Recipients
    engine: AsyncEngine
    hook: Edge
    post: Edge
    clock: Clock
    leased: set[str] = field(default_factory=set)
    caller: list[str] = field(default_factory=lambda: ["somewhere"])

    async def sign_in(self, account: str) -> None:
        token, _ = await SessionStore(self.engine).begin(account, ORIGIN, self.clock())
        self.page.cookies = httpx.Cookies({"__Host-leasehold": token})

    async def add(self, path: str = "", **more: Any) -> httpx.Response:
        body = {"to": {"way": "webhook", "address": self.hook.url + path}, "kinds": ["notice"]}
        return await self.page.post(PATH, json={**body, **more})

    async def added(self, path: str = "", **more: Any) -> tuple[str, str]:
        """One's id, and the code that came."""
        answer = await self.add(path, **more)
        assert answer.status_code == 201, answer.text
        return answer.json()["id"], self.codes()[-1]

    def codes(self) -> list[str]:
        return [json.loads(body)["code"] for _, body in self.hook.heard]

    async def bring(self, recipient: str, code: str) -> httpx.Response:
        return await self.page.post(f"{PATH}/{recipient}/code", json={"code": code})

    async def listed(self) -> list[dict[str, Any]]:
        return list((await self.page.get(PATH)).json()["recipients"])

    async def confirmed(self) -> int:
        return len(await self.held.confirmed())


BOUNDS = ConfirmationBounds(account=8, network=12, place=3, site=40, strangers=30, altogether=60)


async def nobody(account: str, digest: bytes, proof: bytes) -> bool:
    return False


@pytest.fixture
async def desk(
    engine: AsyncEngine,
    app_of: Callable[..., FastAPI],
    browse: Callable[..., httpx.AsyncClient],
) -> AsyncIterator[Desk]:
    clock, caller, leased = Clock(), ["somewhere"], {ADA, BOB}
    signing_in = SigningIn(engine, origins=(ORIGIN,), chain_id=1, is_authorized=nobody, now=clock)
    async with edge(answers("204 No Content")) as hook, edge(takes_mail()) as post:
        server = MailServer.model_validate(
            {"host": "127.0.0.1", "port": post.port, "tls": "none", "sender": "gate@example.org"}
        )
        ways = Ways(AlertReach(frozenset({f"127.0.0.1:{hook.port}"})), server)
        held = Recipients(engine, altogether=30)

        async def has_leased(account: str) -> bool:
            return account in leased

        alerting = Alerting(
            held,
            ways,
            has_leased,
            caller_of=lambda connection: caller[0],
            sites=(ORIGIN,),
            bounds=BOUNDS,
            clock=clock,
        )
        async with browse(app_of([_alerting.router], alerting, signing_in)) as page:
            made = Desk(page, alerting, held, engine, hook, post, clock, leased, caller)
            await made.sign_in(ADA)
            yield made


def code_of(answer: httpx.Response) -> str:
    return f"{answer.status_code} {answer.json()['code']}"


# ------------------------------------------------------------------------------------------------------ what it is for


async def test_a_place_is_told_once_its_code_was_brought(desk: Desk) -> None:
    recipient, code = await desk.added()
    assert await desk.confirmed() == 0
    assert (await desk.listed())[0]["confirmed_at"] == 0
    answer = await desk.bring(recipient, f" {code[:5].lower()}-{code[5:]} ")
    assert answer.status_code == 200, answer.text
    assert answer.json()["confirmed_at"] == desk.clock()
    assert await desk.confirmed() == 1
    assert len(desk.hook.heard) == 1
    assert (await desk.page.delete(f"{PATH}/{recipient}")).status_code == 204
    assert await desk.listed() == []
    async with desk.engine.connect() as connection:
        assert (await connection.execute(select(recipients))).all() == []


async def test_a_code_by_letter_and_what_the_account_is_told_of_its_places(desk: Desk) -> None:
    answer = await desk.page.post(
        PATH,
        json={
            "to": {"way": "mail", "address": "ada@example.org"},
            "kinds": ["notice", "end-near"],
            "before": 900,
        },
    )
    assert answer.status_code == 201, answer.text
    assert answer.json()["secret"] is None
    (place,) = await desk.listed()
    assert (place["shown"], place["kinds"], place["before"]) == (
        "a…@example.org",
        ["end-near", "notice"],
        900,
    )
    assert b"bring there this code" in desk.post.heard[0][1].replace(b"=\r\n", b"").replace(b"\r\n", b" ")
    answer = await desk.page.put(f"{PATH}/{place['id']}/kinds", json={"kinds": ["price"]})
    assert answer.json()["kinds"] == ["price"]
    assert (await desk.page.get(PATH)).headers["cache-control"] == "no-store"


async def test_the_secret_of_a_webhook_is_said_once_and_signs(desk: Desk) -> None:
    answer = await desk.add()
    assert len(answer.json()["secret"]) == 43
    assert answer.json()["secret"] not in desk.hook.heard[0][0]
    assert (await desk.listed())[0]["secret"] is None


# ------------------------------------------------------------------------------------------- who may, and who may not


async def test_nobody_who_is_not_signed_in_names_a_place(desk: Desk) -> None:
    recipient, code = await desk.added()
    desk.page.cookies = httpx.Cookies()
    for answer in (
        await desk.page.get(PATH), await desk.add("/b"), await desk.bring(recipient, code),
        await desk.page.delete(f"{PATH}/{recipient}"),
        await desk.page.put(f"{PATH}/{recipient}/kinds", json={"kinds": ["price"]}),
    ):  # fmt: skip
        assert code_of(answer) == "401 not-signed-in"
    assert len(desk.hook.heard) == 1


async def test_another_sites_page_changes_nothing(desk: Desk) -> None:
    await desk.added()
    desk.page.headers["origin"] = "https://evil.example"
    assert code_of(await desk.add("/b")) == "403 foreign-origin"


async def test_another_account_has_nothing_of_it(desk: Desk) -> None:
    """Not even with the code, which whoever reads the topic has, too."""
    recipient, code = await desk.added()
    await desk.sign_in(BOB)
    assert await desk.listed() == []
    for answer in (
        await desk.bring(recipient, code),
        await desk.page.delete(f"{PATH}/{recipient}"),
        await desk.page.put(f"{PATH}/{recipient}/kinds", json={"kinds": ["price"]}),
    ):
        assert code_of(answer) == "404 not-here"
    assert await desk.confirmed() == 0


async def test_a_code_is_guessed_five_times(desk: Desk) -> None:
    recipient, code = await desk.added()
    for _ in range(MOST_TRIES):
        assert code_of(await desk.bring(recipient, "AAAAAAAAAA")) == "400 bad-request"
    assert code_of(await desk.bring(recipient, code)) == "409 conflict"
    assert await desk.confirmed() == 0


async def test_a_code_is_good_for_a_day_and_once(desk: Desk) -> None:
    recipient, code = await desk.added()
    other, other_code = await desk.added("/b")
    assert (await desk.bring(recipient, code)).status_code == 200
    assert code_of(await desk.bring(recipient, code)) == "409 conflict"
    assert code_of(await desk.bring(other, code)) == "400 bad-request"
    desk.clock.time += CODE_SECONDS
    await desk.sign_in(ADA)
    assert code_of(await desk.bring(other, other_code)) == "409 conflict"
    await desk.held.sweep(int(desk.clock()))
    assert [place["id"] for place in await desk.listed()] == [recipient]


# ----------------------------------------------------------------------------------------------- a gateway as a cannon


async def test_one_place_gets_few_codes_whoever_asks_and_however_it_is_written(desk: Desk) -> None:
    for number in range(10):
        account = f"0x{number:040x}"
        desk.caller[0] = f"network {number}"
        desk.leased.add(account)
        await desk.sign_in(account)
        for name in ("vic.tim", "victim", "VICTIM+7"):
            to = {"way": "mail", "address": f"{name}@example.org"}
            answer = await desk.page.post(PATH, json={"to": to, "kinds": ["notice"]})
            assert answer.status_code in (201, 409, 429), answer.text
    assert len(desk.post.heard) == BOUNDS.place


async def test_whatever_keeps_the_code_from_going_out_keeps_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks(self: Webhook, alert: object) -> None:
        raise KeyError("what nobody thought of")

    monkeypatch.setattr(Webhook, "send", breaks)
    assert code_of(await desk.add()) == "409 nothing-sent"
    assert await desk.listed() == []


async def test_a_place_is_no_more_often_asked_by_another_way_or_spelling(desk: Desk) -> None:
    url, sent = desk.hook.url, 0
    spelled = "/hook", "//hook", "/%68ook", "/./hook"
    places = [
        *({"way": "ntfy", "address": url, "topic": f"t{number}"} for number in range(4)),
        *({"way": "webhook", "address": url.replace("/hook", path)} for path in spelled),
        *({"way": "webhook", "address": f"{url};{number}"} for number in range(4)),
        {"way": "ntfy", "address": url.removesuffix("/hook"), "topic": "hook"},
    ]  # fmt: skip
    for number, to in enumerate(places):
        desk.caller[0] = f"network {number}"
        await desk.sign_in(f"0x{number:040x}")
        sent += (await desk.add(to=to)).status_code == 201
    assert sent == len(desk.hook.heard) == BOUNDS.place


async def test_nobody_refuses_anothers_place_by_his_own(desk: Desk) -> None:
    """Though both are counted as one."""
    server = desk.hook.url.removesuffix("/hook")
    for eves, adas in (
        (
            {"way": "ntfy", "address": f"{server}/evestopic", "topic": "adas"},
            {"way": "ntfy", "address": server, "topic": "adas"},
        ),
        tuple({"way": "webhook", "address": f"{server}/send?token={name}"} for name in ("eve", "ada")),
        tuple({"way": "mail", "address": f"{name}@example.org"} for name in ("ada.b", "adab")),
    ):
        await desk.sign_in(BOB)
        added = await desk.add(to=eves)
        async with desk.engine.connect() as connection:
            stops = (
                await connection.execute(select(recipients.c.stop).where(recipients.c.account == BOB))
            ).scalars()
            for stop in stops.all():
                assert (await desk.page.post(f"{PATH}/stop/{stop}")).status_code == 204
        assert (await desk.add(to=eves)).status_code == (409 if added.status_code == 201 else 400)
        await desk.sign_in(ADA)
        assert (await desk.add(to=adas)).status_code == 201


@pytest.mark.parametrize(
    "host", ["xn--ls8h.invalid", "xn--.invalid", "a..invalid", "*.invalid", "a" * 64 + ".org"]
)
async def test_a_name_that_means_nothing_is_refused_and_not_kept(desk: Desk, host: str) -> None:
    assert (await desk.add(to={"way": "webhook", "address": f"https://{host}/x"})).status_code in (400, 409)
    assert await desk.listed() == []


async def test_adding_and_removing_sends_no_more_than_adding(desk: Desk) -> None:
    for _ in range(6):
        answer = await desk.add()
        if answer.status_code == 201:
            assert (await desk.page.delete(f"{PATH}/{answer.json()['id']}")).status_code == 204
    assert len(desk.hook.heard) == BOUNDS.place


async def test_an_account_and_a_network_have_so_many_codes_sent(desk: Desk) -> None:
    for number in range(30):
        answer = await desk.add(f"/{number}")
        if answer.status_code == 201:
            await desk.page.delete(f"{PATH}/{answer.json()['id']}")
    assert len(desk.hook.heard) == BOUNDS.account
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0
    await desk.sign_in(BOB)
    for number in range(30, 50):
        answer = await desk.add(f"/{number}")
        if answer.status_code == 201:
            await desk.page.delete(f"{PATH}/{answer.json()['id']}")
    assert len(desk.hook.heard) == BOUNDS.network


async def test_one_computer_gets_so_many_codes_from_all(desk: Desk) -> None:
    for number in range(60):
        account = f"0x{number:040x}"
        desk.caller[0] = f"network {number}"
        desk.leased.add(account)
        await desk.sign_in(account)
        await desk.add(f"/{number}")
    assert len(desk.hook.heard) <= BOUNDS.site
    assert len(desk.hook.heard) == 30  # as many as there is room for


async def test_accounts_that_never_had_a_lease_take_half_of_the_room(desk: Desk) -> None:
    """They cost nothing to make."""
    desk.leased.clear()
    for number in range(20):
        desk.caller[0] = f"network {number}"
        await desk.sign_in(f"0x{number:040x}")
        answer = await desk.add(f"/{number}")
    assert code_of(answer) == "507 no-room"
    assert len(desk.hook.heard) == 15
    desk.leased.add(ADA)
    await desk.sign_in(ADA)
    assert (await desk.add("/ada")).status_code == 201


async def test_whoever_gets_a_code_that_he_has_not_asked_for_ends_it_for_everybody(desk: Desk) -> None:
    await desk.added()
    link = json.loads(desk.hook.heard[0][1])["stop_post"].removeprefix(ORIGIN)
    stranger = httpx.AsyncClient(transport=desk.page._transport, base_url=ORIGIN)
    answer = await stranger.post(link, content=b"List-Unsubscribe=One-Click")
    assert answer.status_code == 204
    assert await desk.listed() == []
    await desk.sign_in(BOB)
    assert code_of(await desk.add()) == "409 conflict"
    assert len(desk.hook.heard) == 1
    desk.clock.time += REFUSED_SECONDS
    await desk.held.sweep(int(desk.clock()))
    await desk.sign_in(BOB)
    assert (await desk.add()).status_code == 201
    async with desk.engine.connect() as connection:
        assert (await connection.execute(select(refused_recipients))).all() == []


async def test_a_link_of_what_was_confirmed_ends_that_and_no_more(desk: Desk) -> None:
    recipient, code = await desk.added()
    assert (await desk.bring(recipient, code)).status_code == 200
    link = json.loads(desk.hook.heard[0][1])["stop_post"].removeprefix(ORIGIN)
    assert (
        await desk.page.get(link)
    ).status_code == 405  # whoever looks at links before people do ends nothing
    assert (await desk.page.post(link)).status_code == 204
    assert await desk.confirmed() == 0
    assert (await desk.add()).status_code == 201


async def test_a_link_that_nobody_has_ends_nothing_and_says_no_more(desk: Desk) -> None:
    await desk.added()
    assert (await desk.page.post(f"{PATH}/stop/{'x' * 43}")).status_code == 204
    assert code_of(await desk.page.post(f"{PATH}/stop/x")) == "400 malformed-call"
    assert len(await desk.listed()) == 1


async def test_a_link_leads_to_the_gateway_and_to_no_page_elsewhere(
    desk: Desk, app_of: Callable[..., FastAPI], browse: Callable[..., httpx.AsyncClient]
) -> None:
    """Nor to what its caller says that the gateway is: letters go out under the operator's name."""
    page, own = "https://app.example", "http://127.0.0.1:8080"
    signing_in = SigningIn(
        desk.engine, origins=(), elsewhere=(page,), chain_id=1, is_authorized=nobody, now=desk.clock
    )
    desk.alerting._sites = ()
    token, _ = await SessionStore(desk.engine).begin(BOB, page, desk.clock(), elsewhere=True)
    async with browse(app_of([_alerting.router], desk.alerting, signing_in), page, own) as elsewhere:
        elsewhere.headers["authorization"] = f"Bearer {token}"
        body = {"to": {"way": "webhook", "address": desk.hook.url}, "kinds": ["notice"]}
        answer = await elsewhere.post(PATH, json=body, headers={"host": "evil.example"})
        assert code_of(answer) == "403 foreign-origin"
        assert (await elsewhere.post(PATH, json=body)).status_code == 201
    (told,) = (json.loads(body) for _, body in desk.hook.heard)
    for link in (told["stop"], told["stop_post"]):
        assert link.startswith(f"{own}/")
    assert page not in told["said"]


async def test_an_account_has_five_places_and_each_once(desk: Desk) -> None:
    for number in range(MOST_EACH):
        await desk.added(f"/{number}")
    assert code_of(await desk.add("/0")) == "409 conflict"
    assert code_of(await desk.add("/5")) == "403 quota-used"


async def test_an_account_that_asks_at_once_has_five_places_too(desk: Desk) -> None:
    def made(number: int) -> HeldRecipient:
        to = AlertRecipient.model_validate({"way": "webhook", "address": f"{desk.hook.url}/{number}"})
        wishes = AlertWishes(frozenset({AlertKind.NOTICE}))
        return HeldRecipient(f"{number:022}", ADA, to, "s", ORIGIN, f"{number:043}", wishes, 1_000)

    adding = (desk.held.add(made(number), "code", stranger=True) for number in range(12))
    kept = [one is None for one in await asyncio.gather(*adding, return_exceptions=True)]
    assert kept.count(True) == len(await desk.held.of(ADA)) == MOST_EACH


async def test_webhooks_to_a_mail_domain_use_up_none_of_its_letters(desk: Desk) -> None:
    desk.alerting._counts["site"] = TokenBuckets(RateLimit(1, DAY), desk.clock, 64)
    for path in ("/a", "/b"):
        await desk.add(path)
    assert len(desk.hook.heard) == 1
    host = AlertRecipient.model_validate({"way": "webhook", "address": "https://example.org/x"})
    desk.alerting._count(BOB, "another", host, stranger=False)
    assert (await desk.add(to={"way": "mail", "address": "ada@example.org"})).status_code == 201
    assert code_of(await desk.add(to={"way": "mail", "address": "bob@example.org"})) == "429 busy"


# ------------------------------------------------------------------------------------------------ what it would reach


@pytest.mark.parametrize(
    "address",
    [
        "https://127.0.0.1/", "https://169.254.169.254/latest/meta-data", "https://[::1]/", "http://example.org/",
        "https://localhost/", "https://10.0.0.1/", "https://example.org:22/", "file:///etc/passwd",
    ],
)  # fmt: skip
async def test_nothing_inside_is_reached_and_nothing_is_kept_of_it(desk: Desk, address: str) -> None:
    for to in ({"way": "webhook", "address": address}, {"way": "ntfy", "address": address, "topic": "mine"}):
        answer = await desk.page.post(PATH, json={"to": to, "kinds": ["notice"]})
        assert code_of(answer) in ("409 nothing-sent", "400 invalid-input")
        said = answer.text
        assert "169.254" not in said
        assert "127.0.0.1" not in said
        assert "10.0.0.1" not in said
    assert await desk.listed() == []


async def test_what_is_not_taken_is_not_kept_and_said_without_its_address(desk: Desk) -> None:
    desk.hook.status = "404 No"
    answer = await desk.add("/secret-path")
    assert code_of(answer) == "409 nothing-sent"
    assert "404" in answer.text
    assert "secret-path" not in answer.text
    assert await desk.listed() == []


@pytest.mark.parametrize(
    "body",
    [
        {}, {"to": {"way": "mail"}, "kinds": ["notice"]},
        {"to": {"way": "webhook", "address": "https://x.org"}, "kinds": []},
        {"to": {"way": "ntfy", "topic": "a"}, "kinds": ["crash-loop"]},
        {"to": {"way": "ntfy", "topic": "a"}, "kinds": ["x"]},
        {"to": {"way": "ntfy", "topic": "a"}, "kinds": ["notice"], "before": 1},
    ],
)  # fmt: skip
async def test_what_is_no_wish_is_refused(desk: Desk, body: dict[str, Any]) -> None:
    answer = await desk.page.post(PATH, json=body)
    assert answer.status_code == 400
    assert await desk.listed() == []


async def test_without_a_mail_server_no_letters_are_offered(desk: Desk) -> None:
    desk.alerting._ways = Ways(AlertReach(), None)
    assert (await desk.page.get(PATH)).json()["ways"] == ["webhook", "ntfy"]
    to = {"way": "mail", "address": "ada@example.org"}
    assert code_of(await desk.page.post(PATH, json={"to": to, "kinds": ["notice"]})) == "400 bad-request"

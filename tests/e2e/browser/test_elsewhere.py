"""The app as IPFS serves it, at an address that is not the gateway's: its reader signs in all the same, if he may."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Request, expect

from devnet.gateway import gateway
from devnet.patience import patient
from devnet.site import Site
from devnet.world import World

from .conftest import Renting
from .wallets import TestWallet

pytestmark = pytest.mark.slow

SECRET = b"nobody but the machine reads this\n"
COMMAND = "mkdir -p /tmp/here && echo made there > /tmp/here/made.txt; echo hello from afar; exec sleep 3600"


@pytest.fixture(scope="module")
def elsewhere(files: str) -> str:
    """Another host than the gateway's, not only another port: no cookie of either comes to the other."""
    return files.replace("127.0.0.1", "localhost")


@pytest.fixture(scope="module")
def open_gateway(elsewhere: str, world: World) -> Iterator[str]:
    """A gateway at which pages from there may sign in."""
    with gateway(world, "open-gateway", 0, "--sign-in-origin", elsewhere) as url:
        yield url


def test_a_page_from_elsewhere_signs_in_works_on_its_lease_and_signs_out(
    with_wallet: Page, wallet: TestWallet, elsewhere: str, open_gateway: str, site: Site
) -> None:
    page, asked = with_wallet, list[Request]()
    page.on("request", lambda request: asked.append(request))
    renting = Renting(page, f"{elsewhere}/?gateway={open_gateway}", site)

    renting.go("/data")
    renting.connect()
    page.get_by_label("Choose files").set_input_files(
        [{"name": "words.txt", "mimeType": "text/plain", "buffer": SECRET}]
    )
    expect(page.get_by_text("Stored, and its CID compared")).to_be_visible()
    assert wallet.asked.count("personal_sign") == 1
    token = token_of(asked)

    renting.fill(COMMAND, connected=True)
    lease = renting.rent()
    expect(page.get_by_label("Where the lease is")).to_contain_text("It runs and is billed by the second")
    page.get_by_role("button", name="Logs").click()
    expect(page.get_by_label("Log", exact=True)).to_contain_text("hello from afar")
    page.get_by_role("button", name="Terminal").click()
    page.get_by_label("Terminal", exact=True).get_by_text("A shell in the container").wait_for()
    page.get_by_label("Terminal input").focus()
    page.keyboard.type("echo $((6 * 7)) is the answer\n")
    expect(page.get_by_label("Terminal", exact=True)).to_contain_text("42 is the answer")
    page.get_by_role("button", name="Files").click()
    page.get_by_role("button", name="tmp/").click()
    page.get_by_role("button", name="here/").click()
    expect(page.get_by_role("button", name="Save made.txt")).to_be_visible()

    page.reload()  # the tab is still signed in
    renting.go("/gateway")
    signed_in = page.get_by_role("region", name="Who is signed in")
    expect(signed_in.get_by_title(wallet.address)).to_be_visible()
    assert who(open_gateway, elsewhere, token) == wallet.address
    signed_in.get_by_role("button", name="Sign out").click()
    expect(signed_in).to_be_hidden()
    assert who(open_gateway, elsewhere, token) is None
    renting.go(f"/leases/{lease}")
    expect(page.get_by_text("The machine does not know this tab yet.")).to_be_visible()

    assert wallet.asked.count("personal_sign") == 1
    assert page.context.cookies() == []
    for request in asked:
        assert token not in request.url
        assert "cookie" not in request.headers
        if "/api/v1/agents/" in request.url or not request.url.startswith(open_gateway):
            assert token not in request.headers.get("authorization", "")


def test_a_page_of_an_origin_that_is_not_named_gets_nothing(
    with_wallet: Page, wallet: TestWallet, files: str, elsewhere: str, open_gateway: str, site: Site
) -> None:
    """The same files, at the same server, by another name of it."""
    page = with_wallet
    renting = Renting(page, f"{files}/?gateway={open_gateway}", site)
    renting.go("/")
    expect(page.get_by_role("alert").first).to_contain_text("The gateway does not answer.")
    reads = "async (url) => { try { return (await fetch(url)).status } catch { return null } }"
    for path in ("session", "session/nonce", "machines"):
        assert page.evaluate(reads, f"{open_gateway}/api/v1/{path}") is None
    page.goto(f"{elsewhere}/?gateway={open_gateway}#/")
    assert page.evaluate(reads, f"{open_gateway}/api/v1/machines") == 200
    assert "personal_sign" not in wallet.asked


def test_what_a_gateway_has_signed_with_anothers_nonce_signs_nobody_in_there(
    with_wallet: Page, wallet: TestWallet, elsewhere: str, open_gateway: str, world: World, site: Site
) -> None:
    """The gateway that the page asks hands on the nonce of one that lets the page sign in, and all that it gets."""
    page, bodies = with_wallet, list[str]()
    with gateway(world, "honest-gateway", 0, "--sign-in-origin", elsewhere) as honest:
        page.route(
            f"{open_gateway}/api/v1/session/nonce",
            lambda route: route.fulfill(response=route.fetch(url=f"{honest}/api/v1/session/nonce")),
        )
        page.on(
            "request", lambda request: bodies.append(request.post_data or "") if begins(request) else None
        )
        renting = Renting(page, f"{elsewhere}/?gateway={open_gateway}", site)
        renting.go("/data")
        renting.connect()
        page.get_by_label("Choose files").set_input_files(
            [{"name": "words.txt", "mimeType": "text/plain", "buffer": SECRET}]
        )
        expect(page.get_by_role("alert")).to_contain_text("nonce")
        assert wallet.asked.count("personal_sign") == 1
        (body,) = bodies
        assert f"URI: {open_gateway}" in json.loads(body)["message"]
        headers = {"Origin": elsewhere, "Content-Type": "application/json"}
        request = urllib.request.Request(f"{honest}/api/v1/session", body.encode(), headers)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=patient(10))
        assert refused.value.code == 401
        assert "another address than this gateway's" in json.load(refused.value)["detail"]


def begins(request: Request) -> bool:
    """Whether it asks for a session."""
    return request.method == "POST" and request.url.endswith("/api/v1/session")


def token_of(asked: list[Request]) -> str:
    """By which the page is signed in."""
    said = {request.headers.get("authorization", "") for request in asked}
    (bearer,) = (text for text in said if text.startswith("Bearer "))
    assert re.fullmatch(r"Bearer leasehold-page-[A-Za-z0-9_-]{43}", bearer)
    return bearer.removeprefix("Bearer ")


def who(gateway_url: str, origin: str, token: str) -> str | None:
    """Whose session that is, by the gateway's word."""
    headers = {"Origin": origin, "Authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"{gateway_url}/api/v1/session", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=patient(10)) as answer:
            return str(json.load(answer)["account"])
    except urllib.error.HTTPError as error:
        if error.code == 401:
            return None
        raise

"""Somebody is told of his lease while no page is open: by a real gateway, at places that are really there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from devnet.gateway import gateway
from devnet.listeners import Listener, listening
from devnet.site import Site
from devnet.world import World

from .conftest import Renting

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with listening() as made:
        yield made


@pytest.fixture(scope="module")
def telling_url(world: World, listener: Listener) -> Iterator[str]:
    """The address of a gateway that tells by letter, too, and whose operator lets it tell on this computer."""
    mail = (
        "--mail-server",
        f"127.0.0.1:{listener.smtp}",
        "--mail-from",
        "gate@example.org",
        "--mail-tls",
        "none",
    )
    with gateway(world, "gateway-telling", 0, "--alerts-to", f"127.0.0.1:{listener.http}", *mail) as url:
        yield url


def places(page: Page) -> None:
    page.get_by_text("Tell me when something happens to them").click()


def test_an_alert_arrives_for_a_lease_that_nears_its_end(
    with_wallet: Page, telling_url: str, site: Site, listener: Listener
) -> None:
    page = with_wallet
    renting = Renting(page, telling_url, site)
    renting.fill("exec sleep 3600")
    lease = renting.rent()
    expect(page.get_by_label("Where the lease is")).to_contain_text("It runs and is billed by the second")
    renting.go("/leases")
    places(page)
    page.get_by_role("button", name="Sign in to say where").click()
    page.get_by_role("combobox", name="Tell me by").select_option("mail")
    page.get_by_role("textbox", name="Mail address").fill("ada@example.org")
    page.get_by_role("button", name="Send a code there").click()
    expect(page.get_by_text("a…@example.org")).to_be_visible()
    page.get_by_role("combobox", name="Tell me by").select_option("webhook")
    page.get_by_role("textbox", name="Its address").fill(f"http://127.0.0.1:{listener.http}/hook")
    page.get_by_role("combobox", name="“Soon” is less than").select_option("86400")
    page.get_by_role("button", name="Send a code there").click()
    (asked,) = listener.until(lambda: listener.of("webhook"))
    hook = page.get_by_role("listitem").filter(has_text="Webhook")
    expect(hook).to_contain_text("Unconfirmed: only a code was sent")
    hook.get_by_role("textbox", name="The code that was sent there").fill(asked["code"])
    hook.get_by_role("button", name="Bring the code").click()
    expect(hook).to_contain_text("Confirmed")
    listener.until(lambda: "end-near" in listener.kinds())
    told = [alert for alert in listener.of("webhook") if alert["kind"] == "end-near"]
    assert [alert["lease"] for alert in told] == [lease]
    assert re.fullmatch(rf"Lease {lease} ends .* UTC\.", told[0]["said"])
    expect(hook).to_contain_text("Last told")
    letters = listener.of("mail")  # was never confirmed
    assert len(letters) == 1
    assert "bring there this code" in letters[0].replace("\n", " ")

    page.goto(told[0]["stop"])
    stop = page.get_by_role("button", name="Send nothing more there")
    expect(stop).to_be_visible()
    renting.go("/leases")
    places(page)
    expect(hook).to_contain_text("Confirmed")  # a link that is opened ends nothing
    page.goto(told[0]["stop"])
    stop.click()
    expect(page.get_by_text("Nothing more is sent there")).to_be_visible()
    renting.go("/leases")
    places(page)
    expect(page.get_by_text("a…@example.org")).to_be_visible()
    expect(hook).to_be_hidden()


def test_nothing_inside_is_reached(
    with_wallet: Page, telling_url: str, site: Site, listener: Listener
) -> None:
    """By somebody who has signed in and never had a lease; the gateway's own port is such a place."""
    page = with_wallet
    renting = Renting(page, telling_url, site)
    renting.go("/leases")
    renting.connect()
    places(page)
    page.get_by_role("button", name="Sign in to say where").click()
    before = len(listener.of("webhook"))
    for address in (
        "https://127.0.0.1/hook",
        f"https://localhost:{listener.http}/hook",
        f"{telling_url}/readyz",
    ):
        page.get_by_role("textbox", name="Its address").fill(address)
        page.get_by_role("button", name="Send a code there").click()
        refused = page.get_by_text(
            re.compile("Nothing could be sent there|Alerts go to web servers by HTTPS alone")
        )
        expect(refused.first).to_be_visible()
    assert len(listener.of("webhook")) == before
    assert page.get_by_role("listitem").filter(has_text="Webhook").count() == 0

"""What goes wrong in a renter's browser, and what the pages say: refusals, networks, silence, a hostile gateway."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from devnet.account import Account
from devnet.site import Site
from leasehold.chain import LeaseOpened

from .conftest import Renting
from .wallets import TestWallet

pytestmark = pytest.mark.slow


def _opened(site: Site) -> list[LeaseOpened]:
    return site.here(LeaseOpened)


def test_without_a_wallet_the_market_is_read_and_renting_says_what_lacks(
    page: Page, gateway_url: str, site: Site
) -> None:
    page.goto(f"{gateway_url}/#/")
    page.locator(f'a[href="#/machines/{site.machine}"]').first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(str(site.machine))
    page.goto(f"{gateway_url}/#/rent?machine={site.machine}")
    expect(page.get_by_role("heading", name="This browser has no wallet.")).to_be_visible()


def test_a_wallet_on_another_network_is_switched_by_one_button(renting: Renting, wallet: TestWallet) -> None:
    wallet.chain_id = 1
    renting.go(f"/rent?machine={renting.site.machine}")
    renting.connect()
    expect(renting.page.get_by_role("alert")).to_contain_text("Your wallet is on another network.")
    renting.page.get_by_role("button", name="Switch to network 31337").click()
    expect(renting.page.get_by_role("heading", name="What runs")).to_be_visible()
    assert wallet.signed == []


@pytest.mark.parametrize("refused", ["eth_signTypedData_v4", "eth_sendTransaction"])
def test_who_says_no_in_the_wallet_has_opened_nothing(
    renting: Renting, wallet: TestWallet, renter: Account, refused: str
) -> None:
    before = renter.wealth()
    wallet.refuse.add(refused)
    renting.fill("sleep 3600")
    renting.page.get_by_role("button", name=re.compile("^Rent 1 .*unit for 1h")).click()
    alert = renting.page.get_by_role("alert")
    expect(alert).to_contain_text("You said no")
    expect(alert).to_contain_text("nothing was sent")
    assert _opened(renting.site) == []
    assert renter.wealth() == before
    wallet.refuse.clear()
    renting.rent()
    assert len(_opened(renting.site)) == 1


def test_no_lease_is_opened_while_the_agent_is_down(renting: Renting, wallet: TestWallet) -> None:
    renting.fill("sleep 3600")
    renting.site.host.kill()
    renting.page.get_by_role("button", name=re.compile("^Rent 1 .*unit for 1h")).click()
    expect(renting.page.get_by_role("alert")).to_contain_text("agent")
    assert "eth_sendTransaction" not in wallet.asked
    assert _opened(renting.site) == []


def test_a_gateway_that_swaps_the_sealing_key_gets_nothing_sealed_or_signed(
    renting: Renting, wallet: TestWallet
) -> None:
    def swapped(route: Route) -> None:
        answer = route.fetch()
        recipient = renting.site.contact.age_recipient.encode()
        route.fulfill(response=answer, body=answer.body().replace(recipient, b"age1" + b"q" * 58))

    renting.page.route("**/api/v1/documents/*", swapped)
    renting.go(f"/rent?machine={renting.site.machine}")
    renting.connect()
    expect(renting.page.get_by_role("alert")).to_contain_text(
        "Another contact document came than the chain names"
    )
    assert wallet.signed == []


def test_a_gateway_that_swaps_the_pool_is_refused_by_whoever_knows_it(
    renting: Renting, wallet: TestWallet
) -> None:
    renting.go("/leases")
    renting.connect()
    expect(renting.page.get_by_text("This account has no lease yet.")).to_be_visible()

    def swapped(route: Route) -> None:
        answer = route.fetch()
        body = answer.text().replace(renting.site.world.facts["controller"], renting.site.operator.address)
        route.fulfill(response=answer, body=body)

    renting.page.route("**/api/v1/pools", swapped)
    renting.page.reload()
    expect(renting.page.get_by_role("alert")).to_contain_text("there is no pool of this kind")
    assert wallet.signed == []


def test_a_silent_node_is_told_of(renting: Renting, wallet: TestWallet) -> None:
    wallet.silent = True
    renting.go(f"/rent?machine={renting.site.machine}")
    renting.connect()
    expect(renting.page.get_by_role("alert")).to_be_visible()
    assert wallet.signed == []

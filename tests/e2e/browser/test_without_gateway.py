"""The app as IPFS serves it: a gateway of the reader's choice, and none at all once that is gone."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from devnet.account import Account
from devnet.gateway import gateway
from devnet.site import Site
from leasehold.chain import LeaseClosed

from .conftest import Renting
from .wallets import TestWallet

pytestmark = pytest.mark.slow


def test_own_leases_are_listed_and_closed_once_the_gateway_is_gone(
    files: str, with_wallet: Page, site: Site, wallet: TestWallet, renter: Account
) -> None:
    page = with_wallet
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(gateway(site.world, "mortal-gateway", 0, "--origin", files))
        renting = Renting(page, f"{files}/?gateway={url}", site)
        renting.fill("exec sleep 3600")
        lease = renting.rent()
        expect(page.get_by_label("Where the lease is")).to_contain_text("It runs and is billed by the second")

    page.goto(f"{files}/?gateway={url}#/leases")
    page.reload()
    expect(page.get_by_role("alert").first).to_contain_text("The gateway does not answer.")
    page.goto(f"{files}/?gateway={url}#/gateway")
    page.get_by_role("button", name="Go on without a gateway").click()
    expect(page.get_by_text("none: the chain is read by your wallet's node")).to_be_visible()
    assert "gateway=" not in page.url

    page.goto(f"{files}/#/leases")
    page.get_by_role("link", name=re.compile(rf"^Lease {re.escape(lease)}")).click()
    expect(page.get_by_label("Where the lease is")).to_contain_text("It runs and is billed by the second")
    expect(page.get_by_text("No gateway is asked")).to_be_visible()
    page.get_by_role("button", name="Money").click()
    page.get_by_role("button", name=re.compile("^Close and take back ")).click()
    expect(page.get_by_text(re.compile("It is settled: .* came back into your ledger"))).to_be_visible()
    (closed,) = site.events(LeaseClosed, lease)
    assert isinstance(closed, LeaseClosed)
    assert renter.ledger() == closed.refunded
    assert wallet.asked.count("eth_sendTransaction") == 2


def test_a_page_of_one_gateway_talks_to_no_other(context_page: Page, gateway_url: str, files: str) -> None:
    """What a gateway serves is held to that gateway's policy, whatever its address names."""
    heard: list[str] = []
    context_page.on("console", lambda message: heard.append(message.text))
    context_page.goto(f"{gateway_url}/?gateway={files}#/")
    expect(context_page.get_by_role("alert").first).to_contain_text("The gateway does not answer.")
    assert any("Content Security Policy" in text for text in heard)


@pytest.fixture
def context_page(with_wallet: Page) -> Iterator[Page]:
    """A page that may break a rule: that it is stopped is what is asked."""
    made = with_wallet.context.new_page()
    yield made
    made.close()

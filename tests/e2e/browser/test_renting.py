"""A rental from find to refund, by somebody who never opens a terminal: all of it in a browser, all of it real."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from devnet.account import Account
from leasehold.chain import LeaseClosed, LeaseExtended, LeaseOpened

from .conftest import Renting
from .wallets import TestWallet

pytestmark = pytest.mark.slow

COMMAND = "echo hello from the lease; exec sleep 3600"


def test_find_rent_use_extend_and_close(
    renting: Renting, wallet: TestWallet, renter: Account, picture: Callable[[str], None]
) -> None:
    page, site = renting.page, renting.site

    renting.go("/")
    page.locator(f'a[href="#/machines/{site.machine}"]').first.click()
    page.wait_for_url(re.compile(rf"#/machines/{site.machine}"))

    renting.fill(COMMAND)
    panel = page.get_by_role("region", name=re.compile("^Rent 1 .*unit of machine"))
    expect(panel).to_contain_text("The host's owner can read what runs on the host")
    expect(panel).to_contain_text("2.4 TUSD")
    expect(panel).to_contain_text("one transaction, which opens the lease")
    lease = renting.rent()
    assert wallet.asked.count("eth_sendTransaction") == 1
    assert [message["primaryType"] for message in wallet.signed] == ["Session", "Permit"]
    (opened,) = site.events(LeaseOpened, lease)
    assert isinstance(opened, LeaseOpened)
    assert (opened.tenant, opened.deposit) == (renter.address, 24 * 10**17)

    expect(page.get_by_label("Where the lease is")).to_contain_text("It runs and is billed by the second")
    picture("lease")
    page.get_by_role("button", name="Logs").click()
    expect(page.get_by_label("Log", exact=True)).to_contain_text("hello from the lease")
    picture("logs")
    page.get_by_role("button", name="Terminal").click()
    page.get_by_label("Terminal", exact=True).get_by_text("A shell in the container").wait_for()
    page.get_by_label("Terminal input").focus()
    page.keyboard.type("echo $((6 * 7)) is the answer\n")
    expect(page.get_by_label("Terminal", exact=True)).to_contain_text("42 is the answer")
    screen = page.locator(".xterm-scrollable-element")
    before = screen.evaluate("(element) => getComputedStyle(element).backgroundColor")
    page.emulate_media(color_scheme="dark")  # an open terminal changes with the page
    expect(screen).not_to_have_css("background-color", before)
    page.emulate_media(color_scheme="light")
    expect(screen).to_have_css("background-color", before)
    picture("terminal")

    page.get_by_role("button", name="Money").click()
    page.get_by_role("button", name=re.compile("^Extend by 1h for ")).click()
    expect(page.get_by_text("Mined: a reorganisation could still undo it").first).to_be_visible()
    (extended,) = site.events(LeaseExtended, lease)
    assert isinstance(extended, LeaseExtended)
    assert extended.deposit == 2 * opened.deposit

    page.get_by_role("button", name=re.compile("^Close and take back ")).click()
    expect(page.get_by_text(re.compile("It is settled: .* came back into your ledger"))).to_be_visible()
    (closed,) = site.events(LeaseClosed, lease)
    assert isinstance(closed, LeaseClosed)
    assert renter.ledger() == closed.refunded
    assert closed.paid + closed.fee + closed.refunded == extended.deposit
    picture("closed")

"""A lease that is kept out of a sum put aside: in a browser, by a gateway with a real key for gas."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from devnet.account import TOKEN, Account
from devnet.gateway import gateway
from devnet.site import Site
from devnet.world import World

from .conftest import Renting
from .wallets import TestWallet

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def keeping_url(world: World) -> Iterator[str]:
    """The address of a gateway that extends leases, at a few thousandths of a token each."""
    with gateway(world, "gateway-keeping", coin_price="10") as url:
        yield url


def test_a_sum_is_put_aside_and_taken_back(
    with_wallet: Page, keeping_url: str, site: Site, wallet: TestWallet, renter: Account
) -> None:
    page = with_wallet
    renting = Renting(page, keeping_url, site)
    renting.fill("exec sleep 3600")
    lease = renting.rent()
    expect(page.get_by_label("Where the lease is")).to_contain_text("It runs and is billed by the second")
    page.get_by_role("button", name="Money").click()
    page.get_by_text("Keep it going, out of a sum put aside").click()
    page.get_by_role("combobox", name="Up to so many times").select_option("2")
    before = renter.wealth()
    page.get_by_role("button", name=re.compile(r"^Put [0-9.]+ TUSD aside for this lease$")).click()
    back = page.get_by_role("button", name=re.compile(r"^Take [0-9.]+ TUSD back$"))
    expect(back).to_be_visible()
    expect(page.get_by_text(re.compile("2 more times at most"))).to_be_visible()
    with urllib.request.urlopen(f"{keeping_url}/api/v1/leases/{lease}/purse") as answer:
        held = json.load(answer)
    assert (held["tenant"], held["made"], held["count"]) == (renter.address, 0, 2)
    assert int(held["holds"]) == 2 * (int(held["most"]) + int(held["fee"])) > 0
    assert before - renter.wealth() == int(held["holds"])
    back.click()
    expect(back).to_be_hidden()
    assert renter.wealth() == before
    assert "Execute" in [message["primaryType"] for message in wallet.signed]
    assert int(held["holds"]) < 10 * TOKEN

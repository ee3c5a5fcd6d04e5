"""Somebody with tokens in the ledger and not a wei: in a browser and at the prompt, by a gateway that sends."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from devnet.account import TOKEN, Account
from devnet.gateway import gateway
from devnet.site import Site
from devnet.world import World
from leasehold.chain import LeaseClosed, LeaseOpened

from .conftest import Renting
from .wallets import TestWallet

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sending_url(world: World) -> Iterator[str]:
    """The address of a gateway that sends for others."""
    with gateway(world, "gateway-gasless", coin_price="2000") as url:
        yield url


@pytest.fixture(scope="module")
def friend(world: World) -> Account:
    """Somebody who pays into others' ledgers."""
    return Account(world, tokens=1_000)


def coins(world: World, address: str) -> int:
    return int(world.anvil.request("eth_getBalance", address, "latest"), 16)


def agreed(page: Page) -> int:
    """Says yes to the fee that is shown; token units."""
    pay = page.get_by_role("button", name=re.compile(r"^Pay the network fee of [0-9.]+ TUSD and sign$"))
    said = re.search(r"fee of ([0-9]+)(?:\.([0-9]+))? TUSD", pay.inner_text())
    assert said is not None
    pay.click()
    return int(said[1]) * TOKEN + int((said[2] or "").ljust(18, "0"))


def test_rent_and_close_without_a_coin(
    with_wallet: Page, sending_url: str, site: Site, wallet: TestWallet, renter: Account, friend: Account
) -> None:
    world, page = site.world, with_wallet
    friend.deposit(50, renter.address)
    world.anvil.request("anvil_setBalance", renter.address, "0x0")

    renting = Renting(page, sending_url, site)
    renting.fill("exec sleep 3600")
    page.get_by_role("button", name=re.compile("^Rent 1 .*unit for 1h")).click()
    expect(page.get_by_text("Your account has no coin for the network fee.")).to_be_visible()
    assert [message["primaryType"] for message in wallet.signed] == ["Session"]
    fee = agreed(page)
    page.wait_for_url(re.compile(r"#/leases/"))
    lease = page.url.rsplit("/", 1)[1].split("?")[0]
    (opened,) = site.events(LeaseOpened, lease)
    assert isinstance(opened, LeaseOpened)
    assert opened.tenant == renter.address
    assert renter.ledger() == 50 * TOKEN - fee - opened.deposit

    expect(page.get_by_label("Where the lease is")).to_contain_text("It runs and is billed by the second")
    page.get_by_role("button", name="Money").click()
    page.get_by_role("button", name=re.compile("^Close and take back ")).click()
    fee += agreed(page)
    expect(page.get_by_text(re.compile("It is settled: .* came back into your ledger"))).to_be_visible()
    (closed,) = site.events(LeaseClosed, lease)
    assert isinstance(closed, LeaseClosed)
    assert renter.ledger() == 50 * TOKEN - fee - opened.deposit + closed.refunded
    assert [message["primaryType"] for message in wallet.signed] == ["Session", "Execute", "Execute"]
    assert "eth_sendTransaction" not in wallet.asked
    assert coins(world, renter.address) == 0


def test_at_the_prompt(world: World, sending_url: str, friend: Account) -> None:
    party = world.party("gasless-renter")
    address = party.wallet("me")
    friend.deposit(20, address)
    gasless = ("--gasless", sending_url, "--most-fee", "5")
    answer = party(*gasless, "wallet", "withdraw", "3", "--yes")
    assert answer["arrived"] == "3"
    assert 12 * TOKEN < friend.ledger(address) < 17 * TOKEN
    refused = party.run(
        "--gasless", sending_url, "--most-fee", "0.000001", "wallet", "withdraw", "1", "--yes"
    )
    assert "--most-fee" in refused.stderr
    refused = party.run(*gasless, "wallet", "withdraw", "--yes")  # all of it: nothing is left for the fee
    assert refused.returncode != 0
    assert coins(world, address) == 0

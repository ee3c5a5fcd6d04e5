"""A provider in a browser: terms, stake, claims and the way out, each as the page showed it and as the chain has it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from eth_account import Account
from playwright.sync_api import Page, expect

from devnet.gateway import gateway
from devnet.other_chain import another_chain
from devnet.site import Site
from devnet.tenant import Tenant
from devnet.world import PASSWORD, World
from leasehold.chain import LeaseClaimed, MachineRetired, StakeAdded, TermsSet

from .wallets import TestWallet

pytestmark = pytest.mark.slow
TOKEN = 10**18
HOURS = 3


@pytest.fixture(scope="module")
def world(world: World) -> Iterator[World]:
    """A chain whose time may be moved on."""
    with another_chain(world) as made:
        yield made


@pytest.fixture(scope="module")
def gateway_url(world: World) -> Iterator[str]:
    with gateway(world, "gateway-of-a-provider") as url:
        yield url


@pytest.fixture
def owner(page: Page, site: Site) -> TestWallet:
    """The provider's wallet, in the page."""
    (file,) = (site.provider.home / "keys").glob("*.json")
    key: bytes = Account.decrypt(file.read_text(), PASSWORD)
    wallet = TestWallet(site.world.anvil, f"0x{bytes(key).hex()}")
    wallet.install(page)
    return wallet


def shown(page: Page, url: str, path: str) -> None:
    """A page that asks for a wallet, with the wallet connected."""
    page.goto(f"{url}/#{path}")
    page.get_by_role("button", name="Connect Test wallet").click()


def test_terms_and_stake_are_what_the_page_showed(
    page: Page, owner: TestWallet, gateway_url: str, site: Site
) -> None:
    shown(page, gateway_url, f"/provide/{site.machine}")
    page.get_by_label("Price of a GPU-hour (TUSD)", exact=True).fill("3.1")
    page.get_by_label("Spot price of a GPU-hour (TUSD)").fill("1.25")
    panel = page.get_by_role("region", name="What it asks for")
    expect(panel).to_contain_text("price 3.1 TUSD per GPU-hour instead of 2.4 TUSD per GPU-hour")
    panel.get_by_role("button", name="Set these terms").click()
    expect(panel).to_contain_text("Mined: a reorganisation could still undo it")
    newest = site.here(TermsSet)[-1]
    assert (newest.terms.price, newest.terms.spot_price) == (31 * TOKEN // 10, 125 * TOKEN // 100)

    page.get_by_label("Add (TUSD)").fill("7.5")
    page.get_by_role("button", name="Add 7.5 TUSD to the stake").click()
    expect(page.get_by_role("region", name="Its stake")).to_contain_text("Mined")
    (added,) = site.here(StakeAdded)
    assert (added.from_, added.amount) == (owner.address, 75 * TOKEN // 10)


def test_who_did_not_stake_the_machine_may_not_manage_it(
    with_wallet: Page, wallet: TestWallet, gateway_url: str, site: Site
) -> None:
    shown(with_wallet, gateway_url, f"/provide/{site.machine}")
    expect(with_wallet.get_by_role("alert")).to_contain_text("is not this account's")
    assert "eth_sendTransaction" not in wallet.asked


def test_what_a_lease_has_brought_is_claimed(
    page: Page, owner: TestWallet, gateway_url: str, site: Site
) -> None:
    tenant = Tenant(site)
    lease = tenant.open(tenant.sealed(tenant.dataset("an answer")), duration=HOURS * 3_600)
    site.until(lambda: tenant.lease(int(lease) << 16).state.word == "active")
    site.world.anvil.advance((HOURS - 1) * 3_600)
    shown(page, gateway_url, "/leases")
    page.goto(f"{gateway_url}/#/providers/{owner.address}")
    panel = page.get_by_role("region", name="What can be claimed now")
    before = site.owner.ledger()
    panel.get_by_role("button", name=re.compile("^Claim about ")).click()
    expect(panel).to_contain_text("Mined: a reorganisation could still undo it")
    (claimed,) = site.events(LeaseClaimed, lease)
    assert isinstance(claimed, LeaseClaimed)
    assert site.owner.ledger() == before + claimed.paid > before


def test_a_machine_leaves_for_good_by_two_clicks_and_its_delay_is_told(
    page: Page, owner: TestWallet, gateway_url: str, site: Site
) -> None:
    shown(page, gateway_url, f"/provide/{site.machine}")
    retire = page.get_by_role("button", name=f"Retire machine {site.machine}")
    expect(retire).to_be_disabled()
    page.get_by_label("It leaves for good").check()
    retire.click()
    expect(page.get_by_text(re.compile("The stake of machine .* can leave in"))).to_be_visible()
    assert len(site.here(MachineRetired)) == 1
    expect(page.get_by_role("button", name=re.compile("^Take .* back$"))).to_be_disabled()


def test_the_pool_s_code_is_compared_by_the_wallet_s_node(
    page: Page, owner: TestWallet, gateway_url: str
) -> None:
    page.goto(f"{gateway_url}/#/pool")
    found = page.get_by_role("region", name="The code as checked here")
    expect(found).to_contain_text("By the gateway's word alone")
    shown(page, gateway_url, "/leases")
    page.goto(f"{gateway_url}/#/pool")
    expect(found).to_contain_text("The pool runs on the contracts that this app was built with.")
    expect(found).to_contain_text("15 contracts were looked at")

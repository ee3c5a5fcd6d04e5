"""The chain changes its past while a page is open: what the page says of the lease, of the money, of what was sent."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from devnet.anvil import Anvil
from devnet.gateway import gateway
from devnet.other_chain import another_chain, transactions
from devnet.world import World
from leasehold.chain import LeaseExtended, parse_lease

from .conftest import Renting

pytestmark = pytest.mark.slow

COMMAND = "exec sleep 3600"
RUNS = "It runs and is billed by the second"


@pytest.fixture(scope="module")
def world(world: World) -> Iterator[World]:
    """A chain whose past may be changed: everybody else's stays as it was."""
    with another_chain(world) as made:
        yield made


@pytest.fixture(scope="module")
def gateway_url(world: World) -> Iterator[str]:
    with gateway(world, "gateway-of-another-chain") as url:
        yield url


@pytest.fixture
def anvil(world: World) -> Anvil:
    return world.anvil


def rented(renting: Renting) -> tuple[str, int, Locator]:
    """A lease that runs, the block before it, and where the page says how it stands."""
    renting.fill(COMMAND)
    before = renting.site.world.anvil.block_number
    lease = renting.rent()
    where = renting.page.get_by_label("Where the lease is")
    expect(where).to_contain_text(RUNS)
    return lease, before, where


def test_a_lease_that_is_taken_back_is_told_of_and_comes_back(renting: Renting, anvil: Anvil) -> None:
    page = renting.page
    lease, before, where = rented(renting)
    opening, _ = transactions(anvil, before)[0]

    anvil.reorg(anvil.block_number - before)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(f"The chain took your lease {lease} back.")
    expect(alert).to_contain_text("The node no longer knows the transaction that opened it.")
    expect(where).to_have_count(0)
    page.get_by_role("link", name="See your leases").click()
    expect(page.get_by_text("This account has no lease yet.")).to_be_visible()
    page.go_back()
    expect(alert).to_contain_text(f"The chain took your lease {lease} back.")

    anvil.request("eth_sendRawTransaction", opening)
    expect(where).to_contain_text(RUNS)
    expect(alert).to_have_count(0)


def test_nothing_is_said_to_run_once_its_start_is_undone(renting: Renting, anvil: Anvil) -> None:
    """The agent is down, so that nobody starts it anew before the page has looked."""
    page = renting.page
    _, before, where = rented(renting)
    opened = transactions(anvil, before)[:1]
    renting.site.host.kill()
    anvil.reorg(anvil.block_number - before, opened)
    expect(where).to_contain_text("to start it; else all of it comes back")
    expect(where).not_to_contain_text(RUNS)
    expect(where).not_to_contain_text("It is ready")
    expect(page.get_by_text("The chain was reorganised at block")).to_be_visible()
    renting.site.host.start()
    expect(where).to_contain_text(RUNS)


def test_a_lease_that_is_another_account_s_after_it_is_not_shown_as_one_s_own(
    renting: Renting, anvil: Anvil
) -> None:
    """The same number is somebody else's: nothing of it can be paid for, closed or opened from here."""
    page, site = renting.page, renting.site
    lease, before, _ = rented(renting)
    anvil.reorg(anvil.block_number - before)
    other = site.rent("--approve", command=["sleep", "3600"])
    assert other == lease
    expect(page.get_by_role("alert")).to_contain_text(f"The chain took your lease {lease} back.")
    expect(page.get_by_text("This lease is another account's")).to_be_visible()
    page.get_by_role("button", name="Money").click()
    expect(page.get_by_role("button", name=re.compile("^(Extend|Close)"))).to_have_count(0)


def test_a_transaction_is_told_of_from_pending_to_undone_to_mined_again(
    renting: Renting, anvil: Anvil
) -> None:
    page, site = renting.page, renting.site
    lease, _, _ = rented(renting)
    page.get_by_role("button", name="Money").click()
    anvil.request("evm_setAutomine", False)
    try:
        page.get_by_role("button", name=re.compile("^Extend by 1h for ")).click()
        expect(page.get_by_text("Pending: sent, in no block yet")).to_be_visible()
        before = anvil.block_number
        anvil.mine()
    finally:
        anvil.request("evm_setAutomine", True)
    mined = page.get_by_text("Mined: a reorganisation could still undo it")
    expect(mined).to_be_visible()
    assert len(site.events(LeaseExtended, lease)) == 1

    sent = transactions(anvil, before)
    anvil.reorg(anvil.block_number - before)
    expect(page.get_by_text("Undone by a reorganisation")).to_be_visible()
    expect(mined).to_have_count(0)
    assert site.events(LeaseExtended, lease) == []
    for raw, _ in sent:
        anvil.request("eth_sendRawTransaction", raw)
    expect(mined).to_be_visible()
    (extended,) = site.events(LeaseExtended, lease)
    assert isinstance(extended, LeaseExtended)
    assert extended.lease == parse_lease(lease)

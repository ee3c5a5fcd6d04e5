"""Every page on a market that has been used for a month: wide and narrow, light and dark, it fits its window, and axe
finds nothing serious; with `LEASEHOLD_PICTURES` set, the documents' pictures are taken of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from devnet import images
from devnet.crowd import Crowd
from devnet.gateway import documents_have_come, gateway
from devnet.nursery import Nursery
from devnet.site import Site, make_site
from devnet.used_market import aged_chain, fill
from devnet.world import World

from .conftest import Renting
from .looks import LOOKS, PHONE, flaws, looks, photograph, settled, spilled
from .wallets import TestWallet

pytestmark = pytest.mark.slow

COUNT_MOVES = """
window.moved = 0;
new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.moved += entry.value; })
  .observe({ type: "layout-shift", buffered: true });
"""
MOST_MOVED = 0.01
"""Ten times less than what counts as good, and ten times what the header's sign of the chain takes."""
TRIED = LOOKS[:3]
"""Looks in which axe is asked: both schemes, and a phone's cards in one of them."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Iterator[World]:
    """One whose market has been used for a month."""
    folder = tmp_path_factory.mktemp("used") / "world"
    with World(folder, nursery=nursery, chain=aged_chain()) as made:
        images.load(made.engine.url, images.tiny())
        fill(made)
        yield made


@pytest.fixture(scope="module")
def site(world: World) -> Iterator[Site]:
    """The one machine that has an agent; it is the cheapest."""
    with make_site(world, "--price", "0.06") as made:
        yield made


@pytest.fixture(scope="module")
def gateway_url(world: World, site: Site) -> Iterator[str]:
    with gateway(world) as url:
        documents_have_come(url)
        yield url


@pytest.fixture(scope="module")
def crowd(world: World) -> Crowd:
    return Crowd(world)


@pytest.fixture
def wallet(world: World, crowd: Crowd) -> TestWallet:
    """A tenant's who has rented for a month."""
    return TestWallet(world.anvil, crowd.key("tenant", 0))


@pytest.fixture
def machines(page: Page, gateway_url: str) -> list[dict[str, Any]]:
    """All machines, as the gateway has them."""
    answer = page.request.get(f"{gateway_url}/api/v1/machines?limit=200&sort=-score").json()
    items: list[dict[str, Any]] = answer["items"]
    return items


@pytest.fixture
def looked_at(page: Page, world: World) -> Callable[[str], None]:
    """Looks at the page in all looks, on a chain that goes on; raises for what spills over, or what axe finds."""

    def look_at(name: str) -> None:
        world.anvil.mine()
        found: list[str] = []
        for look in looks(page):
            photograph(page, name, look)
            seen = [*spilled(page), *(flaws(page) if look in TRIED else ())]
            found += [f"{name}, {look.ending}: {text}" for text in seen]
        assert found == []

    return look_at


Looked = Callable[[str], None]


def test_the_market(page: Page, gateway_url: str, looked_at: Looked, site: Site) -> None:
    page.goto(f"{gateway_url}/#/")
    first = page.locator("tbody tr").first
    expect(
        first.locator(f'a[href="#/machines/{site.machine}"]')
    ).to_be_visible()  # what can be rented comes first
    looked_at("market")
    page.goto(f"{gateway_url}/#/?view=cards&q=mem%3E%3D80")
    settled(page)
    looked_at("market-cards")


@pytest.mark.parametrize("path", ["", "leases", "pool", "validators", "provide"])
def test_what_is_shown_stays_where_it_is_when_lists_come(page: Page, gateway_url: str, path: str) -> None:
    """On a phone, as Chromium counts it: of the window's height, how much of it moved how far."""
    page.set_viewport_size(PHONE)
    page.add_init_script(COUNT_MOVES)
    page.goto(f"{gateway_url}/#/{path}")
    settled(page)
    assert page.evaluate("window.moved") < MOST_MOVED


@pytest.mark.parametrize("answers", [True, False], ids=["an agent", "nobody"])
def test_a_machine_stays_where_it_is_while_its_agent_is_asked(
    page: Page, gateway_url: str, site: Site, machines: list[dict[str, Any]], answers: bool
) -> None:
    others = (machine["id"] for machine in machines if machine["id"] != site.machine)
    page.set_viewport_size(PHONE)
    page.add_init_script(COUNT_MOVES)
    page.goto(f"{gateway_url}/#/machines/{site.machine if answers else next(others)}")
    words = "Agent answers" if answers else "Agent does not answer"
    expect(page.get_by_text(words, exact=True)).to_be_visible()
    settled(page)
    assert page.evaluate("window.moved") < MOST_MOVED


def test_a_phone_has_every_machine_in_its_order(
    page: Page, gateway_url: str, machines: list[dict[str, Any]]
) -> None:
    page.set_viewport_size(PHONE)
    page.goto(f"{gateway_url}/#/?sort=-score")
    cards = page.locator(".machine-cards > .card")
    expect(cards).to_have_count(len(machines[:50]))
    links = cards.locator(".machine-name > a").evaluate_all("all => all.map(link => link.hash)")
    assert links == [f"#/machines/{machine['id']}" for machine in machines[:50]]


def test_prices_of_a_class(page: Page, gateway_url: str, looked_at: Looked) -> None:
    page.goto(f"{gateway_url}/#/?q=gpu%3AH100")
    page.get_by_role("button", name="Prices").click()
    page.get_by_role("combobox", name="Class").select_option("h100-80g")
    looked_at("prices")


def test_a_search_that_finds_nothing(page: Page, gateway_url: str, looked_at: Looked) -> None:
    page.goto(f"{gateway_url}/#/?q=gpu%3AH100%20price%3C0.1")
    expect(page.get_by_role("button", name="Show all machines")).to_be_visible()
    looked_at("market-empty")


def test_machines_beside_each_other(
    page: Page, gateway_url: str, looked_at: Looked, machines: list[dict[str, Any]]
) -> None:
    chosen = [machine["id"] for machine in machines if machine["mem"] and machine["mem"] > 70 * 2**30][:4]
    page.goto(f"{gateway_url}/#/compare?machines={','.join(map(str, chosen))}")
    looked_at("compare")
    page.set_viewport_size(PHONE)
    heads = page.get_by_role("columnheader")
    expect(heads).to_have_count(4)
    page.get_by_role("rowheader", name="Images at hand").scroll_into_view_if_needed()
    for head in heads.all():
        expect(head).to_be_in_viewport(ratio=1)  # of the last row, too, one sees whose each value is


def test_a_machine_whose_agent_does_not_answer(
    page: Page, gateway_url: str, looked_at: Looked, machines: list[dict[str, Any]]
) -> None:
    page.goto(f"{gateway_url}/#/machines/{most_told(machines)}")
    expect(page.get_by_text("Its agent does not answer.")).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("^Rent for"))).to_have_count(0)
    looked_at("machine")


def test_a_machine_that_is_down(page: Page, gateway_url: str, looked_at: Looked) -> None:
    page.goto(f"{gateway_url}/#/machines/21")
    expect(page.get_by_text("Down", exact=True).first).to_be_visible()
    looked_at("machine-down")


def test_the_machine_that_can_be_rented(page: Page, gateway_url: str, looked_at: Looked, site: Site) -> None:
    page.goto(f"{gateway_url}/#/machines/{site.machine}")
    expect(page.get_by_text("Agent answers")).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("^Rent for"))).to_be_visible()
    looked_at("machine-live")


def test_renting_and_the_leases_of_an_account(renting: Renting, looked_at: Looked) -> None:
    page = renting.page
    renting.fill("echo hello from the lease; exec sleep 3600")
    looked_at("rent")
    lease = renting.rent()
    expect(page.get_by_label("Where the lease is")).to_contain_text("It runs and is billed by the second")
    looked_at("lease")
    page.get_by_role("button", name="Money").click()
    looked_at("lease-money")
    renting.go("/leases")
    expect(page.get_by_role("link", name=re.compile("^Lease")).first).to_be_visible()
    states = page.locator(".lease-row .state")
    expect(states.nth(1)).to_have_text("Running")  # opened weeks ago: what still costs comes first
    expect(states.nth(2)).to_have_text("Ended")
    expect(page.get_by_text("Tell me when something happens to them")).to_be_in_viewport()
    looked_at("leases")
    # The machine is whole again for whoever comes next.
    renting.go(f"/leases/{lease}")
    page.get_by_role("button", name="Money").click()
    page.get_by_role("button", name=re.compile("^Close and take back ")).click()
    expect(page.get_by_text(re.compile("It is settled: .* came back into your ledger"))).to_be_visible()


SWAP_POOL = """
localStorage.getItem("leasehold.pool") ??
  localStorage.setItem("leasehold.pool", `31337:0x${"15d34AAf54267DB7D7c367839AAf71A00a2C6A65"}:0x${"1".repeat(40)}`);
"""


def test_a_gateway_whose_pool_is_another_than_before(
    page: Page, wallet: TestWallet, gateway_url: str, looked_at: Looked
) -> None:
    """It is refused on every page that reads the chain, and changed to from there once its address was compared."""
    page.add_init_script(SWAP_POOL)
    wallet.install(page)
    page.goto(f"{gateway_url}/#/leases")
    page.get_by_role("button", name="Connect Test wallet").click()
    refusal = page.get_by_role("alert").filter(
        has_text="another pool than the one that this browser used before"
    )
    expect(refusal).to_be_visible()
    looked_at("swapped")
    refusal.get_by_role("link", name="Choose another gateway").click()
    expect(refusal).to_be_visible()
    change = refusal.get_by_role("button", name=re.compile("^Change to pool 0x"))
    expect(change).to_be_disabled()
    refusal.get_by_label("I have compared the address").check()
    change.click()
    expect(refusal).to_have_count(0)
    page.goto(f"{gateway_url}/#/leases")
    expect(page.locator(".lease-row").first).to_be_visible()


def test_pages_without_a_wallet(page: Page, gateway_url: str, looked_at: Looked, site: Site) -> None:
    for name, path in (("no-wallet", f"/rent?machine={site.machine}"), ("no-leases", "/leases")):
        page.goto(f"{gateway_url}/#{path}")
        looked_at(name)


def test_a_provider(page: Page, gateway_url: str, looked_at: Looked, crowd: Crowd) -> None:
    page.goto(f"{gateway_url}/#/providers/{crowd.providers[0]}")
    looked_at("provider")


def test_a_provider_manages_a_machine(
    page: Page,
    world: World,
    gateway_url: str,
    looked_at: Looked,
    crowd: Crowd,
    machines: list[dict[str, Any]],
) -> None:
    own = next(machine["id"] for machine in machines if machine["provider"] == crowd.providers[0])
    TestWallet(world.anvil, crowd.key("provider", 0)).install(page)
    page.goto(f"{gateway_url}/#/provide/{own}")
    page.get_by_role("button", name="Connect Test wallet").click()
    expect(page.get_by_role("region", name="What it asks for")).to_be_visible()
    looked_at("manage")


def test_a_validator_s_seat(page: Page, gateway_url: str, looked_at: Looked) -> None:
    page.goto(f"{gateway_url}/#/validators/1")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Seat 1")
    looked_at("validator")


@pytest.mark.parametrize("name", ["provide", "pool", "validators", "gateway"])
def test_pages_of_their_own(page: Page, gateway_url: str, looked_at: Looked, name: str) -> None:
    page.goto(f"{gateway_url}/#/{name}")
    looked_at(name)


def test_the_market_is_walked_by_keyboard_alone(page: Page, gateway_url: str, site: Site) -> None:
    """From the address bar: past the header, into the table, to a machine, and to its rent page."""
    page.goto(f"{gateway_url}/#/")
    settled(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Skip to the page")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    link = page.locator(f'a[href="#/machines/{site.machine}"]').first
    _tab_to(page, link)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text(str(site.machine))
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    _tab_to(page, page.get_by_role("link", name=re.compile("^Rent for")))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="This browser has no wallet.")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("pool")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("pool")


def _tab_to(page: Page, target: Any, most: int = 60) -> None:
    """Presses Tab until that, once it is there, has the focus. Each stop on the way must show that it has it."""
    expect(target).to_be_visible()
    for _ in range(most):
        page.keyboard.press("Tab")
        shown = page.evaluate(
            "(({outlineStyle, outlineWidth}) => outlineStyle !== 'none' && outlineWidth !== '0px')"
            "(getComputedStyle(document.activeElement))"
        )
        assert shown, page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
        if target.evaluate("(element) => element === document.activeElement"):
            return
    raise AssertionError("Tab does not come to it")


def most_told(machines: list[dict[str, Any]]) -> int:
    """Of the machines with a card, the one that was rated most."""
    return int(max(machines, key=lambda machine: machine["ratings"] or 0)["id"])

"""Several people in browsers of their own who are one account: a group, and a Safe of the real contracts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from devnet.account import TOKEN, Account
from devnet.safe import make_safe
from devnet.site import Site, make_site
from devnet.world import World
from leasehold.chain import LeaseClosed, LeaseOpened, LeaseStarted, LocalSigner, Pool, Rpc, format_lease
from leasehold.chain.typed import Group

from .conftest import LIMIT
from .wallets import TestWallet

pytestmark = pytest.mark.slow

PRICE = 24 * 10**17


@pytest.fixture(scope="module")
def site(world: World) -> Iterator[Site]:
    """One machine for all of them."""
    with make_site(world) as made:
        yield made


class Member:
    """A person with a wallet that really signs, in a browser that shares nothing with the others'."""

    def __init__(self, chromium: Browser, world: World, url: str) -> None:
        self.account = Account(world)
        self.address = self.account.address
        self.wallet = TestWallet(world.anvil, self.account.key)
        self.context = chromium.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        self.context.set_default_timeout(LIMIT)
        self.page: Page = self.context.new_page()
        self.wallet.install(self.page)
        self._url, self._connected = url, False

    def go(self, path: str) -> None:
        """A page of the app, with the wallet connected."""
        self.open(f"{self._url}/#{path}")

    def open(self, link: str) -> None:
        self.page.goto(link)
        if not self._connected:  # the app remembers which wallet it was
            self.page.get_by_role("button", name="Connect Test wallet").click()
        self._connected = True

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name).click()


@pytest.fixture
def members(chromium: Browser, world: World, gateway_url: str) -> Iterator[tuple[Member, Member, Member]]:
    """Three, in the order in which they come."""
    made = tuple(Member(chromium, world, gateway_url) for _ in range(3))
    yield made[0], made[1], made[2]
    for member in made:
        member.context.close()


def proposed(member: Member, site: Site, group: str) -> str:
    """The link of a proposal to rent, which that member has made and signed."""
    page, sent = member.page, member.wallet.asked.count("eth_sendTransaction")
    member.go(f"/rent?machine={site.machine}&cells=8&seconds=3600&as={group}")
    page.get_by_role("combobox", name="Image").fill(site.tiny)
    page.get_by_role("textbox", name="Command").fill("echo hello, group; exec sleep 3600")
    page.get_by_label("It may reach the internet").uncheck()
    page.get_by_label("Nobody has measured this machine").check()
    expect(page.get_by_label("The account that pays and holds the lease")).to_have_value(group)
    member.press("Propose to rent 1")
    page.wait_for_url(re.compile(r"#/groups/0x[0-9a-fA-F]{40}/0x"))
    assert member.wallet.asked.count("eth_sendTransaction") == sent
    return page.url


def same(one: str, other: str) -> bool:
    """Whether they are one address, with or without its checksum."""
    return one.lower() == other.lower()


def carried_out(member: Member, link: str) -> None:
    """By somebody who need not have signed."""
    member.open(link)
    member.press("Carry it out")
    expect(member.page.get_by_text("It was carried out.")).to_be_visible()


def sessions(member: Member) -> list[dict[str, str]]:
    """Those that the member's wallet has signed."""
    return [sent["message"] for sent in member.wallet.signed if sent["primaryType"] == "Session"]


@contextmanager
def swapping(page: Page, keys: Sequence[str]) -> Iterator[None]:
    """A gateway that says another key than each of those, wherever a group's proposals are asked for."""
    own = LocalSigner("0x" + "77" * 32).address

    def swapped(route: Route) -> None:
        answer = route.fetch()
        text = answer.text()
        for key in keys:
            text = re.sub(key, own, text, flags=re.IGNORECASE)
        route.fulfill(response=answer, body=text)

    place = re.compile(r"/api/v1/groups/[^/]+/proposals")
    page.route(place, swapped)
    yield
    page.unroute(place)


def sees_by_session(member: Member, other: Member, account: str, group: str, lease: str) -> None:
    """The member asks the group for a session of its lease; the other signs it; the member's page has a terminal."""
    page = member.page
    member.go(f"/leases/{lease}")
    member.press("Ask the group for a session")
    ours = page.get_by_role("region", name="The group's lease")
    expect(ours).to_contain_text("1 of 2")
    expect(page.get_by_role("button", name="Terminal")).to_be_visible()
    keys = [message["key"] for message in sessions(member) if same(message["account"], account)]

    with swapping(other.page, keys):  # a gateway that would rather have its own key let in
        other.go(group)
        expect(other.page.get_by_text("more cannot be shown here")).to_have_count(len(keys))
    other.go(group)
    other.page.get_by_role("link", name=re.compile(f"^Let one browser use lease {re.escape(lease)} ")).click()
    what = other.page.get_by_role("region", name="What is signed")
    expect(what).to_contain_text("run any command in it")
    for key in keys:  # of a group; a Safe's owners sign a digest
        expect(what.get_by_title(re.compile(f"^{key}$", re.IGNORECASE))).to_be_visible()
    other.press("Sign this with your wallet")
    expect(other.page.get_by_text("Enough have signed")).to_be_visible()

    expect(ours).to_contain_text("this tab sees and uses it")
    page.get_by_role("button", name="Terminal").click()
    page.get_by_label("Terminal", exact=True).get_by_text("A shell in the container").wait_for()
    page.get_by_label("Terminal input").focus()
    page.keyboard.type("echo $((6 * 7)) is the answer\n")
    expect(page.get_by_label("Terminal", exact=True)).to_contain_text("42 is the answer")
    page.get_by_role("button", name="Logs").click()
    expect(page.get_by_label("Log", exact=True)).to_contain_text("hello, group")
    other.go(f"/leases/{lease}")  # whose own page was let in by nobody
    expect(other.page.get_by_role("button", name="Ask the group for a session")).to_be_visible()


def test_two_of_three_rent_a_machine_together_and_close_the_lease(
    members: tuple[Member, Member, Member], site: Site, shown: Callable[[Page, str], None]
) -> None:
    ada, grace, edsger = members
    ada.go("/groups")
    ada.page.get_by_label("Signer 2").fill(grace.address)
    ada.page.get_by_label("Signer 3").fill(edsger.address)
    shown(ada.page, "groups")
    ada.press("Make a group of 3, 2 of whom must sign")
    group = Group.of(2, [member.address for member in members])
    account = group.address(site.world.facts["accounts"])
    link = ada.page.get_by_role("textbox", name="The link").input_value()
    assert f"/#/groups/{account}?of=2&signers=" in link
    assert ada.wallet.signed == []

    patron = Account(site.world, tokens=100)
    site.world.fund(ada.address, tokens=50)
    pay = ada.page.get_by_role("region", name="Pay into its ledger")
    pay.get_by_label(re.compile("^Amount in")).fill("50")
    ada.press("Pay in 50 TUSD")
    holds = ada.page.get_by_role("region", name="Who signs, and what it holds")
    expect(holds).to_contain_text("50.00")
    assert patron.ledger(account) == 50 * TOKEN
    shown(ada.page, "group")

    # One makes the proposal and signs it; nothing is sent. The next reads what it does, and signs the same.
    rental = proposed(ada, site, account)
    expect(ada.page.get_by_text("1 of 2")).to_be_visible()
    grace.open(rental)
    what = grace.page.get_by_role("region", name="What is signed")
    expect(what).to_contain_text(
        f"Rent 1 of machine {site.machine} for 1h, even if nobody has measured it: "
        "at most 2.4 TUSD go from the ledger into escrow."
    )
    shown(grace.page, "together")
    grace.press("Sign this with your wallet")
    expect(grace.page.get_by_text("2 of 2")).to_be_visible()
    (signed,) = grace.wallet.signed
    (own,) = [message for message in ada.wallet.signed if message["primaryType"] == "Execute"]
    assert signed == own
    facts = site.world.facts
    assert same(signed["message"]["account"], account)
    assert same(signed["domain"]["verifyingContract"], facts["accounts"])
    (call,) = signed["message"]["calls"]
    assert same(call["target"], facts["controller"])

    # The third has signed nothing, and carries it out.
    carried_out(edsger, rental)
    assert edsger.wallet.signed == []
    opened = site.here(LeaseOpened)[-1]
    assert (opened.tenant, opened.deposit) == (account, PRICE)
    lease = format_lease(opened.lease)
    for member in (ada, grace, edsger):  # each sees it, by the chain
        expect(member.page.get_by_role("link", name=f"Go to lease {lease}")).to_be_visible()
    shown(edsger.page, "carried-out")
    site.until(lambda: site.events(LeaseStarted, lease))
    sees_by_session(ada, grace, account, link.partition("#")[2], lease)
    (session,) = sessions(grace)
    assert session in sessions(ada)

    # And closes it the same way: what is unused comes back into the group's ledger.
    grace.open(link)
    grace.press(f"Propose to close lease {lease}")
    grace.page.wait_for_url(re.compile(r"#/groups/0x[0-9a-fA-F]{40}/0x"))
    closing = grace.page.url
    edsger.open(closing)
    expect(edsger.page.get_by_text(f"Close lease {lease}: what is unused comes back")).to_be_visible()
    edsger.press("Sign this with your wallet")
    carried_out(ada, closing)
    closed = site.here(LeaseClosed)[-1]
    assert patron.ledger(account) == 50 * TOKEN - PRICE + closed.refunded


def test_owners_of_a_safe_rent_by_their_signatures(
    members: tuple[Member, Member, Member], site: Site, shown: Callable[[Page, str], None]
) -> None:
    ada, grace, edsger = members
    safe = _safe_of(site.world, [member.address for member in members])
    Account(site.world, tokens=100).deposit(50, to=safe)
    ada.go("/groups")
    ada.page.get_by_label("Address of the Safe").fill(safe)
    ada.press("Open the Safe")
    expect(ada.page.get_by_text("a Safe, by its owners as the chain has them")).to_be_visible()
    rental = proposed(ada, site, safe)
    grace.open(rental)
    expect(grace.page.get_by_role("region", name="What is signed")).to_contain_text("at most 2.4 TUSD")
    shown(grace.page, "safe")
    grace.press("Sign this with your wallet")
    expect(grace.page.get_by_text("2 of 2")).to_be_visible()
    (signed,) = grace.wallet.signed
    assert signed["primaryType"] == "SafeMessage"
    assert int(signed["domain"].pop("chainId")) == 31337
    assert same(signed["domain"].pop("verifyingContract"), safe)
    assert signed["domain"] == {}
    carried_out(edsger, rental)
    opened = site.here(LeaseOpened)[-1]
    assert (opened.tenant, opened.deposit) == (safe, PRICE)
    lease = format_lease(opened.lease)
    site.until(lambda: site.events(LeaseStarted, lease))
    sees_by_session(ada, edsger, safe, f"/groups/{safe}?safe=1", lease)


def test_a_gateway_that_changes_a_proposal_gets_no_signature(
    members: tuple[Member, Member, Member], site: Site
) -> None:
    ada, grace, edsger = members
    group = Group.of(2, [member.address for member in members])
    account = group.address(site.world.facts["accounts"])
    Account(site.world, tokens=10).deposit(10, to=account)
    ada.go(f"/groups/{account}?of=2&signers={','.join(group.signers)}")
    take = ada.page.get_by_role("region", name="Take out of its ledger")
    take.get_by_label(re.compile("^Amount in")).fill("1")
    ada.press("Propose to take out 1 TUSD")
    ada.page.wait_for_url(re.compile(r"#/groups/0x[0-9a-fA-F]{40}/0x"))
    honest = Pool.encode("withdraw", ada.address, TOKEN).hex()
    greedy = Pool.encode("withdraw", edsger.address, 10 * TOKEN).hex()

    def swapped(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace(honest, greedy))

    grace.page.route("**/api/v1/groups/*/proposals/*", swapped)
    grace.open(ada.page.url)
    expect(grace.page.get_by_role("alert")).to_contain_text("another proposal than the link names")
    expect(grace.page.get_by_role("button", name="Sign this with your wallet")).to_have_count(0)
    assert grace.wallet.signed == []


def _safe_of(world: World, owners: Sequence[str]) -> str:
    """A real one, two of whose owners must sign."""

    async def made() -> str:
        async with Rpc([world.anvil.url]) as rpc:
            return await make_safe(rpc, LocalSigner(world.anvil.accounts[5].key), owners, 2)

    return asyncio.run(made())

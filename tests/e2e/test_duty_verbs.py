"""Duties and powers, typed beside a running agent: challenges, outages, appeals, validators, a pool's owner."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from devnet.account import TOKEN, Account
from devnet.site import Site, make_site
from devnet.world import Party, World
from leasehold.chain import (
    Answered,
    Challenged,
    Compensated,
    FaultExecuted,
    FaultFiled,
    FaultKind,
    LeaseClosed,
    LeaseStarted,
    LeaseTerminated,
    OutageOpened,
    RoundFinalized,
    RoundState,
    cost,
)

from .test_bad_input import address, sentence
from .test_reorg import another_chain

HOUR, DAY = 3_600, 86_400
pytestmark = pytest.mark.deep

PRICE = 24 * 10**17
STAKE = 100 * TOKEN
SEAT = 550  # a seat's price and the tenth that a fine takes first
BURNT = "0x000000000000000000000000000000000000dEaD"
_numbers = itertools.count(1)


@pytest.fixture
def site(world: World) -> Iterator[Site]:
    """A machine on a chain of its own, on whose seats, rules and time nobody else depends."""
    with another_chain(world) as chain, make_site(chain, "--max", "40d", tick_seconds=0.5) as made:
        yield made


@pytest.fixture
def owner(site: Site) -> Party:
    """The pool's owner, who has its fees, too."""
    return somebody(site, "owner", site.world.anvil.accounts[0].key)


@pytest.fixture
def operator(site: Site) -> Party:
    """The machine's agent's key, beside the agent."""
    return somebody(site, "operator", (site.host.folder / "state" / "operator.key").read_text().strip())


@pytest.fixture
def judge(site: Site, owner: Party) -> Party:
    """Whom the rules name as arbiter that the machine's provider has accepted."""
    party = somebody(site, "judge")
    owner("pool", "propose", f"arbiter={address(party)}", "--yes")
    site.world.anvil.advance(2 * DAY + 1)
    site.provider("provider", "terms", str(site.machine), "--price", "2.4", "--yes")
    return party


@pytest.fixture
def books(site: Site) -> Account:
    """Who looks at the chain."""
    return Account(site.world)


def somebody(site: Site, name: str, key: str | None = None, tokens: int = 0) -> Party:
    """Somebody at a computer of their own, with that key or a new one."""
    party = site.world.party(f"{name}-{next(_numbers)}")
    given: tuple[str, ...] = ()
    if key is not None:
        path = party.home / "key"
        path.write_text(key)
        given = ("--key-file", str(path))
    party("wallet", "new", name, *given)
    site.world.fund(address(party), tokens=tokens)
    return party


def refused(party: Party, code: int, words: str, *command: str) -> None:
    sentence(party.run(*command), code, words)


def steps(answer: Any) -> list[str]:
    """What `compensate` has done."""
    return [each["step"] for each in answer["steps"]]


def filed(site: Site, count: int) -> FaultFiled:
    """The last of the machine's outages, once there are so many that have ended."""
    site.until(lambda: len(site.here(FaultFiled)) == count)
    return site.here(FaultFiled)[-1]


def test_the_agent_answers_and_ends_an_outage_and_an_appeal_is_won(
    site: Site, operator: Party, judge: Party, books: Account
) -> None:
    renter, provider, machine = site.renter, site.provider, str(site.machine)
    seller = address(provider)
    lease = site.rent()
    earned, burnt = books.ledger(seller), books.ledger(BURNT)

    # The running agent answers without being told: a tenth of the bond is the provider's, the rest nobody's, for these
    # rules name no sink.
    asked = renter("challenge", machine, "--yes")
    site.until(lambda: site.here(Answered))
    assert (asked["lease"], asked["bond"], site.here(Challenged)[-1].bond) == (lease, "5", 5 * TOKEN)
    assert books.ledger(seller) - earned == TOKEN // 2
    assert books.ledger(BURNT) - burnt == 9 * TOKEN // 2
    assert renter("faults", machine) == []

    # The operator takes the host down and says so first; the agent that is started after that ends the outage.
    fault = operator("provider", "report", machine, "--yes")["fault"]
    (duty,) = provider("provider", "status")["duties"]
    assert (duty["machine"], duty["what"]) == (site.machine, "recover")
    site.host.kill()
    site.host.start()
    found = filed(site, 1)
    assert (found.fault, found.bps, found.amount) == (fault, 200, STAKE // 50)
    assert not books.pool(lambda pool: pool.machine_of(site.machine)).down

    # It appeals with a bond, half a token of which its ledger has; it is believed, and has the bond back there.
    provider("provider", "appeal", str(fault), "--approve", "--yes")
    refused(renter, 4, "may not", "pool", "rule", str(fault), "--drop", "--yes")
    assert judge("pool", "rule", str(fault), "--drop", "--yes")["state"] == "dropped"
    assert renter("fault", str(fault))["state"] == "dropped"
    assert books.ledger(seller) == 5 * TOKEN
    renter("close", lease, "--yes")


def test_without_its_agent_a_machine_pays_for_its_silence(
    site: Site, owner: Party, operator: Party, judge: Party, books: Account
) -> None:
    renter, provider, anvil, machine = site.renter, site.provider, site.world.anvil, str(site.machine)
    tenant, treasury = address(renter), address(owner)
    lease = site.rent("--for", "20d")
    (started,) = site.events(LeaseStarted, lease)
    answers, outages = len(site.here(Answered)), len(site.here(FaultFiled))

    # The operator still answers by hand. When nobody does anybody says so, and the bond comes back.
    site.host.kill()
    renter("challenge", machine, "--yes")
    operator("provider", "answer", machine, "--yes")
    assert len(site.here(Answered)) == answers + 1
    had = books.ledger(tenant)
    assert renter("challenge", machine, "--yes")["bond"] == "10"
    refused(renter, 4, "is challenged until", "prove", machine, "--yes")
    anvil.advance(601)
    fault = renter("prove", machine, "--yes")["fault"]
    assert books.ledger(tenant) == max(had, 10 * TOKEN)
    had = books.ledger(tenant)
    assert books.pool(lambda pool: pool.machine_of(site.machine)).down
    running = renter("faults", machine)[-1]
    assert (running["fault"], running["state"], running["to"]) == (fault, "running", None)
    provider("provider", "recover", machine, "--yes")
    found = filed(site, outages + 1)
    assert (found.fault, found.bps, found.amount) == (fault, 400, STAKE // 25)

    # Off the bill at once. The appeal is lost, and with it the bond; then the stake is shared out.
    assert "apply" in steps(renter("compensate", str(fault), "--yes"))
    provider("provider", "appeal", str(fault), "--approve", "--yes")
    judge("pool", "rule", str(fault), "--stands", "--yes")
    refused(owner, 4, "after that", "pool", "execute", str(fault), "--yes")
    anvil.advance(2 * DAY)
    fees, burnt = books.ledger(treasury), books.ledger(BURNT)
    assert owner("pool", "execute", str(fault), "--yes")["state"] == "executed"
    (done,) = [each for each in site.here(FaultExecuted) if each.fault == fault]
    assert (done.pot, done.reported, done.rest) == (2 * TOKEN, TOKEN * 4 // 10, TOKEN * 16 // 10)
    assert (books.ledger(BURNT) - burnt, books.ledger(treasury) - fees) == (done.rest, 0)
    settled = renter("compensate", str(fault), "--yes")
    assert (steps(settled), settled["gained"]) == (["compensate"], "2")
    assert books.ledger(tenant) - had == done.reported + done.pot
    shown = renter("fault", str(fault))
    assert (shown["to_tenants"], shown["losses"][0]["credited"]) == ("2", "2")
    provider("provider", "stake", machine, "4", "--approve", "--yes")
    assert books.pool(lambda pool: pool.machine_of(site.machine)).stake == STAKE

    # Notice, and the bill: the time of the outage is not on it.
    site.host.start()
    provider("wallet", "deposit", "60", "--approve", "--yes")
    provider("provider", "terminate", lease, "--yes")
    (noticed,) = site.events(LeaseTerminated, lease)
    assert noticed.penalty == cost(PRICE, 8, DAY)
    anvil.advance(HOUR + 1)
    site.until(lambda: not any(each["State"]["Running"] for each in site.containers(lease)))
    provider("provider", "claim", "--yes")
    (closed,) = site.events(LeaseClosed, lease)
    assert closed.paid + closed.fee == cost(PRICE, 8, noticed.end - started.start - (found.to - found.from_))


def test_five_validators_verify_a_machine_and_attest_its_outage(site: Site, books: Account) -> None:
    renter, anvil, machine = site.renter, site.world.anvil, str(site.machine)
    people = [somebody(site, f"validator-{number}", tokens=SEAT) for number in range(5)]

    def all_of_them(act: Callable[[Party], Any]) -> list[Any]:
        """What `act` gives for each, all at the same time."""
        with ThreadPoolExecutor(len(people)) as threads:
            return list(threads.map(act, people))

    seats = [
        each["seat"] for each in all_of_them(lambda one: one("validator", "stake", "--approve", "--yes"))
    ]
    anvil.advance(3 * DAY + 1)
    listed = renter("validator", "list")
    assert (listed["matured"], listed["quorum"]) == (5, {"seats": 4, "validators": 5})

    # Its hardware is measured by lot, behind commitments.
    round_ = str(renter("validator", "request", machine, "--yes")["round"])
    anvil.mine()
    drawn = people[0]("validator", "draw", round_, "--yes")
    assert sorted(drawn["seats"]) == sorted(seats)
    all_of_them(lambda one: one("validator", "commit", round_, "--pass", "--score", "900", "--yes"))
    refused(people[0], 4, "takes reveals from", "validator", "reveal", round_, "--yes")
    anvil.advance(4 * HOUR)
    all_of_them(lambda one: one("validator", "reveal", round_, "--yes"))
    anvil.advance(2 * HOUR)
    assert renter("validator", "finalize", round_, "--yes")["state"] == "passed"
    (verdict,) = site.here(RoundFinalized)
    assert (verdict.state, verdict.score, verdict.agreed) == (RoundState.PASSED, 900, 5)
    (shown,) = renter("machines")
    assert shown["state"] == "verified"
    ledgers = {address(one): books.ledger(address(one)) for one in people}
    assert sum(ledgers.values()) == 5 * TOKEN  # the fee is theirs

    # Its agent is gone; five signatures travel as files, and four are no quorum.
    lease = site.rent("--for", "10d")
    site.host.kill()
    dark = anvil.timestamp
    anvil.advance(3 * HOUR)
    sign = ("validator", "attest", "sign", machine, "--from", str(dark), "--yes")
    files = [one.home / "word.json" for one in people]
    all_of_them(lambda one: one(*sign, "--out", str(one.home / "word.json")))
    assert {json.loads(file.read_text())["from"] for file in files} == {dark}
    few = [str(file) for file in files[:4]]
    refused(renter, 4, "more than two thirds", "validator", "attest", "send", *few, "--yes")
    sent = renter("validator", "attest", "send", *few, str(files[4]), "--yes")
    opened = site.here(OutageOpened)[-1]
    assert (opened.kind, opened.from_) == (FaultKind.ATTESTED, dark)
    assert (sent["fault"], sent["seats"], sent["enough"]) == (opened.fault, sorted(seats), True)
    assert books.pool(lambda pool: pool.machine_of(site.machine)).down_since == dark

    # The agent comes back and ends it; the tenant has half of what it costs, the five a tenth.
    count = len(site.here(FaultFiled))
    site.host.start()
    found = filed(site, count + 1)
    assert (found.fault, found.bps, found.from_) == (opened.fault, 800, dark)
    assert steps(renter("compensate", str(found.fault), "--yes")) == ["apply"]
    anvil.advance(2 * DAY + 1)
    settled = renter("compensate", str(found.fault), "--yes")
    assert (steps(settled), settled["gained"]) == (["execute", "compensate"], "4")
    (paid,) = [each for each in site.events(Compensated, lease) if each.fault == found.fault]
    assert (paid.tenant, paid.amount) == (address(renter), found.amount // 2)

    # Anyone has the tenth credited to who signed, by what each seat cost: here to all alike.
    renter("validator", "collect", str(found.fault), "--yes")
    for account, had in ledgers.items():
        assert books.ledger(account) - had == found.amount // 50
    renter("close", lease, "--yes")


def test_a_pool_is_led_by_its_owner_and_read_by_everybody(site: Site, owner: Party, books: Account) -> None:
    renter, provider, anvil = site.renter, site.provider, site.world.anvil
    table = renter("pool", "trust")
    assert (table["owner"], table["paused"], table["proposed"]) == (address(owner), False, None)
    assert renter("pool", "show")["controller"] == site.world.facts["controller"]
    version = renter("pool", "params")["version"]

    # Rules are announced, may be taken back, and are in force two days later.
    refused(renter, 4, "may not", "pool", "propose", "fee_bps=2%", "--yes")
    owner("pool", "propose", "fee_bps=1%", "--yes")
    owner("pool", "cancel", "--yes")
    made = owner("pool", "propose", "fee_bps=2%", "--yes")
    assert renter("pool", "params")["proposed"]["in_force_at"] == made["in_force_at"]
    anvil.advance(2 * DAY + 1)
    now = renter("pool", "params")
    assert (now["version"] > version, now["params"]["fee_bps"], now["proposed"]) == (True, 200, None)

    # Nobody's machine is let by rules that its provider has not accepted.
    refused(renter, 4, "has to set its terms again", *site.rent_arguments("--no-wait"))
    provider("provider", "terms", str(site.machine), "--price", "2.4", "--yes")

    # While it is paused nobody comes in and everybody gets out; the agent serves as before.
    lease = site.rent()
    owner("pool", "pause", "--yes")
    assert renter("pool", "show")["paused"]
    renter("close", lease, "--yes")
    site.until(lambda: not any(each["State"]["Running"] for each in site.containers(lease)))
    refused(renter, 4, "takes no new leases", *site.rent_arguments("--no-wait"))
    owner("pool", "resume", "--yes")
    renter("close", site.rent(), "--yes")

    # Its fees go where the owner says; and it changes hands when the other has taken it, not before.
    heir = somebody(site, "heir")
    owner("pool", "treasury", address(heir), "--yes")
    fees = sum(each.fee for each in site.events(LeaseClosed))
    collected = renter("pool", "collect", "--yes")
    assert (fees > 0, books.ledger(address(heir))) == (True, fees)
    assert collected["treasury"] == address(heir)
    owner("pool", "hand-over", address(heir), "--yes")
    table = renter("pool", "trust")
    assert (table["owner"], table["pending_owner"]) == (address(owner), address(heir))
    refused(heir, 4, "may not", "pool", "treasury", address(owner), "--yes")
    heir("pool", "accept", "--yes")
    refused(owner, 4, "may not", "pool", "pause", "--yes")
    heir("pool", "treasury", address(owner), "--yes")
    heir("pool", "hand-over", address(owner), "--yes")
    owner("pool", "accept", "--yes")

    # Behind a gate nobody joins without a licence, and who is in stays in.
    who = address(provider)
    owner("pool", "gate", "--on", "--yes")
    newcomer = site.world.host("gated", owner=who)
    join = ("provider", "join", str(newcomer.describe()), "--price", "1", "--approve", "--yes")
    refused(provider, 4, "licence", *join)
    renter("close", site.rent(), "--yes")
    owner("pool", "licence", who, "--until", "2090-12-31", "--yes")
    (issued,) = renter("pool", "licences", who)
    assert (issued["kind"], issued["valid"]) == ("provider", True)
    joined = provider(*join)["machine"]
    provider("provider", "retire", str(joined), "--yes")
    owner("pool", "licence", who, "--revoke", "--yes")
    assert not renter("pool", "licences", who)[0]["valid"]
    owner("pool", "gate", "--off", "--yes")
    assert not renter("pool", "trust")["gated"]
    target = renter.home / "mine.json"
    created = renter("pool", "create", "fee_bps=0", "--out", str(target), "--yes")
    mine = replace(renter, environment={**renter.environment, "LEASEHOLD_DEPLOYMENT": str(target)})
    own = mine("pool", "trust")
    assert (own["controller"], own["owner"]) == (created["controller"], address(renter))
    assert own["params"]["fee_bps"] == 0


def test_an_operators_key_is_replaced_under_a_running_lease(site: Site, books: Account) -> None:
    renter, provider, machine = site.renter, site.provider, str(site.machine)
    lease = site.rent()
    (container,) = site.containers(lease)
    before = books.pool(lambda pool: pool.machine_of(site.machine)).operator
    site.host.kill()
    successor = Account(site.world)
    (site.host.folder / "state" / "operator.key").write_text(successor.key)
    described = str(site.host.describe())
    provider("provider", "operator", machine, described, "--yes")
    updated = provider("provider", "update", machine, described, "--yes")
    assert "contact" in updated["changed"]
    held = books.pool(lambda pool: pool.machine_of(site.machine))
    assert (held.operator, held.operator != before) == (successor.address, True)

    # The agent serves the same lease with its new key, and the tenant's computer believes it.
    site.host.start()
    site.until(lambda: renter.run("exec", lease, "--", "echo", "mine").stdout == "mine\n")
    assert [each["Id"] for each in site.containers(lease)] == [container["Id"]]
    site.renter("close", lease, "--yes")

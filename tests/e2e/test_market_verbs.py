"""Ways to rent beside the plain one, typed: by a delegate, at signed terms, again, spot, as a gang, with a standby."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Iterator
from decimal import Decimal

import pytest

from devnet import images
from devnet.engine import Engine
from devnet.site import Site, make_site
from devnet.world import Party, World
from leasehold.chain import (
    FailedOver,
    LeaseClosed,
    LeaseOpened,
    LeaseStarted,
    LeaseTerminated,
    OutageOpened,
    cost,
    parse_lease,
)

pytestmark = pytest.mark.deep

HOUR = 3_600
TOKEN = 10**18
PRICE, SPOT_PRICE = 24 * 10**17, 6 * 10**17
CHALLENGE_WINDOW = 600
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def sites(world: World) -> Iterator[tuple[Site, Site]]:
    """Two machines of two providers, which sell spot too, each with an engine and an agent of its own."""
    with (
        make_site(world, "--spot-price", "0.60", tick_seconds=0.5) as first,
        Engine() as engine,
    ):
        images.load(engine.url, images.tiny())
        with make_site(world, "--spot-price", "0.60", engine=engine, tick_seconds=0.5) as second:
            second.until(lambda: second.serves)
            yield first, second


@pytest.fixture
def site(sites: tuple[Site, Site]) -> Site:
    return sites[0]


def newcomer(site: Site, name: str) -> tuple[Party, str]:
    """Somebody with a wallet and gas, and no tokens; and the address."""
    party = site.world.party(f"{name}-{next(_numbers)}")
    address = party.wallet(name)
    site.world.fund(address)
    return party, address


def units(amount: str) -> int:
    """Token units, of an amount as people read it."""
    return int(Decimal(amount) * TOKEN)


def ledger(party: Party) -> int:
    """Token units in the pool, as the person is told."""
    return units(party("wallet", "balance")["ledger"])


def worth(party: Party) -> int:
    """Token units in wallet and ledger, as the person is told."""
    told = party("wallet", "balance")
    return units(told["wallet"]) + units(told["ledger"])


def running(site: Site, lease: str) -> bool:
    return any(each["State"]["Running"] for each in site.containers(lease))


def billed(site: Site, lease: str, price: int) -> int:
    """What a closed lease on the whole machine cost its tenant: the seconds between start and end, at `price`."""
    (started,), (closed,) = site.events(LeaseStarted, lease), site.events(LeaseClosed, lease)
    bill = cost(price, 8, closed.end - started.start)
    assert closed.paid + closed.fee == bill
    return bill


def refused(done: subprocess.CompletedProcess[str], code: int, why: str) -> None:
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert why in done.stderr


def test_a_delegate_rents_from_anothers_ledger_and_keeps_the_lease_going(site: Site) -> None:
    renter = site.renter
    account = str(renter("wallet", "balance")["address"])
    renter("wallet", "deposit", "20", "--yes")
    ada, address = newcomer(site, "ada")
    rent = (*site.rent_arguments(), "--for-account", account)
    refused(ada.run(*rent, "--json"), 4, "is no delegate of")
    renter("delegate", "set", address, "--cap", "6", "--period", "1d", "--expires", "3d", "--yes")

    # Ada has no tokens. The lease is the account's: it was paid from there, and it talks to the machine.
    lease = str(ada(*rent)["lease"])
    (opened,) = site.events(LeaseOpened, lease)
    assert opened.tenant == account
    assert running(site, lease)
    assert ledger(renter) == 20 * TOKEN - PRICE
    assert renter.run("exec", lease, "--", "echo", "mine").stdout == "mine\n"
    (listed,) = renter("delegate", "list")
    assert (listed["cap"], listed["spent"], listed["left"]) == ("6", "2.4", "3.6")
    assert ada("delegate", "list") == [listed]

    # Twenty minutes before its end it is extended, and once only however often cron asks.
    keep = ("auto-extend", lease, "--by", "1h", "--before", "30m", "--at-most", "9h", "--once", "--yes",
            "--for-account", account)  # fmt: skip
    assert ada(*keep)["extended"] == 0
    site.world.anvil.advance(2_400)
    kept = ada(*keep)
    (started,) = site.events(LeaseStarted, lease)
    assert (kept["extended"], kept["end"]) == (HOUR, started.start + 2 * HOUR)
    assert ada(*keep)["extended"] == 0
    assert ledger(renter) == 20 * TOKEN - 2 * PRICE

    # Past the end it was opened with, the same container runs. The next hour is more than the cap has left.
    (container,) = site.containers(lease)
    site.world.anvil.advance(HOUR)
    refused(ada.run(*keep, "--json"), 4, "is not extended any more")
    (later,) = site.containers(lease)
    assert (later["Id"], later["State"]["Running"]) == (container["Id"], True)

    renter("delegate", "revoke", address, "--yes")
    assert (renter("delegate", "list"), ada("delegate", "list")) == ([], [])
    refused(ada.run("close", lease, "--for-account", account, "--yes", "--json"), 4, "is no delegate of")
    renter("close", lease, "--yes")
    assert ledger(renter) == 20 * TOKEN - billed(site, lease, PRICE)
    site.until(lambda: not running(site, lease))


def test_signed_terms_are_rented_once_and_the_lease_again_at_the_listed_price(site: Site) -> None:
    renter, provider, had = site.renter, site.provider, worth(site.renter)
    request, offer, other = (renter.home / f"{name}.json" for name in ("request", "offer", "other"))
    wish = ("--for", "2h", "--price", "1.20", "--note", "for a week of nights")
    asked = renter("request-quote", str(site.machine), *wish, "--output", str(request))
    assert asked["provider"] == site.owner.address
    signed = provider("offer", "sign", "--request", str(request), "--output", str(offer), "--yes")
    more = ("--for", "1h", "--price", "1", "--output", str(other), "--yes")
    provider("offer", "sign", "--machine", str(site.machine), *more)
    listed = {each["nonce"]: each for each in provider("offer", "list")}
    first, second = listed.values()
    assert (first["nonce"], first["price"], first["duration"]) == (signed["nonce"], "1.2", 2 * HOUR)
    assert [first["state"], second["state"]] == ["open", "open"]

    # One is taken back before anybody has used it; the other is for the renter alone.
    provider("offer", "cancel", str(other), "--yes")
    rent = ("rent", "--file", str(site.workload()), "--allow-unverified", "--yes", "--offer")
    refused(renter.run(*rent, str(other), "--json"), 12, "cancelled it")
    stranger, _ = newcomer(site, "stranger")
    refused(stranger.run(*rent, str(offer), "--json"), 12, "alone")
    told = renter(*rent, str(offer))
    lease = str(told["lease"])
    assert (told["machine"], told["price"], told["deposit"]) == (site.machine, "1.2", "2.4")
    assert running(site, lease)
    refused(renter.run(*rent, str(offer), "--json"), 12, "was used")
    assert [each["state"] for each in provider("offer", "list")] == [
        f"used by lease {lease}", "used or cancelled",
    ]  # fmt: skip
    site.world.anvil.advance(HOUR)
    renter("close", lease, "--yes")
    spent = billed(site, lease, 12 * 10**17)
    assert worth(renter) == had - spent
    site.until(lambda: not running(site, lease))

    # What it had, in its slot: the machine is told nothing but the lease, and runs the same thing.
    again = renter("rent", "--again", lease, "--for", "1h", "--allow-unverified", "--yes")
    assert parse_lease(str(again["lease"])) == parse_lease(lease) + 1
    assert (again["machine"], again["cells"], again["price"]) == (site.machine, 8, "2.4")
    before, after = (site.events(LeaseOpened, each)[0] for each in (lease, str(again["lease"])))
    assert after.workload == before.workload
    assert renter.run("exec", str(again["lease"]), "--", "echo", "again").stdout == "again\n"
    renter("close", str(again["lease"]), "--yes")
    assert worth(renter) == had - spent - billed(site, str(again["lease"]), PRICE)
    site.until(lambda: not running(site, str(again["lease"])))


def test_a_spot_lease_costs_less_and_ends_with_notice(site: Site) -> None:
    renter, had = site.renter, worth(site.renter)
    told = renter(*site.rent_arguments("--spot", "--for", "12h"))
    lease = str(told["lease"])
    assert (told["spot"], told["price"], told["deposit"]) == (True, "0.6", "7.2")
    assert worth(renter) == had - 12 * SPOT_PRICE
    assert running(site, lease)

    # Notice costs its provider nothing. What runs inside hears it, and goes on until the end.
    assert site.provider("provider", "terminate", lease, "--yes")["penalty"] == "0"
    (noticed,) = site.events(LeaseTerminated, lease)
    assert noticed.end == noticed.log.timestamp + HOUR
    heard = ("exec", lease, "--", "cat", "/run/leasehold/notice.json")
    site.until(lambda: renter.run(*heard).returncode == 0)
    assert json.loads(renter.run(*heard).stdout) == {"ends_at": noticed.end, "reason": "spot"}
    assert running(site, lease)
    site.world.anvil.advance(HOUR + 1)
    site.until(lambda: not running(site, lease))
    renter("close", lease, "--yes")
    (closed,) = site.events(LeaseClosed, lease)
    assert closed.end == noticed.end
    assert worth(renter) == had - billed(site, lease, SPOT_PRICE)


def test_a_gang_opens_on_both_machines_or_on_none(sites: tuple[Site, Site]) -> None:
    first, second = sites
    renter, had = first.renter, worth(first.renter)
    gang = first.rent_arguments("--gang", "2", "--machine", str(second.machine))
    told = renter(*gang)
    leases = [str(each["lease"]) for each in told["leases"]]
    assert (told["machines"], told["together"]) == ([first.machine, second.machine], "4.8")
    opened = [site.events(LeaseOpened, lease)[0] for site, lease in zip(sites, leases, strict=True)]
    assert [each.machine for each in opened] == [first.machine, second.machine]
    assert len({each.log.tx_hash for each in opened}) == 1
    assert worth(renter) == had - 2 * PRICE
    for site, lease in zip(sites, leases, strict=True):
        assert running(site, lease)
        assert renter.run("exec", lease, "--", "echo", lease).stdout == f"{lease}\n"

    # With one of the two still taken there is no lease on the other.
    renter("close", leases[0], "--yes")
    left = worth(renter)
    refused(renter.run(*gang, "--json"), 9, "Only 1 of the 2 machines")
    assert (len(renter("leases")), worth(renter)) == (1, left)
    renter("close", leases[1], "--yes")
    bills = [billed(site, lease, PRICE) for site, lease in zip(sites, leases, strict=True)]
    assert worth(renter) == had - sum(bills)
    for site, lease in zip(sites, leases, strict=True):
        site.until(lambda site=site, lease=lease: not running(site, lease))


def test_a_lease_with_a_standby_fails_over_when_its_machine_is_shown_to_be_down(
    sites: tuple[Site, Site],
) -> None:
    first, second = sites
    renter, had, anvil = first.renter, worth(first.renter), first.world.anvil
    told = renter(*first.rent_arguments("--backup", str(second.machine), "--for", "6h"))
    lease = str(told["lease"])
    assert told["backup"] == second.machine
    (started,) = first.events(LeaseStarted, lease)
    refused(renter.run("failover", lease, "--yes", "--json"), 4, "not down")

    # Its agent is gone. The tenant asks for a sign of life, gets none, and anyone says so.
    first.host.kill()
    renter("challenge", str(first.machine), "--yes")
    anvil.advance(CHALLENGE_WINDOW + 1)
    anyone, _ = newcomer(first, "anyone")
    anyone("prove", str(first.machine), "--yes")
    outage = first.here(OutageOpened)[-1]

    # Anyone carries on the lease where its tenant wanted it, with the workload that waits there since it was rented.
    over = anyone("failover", lease, "--yes")
    (moved,) = first.events(FailedOver, lease)
    backup = str(over["lease"])
    assert (over["machine"], parse_lease(backup)) == (second.machine, moved.backup)
    used = cost(PRICE, 8, outage.from_ - started.start)
    (closed,) = first.events(LeaseClosed, lease)
    assert (
        units(over["used"]) == used == closed.paid + closed.fee
    )  # up to the challenge and not a second more
    second.until(lambda: second.events(LeaseStarted, backup))
    (mine,) = renter("leases")
    assert (mine["id"], mine["machine"]) == (backup, second.machine)
    second.until(lambda: renter.run("exec", backup, "--", "echo", "standby").stdout == "standby\n")

    # Back again, the first agent stops what it no longer has.
    assert running(first, lease)
    first.host.start()
    first.until(lambda: not running(first, lease))
    renter("close", backup, "--yes")
    assert worth(renter) == had - used - billed(second, backup, PRICE)
    second.until(lambda: not running(second, backup))

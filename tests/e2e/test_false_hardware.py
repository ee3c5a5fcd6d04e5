"""Five validators, typed, find other hardware than a running machine declares; and one of them leaves its seat."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devnet.account import TOKEN, Account
from devnet.site import Site, make_site
from devnet.world import World
from leasehold.chain import Compensated, FaultExecuted, RoundFinalized, RoundState

from .test_bad_input import address
from .test_duty_verbs import DAY, HOUR, refused, somebody, steps
from .test_reorg import another_chain

pytestmark = pytest.mark.deep
SPEC = "cd" * 32
STAKE, SEAT = 100 * TOKEN, 500 * TOKEN


@pytest.fixture
def site(world: World) -> Iterator[Site]:
    """A machine on a chain of its own: a seat matures and is left in days."""
    with another_chain(world) as chain, make_site(chain, "--max", "40d", tick_seconds=0.5) as made:
        yield made


def test_false_hardware_costs_the_stake_that_may_be_taken_and_the_tenant_has_half(site: Site) -> None:
    renter, provider, anvil, machine = site.renter, site.provider, site.world.anvil, str(site.machine)
    books = Account(site.world)
    people = [somebody(site, f"validator-{number}", tokens=500) for number in range(5)]
    seats = [one("validator", "stake", "--approve", "--yes")["seat"] for one in people]
    anvil.advance(8 * DAY + 1)
    lease = site.rent("--for", "10d")

    # What each has to do next is said, and done: five commit, four reveal, three of whom found the same other thing.
    round_ = str(renter("validator", "request", machine, "--yes")["round"])
    anvil.mine()
    (told,) = people[0]("validator", "status")["rounds"]
    assert (str(told["round"]), told["next"]) == (round_, "draw")
    people[0]("validator", "draw", round_, "--yes")
    (told,) = renter("validator", "rounds", "--machine", machine)
    assert (str(told["round"]), told["next"]) == (round_, "commit")
    for one in people[:3]:
        one("validator", "commit", round_, "--fail", "--spec", SPEC, "--yes")
    for one in people[3:]:
        one("validator", "commit", round_, "--pass", "--score", "900", "--yes")
    anvil.advance(4 * HOUR)
    assert [one("validator", "status")["rounds"][0]["next"] for one in people] == ["reveal"] * 5
    for one in people[:4]:
        one("validator", "reveal", round_, "--yes")
    anvil.advance(2 * HOUR)
    refused(renter, 2, "nothing to file", "validator", "false-hardware", round_, "--yes")
    done = renter("validator", "finalize", round_, "--yes")
    assert (done["state"], done["spec"]) == ("failed", SPEC)
    (verdict,) = site.here(RoundFinalized)
    assert (verdict.state, verdict.agreed) == (RoundState.FAILED, 3)

    # Anyone files it, once. It waits for an appeal; then the stake is taken, and half is the tenant's who rented that.
    fault = renter("validator", "false-hardware", round_, "--yes")["fault"]
    refused(renter, 4, "reported already", "validator", "false-hardware", round_, "--yes")
    (filed,) = renter("faults", machine)
    assert (filed["fault"], filed["kind"], filed["bps"]) == (fault, "false hardware", 5_000)
    (shown,) = renter("machines", "--all")
    assert shown["state"] != "verified"
    anvil.advance(2 * DAY + 1)
    settled = renter("compensate", str(fault), "--yes")
    assert steps(settled)[-1] == "compensate"
    (executed,) = site.here(FaultExecuted)
    (credited,) = site.events(Compensated, lease)
    assert (credited.tenant, credited.amount) == (address(renter), executed.pot)
    assert executed.pot <= STAKE // 4
    held = books.pool(lambda pool: pool.machine_of(site.machine))
    assert held.stake == STAKE - STAKE // 2

    # What runs goes on to run, for the lease is its tenant's to end.
    assert renter.run("exec", lease, "--", "echo", "still").stdout == "still\n"
    renter("close", lease, "--yes")

    # A tenth of a seat is gone where the majority was not met. One makes it whole again, one leaves and has the rest.
    listed = {each["seat"]: each["stake"] for each in renter("validator", "list")["seats"]}
    assert listed == {**dict.fromkeys(seats[:3], "500"), **dict.fromkeys(seats[3:], "450")}
    site.world.fund(address(people[3]), tokens=50)
    topped = people[3]("validator", "top-up", str(seats[3]), "--approve", "--yes")
    assert topped["stake"] == "500"
    refused(renter, 4, "has not begun to leave", "validator", "exit", str(seats[4]), "--yes")
    people[4]("validator", "leave", str(seats[4]), "--yes")
    refused(renter, 4, "locked until", "validator", "exit", str(seats[4]), "--yes")
    anvil.advance(7 * DAY + 1)
    renter("validator", "exit", str(seats[4]), "--yes")
    assert books.ledger(address(people[4])) == SEAT * 9 // 10
    assert len(renter("validator", "list")["seats"]) == 4
    provider("provider", "retire", machine, "--yes")

"""What tenants do with a lease that runs, typed: another share, another tenant, another machine, and a rating."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devnet import images
from devnet.engine import Engine
from devnet.site import Site, make_site
from devnet.world import World
from leasehold.chain import (
    LeaseClosed,
    LeaseOpened,
    LeaseRejected,
    LeaseResized,
    LeaseStarted,
    LeaseTransferred,
    Rated,
    WorkloadSet,
    cost,
)

pytestmark = pytest.mark.slow

HOUR = 3_600
PRICE = 24 * 10**17


@pytest.fixture(scope="module")
def site(world: World) -> Iterator[Site]:
    with make_site(world, "--trial", "15m", tick_seconds=0.5) as made:
        yield made


def limits(site: Site, lease: str) -> tuple[str, int, int]:
    """Which container the lease has, and what of the host that may use: billionths of a core, bytes."""
    (container,) = site.containers(lease)
    assert container["State"]["Running"]
    settings = container["HostConfig"]
    return str(container["Id"]), int(settings["NanoCpus"]), int(settings["Memory"])


def test_a_lease_is_resized_and_given_to_another_while_it_runs(site: Site) -> None:
    lease = site.rent("--share", "1/2")
    (started,) = site.events(LeaseStarted, lease)
    before = limits(site, lease)
    site.world.anvil.advance(HOUR // 4 + 1)  # past the trial

    # Half of it: the container goes on, with half of what it had.
    site.renter("resize", lease, "1/4", "--yes")
    (resized,) = site.events(LeaseResized, lease)
    site.until(lambda: limits(site, lease) == (before[0], before[1] // 2, before[2] // 2))

    # Somebody else becomes its tenant: the agent serves them and nobody else, and the container goes on.
    heir = site.world.party("heir")
    address = heir.wallet("heir")
    site.world.fund(address)
    acceptance = heir.home / "acceptance.json"
    heir("accept-transfer", lease, "--output", str(acceptance), "--yes")
    site.renter("transfer", lease, address, "--acceptance", str(acceptance), "--yes")
    assert [event.to for event in site.events(LeaseTransferred, lease)] == [address]
    site.until(lambda: heir.run("exec", lease, "--", "echo", "mine").stdout == "mine\n")
    former = site.renter.run("exec", lease, "--", "echo", "mine")
    assert (former.stdout, former.returncode != 0) == ("", True)
    results = site.renter.run("results", lease, str(site.renter.home / "results"), "--wait", "1h")
    assert f"{address}'s since it was transferred" in results.stderr
    assert limits(site, lease)[0] == before[0]

    # Each part of its time is billed by what it had; who has it at the end gets the rest, and rates it.
    heir("close", lease, "--yes")
    (closed,) = site.events(LeaseClosed, lease)
    first = cost(PRICE, 4, resized.log.timestamp - started.start)
    assert resized.settled == first
    bill = first + cost(PRICE, 2, closed.end - resized.log.timestamp)
    assert closed.paid + closed.fee == bill
    heir("rate", lease, "5", "--yes")
    (rated,) = site.events(Rated, lease)
    assert (rated.tenant, rated.stars, rated.fee) == (address, 5, closed.fee)


def test_a_lease_moves_to_another_machine_in_one_transaction(site: Site) -> None:
    with Engine() as engine:
        images.load(engine.url, images.tiny())
        with make_site(site.world, engine=engine, tick_seconds=0.5) as second:
            second.until(lambda: second.serves)
            lease = site.rent()
            file = str(site.workload())
            moved = ("move", lease, str(second.machine), "--file", file, "--allow-unverified", "--yes")
            site.renter(*moved)
            (closed,) = site.events(LeaseClosed, lease)
            opened = second.here(LeaseOpened)[-1]
            assert opened.log.tx_hash == closed.log.tx_hash
            site.until(lambda: not any(each["State"]["Running"] for each in site.containers(lease)))
            second.until(lambda: [each for each in second.containers() if each["State"]["Running"]])


def test_a_lease_runs_something_else_and_is_rejected_inside_its_trial(site: Site) -> None:
    lease = site.rent("--for", "2h")
    (first,) = site.containers(lease)

    # Another workload: the container is replaced, the lease's time and price are not.
    (opened,) = site.events(LeaseOpened, lease)
    words = ("--image", site.tiny, "--yes", "--", "sh", "-c", "echo other; sleep 3600")
    site.renter("set-workload", lease, *words)
    (changed,) = site.events(WorkloadSet, lease)
    assert changed.workload != opened.workload
    site.until(
        lambda: [each["Id"] for each in site.containers(lease) if each["State"]["Running"]] != [first["Id"]]
    )
    site.until(lambda: site.renter.run("logs", lease).stdout == "other\n")
    assert site.renter.run("exec", lease, "--", "echo", "mine").stdout == "mine\n"

    # The trial is for that: everything comes back but the fee for holding the machine, and the agent stops it.
    told = site.renter("reject", lease, "--yes")
    (rejected,) = site.events(LeaseRejected, lease)
    assert told["state"] == "rejected"
    held = cost(PRICE, 8, rejected.log.timestamp - site.events(LeaseStarted, lease)[0].start)
    assert rejected.paid + rejected.fee == held // 2
    assert rejected.paid + rejected.fee + rejected.refunded == 2 * PRICE
    site.until(lambda: not any(each["State"]["Running"] for each in site.containers(lease)))

"""A spot lease is given notice: its container hears it, and saves its work before the end."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from devnet.account import TOKEN
from devnet.site import Site, make_site
from devnet.tenant import Tenant
from devnet.world import World
from leasehold.chain import LeaseClosed, LeaseTerminated, ResultPublished, Terms, cost, parse_lease

HOUR = 3_600
PRICE, SPOT_PRICE = 24 * 10**17, 6 * 10**17

# What a job does that would lose hours otherwise: it looks now and then, and saves what it has once it is told.
PROGRAM = """
mkdir -p /results
trap 'echo ended > /results/end; exit 0' TERM
touch /ready
while [ ! -e /run/leasehold/notice.json ]; do sleep 0.1; done
cp /run/leasehold/notice.json /results/heard
echo saved
while :; do sleep 1 & wait $!; done
"""


@pytest.fixture(scope="module")
def site(world: World) -> Iterator[Site]:
    """A machine whose provider also sells spot."""
    with make_site(world, tick_seconds=0.5) as made:
        terms = Terms(PRICE, SPOT_PRICE, HOUR, 30 * 24 * HOUR, 0, 60_000)
        made.owner.pool(lambda pool: pool.set_terms(made.machine, terms))
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("who", ["provider", "operator"])
def test_a_spot_lease_is_given_notice_and_the_container_hears_it(site: Site, who: str) -> None:
    tenant = Tenant(site)
    sealed = site.seal(tenant.workload(tenant.dataset("an answer"), program=PROGRAM, grace=10))
    lease = tenant.open(sealed, spot=True, max_price=SPOT_PRICE, duration=12 * HOUR)
    number = parse_lease(lease)
    site.until(lambda: tenant.lease(number).state.name == "ACTIVE")
    before = tenant.lease(number)
    assert (before.spot, before.price) == (True, SPOT_PRICE)
    assert not heard(site, lease)

    # Notice is free for spot, and its operator may give it too. The end moves to an hour from now.
    earned = site.owner.ledger()
    if who == "provider":
        site.provider("provider", "terminate", lease, "--yes")
    else:
        site.operator.pool(lambda pool: pool.terminate(number))
    (noticed,) = site.events(LeaseTerminated, lease)
    assert noticed.penalty == 0
    assert noticed.log.timestamp is not None
    assert noticed.end == noticed.log.timestamp + HOUR < before.end
    assert site.owner.ledger() == earned

    # The program inside finds the file, says so, and goes on.
    site.until(lambda: "saved" in site.logs(lease))
    assert json.loads(heard(site, lease)) == {"ends_at": noticed.end, "reason": "spot"}
    assert site.containers(lease)[0]["State"]["Running"]

    # Its end comes as any lease's: SIGTERM, what it saved is published, and the bill stops there.
    site.world.anvil.advance(HOUR + 1)
    site.until(lambda: site.events(ResultPublished, lease))
    (published,) = site.events(ResultPublished, lease)
    result = tenant.result(published.cid, lease)
    assert json.loads(result["heard"]) == {"ends_at": noticed.end, "reason": "spot"}
    assert result["end"] == "ended\n"
    tenant.pool(lambda pool: pool.close(number))
    (closed,) = site.events(LeaseClosed, lease)
    used = cost(SPOT_PRICE, 8, noticed.end - before.start)
    assert closed.paid + closed.fee == used
    assert tenant.wealth() == 10_000 * TOKEN - used


def heard(site: Site, lease: str) -> str:
    """What the container has been told, as the program inside reads it."""
    (container,) = site.containers(lease)
    with site.world.engine.client() as client:
        found = client.containers.get(container["Id"]).exec_run(["cat", "/run/leasehold/notice.json"])
    return found.output.decode() if found.exit_code == 0 else ""

"""A provider's life by command line, beside a running agent, on a chain whose time is moved; to the unit at the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devnet.site import Site, make_site
from devnet.world import Party, World
from leasehold.chain import LeaseClaimed, LeaseClosed, LeaseStarted, LeaseTerminated

from .test_bad_input import address, holdings, sentence
from .test_reorg import another_chain

TOKEN = 10**18
SECOND = 10**15  # token units a second at 3.60 an hour
HOUR = 3_600
FEE_BPS = 300


@pytest.fixture
def site(world: World) -> Iterator[Site]:
    with another_chain(world) as chain, make_site(chain, tick_seconds=0.5) as made:
        yield made


def run(party: Party, code: int, says: str, *arguments: str) -> None:
    sentence(party.run(*arguments), code, says)


@pytest.mark.slow
def test_from_the_first_terms_to_the_last_withdrawal(site: Site) -> None:
    owner, machine, anvil = site.provider, str(site.machine), site.world.anvil
    wish = site.rent_arguments("--no-wait")

    owner("provider", "withhold", machine, "all", "--yes")
    run(site.renter, 9, "keeps that out of sale", *wish)
    owner("provider", "withhold", machine, "none", "--yes")
    owner("provider", "terms", machine, "--price", "3.6", "--yes")
    lease = site.rent("--for", "4h")
    (started,) = site.events(LeaseStarted, lease)
    assert isinstance(started, LeaseStarted)

    owner("provider", "delist", machine, "--yes")
    run(site.renter, 9, "delisted", *wish)
    assert site.renter.run("extend", lease, "1h", "--yes").returncode == 4
    owner("provider", "relist", machine, "--yes")
    site.renter("extend", lease, "1h", "--yes")
    ends = started.end + HOUR

    # In mid-lease what is older than the claim's lag is paid.
    anvil.advance(2 * HOUR)
    gained = owner("provider", "claim", "--yes")["gained"]
    (claimed,) = site.events(LeaseClaimed, lease)
    assert isinstance(claimed, LeaseClaimed)
    assert claimed.log.timestamp is not None
    assert claimed.settled == (claimed.log.timestamp - 900 - started.start) * SECOND
    assert claimed.fee == claimed.settled * FEE_BPS // 10_000
    assert claimed.paid + claimed.fee == claimed.settled
    assert float(gained) == pytest.approx(claimed.paid / TOKEN)
    assert site.containers(lease)[0]["State"]["Running"]

    # Notice: an hour more, and the cut-off time's price as penalty.
    run(owner, 4, "leased cells", "provider", "retire", machine, "--yes")
    run(owner, 9, "run `leasehold wallet deposit", "provider", "terminate", lease, "--yes")
    owner("wallet", "deposit", "2", "--approve", "--yes")
    owner("provider", "terminate", lease, "--yes")
    (noticed,) = site.events(LeaseTerminated, lease)
    assert isinstance(noticed, LeaseTerminated)
    assert noticed.penalty == (ends - noticed.end) * SECOND > 0
    assert site.containers(lease)[0]["State"]["Running"]
    anvil.advance(HOUR + 1)
    site.until(lambda: not any(each["State"]["Running"] for each in site.containers(lease)))
    assert owner("provider", "claim", "--yes")["closed"] == [lease]
    (closed,) = site.events(LeaseClosed, lease)
    assert isinstance(closed, LeaseClosed)
    used = (noticed.end - started.start) * SECOND
    deposit = 5 * HOUR * SECOND
    assert closed.refunded == deposit - used

    # Out, with the stake, once its delay has passed. The container's data have gone by then.
    owner("provider", "retire", machine, "--yes")
    run(owner, 9, "is locked until", "provider", "unstake", machine, "--yes")
    anvil.advance(14 * 24 * HOUR + 1)
    owner("provider", "unstake", machine, "--yes")
    owner("provider", "withdraw", "all", "--yes")
    site.renter("wallet", "withdraw", "all", "--yes")
    site.until(lambda: not site.containers(lease))
    assert site.host.process is not None
    assert site.host.process.poll() is None

    fee = used * FEE_BPS // 10_000
    assert holdings(site, address(owner)) == 10_000 * TOKEN + used - fee - noticed.penalty
    assert holdings(site, address(site.renter)) == 10_000 * TOKEN - used + noticed.penalty
    assert holdings(site, str(site.world.facts["controller"])) == fee  # all that the pool still holds

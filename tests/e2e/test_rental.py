"""A rental as its two sides see it, through their command lines."""

from __future__ import annotations

import pytest

from devnet.site import Site
from leasehold.chain import LeaseClosed, LeaseStarted


@pytest.mark.slow
def test_a_lease_runs_is_reached_and_pays_to_the_unit(site: Site) -> None:
    lease = site.rent()
    assert len(site.containers(lease)) == 1
    assert len(site.events(LeaseStarted, lease)) == 1

    shown = site.renter("show", lease)
    assert shown["state"] == "active"
    done = site.renter.run("exec", lease, "--", "sh", "-c", "echo from inside; exit 7")
    assert (done.stdout, done.returncode) == ("from inside\n", 7)

    site.renter("close", lease, "--yes")
    (closed,) = site.events(LeaseClosed, lease)
    assert isinstance(closed, LeaseClosed)
    assert closed.paid + closed.fee + closed.refunded == 24 * 10**17
    site.until(lambda: not [c for c in site.containers(lease) if c["State"] == "running"])

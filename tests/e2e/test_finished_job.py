"""A batch job, from `leasehold rent --batch` to a closed lease, while nobody of the renter's is there any more."""

from __future__ import annotations

import json

import pytest

from devnet.site import Site
from leasehold.chain import Executed, LeaseClosed, ResultPublished, parse_lease

PRICE = 24 * 10**17
JOB = {
    "kind": "batch",
    "command": ["sh", "-c", "mkdir -p /out; sleep 2; echo 42 > /out/answer; echo counted; exit 3"],
    "outputs": [{"path": "/out"}],
    "restart": "never",
}


def closed_of(site: Site, lease: str) -> LeaseClosed:
    found: list[LeaseClosed] = site.until(lambda: site.events(LeaseClosed, lease))
    (closed,) = found
    return closed


@pytest.mark.slow
def test_a_jobs_end_ends_its_bill_while_nobody_is_there(site: Site) -> None:
    """The renter's command has ended when the job has begun. The agent publishes, closes and pays the gas, and the
    renter pays the seconds, to the unit. Afterwards everything says how it ended.
    """
    lease = site.rent(**JOB)
    closed = closed_of(site, lease)
    (published,) = site.events(ResultPublished, lease)
    events = site.events(None)
    assert events.index(published) < events.index(closed)
    (executed,) = [event for event in events if isinstance(event, Executed)][-1:]
    assert executed.submitter == site.operator.address
    shown = site.renter("show", lease)
    seconds = shown["end"] - shown["start"]
    assert seconds < 3_000
    assert closed.paid + closed.fee == PRICE * seconds // 3_600
    assert closed.refunded == PRICE - closed.paid - closed.fee
    assert (shown["state"], shown["agent"]["exit_code"]) == ("ended", 3)
    followed = site.renter.run("logs", "-f", lease)
    assert (followed.stdout, followed.returncode) == ("counted\n", 3)
    assert f"Lease {lease} has finished: its command ended with 3." in followed.stderr
    folder = site.renter.home / f"results-{parse_lease(lease)}"
    site.renter("results", lease, str(folder))
    assert (folder / "out" / "answer").read_text() == "42\n"


@pytest.mark.slow
def test_an_agent_that_dies_as_it_closes_does_it_once_it_is_back(site: Site) -> None:
    """Once, and nothing is billed that would not have been but for the seconds without it."""
    lease = site.rent(**JOB)
    site.host.wait_for(lambda line: line.get("step") == "close-for-tenant" and line.get("lease") == lease)
    site.host.kill()
    site.host.start()
    closed = closed_of(site, lease)
    shown = site.renter("show", lease)
    assert closed.paid + closed.fee == PRICE * (shown["end"] - shown["start"]) // 3_600


@pytest.mark.slow
def test_without_the_order_it_is_shown_as_finished(site: Site) -> None:
    """To its tenant and to the host's owner; the order may come later."""
    lease = site.rent("--keep-open", **JOB)

    def phase() -> bool:
        return bool(site.renter("show", lease)["agent"]["phase"] == "finished")

    site.until(phase)
    (listed,) = [each for each in site.renter("leases") if each["id"] == lease]
    assert listed["exit_code"] == 3
    assert not site.events(LeaseClosed, lease)
    status = site.host.folder / "state" / "status.json"

    def told() -> bool:
        (seen,) = [each for each in json.loads(status.read_text())["leases"] if each["lease"] == lease]
        return bool(seen["phase"] == "finished" and seen["ended_with"] == 3)

    site.until(told)
    assert "finished" in site.host.run("status").stdout
    site.renter("close", lease, "--when-done", "--yes")
    closed_of(site, lease)

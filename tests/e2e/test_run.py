"""`leasehold run`, on machines that do it and machines that do not: one that declines, one that never starts, one that
dies in mid-run; and killed between any two things that it does.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devnet import images
from devnet.engine import Engine
from devnet.moments import standing_still
from devnet.patience import patient
from devnet.site import Site, make_site
from devnet.world import World
from leasehold.chain import (
    LeaseCancelled,
    LeaseClosed,
    LeaseOpened,
    LeaseRejected,
    LeaseStarted,
    format_lease,
)

pytestmark = pytest.mark.slow

JOB = "mkdir -p /outputs; echo counted; sleep 2; echo 42 > /outputs/answer; exit 7"


def typed(*sites: Site, job: str = JOB, more: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What is typed to have the job run on one of these machines."""
    machines = [word for site in sites for word in ("--machine", str(site.machine))]
    image = ("--image", sites[0].tiny, "--egress", "none")
    return ("run", *machines, *image, "--allow-unverified", "--yes", *more, "--", "sh", "-c", job)


def results_of(site: Site, name: str) -> Path:
    return site.renter.home / f"results-{name}"


def named(site: Site, name: str, *more: str) -> tuple[str, ...]:
    return ("--name", name, "--results", str(results_of(site, name)), *more)


def opened_by(site: Site) -> list[str]:
    """The renter's leases, as they are shown, the oldest first."""
    shown = site.renter("leases", "--all")
    mine = {lease["id"] for lease in shown}
    events = [event for event in site.events(LeaseOpened) if isinstance(event, LeaseOpened)]
    return [shown for event in events if (shown := format_lease(event.lease)) in mine]


def no_hold_fee(site: Site) -> None:
    assert not site.events(LeaseRejected)


def record_of(site: Site, name: str) -> dict[str, Any]:
    (path,) = (site.renter.home / "runs").glob(f"*/{name}.json")
    record: dict[str, Any] = json.loads(path.read_text())
    return record


def test_from_a_line_to_results_and_a_closed_lease(site: Site) -> None:
    """The log on standard output and nothing else, the exit code the command's own, the bill stopped."""
    done = site.renter.run(*typed(site, more=named(site, "once")))
    assert (done.returncode, done.stdout) == (7, "counted\n"), done.stdout + done.stderr
    assert (results_of(site, "once") / "outputs" / "answer").read_text() == "42\n"
    (lease,) = opened_by(site)
    (closed,) = site.events(LeaseClosed, lease)
    assert "Run once has ended with 7. It cost" in done.stderr
    record = record_of(site, "once")
    assert (record["ended"], record["tries"][0]["cost"]) == ("done", closed.paid + closed.fee)
    again = site.renter.run(*typed(site, more=named(site, "once")))
    assert "is there already" in again.stderr, again.stderr


def holdings(site: Site) -> int:
    """Token units in the renter's wallet and in his ledger."""
    (keystore,) = (site.renter.home / "keys").glob("*.json")
    account = str(json.loads(keystore.read_text())["address"]).removeprefix("0x").lower().rjust(64, "0")
    calls = [
        {"to": site.world.facts[name], "data": "0x70a08231" + account} for name in ("token", "controller")
    ]
    return sum(int(site.world.anvil.request("eth_call", call, "latest"), 16) for call in calls)


def paid(site: Site, lease: str) -> int:
    (closed,) = site.events(LeaseClosed, lease)
    return closed.paid + closed.fee


@pytest.fixture(scope="module")
def others(world: World) -> Iterator[tuple[Site, Site]]:
    """Two machines with engines of their own, cheaper than the site's: one without room, one that works."""
    with contextlib.ExitStack() as stack:
        sites = []
        for price, settings in (("1.00", {"disk_reserve": 1 << 50}), ("1.50", {})):
            engine = stack.enter_context(Engine(world.folder / f"engine-{price}"))
            images.load(engine.url, images.tiny())
            sites.append(stack.enter_context(make_site(world, "--price", price, engine=engine, **settings)))
        yield sites[0], sites[1]


def test_what_declines_and_what_never_starts_costs_nothing(site: Site, others: tuple[Site, Site]) -> None:
    """The cheapest declines at once. The engine of the next stands still: after twenty seconds the third is tried, and
    does it. The second's lease is left alone, and cancelled by the next run, once its window has passed.
    """
    full, still = others
    before = holdings(site)
    wish = ("--start-within", "20s", "--max-price", "3")
    with standing_still(still.engine.pid):
        done = site.renter.run(*typed(full, still, site, more=named(site, "third", *wish)))
        assert done.returncode == 7, done.stderr
        declined, unstarted, ran = opened_by(site)
        assert (
            "Machine " + str(full.machine) + " did not run it: the machine's disk has no room" in done.stderr
        )
        assert f"Lease {unstarted} on machine {still.machine} was not started" in done.stderr
        assert (results_of(site, "third") / "outputs" / "answer").read_text() == "42\n"
        assert site.renter("show", unstarted)["state"] == "opened"
        site.world.anvil.advance(1_900)
        more = named(site, "next")
        done = site.renter.run(*typed(site, more=more))
        assert done.returncode == 7, done.stderr
    assert site.events(LeaseCancelled, unstarted)
    assert not record_of(site, "third")["tries"][1]["cost"]
    last = opened_by(site)[-1]
    assert holdings(site) == before - paid(site, ran) - paid(site, last)
    no_hold_fee(site)
    assert not site.events(LeaseClosed, declined)


def test_a_machine_that_dies_in_mid_run(site: Site, others: tuple[Site, Site]) -> None:
    """Its agent and its engine are killed under a job that would never end there. The run notices, closes that lease
    and ends well on the other; the seconds of both are paid, and nothing else.
    """
    _, dies = others
    before = holdings(site)
    flag = "test -e /outputs/never || sleep 40; mkdir -p /outputs; echo 42 > /outputs/answer; exit 7"
    more = named(site, "dies", "--gone-after", "15s", "--max-price", "3")
    process = site.renter.popen(*typed(dies, site, job=f"echo begun; {flag}", more=more))
    try:
        dies.until(lambda: dies.here(LeaseStarted))
        dies.host.kill()
        for container in dies.containers():
            with dies.engine.client() as client:
                client.containers.get(container["Id"]).kill()
        said, _ = process.communicate(timeout=patient(240))
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 7, said
    assert [bool(tried["given_up"]) for tried in record_of(site, "dies")["tries"]] == [True, False]
    first, second = opened_by(site)
    assert holdings(site) == before - paid(site, first) - paid(site, second)
    no_hold_fee(site)


@pytest.mark.parametrize("moments", [range(1, 9), range(9, 18)], ids=["first", "later"])
def test_killed_and_repeated(site: Site, moments: range) -> None:
    """At each moment: the same line again ends the run, with one lease in all, and one bill."""
    for moment in moments:
        name, before, known = f"killed-{moment}", holdings(site), set(opened_by(site))
        line = typed(
            site, job="mkdir -p /outputs; echo 42 > /outputs/answer; sleep 2; exit 7", more=named(site, name)
        )
        script = Path(__file__).with_name("killed_run.py")
        killed = subprocess.run(
            [sys.executable, str(script), *line],
            env={**site.renter.environment, "MOMENT": str(moment)},
            capture_output=True,
            text=True,
            timeout=patient(120),
            check=False,
        )
        assert killed.returncode in (-9, 7), killed.stderr
        done = site.renter.run(*line)
        over = "is there already" in done.stderr  # it had ended, and its results are there
        assert done.returncode == 7 or over, done.stderr
        (lease,) = set(opened_by(site)) - known
        assert (results_of(site, name) / "outputs" / "answer").read_text() == "42\n"
        assert holdings(site) == before - paid(site, lease)
        assert record_of(site, name)["ended"] == "done"
    no_hold_fee(site)


def test_left_alone_and_gone_back_to(site: Site) -> None:
    """Once it has started it is paid for as long as it may last, and the job's end ends the bill all the same."""
    more = named(site, "alone", "--detach", "--at-most", "2h")
    left = site.renter(*typed(site, job="sleep 15; " + JOB, more=more))
    assert (left["outcome"], left["exit_code"]) == ("left", None)
    shown = site.renter("show", left["lease"])
    assert shown["end"] - shown["start"] == 7_200
    site.until(lambda: site.events(LeaseClosed, left["lease"]))
    back = site.renter.run("run", "--attach", "alone", "--yes")
    assert back.returncode == 7, back.stderr
    assert (results_of(site, "alone") / "outputs" / "answer").read_text() == "42\n"


def test_ctrl_c_where_nobody_sits_leaves_it_alone(site: Site) -> None:
    process = site.renter.popen(*typed(site, job="sleep 20; " + JOB, more=named(site, "pressed")))
    try:
        site.until(lambda: any(attrs["State"]["Running"] for attrs in site.containers()))
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=patient(120))
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, said
    assert "run pressed is left to go on" in said
    assert site.renter.run("run", "--attach", "pressed", "--yes").returncode == 7

"""A training loop that counts its steps loses no more than what came after its last checkpoint, whatever ends its
machine: and its weights are those of a loop that nobody disturbed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.test_run import holdings, named, no_hold_fee, opened_by, paid, record_of, results_of
from tests.training_loop import training, undisturbed

from devnet import images
from devnet.engine import Engine
from devnet.patience import patient
from devnet.site import Site, make_site
from devnet.world import World
from leasehold.chain import LeaseClosed, LeaseStarted, LeaseTerminated, Terms, cost

pytestmark = pytest.mark.slow

HOUR = 3_600
PRICE, SPOT_PRICE = 15 * 10**17, 6 * 10**17
KEPT = ("--checkpoint-every", "10s", "--checkpoint-size", "32MiB", "--output", "/out", "--grace", "1s")


@pytest.fixture(scope="module")
def ends(world: World) -> Iterator[Site]:
    """A machine with an engine of its own, whose provider also sells spot; the other's is the world's."""
    with contextlib.ExitStack() as stack:
        engine = stack.enter_context(Engine(world.folder / "engine-ends"))
        images.load(engine.url, images.tiny())
        made = stack.enter_context(make_site(world, "--price", "1.50", engine=engine, tick_seconds=0.5))
        terms = Terms(PRICE, SPOT_PRICE, HOUR, 30 * 24 * HOUR, 0, 60_000)
        made.owner.pool(lambda pool: pool.set_terms(made.machine, terms))
        yield made


def flags(site: Site, steps: int, *more: str) -> tuple[str, ...]:
    """A job of so many steps, as it is typed."""
    image = ("--image", site.tiny, "--egress", "none", "--allow-unverified", "--yes")
    return (*image, *KEPT, *more, "--", *training(steps))


def last_step(log: str) -> int:
    return int(log.rsplit("step ", 1)[1].split()[0]) if "step " in log else 0


def began_at(site: Site, lease: str) -> int:
    """The step at which its loop has begun, once it has."""
    log = site.until(
        lambda: site.containers(lease) and "begins at " in (said := site.logs(lease)) and said, patient(60)
    )
    return int(log.split("begins at ")[1].split()[0])


def kept(renter: Any, lease: str) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = renter("checkpoints", lease)["kept"]
    return made


def weights(folder: Path) -> str:
    (found,) = folder.rglob("weights")
    return found.read_text().strip()


def billed(site: Site, lease: str, price: int) -> None:
    """To the second, from its start to its end."""
    (closed,) = site.events(LeaseClosed, lease)
    (started,) = site.events(LeaseStarted, lease)
    assert started.log.timestamp is not None
    assert closed.log.timestamp is not None
    assert closed.paid + closed.fee == cost(price, 8, closed.log.timestamp - started.log.timestamp)


def test_its_agent_and_then_its_engine_are_killed(site: Site, ends: Site) -> None:
    """In mid-run: the run goes on on the other machine, from the last checkpoint that it has kept a copy of."""
    before, steps = holdings(site), 200
    machines = ("--machine", str(ends.machine), "--machine", str(site.machine), "--max-price", "3")
    more = named(site, "trains", "--gone-after", "15s", *machines)
    process = site.renter.popen("run", *flags(site, steps, *more))
    try:
        ends.until(lambda: ends.here(LeaseStarted))
        (first,) = opened_by(site)
        one = ends.until(lambda: record_of(site, "trains")["tries"][0]["checkpoint"], patient(90))
        done = last_step(ends.logs(first))
        ends.until(lambda: record_of(site, "trains")["tries"][0]["checkpoint"] != one, patient(90))
        ends.host.kill()
        for container in ends.containers(first):
            with ends.engine.client() as client:
                client.containers.get(container["Id"]).kill()
        ends.engine.kill()
        said, _ = process.communicate(timeout=patient(300))
    finally:
        process.kill()
        process.wait()
        ends.engine.start()
        ends.host.start()
    assert process.returncode == 0, said
    first, second = opened_by(site)
    begins = int(said.rsplit("begins at ", 1)[1].split()[0])
    assert done <= begins  # the one before the last was made when so many were done
    assert weights(results_of(site, "trains")) == undisturbed(steps)
    assert holdings(site) == before - paid(site, first) - paid(site, second)
    no_hold_fee(site)


def test_it_is_given_notice(site: Site, ends: Site, tmp_path: Path) -> None:
    """A spot lease: at the notice one is taken, and the last as its container has stopped. It is paid to its end."""
    steps, renter, before = 150, ends.renter, holdings(ends)
    machine = ("--machine", str(ends.machine), "--spot", "--for", "12h")
    lease = str(renter("rent", *machine, *flags(ends, 100_000, "--checkpoint-every", "1h"))["lease"])
    ends.until(lambda: last_step(ends.logs(lease)) >= 3)
    ends.provider("provider", "terminate", lease, "--yes")
    ends.until(lambda: [made for made in kept(renter, lease) if made["why"] == "notice"], patient(60))
    done = last_step(ends.logs(lease))
    ends.world.anvil.advance(HOUR + 1)
    made = ends.until(lambda: [made for made in kept(renter, lease) if made["why"] == "stop"], patient(90))
    assert kept(renter, lease)[0]["why"] == "notice"
    renter("close", lease, "--yes")
    (noticed,), (started,) = ends.events(LeaseTerminated, lease), ends.events(LeaseStarted, lease)
    assert noticed.penalty == 0  # that is what the price was for
    assert paid(ends, lease) == cost(SPOT_PRICE, 8, noticed.end - (started.log.timestamp or 0))
    assert holdings(ends) == before - paid(ends, lease)
    source = ("--checkpoint-from", made[-1]["cid"], "--machine", str(site.machine), "--batch", "--for", "1h")
    again = str(renter("rent", *source, *flags(site, max(steps, done + 20)))["lease"])
    assert began_at(site, again) >= done
    site.until(lambda: site.events(LeaseClosed, again), patient(180))
    renter("results", again, str(tmp_path / "out"))
    assert weights(tmp_path / "out") == undisturbed(max(steps, done + 20))


def test_it_is_moved(site: Site, ends: Site, tmp_path: Path) -> None:
    """Stopped where it is, and nothing of it is done twice."""
    renter, machine = ends.renter, ("--machine", str(ends.machine), "--for", "1h")
    lease = str(renter("rent", *machine, *flags(ends, 100_000, "--checkpoint-every", "1h"))["lease"])
    ends.until(lambda: last_step(ends.logs(lease)) >= 3)
    taken = renter("checkpoints", lease, "--now")
    assert taken["kept"]
    steps = last_step(ends.logs(lease)) + 150
    moved = str(renter("move", lease, str(site.machine), *flags(site, steps, "--batch"))["lease"])
    (container,) = ends.containers(lease)
    assert not container["State"]["Running"]
    assert began_at(site, moved) == last_step(ends.logs(lease))
    billed(ends, lease, PRICE)
    site.until(lambda: site.events(LeaseClosed, moved), patient(180))
    renter("results", moved, str(tmp_path / "out"))
    assert weights(tmp_path / "out") == undisturbed(steps)


def test_it_is_said_what_is_kept_and_why_none_is(site: Site) -> None:
    lease = site.rent(checkpoint={"size": "32MiB", "command": ["sh", "-c", "echo no weights yet; exit 3"]})
    done = site.renter.run("checkpoints", lease, "--now")
    assert done.returncode != 0
    assert "ended with 3: no weights yet" in done.stderr, done.stderr
    shown = site.renter.run("checkpoints", lease)
    assert "There is none yet." in shown.stdout + shown.stderr
    assert "The last attempt failed" in shown.stdout + shown.stderr
    site.renter("close", lease, "--yes")
    plain = site.rent()
    assert "no folder for checkpoints" in site.renter.run("checkpoints", plain, "--now").stderr
    assert site.renter("checkpoints", plain)["kept"] == []

"""`leasehold guard` as a process of its own, beside real agents: it warns, extends once however often it is killed, and
goes on with a job whose machine dies.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from devnet import images
from devnet.engine import Engine
from devnet.listeners import Listener, listening
from devnet.patience import patient
from devnet.site import Site, make_site
from devnet.world import World
from leasehold.chain import (
    Challenged,
    FailedOver,
    LeaseClosed,
    LeaseExtended,
    LeaseOpened,
    LeaseRejected,
    LeaseStarted,
    OutageOpened,
    WorkloadSet,
    cost,
    format_lease,
    parse_lease,
)

from .test_run import holdings, paid, record_of, results_of

pytestmark = pytest.mark.slow

PRICE, CHALLENGE_WINDOW = 15 * 10**17, 600

LOOP = """\
n=$(cat /checkpoint/step 2>/dev/null || echo 0)
echo "from $n"
begun=$n
while [ "$n" -lt 45 ]; do
  n=$((n + 1))
  echo "$n" > /checkpoint/step.new && mv /checkpoint/step.new /checkpoint/step
  sleep 1
  [ "$begun" -gt 0 ] || [ "$n" -lt 30 ] || sleep 3600
done
mkdir -p /outputs
echo "$n" > /outputs/answer
exit 7
"""
"""Counts to 45. From the beginning it comes no further than 30: however slow all else is, it is killed before that."""


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as made:
        yield made


@pytest.fixture
def other(world: World) -> Iterator[Site]:
    """A machine with an engine of its own, cheaper than the site's."""
    with Engine(world.folder / "engine-guard") as engine:
        images.load(engine.url, images.tiny())
        with make_site(world, "--price", "1.50", engine=engine) as made:
            yield made
        unmounted(made.host.folder)


def unmounted(folder: Path) -> None:
    """What an agent that was killed had mounted below a folder is so no more."""
    places = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for place in places:
        if place.startswith(f"{folder}/"):
            subprocess.run(["umount", "--lazy", place], check=True)


def told(site: Site, listener: Listener | None = None, **rules: Any) -> None:
    """Writes the guard's settings."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in rules.items() if not isinstance(value, dict)]
    for name, table in rules.items():
        if isinstance(table, dict):
            lines += [
                "",
                f"[guard.{name}]",
                *(f"{key} = {json.dumps(value)}" for key, value in table.items()),
            ]
    text = "\n".join(["[guard]", *lines, listener.settings() if listener is not None else ""])
    (site.renter.home / "config.toml").write_text(text)


@contextmanager
def guarding(site: Site) -> Iterator[subprocess.Popen[str]]:
    """A guard at work; whatever comes, it is ended."""
    environment = {**site.renter.environment, "GUARD_HOOK": "swordfish"}
    log = site.renter.home / "guard.log"
    with log.open("a") as said:
        process = subprocess.Popen(
            [sys.executable, "-c", "from leasehold.cli import main; main()", "guard", "run", "--yes"],
            env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said, text=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def opened_by(site: Site) -> list[str]:
    mine = {lease["id"] for lease in site.renter("leases", "--all")}
    events = [format_lease(event.lease) for event in site.events(LeaseOpened)]
    return [lease for lease in events if lease in mine]


def test_a_job_whose_machine_dies_goes_on_from_its_checkpoint_with_nobody_there(
    site: Site, other: Site, listener: Listener
) -> None:
    """The machine's agent and its container are killed in mid-loop. The guard has the last checkpoint, leaves the
    machine, opens one lease on the other, and fetches the same result. Both are paid to the second, and all is told.
    """
    before = holdings(site)
    told(site, listener, every=1, cheaper_by=0, idle_after=0)
    checkpoint = {"path": "/checkpoint", "interval": 10, "size": 64 << 20}
    file = site.workload(
        command=["sh", "-c", LOOP],
        kind="batch",
        checkpoint=checkpoint,
        outputs=[{"path": "/outputs", "public": True}],
    )
    left = site.renter(
        "run", "--file", str(file), "--machine", str(other.machine), "--machine", str(site.machine), "--detach",
        "--recover", "--budget", "20", "--max-price", "3", "--gone-after", "30s", "--allow-unverified", "--yes",
        "--name", "loop", "--results", str(results_of(site, "loop")),
    )  # fmt: skip
    assert left["outcome"] == "left"
    with guarding(site):
        other.until(lambda: other.here(LeaseStarted))
        other.until(lambda: record_of(site, "loop")["tries"][0]["checkpoint"], patient(180))
        other.host.kill()
        for container in other.containers():
            with other.engine.client() as client:
                client.containers.get(container["Id"]).kill()
        for channel in ("webhook", "mail", "ntfy"):
            listener.until(lambda name=channel: "has done its work" in str(listener.of(name)), patient(400))
    record = record_of(site, "loop")
    assert (record["ended"], record["tries"][-1]["exit_code"]) == ("done", 7)
    (answer,) = Path(record["folder"]).glob("outputs/answer")
    assert answer.read_text() == "45\n"
    first, second = opened_by(site)
    begun = site.logs(second).splitlines()[0]
    assert begun.startswith("from ")
    assert int(begun.removeprefix("from ")) > 0
    assert holdings(site) == before - paid(site, first) - paid(site, second)
    assert not site.events(LeaseRejected)
    said = [document["said"] for document in listener.of("webhook")]
    assert sum(f"goes on as lease {second}" in one for one in said) == 1
    assert len(listener.of("mail")) == len(listener.of("ntfy")) == len(said)
    assert not list((site.renter.home / "jobs").glob("*/loop.*"))  # its secrets go with it


def test_a_lease_whose_machine_dies_goes_on_at_its_standby(
    site: Site, other: Site, listener: Listener
) -> None:
    """Its agent and its container are killed. The guard has fetched its checkpoints, asks the machine on the chain,
    shows that it does not answer, opens the standby, and gives it the last one: the result is the same, and both are
    paid to the second.
    """
    told(site, listener, every=1, cheaper_by=0, idle_after=0, challenge=True, silent_after=2)
    site.renter("wallet", "deposit", "20", "--yes")
    before = holdings(site)
    file = site.workload(
        command=["sh", "-c", LOOP],
        kind="batch",
        checkpoint={"path": "/checkpoint", "interval": 10, "size": 64 << 20},
        outputs=[{"path": "/outputs", "public": True}],
    )
    rented = site.renter(
        "rent", "--file", str(file), "--machine", str(other.machine), "--backup", str(site.machine),
        "--for", "6h", "--allow-unverified", "--yes",
    )  # fmt: skip
    lease = str(rented["lease"])
    with guarding(site):
        (kept,) = other.until(
            lambda: list((site.renter.home / "checkpoints").glob(f"*/{parse_lease(lease)}")), patient(120)
        )
        first = kept.read_text()
        other.until(lambda: kept.read_text() != first, patient(120))
        other.host.kill()
        for container in other.containers():
            with other.engine.client() as client:
                client.containers.get(container["Id"]).kill()
        other.until(lambda: other.here(Challenged), patient(120))
        site.world.anvil.advance(CHALLENGE_WINDOW + 1)
        (moved,) = site.until(lambda: site.events(FailedOver, lease), patient(120))
        standby = format_lease(moved.backup)
        site.until(lambda: site.events(LeaseClosed, standby), patient(300))
        listener.until(lambda: f"Lease {standby} goes on from the last" in str(listener.of("webhook")))
    began = int(site.logs(standby).splitlines()[0].removeprefix("from "))
    assert 0 < began <= 30
    site.renter("results", standby, str(site.renter.home / "standby"))
    (answer,) = (site.renter.home / "standby").rglob("answer")
    assert answer.read_text() == "45\n"
    (down,), (started,) = other.here(OutageOpened), other.events(LeaseStarted, lease)
    assert started.log.timestamp is not None
    assert paid(site, lease) == cost(PRICE, 8, down.from_ - started.log.timestamp)
    assert holdings(site) == before - paid(site, lease) - paid(site, standby)
    assert len(site.events(WorkloadSet, standby)) == 1
    site.renter("guard", "once", "--yes")
    assert not list(site.renter.home.glob("standbys/*/*.json"))  # its secrets go with it


@pytest.mark.parametrize("moments", [range(1, 7), range(7, 13)], ids=["first", "later"])
def test_killed_anywhere_it_extends_once(site: Site, moments: range) -> None:
    """Before and after each note, as its transaction is signed and as it is mined: the next guard does what is missing
    and no more.
    """
    lease = site.rent()
    number = parse_lease(lease)
    script = Path(__file__).with_name("killed_run.py")
    for count, moment in enumerate(moments, 1):
        left = site.renter("show", lease)["end"] - site.world.anvil.timestamp
        keep = {"by": "2h", "before": left + 600, "at_most": "60h", "budget": "5000"}
        told(site, every=1, cheaper_by=0, **{"keep.all": keep})
        killed = subprocess.run(
            [sys.executable, str(script), "guard", "once", "--yes"],
            env={**site.renter.environment, "MOMENT": str(moment)},
            capture_output=True, text=True, timeout=patient(120), check=False,
        )  # fmt: skip
        assert killed.returncode in (-signal.SIGKILL, 0), killed.stderr
        site.renter("guard", "once", "--yes")
        extended = [event for event in site.events(LeaseExtended) if event.lease == number]
        assert len(extended) == count, moment


def test_one_is_at_work_and_another_takes_over(site: Site, listener: Listener) -> None:
    """The first is killed; what it had told is told no more, and what comes is."""
    lease = site.rent()
    told(site, listener, every=1, cheaper_by=0, idle_after=0, end_near="2h")
    with guarding(site) as first:
        listener.until(lambda: listener.kinds() == ["end-near"])
        assert site.renter("guard", "status")["at_work"]
        assert site.renter("guard", "once", "--yes") == {"at_work": True}
        with guarding(site):
            first.kill()
            first.wait()
            site.until(lambda: site.renter("guard", "status")["at_work"])
            site.provider("provider", "terminate", lease, "--yes")
            listener.until(lambda: "notice" in listener.kinds())
    assert listener.kinds().count("end-near") == 1
    assert listener.kinds().count("notice") == 1

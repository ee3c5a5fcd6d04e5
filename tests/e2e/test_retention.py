"""What a lease has left, typed: read after its end, gone on with in the next one, and refused once it is purged."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from devnet.moments import standing_still
from devnet.site import Site, make_site
from devnet.world import World

pytestmark = pytest.mark.slow
KEPT = 3_600


@pytest.fixture
def site(world: World) -> Iterator[Site]:
    with make_site(world, tick_seconds=0.5, retention_min=KEPT, retention_max=KEPT) as made:
        yield made


def test_data_outlives_its_lease_and_goes_on_in_the_next(site: Site) -> None:
    renter, key = site.renter, site.renter.home / "id"
    public = renter.keygen(key)
    lease = site.rent(ssh_keys=[public], command=["sh", "-c", "seq 1 20000; sleep 3600"])
    assert renter.run("exec", lease, "--", "sh", "-c", "echo kept > /state").returncode == 0
    renter("close", lease, "--yes")
    site.until(lambda: not any(each["State"]["Running"] for each in site.containers(lease)))

    # Its log is whole, and its files are read by every way that led into it, and by none can be changed.
    assert renter.run("logs", lease).stdout == "".join(f"{line}\n" for line in range(1, 20_001))
    site.until(lambda: renter.run("exec", lease, "--", "cat", "/state").stdout == "kept\n")
    assert renter.run("exec", lease, "--", "sh", "-c", "echo other > /state").returncode != 0
    assert renter.run("ssh", lease, "-i", str(key), "--", "cat /state").stdout == "kept\n"
    copy, taken = renter("ssh", lease, "-i", str(key), "--print")["copy"], renter.home / "state"
    place = f"{lease}@{site.contact.ssh.host}" if site.contact.ssh else ""
    subprocess.run([*copy, f"{place}:/state", str(taken)], check=True, capture_output=True)
    assert taken.read_text() == "kept\n"
    taken.write_text("other\n")
    assert subprocess.run([*copy, str(taken), f"{place}:/state"], capture_output=True).returncode != 0
    told = renter("show", lease)["agent"]["kept"]
    assert 0 < told["read_seconds"] <= KEPT

    # Nobody else's.
    thief = site.world.party("thief")
    site.world.fund(thief.wallet("thief"))
    refused = thief.run("exec", lease, "--", "cat", "/state")
    assert (refused.stdout, "another account" in refused.stderr) == ("", True)

    # Rented again, its machine goes on with it; and the slot's earlier lease is there beside it.
    machine = ("--allow-unverified", "--for", "1h", "--yes")
    again = renter("rent", "--again", lease, *machine)["lease"]
    assert again == f"{lease}.1"
    assert renter.run("exec", again, "--", "sh", "-c", "cat /state; echo more >> /state").stdout == "kept\n"
    assert renter("show", again)["agent"]["renews"] == lease
    assert renter.run("exec", lease, "--", "cat", "/state").stdout == "kept\n"

    # Its time is over: a sentence, by each way.
    site.world.anvil.advance(KEPT + 60)
    site.until(lambda: not site.containers(lease))
    for words in (("logs", lease), ("exec", lease, "--", "true")):
        site.until(lambda words=words: is_gone(renter.run(*words)))  # its notes go last
    assert renter.run("ssh", lease, "-i", str(key), "--", "true").returncode != 0
    site.until(lambda: not any(each["State"]["Running"] for each in site.containers(again)))
    assert renter.run("exec", again, "--", "cat", "/state").stdout == "kept\nmore\n"
    site.host.stop()  # and with the agent its readers
    with site.engine.client() as client:
        assert client.containers.list(all=True, filters={"label": "leasehold.reader"}) == []


def test_an_agent_that_is_killed_as_it_copies_leaves_nothing_and_loses_nothing(site: Site) -> None:
    """Once while somebody is about to read what is over, once while it is renewed; the engine goes on alone."""
    renter, host = site.renter, site.host
    lease = site.rent()
    assert renter.run("exec", lease, "--", "sh", "-c", "echo kept > /state").returncode == 0
    renter("close", lease, "--yes")
    site.until(lambda: not any(each["State"]["Running"] for each in site.containers(lease)))

    since = len(host.steps)
    reading = renter.popen("exec", lease, "--", "cat", "/state")
    host.wait_for(lambda line: line.get("event") == "step" and line.get("step") == "read", since=since)
    with standing_still(site.engine.pid):
        host.kill()
    reading.communicate()
    host.start()
    site.until(lambda: readers(site, lease) == (0, 0))
    site.until(lambda: renter.run("exec", lease, "--", "cat", "/state").stdout == "kept\n")

    since = len(host.steps)
    machine = ("--allow-unverified", "--for", "1h", "--yes")
    renting = renter.popen("rent", "--again", lease, *machine)
    host.wait_for(lambda line: line.get("event") == "step" and line.get("step") == "renew", since=since)
    with standing_still(site.engine.pid):
        host.kill()
    host.start()
    renting.communicate()
    assert renting.returncode == 0
    again = f"{lease}.1"
    site.until(lambda: renter.run("exec", again, "--", "cat", "/state").stdout == "kept\n")
    assert len(site.containers(again)) == 1

    # What the engine has made twice goes with the leases.
    site.world.anvil.advance(KEPT + 60)
    site.until(lambda: not any(each["State"]["Running"] for each in site.containers(again)))
    site.world.anvil.advance(KEPT + 60)
    site.until(lambda: not site.containers())
    site.until(lambda: kept(site, lease) == kept(site, again) == 0)


def is_gone(done: subprocess.CompletedProcess[str]) -> bool:
    return done.returncode != 0 and "goes with what was kept of it" in done.stderr


def kept(site: Site, lease: str) -> int:
    """Images of what the lease has carried over."""
    with site.engine.client() as client:
        images = client.images.list(all=True, filters={"label": "leasehold.kept"})
    return sum(image.labels["leasehold.kept"].startswith(f"leasehold-{lease}-") for image in images)


def readers(site: Site, lease: str) -> tuple[int, int]:
    """Containers in which the lease is read, and images that they are made of."""
    (container,) = site.containers(lease)
    label = {"label": f"leasehold.reader={container['Name'].removeprefix('/')}"}
    with site.engine.client() as client:
        found = client.containers.list(all=True, filters=label, ignore_removed=True)
        return len(found), len(client.images.list(all=True, filters=label))

"""Rows of docs/daily.md that no other test types: a day's work, on a real agent, engine, Kubo and S3 server."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from devnet.bucket import Bucket
from devnet.patience import patient
from devnet.site import Site, make_site
from devnet.world import Party, World
from leasehold.chain import LeaseClosed

pytestmark = pytest.mark.slow

COUNTS = "n=0; while :; do n=$((n+1)); echo step $n; sleep 1; done"


@pytest.fixture(scope="module")
def site(world: World) -> Iterator[Site]:
    with make_site(world, tick_seconds=0.5) as made:
        yield made


@pytest.fixture(scope="module")
def train(site: Site) -> str:
    """A lease called train, in a project, which writes a line a second."""
    return site.rent(
        *("--share", "1/4", "--name", "train", "--label", "project=vision"), command=["sh", "-c", COUNTS]
    )


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    with Bucket() as made:
        yield made


def inside(site: Site, lease: str, script: str) -> str:
    """What a script says in the container."""
    done = site.renter.run("exec", lease, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    return done.stdout


def with_more(party: Party, **variables: str) -> Party:
    """The same person, who has set these."""
    return replace(party, environment={**party.environment, **variables})


def test_the_log_is_followed_and_looked_at_by_time(site: Site, train: str) -> None:
    with site.renter.popen("logs", "-f", "train", "--timestamps", "--since", "10m") as following:
        try:
            assert following.stdout is not None
            first = next(line for line in following.stdout if "step" in line)
        finally:
            following.terminate()
    stamp, _, said = first.partition(" ")
    assert (stamp[-1], said.strip()) == ("Z", "step 1")
    (last,) = site.renter.run("logs", "train", "--tail", "1").stdout.splitlines()
    assert last.startswith("step ")
    assert "Linux" in inside(site, "train", "uname")


def test_variables_and_secrets_come_from_my_shell(site: Site, tmp_path: Path) -> None:
    me = with_more(site.renter, HF_TOKEN="hf_seen", WANDB="never shown")
    (tmp_path / "env").write_text("# of the project\nMODE=fast\nHF_TOKEN\n")
    flags = ("-e", "HF_TOKEN", "--env-file", str(tmp_path / "env"), "--secret", "WANDB")
    lease = str(me(*site.rent_arguments("--share", "1/8", *flags))["lease"])
    told = inside(site, lease, "echo $HF_TOKEN $MODE; cat /run/secrets/WANDB")
    assert told == "hf_seen fast\nnever shown"
    site.renter("close", lease, "--yes")


def test_files_go_both_ways_by_the_leases_name(site: Site, train: str, tmp_path: Path) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "a.py").write_text("print(1)\n")
    site.renter("cp", str(folder / "a.py"), "train:/srv/")
    assert site.renter("sync", str(folder), "train:/srv/code")["sent"]
    assert site.renter("sync", str(folder), "train:/srv/code")["sent"] == []
    site.renter("cp", "train:/srv/a.py", str(tmp_path / "back.py"))
    assert (tmp_path / "back.py").read_text() == "print(1)\n"


def test_it_stands_still_and_goes_on(site: Site, train: str) -> None:
    """By its name, and billed all the same."""
    inside(site, "train", "echo kept > /kept")
    site.renter("stop", "train", "--yes")
    site.until(lambda: site.renter("show", "train")["agent"]["phase"] == "stopped")
    assert site.renter.run("exec", "train", "--", "true").returncode != 0
    assert site.renter("show", "train")["state"] == "active"
    site.renter("start", "train")
    site.until(lambda: site.renter.run("exec", "train", "--", "true").returncode == 0)
    assert inside(site, "train", "cat /kept") == "kept\n"


def test_a_volume_stays_and_travels(site: Site, tmp_path: Path) -> None:
    first = site.rent("--share", "1/8", "--volume", "data:/data:64MiB")
    inside(site, first, "echo one > /data/one")
    (seen,) = [row for row in site.renter("volume", "ls") if row["name"] == "data"]
    assert seen["machine"] == site.machine
    cid = site.renter("volume", "export", first, "data")["cid"]
    site.renter("close", first, "--yes")
    again = site.rent("--share", "1/8", "--volume", "data:/data:64MiB")
    assert inside(site, again, "cat /data/one") == "one\n"
    site.renter("close", again, "--yes")

    # As on another machine, which has none of it: what was exported is where it begins.
    gone = ("volume", "rm", again, "data", "--yes")
    site.until(lambda: site.renter.run(*gone).returncode == 0)
    begun = site.rent("--share", "1/8", "--volume", "data:/data:64MiB", "--volume-from", f"data={cid}")
    assert inside(site, begun, "cat /data/one") == "one\n"
    site.renter("close", begun, "--yes")


def test_searching_by_worth(site: Site) -> None:
    terms = "price<3 cpu>=1 cells>=1 kind:cpu"
    found = site.renter("machines", terms, "--sort", "price")
    assert site.machine in [row["id"] for row in found]
    assert site.renter("machines", f"{terms} mem>=1TB") == []


def test_what_it_uses_and_costs_at_a_glance(site: Site, train: str, tmp_path: Path) -> None:
    (row,) = [row for row in site.renter("top", "--once")["leases"] if row["name"] == "train"]
    assert row["lease"] == train
    site.until(lambda: site.renter("metrics", "train")["readings"])
    picture = tmp_path / "cost.svg"
    done = site.renter.run("cost", "--by", "label", "--csv", "--svg", str(picture))
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert any("project=vision" in cell for line in rows for cell in line), done.stdout
    assert picture.read_text().startswith("<svg")


def test_data_comes_from_a_bucket_and_goes_back_there(site: Site, bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("in/numbers.csv", b"1\n2\n")
    me = with_more(site.renter, **bucket.environment)
    cid = me("dataset", "add", "s3://lab/in")["cid"]
    script = "wc -l < /data/numbers.csv > /out/lines; echo more > /out/more"
    wish = site.rent_arguments(
        *("--share", "1/8", "--batch", "-d", f"{cid}:/data", "--output", "/out"), command=["sh", "-c", script]
    )
    lease = str(me(*wish)["lease"])
    site.until(lambda: site.events(LeaseClosed, lease), patient(60))
    me("results", lease, str(tmp_path / "part"), "--only", "*/lines", "--to", "s3://lab/part")
    assert bucket.get("part/out/lines") == b"2\n"
    assert [path.name for path in (tmp_path / "part" / "out").iterdir()] == ["lines"]
    me("results", lease, str(tmp_path / "part"), "--force", "--to", "s3://lab/whole")
    assert bucket.get("whole/out/more") == b"more\n"


def test_many_are_one_thing_by_their_label(site: Site) -> None:
    labelled = ("--share", "1/8", "--label", "project=sweep")
    leases = {site.rent(*labelled) for _ in range(2)}
    site.renter("label", next(iter(leases)), "best=yes")
    site.renter("close", "--label", "project=sweep", "--yes")
    assert all(site.events(LeaseClosed, lease) for lease in leases)
    (best,) = [row for row in site.renter("name") if row["labels"].get("best") == "yes"]
    assert best["labels"]["project"] == "sweep"

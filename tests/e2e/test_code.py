"""A folder of code goes in with a rent: as it was, straight to the agent, and again in less."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from devnet.patience import patient
from devnet.site import Site

pytestmark = pytest.mark.slow

SHOW = ["find . -mindepth 1 -exec stat -c '%A %n' {} + | sort; cat 'sub/a b'; readlink out; cat big | md5sum"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With what a folder may hold."""
    code = tmp_path / "train"
    (code / "sub").mkdir(parents=True)
    (code / "empty").mkdir()
    (code / "sub" / "a b").write_text("hello\n")
    (code / "run.sh").write_text("echo ran in $PWD\nexec sleep 3600\n")
    (code / "run.sh").chmod(0o755)
    (code / "out").symlink_to("/etc/passwd")
    (code / ".gitignore").write_text("*.ckpt\ndata/\n")
    (code / "model.ckpt").write_text("large")
    (code / "data").mkdir()
    (code / "data" / "x").write_text("x")
    (code / ".git").mkdir()
    (code / ".git" / "HEAD").write_text("ref")
    Path(os.fsdecode(os.fsencode(code) + "/odd\né".encode() + b"x" * 240)).write_text("odd")
    with (code / "big").open("wb") as file:
        file.write(os.urandom(3 << 20))
        file.truncate(5 << 20)
    return code


def left_to_the_engine(site: Site, lease: str | None = None) -> bool:
    """Whether the agent says that it did not write code itself, of a lease or of any."""
    lines = (step.line for step in site.host.steps)
    said = [line["lease"] for line in lines if line.get("event") == "code goes by the engine"]
    return bool(said) if lease is None else lease in said


def test_it_is_there_as_it_was(site: Site, folder: Path) -> None:
    lease = site.rent("--code", f"{folder}:/srv/app", command=["/bin/sh", "run.sh"])
    site.until(lambda: "ran in /srv/app" in site.logs(lease))
    done = site.renter.run("exec", lease, "--", "sh", "-c", f"cd /srv/app; {SHOW[0]}")
    assert done.returncode == 0, done.stderr
    for line in ("-rwxr-xr-x ./run.sh", "drwxr-xr-x ./empty", "lrwxrwxrwx ./out", "/etc/passwd", "hello"):
        assert line in done.stdout
    assert "model.ckpt" not in done.stdout
    assert "./data" not in done.stdout
    assert ".git/" not in done.stdout
    assert not left_to_the_engine(site, lease)


def test_a_lease_that_runs_gets_code_with_its_next_workload(site: Site, folder: Path) -> None:
    lease = site.rent(command=["sleep", "3600"])
    change = ("set-workload", lease, "--image", site.tiny, "--egress", "none", "--code", str(folder))
    dry = site.renter(*change, "--dry-run", "--", "/bin/sh", "run.sh")
    assert dry["code_files"] >= 4
    site.renter(*change, "--yes", "--", "/bin/sh", "run.sh")
    site.until(lambda: "ran in /work" in site.logs(lease))


def test_again_only_what_has_changed_is_sent(site: Site, folder: Path) -> None:
    first = site.renter(*site.rent_arguments("--code", str(folder), command=["sleep", "3600"]))
    assert first["code"]["sent"] > 3 << 20
    site.renter("close", first["lease"], "--yes")
    (folder / "sub" / "a b").write_text("changed\n")
    second = site.renter(*site.rent_arguments("--code", str(folder), command=["sleep", "3600"]))
    assert second["code"]["files"] == first["code"]["files"]
    assert second["code"]["sent"] < 100
    done = site.renter.run("exec", second["lease"], "--", "cat", "/work/sub/a b")
    assert done.stdout == "changed\n"


def test_an_agent_that_is_killed_in_between_goes_on(site: Site, folder: Path) -> None:
    """It had taken some of the code, or put it in its container: what is there is not waited for again."""
    with site.renter.popen(*site.rent_arguments("--code", str(folder), "--no-wait", "--json")) as renting:
        site.host.wait_for(lambda line: line.get("step") == "put-code")
        site.host.kill()
        site.host.start()
        renting.communicate(timeout=patient(120))
    (container,) = site.until(
        lambda: [each for each in site.containers() if each["State"]["Status"] == "running"]
    )
    with site.engine.client() as client:
        code, said = client.containers.get(container["Id"]).exec_run(["cat", "/work/sub/a b"])
    assert (code, said) == (0, b"hello\n")


def test_nothing_is_written_where_others_data_is_mounted(site: Site, folder: Path, tmp_path: Path) -> None:
    """An image whose link leads from the code's place into a dataset that other tenants have mounted, too."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "x").write_text("everybody's")
    cid = site.renter("dataset", "add", "--public", str(data))["cid"]
    with site.engine.client() as client:
        made = client.containers.run(site.tiny, ["ln", "-s", "/data/d", "/esc"], detach=True)
        made.wait()
        image = made.commit("leasehold/linked", "1").id
        made.remove()
    datasets = [{"cid": cid, "path": "/data/d"}]
    place = f"{folder}:/esc/sub"
    done = site.renter.run(*site.rent_arguments("--code", place, image=image, datasets=datasets))
    assert done.returncode != 0
    assert "its container did not start" in done.stderr, done.stderr
    assert left_to_the_engine(site)
    kept = site.host.folder / "state" / "datasets" / cid
    assert [path.name for path in kept.iterdir()] == ["x"]
    lease = site.rent("--code", f"{folder}:/esc", image=image, datasets=datasets)
    assert [path.name for path in kept.iterdir()] == [
        "x"
    ]  # the link made way for a folder of the container's own
    assert "run.sh" in site.renter.run("exec", lease, "--", "ls", "/esc").stdout

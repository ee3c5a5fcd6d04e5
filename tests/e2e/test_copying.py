"""Files go into a lease's container and out of it, and only what differs where folders are compared."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from devnet.site import Site, make_site
from devnet.world import World

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lease(world: World) -> Iterator[tuple[Site, str]]:
    """A lease that sleeps, for all tests of this file."""
    with make_site(world) as site:
        yield site, site.rent()


def inside(site: Site, lease: str, script: str) -> str:
    """What a script says in the container."""
    done = site.renter.run("exec", lease, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_folder_goes_in_and_comes_back(lease: tuple[Site, str], tmp_path: Path) -> None:
    site, number = lease
    folder = tmp_path / "data"
    (folder / "sub" / "empty").mkdir(parents=True)
    (folder / "odd\nname' \"$(x)").write_text("odd")
    (folder / "-rf").write_text("dash")
    (folder / "run").write_text("x")
    (folder / "run").chmod(0o755)
    (folder / "inner").symlink_to("sub")
    (folder / "large").write_bytes(os.urandom(3 << 20))
    told = site.renter("cp", "-r", str(folder), f"{number}:/in/")
    assert told["files"] == 4
    assert inside(site, number, "stat -c %a /in/data/run; readlink /in/data/inner") == "755\nsub\n"
    back = tmp_path / "back"
    assert site.renter("cp", f"{number}:/in/data", str(back))["left"] == []
    names = sorted(path.relative_to(folder) for path in folder.rglob("*"))
    assert sorted(path.relative_to(back) for path in back.rglob("*")) == names
    for path in names:
        if (folder / path).is_file():
            assert (back / path).read_bytes() == (folder / path).read_bytes()
    assert os.access(back / "run", os.X_OK)


def test_one_file_by_another_name(lease: tuple[Site, str], tmp_path: Path) -> None:
    site, number = lease
    (tmp_path / "a").write_text("one")
    site.renter("cp", str(tmp_path / "a"), f"{number}:/one/b")
    site.renter("cp", f"{number}:/one/b", str(tmp_path / "c"))
    assert (tmp_path / "c").read_text() == "one"
    site.renter("cp", f"{number}:/one/b", str(tmp_path))
    assert (tmp_path / "b").read_text() == "one"


def test_what_would_lead_out_is_left(lease: tuple[Site, str], tmp_path: Path) -> None:
    site, number = lease
    inside(
        site,
        number,
        "mkdir -p /bad/d; ln -sf /etc/passwd /bad/out; echo in > /bad/d/x; mkfifo /bad/pipe || true",
    )
    outside = tmp_path / "outside"
    outside.mkdir()
    target = tmp_path / "here"
    target.mkdir()
    (target / "bad").mkdir()
    (target / "bad" / "d").symlink_to(outside)  # what is in the way here is not written through
    told = site.renter("cp", f"{number}:/bad", str(target))
    assert set(told["left"]) >= {"out", "d"}
    assert list(outside.iterdir()) == []
    assert not (target / "bad" / "out").exists()


def test_only_what_differs_travels(lease: tuple[Site, str], tmp_path: Path) -> None:
    site, number = lease
    folder = tmp_path / "train"
    (folder / "pkg").mkdir(parents=True)
    for name in ("a", "b", "pkg/c"):
        (folder / name).write_text(name)
    (folder / ".gitignore").write_text("*.ckpt\n")
    (folder / "local.ckpt").write_text("stays here")
    there = f"{number}:/train"
    assert len(site.renter("sync", str(folder), there)["sent"]) == 5
    assert site.renter("sync", str(folder), there)["sent"] == []
    inside(site, number, "echo made > /train/new.ckpt; echo made > /train/made")
    (folder / "a").write_text("changed")
    (folder / "b").unlink()
    tried = site.renter("sync", "--delete", "--dry-run", str(folder), there)
    assert (tried["sent"], tried["deleted"]) == (["a"], ["b", "made"])
    assert site.renter("sync", "--delete", str(folder), there) | {"dry_run": True} == tried
    assert inside(site, number, "cd /train; cat a; find . -type f | sort") == (
        "changed./.gitignore\n./a\n./new.ckpt\n./pkg/c\n"
    )


def test_bytes_are_compared_where_asked(lease: tuple[Site, str], tmp_path: Path) -> None:
    site, number = lease
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "x").write_text("abc")
    there = f"{number}:/sums"
    site.renter("sync", str(tmp_path / "f"), there)
    inside(site, number, "t=$(stat -c %Y /sums/x); printf xyz > /sums/x; touch -d @$t /sums/x")
    assert site.renter("sync", str(tmp_path / "f"), there)["sent"] == []
    assert site.renter("sync", "--checksum", str(tmp_path / "f"), there)["sent"] == ["x"]
    assert inside(site, number, "cat /sums/x") == "abc"


def test_a_folder_here_is_made_like_one_there(lease: tuple[Site, str], tmp_path: Path) -> None:
    site, number = lease
    inside(
        site,
        number,
        "mkdir -p /results/deep; echo 1 > /results/one; echo 2 > /results/deep/two; ln -s one /results/l",
    )
    here = tmp_path / "results"
    assert len(site.renter("sync", f"{number}:/results", str(here))["sent"]) == 4
    assert (here / "deep/two").read_text() == "2\n"
    assert site.renter("sync", f"{number}:/results", str(here))["sent"] == []
    (here / "mine").write_text("mine")
    assert site.renter("sync", "--delete", f"{number}:/results", str(here))["deleted"] == ["mine"]
    assert site.renter.run("sync", "--delete", f"{number}:/nowhere", str(here)).returncode != 0
    assert (here / "one").exists()  # what is not there is no empty folder

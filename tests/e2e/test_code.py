"""A folder of code goes in with a rent: as it was, straight to the agent, and again in less."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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

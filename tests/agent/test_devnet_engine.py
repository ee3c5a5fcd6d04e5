"""The tests' own engine leaves nothing behind, not even when its process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from devnet import engine as devnet_engine
from devnet import images

_SCRIPT = """
import os, signal, sys, time
from devnet import images
from devnet.engine import Engine
from devnet.steward import steward
engine = Engine(size_gib=2).__enter__()
images.load(engine.url, images.tiny())
with engine.client() as client:
    made = client.containers.run("leasehold/tiny:1", ["sleep", "600"], detach=True)
    made.reload()
    os.kill(steward().pid, signal.SIGKILL)
    print(engine.netns.name, engine.folder, made.attrs["State"]["Pid"], flush=True)
time.sleep(600)
"""


def test_an_image_that_was_given_up_leaves_nothing_mounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder is removed, and what is mounted there would be emptied first."""
    tool = tmp_path / "debootstrap"
    tool.write_text(
        '#!/bin/sh\nmkdir -p "$4/proc" && mount -t tmpfs none "$4/proc" && touch "$4/proc/theirs"; exit 1\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    before = Path("/proc/self/mounts").read_text().count("leasehold-debian-")
    with pytest.raises(images.ImageError):
        images.base(tmp_path / "cache")
    assert Path("/proc/self/mounts").read_text().count("leasehold-debian-") == before


def test_what_a_killed_engine_left_is_reaped_where_its_steward_was_killed_too() -> None:
    scripts = str(Path(devnet_engine.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": scripts}
    with subprocess.Popen(
        [sys.executable, "-c", _SCRIPT], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        name, folder, pid = process.stdout.readline().split()
        process.send_signal(signal.SIGKILL)
    assert Path("/proc", pid).exists()
    devnet_engine.reap()
    assert not (devnet_engine.NAMESPACES / name).exists()
    assert not Path(folder).exists()
    assert folder not in Path("/proc/mounts").read_text()
    assert name not in subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout
    assert devnet_engine._cgroups_of(name) == []
    # The container's processes are gone, or await process 1, which may be slow to take leave of them.
    status = Path("/proc", pid, "stat")
    assert not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z"

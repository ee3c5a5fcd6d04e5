"""What a process started for itself goes when the process is killed, which leaves it no time to see to that."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devnet import engine
from devnet.patience import patient
from devnet.steward import Steward

SCRIPTS = Path(__file__).parents[2] / "scripts"
OWNER = """
import json, os, signal, sys, tempfile
from pathlib import Path
from devnet import images
from devnet.anvil import Anvil
from devnet.engine import Engine
from devnet.kubo import Kubo
from devnet.nursery import Nursery
from devnet.steward import steward
from devnet.world import Host, Party

here = Path(sys.argv[1])
environment = {**os.environ, "HOME": str(here), "LEASEHOLD_HOME": str(here)}
chain = Anvil().__enter__()
node = Kubo(here / "node").__enter__()
docker = Engine(size_gib=2).__enter__()
images.load(docker.url, images.tiny())
with docker.client() as client:
    container = client.containers.run("leasehold/tiny:1", ["sleep", "600"], detach=True)
    container.reload()
nursery = Nursery().__enter__()
agents = [Host("forked", here, environment, nursery), Host("executed", here, environment, descriptors=256)]
for agent in agents:
    agent.start()
    agent.process.send_signal(signal.SIGSTOP)  # or it would end before it is looked at: it has no chain to follow
command = Party("tenant", here, environment).popen("wallet", "list")
command.send_signal(signal.SIGSTOP)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # it may come before it is waited for
print(json.dumps({
    "processes": {
        "the chain": chain.pid,
        "the IPFS node": node.pid,
        "the engine": docker.pid,
        "its container": container.attrs["State"]["Pid"],
        "the nursery": nursery.pid,
        "a forked agent": agents[0].process.pid,
        "an agent": agents[1].process.pid,
        "a command": command.pid,
    },
    "steward": steward().pid,
    "engine": docker.netns.name,
    "folders": [str(chain._folder), str(docker.folder), str(Path(nursery._address).parent)],
}), flush=True)
signal.sigwait({signal.SIGINT})
raise KeyboardInterrupt
"""


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """A process that has started one of each kind, and what it says of them."""
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS)}
    command = [sys.executable, "-c", OWNER, str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_all_that_a_killed_process_started_is_gone(owner, how):
    """Killed, or by Ctrl-C where no block catches it."""
    process, said = owner
    with contextlib.ExitStack() as undo:
        handles = {name: _handle(pid, undo) for name, pid in said["processes"].items()}
        steward = _handle(said["steward"], undo)
        assert [name for name, handle in handles.items() if _ended(handle, 0)] == []
        assert all(Path(folder).exists() for folder in said["folders"])
        process.send_signal(how)
        process.wait()
        assert _ended(steward, patient(120))
        assert [name for name, handle in handles.items() if not _ended(handle, patient(60))] == []
    assert [folder for folder in said["folders"] if Path(folder).exists()] == []
    assert not (engine.NAMESPACES / said["engine"]).exists()
    assert engine._cgroups_of(said["engine"]) == []
    assert said["folders"][1] not in Path("/proc/mounts").read_text()


def test_a_folder_is_one_of_its_owner_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The steward stands in `/`, where the same name is something else's."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    steward = Steward()
    steward.folder(Path("mine"))
    steward.close()
    assert not (tmp_path / "mine").exists()


def _handle(pid: int, undo: contextlib.ExitStack) -> int:
    handle = os.pidfd_open(pid)
    undo.callback(os.close, handle)
    return handle


def _ended(handle: int, seconds: float) -> bool:
    return bool(select.select([handle], [], [], seconds)[0])

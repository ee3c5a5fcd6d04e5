"""Real programs run in a lease's container: what they start (threads, processes, sockets) can be started.

They are the machine's own interpreters, seen from inside by read-only mounts, so that no image has to be made.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devnet.engine import Engine as DevEngine
from devnet.images import Image
from devnet.patience import patient
from leasehold.chain import LeaseState
from leasehold.workload import load_workload
from leasehold_agent._config import AgentSettings
from leasehold_agent.cards import LeaseShare
from leasehold_agent.chain import Desired
from leasehold_agent.engine import Engine
from leasehold_agent.reconciling import Names
from leasehold_agent.reconciling._container_spec import spec_of

PROGRAMS = Path(__file__).with_name("programs")
ACCOUNT = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
NAMES = Names(31337, "0x" + "5e" * 32, ACCOUNT)
_SYSTEM = ("/usr", "/lib", "/lib64")


def _python() -> list[str]:
    return [str(Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")), "/programs/threads.py"]


def _node() -> list[str]:
    return [str(Path(shutil.which("node") or "node").resolve()), "/programs/threads.js"]


def _java() -> list[str]:
    found = shutil.which("java")
    if found is None:
        pytest.skip("this machine has no Java; scripts/setup does not install one")
    modules = subprocess.run([found, "--list-modules"], capture_output=True, text=True, check=True).stdout
    if "jdk.compiler" not in modules:
        pytest.skip("this machine's Java cannot compile")
    return [str(Path(found).resolve()), "-Xmx256m", "/programs/Threads.java"]


def _mounts(program: Path) -> Iterator[tuple[Path, str]]:
    """What a program of this machine needs of it: the system's libraries, its own folder, its settings."""
    yield PROGRAMS, "/programs"
    for folder in _SYSTEM:
        if Path(folder).exists():
            yield Path(folder).resolve(), folder
    home = program.parent.parent
    if not home.is_relative_to("/usr"):
        yield home, str(home)
    for settings in sorted(Path("/etc").glob("java*")):
        yield settings, str(settings)


@pytest.mark.parametrize("language", ["python", "node", "java"])
async def test_a_program_starts_what_it_needs(docker_engine: DevEngine, tiny: Image, language: str) -> None:
    command = {"python": _python, "node": _node, "java": _java}[language]()
    engine = Engine(docker_engine.url)
    lease = ["python", "node", "java"].index(language) + 1 << 16
    desired = Desired(
        lease=lease,
        machine=1,
        tenant=ACCOUNT,
        state=LeaseState.OPENED,
        placement=0x01FF,
        workload=bytes(32),
        start=0,
        end=0,
        window_ends=0,
        author=ACCOUNT,
    )
    spec = spec_of(
        desired,
        load_workload({"version": 1, "image": tiny.id, "command": command, "egress": "none"}),
        NAMES,
        image=tiny.id,
        devices=(),
        share=LeaseShare(cpus=2.0, memory_bytes=1 << 30, disk_bytes=1 << 30, gpu_uuids=()),
        facts=await engine.facts(),
        mounts=list(_mounts(Path(command[0]))),
        ports={},
        settings=AgentSettings.model_validate({}),
    )
    await engine.ensure_network(spec.network, NAMES.bridge(lease), spec.labels)
    try:
        await engine.create(spec)
        with docker_engine.client() as client:
            container = client.containers.get(spec.name)
            container.start()
            code = container.wait(timeout=patient(100))["StatusCode"]
            said = container.logs().decode()
        assert (code, said.splitlines()[-1:]) == (0, ["well"]), said
    finally:
        await engine.remove(spec.name)
        await engine.remove_network(spec.network)
        engine.close()

"""Images of every kind run, and can be looked into: without a shell, with a user, volumes, a check of their own."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devnet import images
from devnet.engine import Engine as DevEngine
from leasehold.chain import LeaseState
from leasehold.datasets import new_identity, recipient_of
from leasehold.workload import fetch_results
from leasehold_agent.engine._local_image import keeps_layers_itself
from leasehold_agent.store import HELPER_MOUNT

from .conftest import keygen
from .test_container import Machine, served

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

TENANT = 2
READER = new_identity()
ALONE = Path(__file__).parents[1] / "programs" / "alone.c"
PASSWD = b"root:x:0:0:::\napp:x:1234:4321::/home/app:\n"


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A static program, and nothing beside it."""
    made = tmp_path_factory.mktemp("alone") / "alone"
    subprocess.run(["cc", "-O2", "-static", "-o", made, ALONE], check=True)
    return made.read_bytes()


def image_of(engine: DevEngine, folder: Path, config: dict[str, object], **files: bytes) -> str:
    """An image from scratch; its id."""
    layer, archive = folder / "layer.tar", folder / "image.tar"
    with tarfile.open(layer, "w") as tar:
        for folder_name in sorted({name.partition("__")[0] for name in files if "__" in name}):
            entry = tarfile.TarInfo(folder_name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for name, content in files.items():
            entry = tarfile.TarInfo(name.replace("__", "/"))
            entry.size, entry.mode = len(content), 0o755
            tar.addfile(entry, io.BytesIO(content))
    name = f"lht/any:{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    made = images.archive_of(layer, name, config, archive)
    images.load(engine.url, images.Image(name, made, archive))
    return made


ENTRY: dict[str, object] = {"Entrypoint": ["/alone"], "Cmd": ["wait"]}
KINDS: dict[str, tuple[dict[str, object], dict[str, object], str]] = {
    # What the image says, what the workload says, and what its program says of how it was started.
    "nothing but a program": (ENTRY, {}, "arguments wait; user 0:0; folder /; host lease-"),
    "a command of the workload's": (ENTRY, {"command": ["a", "b"]}, "arguments a b; user 0:0"),
    "another entrypoint": (
        {"Entrypoint": ["/no/such"], "Cmd": ["wait"]},
        {"entrypoint": ["/alone", "-x"], "command": ["y"]},
        "arguments -x y; user 0:0",
    ),
    "no entrypoint": (
        {"Entrypoint": ["/no/such"], "Cmd": ["wait"]},
        {"entrypoint": [], "command": ["/alone", "y"]},
        "arguments y; user 0:0",
    ),
    "a user by number": (ENTRY | {"User": "1000"}, {}, "user 1000:0; folder /"),
    "a user by name": (ENTRY | {"User": "app"}, {}, "user 1234:4321; folder /"),
    "another user": (ENTRY | {"User": "app"}, {"user": "77:88"}, "user 77:88; folder /"),
    "a folder that is not there": (ENTRY | {"WorkingDir": "/a/b"}, {}, "folder /a/b; host"),
    "another folder": (ENTRY | {"WorkingDir": "/a"}, {"workdir": "/c/d"}, "folder /c/d; host"),
    "a name": (ENTRY, {"hostname": "trainer.example"}, "host trainer.example"),
    "volumes": (ENTRY | {"Volumes": {"/data": {}, "/out": {}}}, {}, "arguments wait; user 0:0"),
    "a check of its own": (
        ENTRY | {"Healthcheck": {"Test": ["CMD", "/alone", "health"], "Interval": 1_000_000}},
        {},
        "arguments wait",
    ),
    "a signal of its own": (ENTRY | {"StopSignal": "SIGUSR1"}, {}, "arguments wait"),
    "limits": (ENTRY, {"ulimits": {"nofile": 4096, "memlock": "64KiB"}}, "arguments wait"),
}
_QUICK = ("nothing but a program",)
"""The others show the same of another line of the image."""


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=[] if k in _QUICK else [pytest.mark.slow]) for k in KINDS]
)
async def test_it_runs_and_can_be_looked_into(
    rig: Rig, alone: bytes, docker_engine: DevEngine, tmp_path: Path, openssh: None, kind: str
) -> None:
    config, asked, says = KINDS[kind]
    image = image_of(docker_engine, tmp_path, config, alone=alone, etc__passwd=PASSWD, data__seed=b"seed")
    key = await keygen(tmp_path / "mine")
    outputs = [{"path": "/out", "recipients": [recipient_of(READER)]}]
    fields = {"command": [], "ssh_keys": [key], "outputs": outputs, **asked}
    lease = await rig.open(rig.workload(image=image, **fields))
    await rig.reaches(lease, LeaseState.ACTIVE)
    async with served(rig, lease, tmp_path) as machine:
        assert says in await _log(machine)
        await _exec(machine)
        await _ssh(machine)
        await _files(machine)
        if kind == "limits":
            found = await machine.ssh.ssh("ulimit -n; ulimit -l", user=machine.user)
            assert found.out.split() == [b"4096", b"64"]
        said = await _results(rig, lease, tmp_path)
        assert said == b"began\n" + (b"told 10\n" if kind == "a signal of its own" else b"told 15\n")
        await _after(machine, said)


async def _log(machine: Machine) -> str:
    said = b""
    async for piece in machine.client.logs(machine.lease, follow=True):
        said += piece
        if b"\n" in said:
            break
    return said.decode()


async def _exec(machine: Machine) -> None:
    async with machine.client.exec(machine.lease, ["/alone", "health"]) as stream:
        assert b"arguments health" in b"".join([data async for _, data in stream])
        assert await stream.wait() == 0


async def _ssh(machine: Machine) -> None:
    """By the shell that the host lends: there is none in the image."""
    found = await machine.ssh.ssh("cat /data/seed; ls /; exit 7", user=machine.user)
    assert found.code == 7, found.err
    assert found.out.startswith(b"seed")
    shell = await machine.ssh.ssh(user=machine.user, stdin=b"echo $((6*7)); exit 3\n")
    assert (shell.code, shell.out) == (3, b"42\n")
    tried = await machine.ssh.ssh(f"echo x > {HELPER_MOUNT}; rm -f {HELPER_MOUNT}", user=machine.user)
    assert tried.code != 0


async def _files(machine: Machine) -> None:
    here, body = machine.ssh.folder, b"of the tenant\n" * 10_000
    (here / "mine.txt").write_bytes(body)
    script = "put mine.txt /out/mine.txt\nget /out/mine.txt back\nls -l /data\nmkdir /out/more\n"
    found = await machine.ssh.sftp(script + "rename /out/mine.txt /out/more/other", user=machine.user)
    assert found.code == 0, found.err
    assert (here / "back").read_bytes() == body
    assert b"seed" in found.out


async def _after(machine: Machine, said: bytes) -> None:
    """The lease is over, and its files can be read still."""
    found = await machine.ssh.sftp("get /out/said after\nls -l /out", user=machine.user)
    assert found.code == 0, found.err
    assert (machine.ssh.folder / "after").read_bytes() == said


async def _results(rig: Rig, lease: int, tmp_path: Path) -> bytes:
    """What the program left, and that what came by SFTP lies beside it."""
    await rig.chain.pool(TENANT).close(lease)
    await rig.until(lambda: rig.host.leases.folder(lease).load().published)
    cid = rig.host.leases.folder(lease).load().result
    assert cid is not None
    await fetch_results(cid, READER, tmp_path / cid, rig.ipfs)
    out = tmp_path / cid / "out"
    assert (out / "more" / "other").read_bytes() == (tmp_path / "mine.txt").read_bytes()
    assert (out / "health").read_bytes() == b"asked\n"  # by us, once, and by nobody else
    return (out / "said").read_bytes()


@pytest.mark.slow
async def test_what_an_image_calls_a_volume_is_within_the_limit(
    rig: Rig, alone: bytes, docker_engine: DevEngine, tmp_path: Path
) -> None:
    """A volume lies beside the container, on the host's disk, and no limit would hold."""
    image = image_of(docker_engine, tmp_path, ENTRY | {"Volumes": {"/data": {}}}, alone=alone, data__seed=b"")
    lease = await rig.open(rig.workload(image=image, command=[], disk="64MiB"))
    await rig.reaches(lease, LeaseState.ACTIVE)
    stream = await rig.runtime.exec(lease, ["/alone", "fill", "/data/much"])
    said = b"".join([data async for _, data in stream]).decode()
    await stream.close()
    assert 0 < int(said.rpartition("filled ")[2]) <= 64
    container = await rig.container(lease)
    assert container is not None
    assert "/data" not in container.mounts


async def test_without_volumes_it_is_made_once_and_goes_like_others(
    rig: Rig, alone: bytes, docker_engine: DevEngine, tmp_path: Path
) -> None:
    image = image_of(docker_engine, tmp_path, ENTRY | {"Volumes": {"/data": {}}}, alone=alone)
    found, engine = rig.host.supplies.images, rig.host.containers.engine
    bare = await found.without_volumes(image, image)
    assert bare != image
    assert await found.without_volumes(image, image) == bare
    assert found.idle([image]) == []
    ((used, note),) = found.idle([])
    assert await found.forget(note, used)
    assert await engine.local_image(bare) is None
    assert await engine.local_image(image) is not None  # the host's own
    assert await found.without_volumes(image, image) == bare


@pytest.mark.slow
@pytest.mark.parametrize("quota", [True, False])
async def test_an_engine_that_takes_no_image_without_its_layers(
    rig: Rig,
    alone: bytes,
    docker_engine: DevEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    quota: bool,
) -> None:
    """Where it holds disk limits, the lease is declined; where it promises none, there is nothing to keep."""
    monkeypatch.setattr("leasehold_agent.engine._engine.keeps_layers_itself", lambda _: False)
    rig.host.facts.engine = replace(rig.host.facts.engine, quota=quota)
    image = image_of(docker_engine, tmp_path, ENTRY | {"Volumes": {"/data": {}}}, alone=alone)
    lease = await rig.open(rig.workload(image=image, command=[]))
    await rig.reaches(lease, LeaseState.CANCELLED if quota else LeaseState.ACTIVE)
    if quota:
        assert "it declares volumes" in ((await rig.handle(lease)).reason or "")
    else:
        container = await rig.container(lease)
        assert container is not None
        assert "/data" in container.mounts


@pytest.mark.parametrize(
    ("status", "itself"),
    [
        ([["driver-type", "io.containerd.snapshotter.v1"]], False),
        ([["Backing Filesystem", "extfs"], ["Native Overlay Diff", "true"]], True),
        (None, True),
    ],
)
def test_which_engines_keep_layers_themselves(status: object, itself: bool) -> None:
    assert keeps_layers_itself({"DriverStatus": status}) is itself


@pytest.mark.slow
async def test_a_host_that_lends_no_shell_says_so(
    rig_of: Callable[..., Any],
    alone: bytes,
    docker_engine: DevEngine,
    tmp_path: Path,
    openssh: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("leasehold_agent._serve.lend_helper", lambda _: None)
    rig: Rig = await rig_of()
    key = await keygen(tmp_path / "mine")
    image = image_of(docker_engine, tmp_path, ENTRY, alone=alone)
    lease = await rig.open(rig.workload(image=image, command=[], ssh_keys=[key]))
    await rig.reaches(lease, LeaseState.ACTIVE)
    async with served(rig, lease, tmp_path) as machine:
        shell = await machine.ssh.ssh(user=machine.user)
        assert b"has no shell" in shell.err + shell.out
        assert shell.code != 0
        files = await machine.ssh.sftp("ls /", user=machine.user)
        assert b"has no shell" in files.err

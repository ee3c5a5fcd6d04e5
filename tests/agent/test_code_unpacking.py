"""A folder of code into containers of a real engine: written by this host it lies there as the engine would have
unpacked it, whatever the image holds; and where the host leaves it to the engine, that does it.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import tarfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker
import pytest

from devnet import images
from devnet.engine import Engine as DevEngine
from devnet.images import Image
from devnet.patience import patient
from leasehold.workload import Code, CodeContents, CodeFolder, VolumeMount, packs, survey
from leasehold_agent._errors import CodeLost, EngineRefused, NoContainer
from leasehold_agent.engine import CodePart, Engine
from leasehold_agent.host import MountSpace, SealedDisk
from leasehold_agent.reconciling._code_unpacking import CodeUnpacking, code_unpacking
from leasehold_agent.store import CodeStore, Volumes, volume_id

ME, NEIGHBOUR = "0x" + "11" * 20, "0x" + "22" * 20
AT = "/srv/work"
IMAGES = {
    "nothing is there": "true",
    "links are there": f"mkdir -p {AT}; cd {AT}; ln -s /etc sub; ln -s /etc/hostname big; ln -s / empty; ln -s . run",
    "the folder is a link": f"mkdir -p /srv; ln -s /etc {AT}",
    "a link is on the way": "ln -s /etc /srv",
    "files are there": f"mkdir -p {AT}/sub; cd {AT}; echo own >sub/own; echo other >big; ln big second; mkfifo out",
    "folders have a group's": f"mkdir -p {AT}/sub; chown -R 5:6 {AT}; chmod -R 2770 {AT}",
    "a folder is in a file's place": f"mkdir -p {AT}/big/own {AT}/out/own",
    "a file is in a folder's place": f"mkdir -p {AT}; touch {AT}/sub {AT}/empty",
}
USERS = {"links are there": "1000:50", "files are there": "app", "folders have a group's": "1000"}
BY_ENGINE = {"a link is on the way", "a folder is in a file's place"}


@pytest.fixture
def code(tmp_path: Path) -> CodeContents:
    root = tmp_path / "code"
    (root / "sub").mkdir(parents=True)
    (root / "empty").mkdir(mode=0o700)
    (root / "sub" / "run").write_text("x")
    (root / "sub" / "run").chmod(0o4751)
    (root / "out").symlink_to("/etc/passwd")
    (root / "big").write_bytes(os.urandom((1 << 20) + 5))
    for path in (root / "sub" / "run", root / "sub", root / "big"):
        os.utime(path, (1_000_000, 1_000_000))
    return survey(CodeFolder(root, AT))


class LayeredEngine(DevEngine):
    """An engine with the other driver, which can hold nobody to a limit on this file system."""

    def _make_disk(self, undo: ExitStack) -> None:
        image, data = self.folder / "disk.ext4", self.folder / "data"
        data.mkdir()
        with image.open("wb") as file:
            file.truncate(4 << 30)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        subprocess.run(["mount", "-o", "loop,noatime", image, data], check=True)
        undo.callback(subprocess.run, ["umount", data], check=True)

    def _write_config(self) -> None:
        super()._write_config()
        file = self.folder / "daemon.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "storage-driver": "overlay2"}))


@pytest.fixture(scope="module", params=["btrfs", pytest.param("overlay2", marks=pytest.mark.slow)])
def driver(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def engine_here(request: pytest.FixtureRequest, driver: str) -> Iterator[DevEngine]:
    if driver == "btrfs":
        yield request.getfixturevalue("docker_engine")
        return
    with LayeredEngine() as engine:
        images.load(engine.url, images.tiny())
        yield engine


class OneHost:
    """What a host needs to be for its code."""

    def __init__(self, engine: Engine, store: CodeStore, root: Path) -> None:
        self.supplies = SimpleNamespace(code=store)
        self.containers = SimpleNamespace(
            engine=engine, names=SimpleNamespace(container=lambda lease: f"code-{lease}")
        )
        self.volumes = SimpleNamespace(space=MountSpace(engine.socket))
        self.facts = SimpleNamespace(engine=SimpleNamespace(root=root))


@pytest.fixture
async def host(engine_here: DevEngine, tmp_path: Path, code: CodeContents) -> AsyncIterator[Any]:
    engine = Engine(engine_here.url)
    store = CodeStore(tmp_path / "store", room=1 << 30, reserve=0)
    for pack in packs(code.pieces(code.tree.chunks)):
        store.take(ME, pack, code.tree.chunks)
    yield OneHost(engine, store, (await engine.facts()).root)
    await engine.aclose()


@pytest.fixture
def client(engine_here: DevEngine) -> Iterator[docker.DockerClient]:
    with engine_here.client() as client:
        yield client


Created = Callable[..., str]


@pytest.fixture
def created(client: docker.DockerClient) -> Iterator[Created]:
    """Makes the container of a lease, and its name."""
    made = list[Any]()

    def create(lease: int, image: str, **options: Any) -> str:
        made.append(client.containers.create(image, ["sleep", "600"], name=f"code-{lease}", **options))
        return str(made[-1].name)

    yield create
    for container in made:
        container.remove(force=True, v=True)


def image_of(client: docker.DockerClient, tiny: Image, script: str) -> str:
    container = client.containers.run(tiny.name, ["sh", "-ec", script], detach=True)
    try:
        assert container.wait()["StatusCode"] == 0
        return str(container.commit().id)
    finally:
        container.remove()


def held(client: docker.DockerClient, name: str) -> dict[str, tuple[object, ...]]:
    """All that a container holds where code may have come to."""
    data = io.BytesIO(b"".join(client.containers.get(name).export()))
    out = dict[str, tuple[object, ...]]()
    with tarfile.open(fileobj=data) as archive:
        for member in archive:
            if member.name.startswith(("srv", "etc")) and member.name != "srv":
                file = archive.extractfile(member) if member.isreg() else None
                said = b"" if file is None else file.read()
                time = member.mtime if "work/" in member.name else 0  # the rest the engine makes
                out[member.name] = (
                    member.type,
                    member.mode,
                    member.uid,
                    member.gid,
                    time,
                    member.linkname,
                    said,
                )
    return out


async def put(host: Any, lease: int, code: CodeContents, *, straight: bool = True) -> CodeUnpacking:
    desired: Any = SimpleNamespace(lease=lease, author=ME)
    count = len(code.tree.entries)
    async with code_unpacking(host, desired, Code(digest="0" * 64, path=AT)) as unpacking:
        unpacking._straight = straight
        for first, end in ((0, 2), (2, count)):
            await unpacking.put(CodePart(code.tree, first, end, end == count))
    return unpacking


@pytest.mark.parametrize("image", IMAGES)
async def test_it_lies_there_as_the_engine_unpacks_it(
    host: Any,
    client: docker.DockerClient,
    created: Created,
    tiny: Image,
    code: CodeContents,
    image: str,
) -> None:
    made, user = image_of(client, tiny, IMAGES[image]), USERS.get(image, "")
    names = [created(lease, made, user=user) for lease in (1, 2)]
    assert not (await put(host, 1, code, straight=False))._straight
    assert (await put(host, 2, code))._straight == (image not in BY_ENGINE)
    theirs, ours = (held(client, name) for name in names)
    assert ours == theirs
    assert any(name.endswith("work/sub/run") for name in ours)


async def test_where_a_volume_is_mounted_the_engine_does_it(
    host: Any, client: docker.DockerClient, created: Created, tiny: Image, code: CodeContents, tmp_path: Path
) -> None:
    """It lies in the volume then, as the tenant wants it."""
    (tmp_path / "volume").mkdir()
    created(1, tiny.name, volumes={str(tmp_path / "volume"): {"bind": "/srv", "mode": "rw"}})
    assert not (await put(host, 1, code))._straight
    assert (tmp_path / "volume" / "work" / "sub" / "run").read_text() == "x"


async def test_no_more_than_the_lease_s_disk(
    host: Any, client: docker.DockerClient, created: Created, tiny: Image, tmp_path: Path, driver: str
) -> None:
    if driver != "btrfs":
        pytest.skip("a limit is held on xfs alone")
    root = tmp_path / "large"
    root.mkdir()
    (root / "file").write_bytes(os.urandom(32 << 20))
    code = survey(CodeFolder(root, AT))
    for pack in packs(code.pieces(code.tree.chunks), lambda: False):
        host.supplies.code.take(ME, pack, code.tree.chunks)
    size = client.images.get(tiny.name).attrs["Size"] + (8 << 20)
    created(1, tiny.name, storage_opt={"size": str(size)})
    with pytest.raises(EngineRefused, match=r"quota|space"):
        await put(host, 1, code)


async def test_a_volume_that_is_let_go_meanwhile_is_let_go(
    host: Any, created: Created, tiny: Image, code: CodeContents, tmp_path: Path
) -> None:
    """A view of the file systems that lasts as long as a tenant likes would keep everybody's volumes mounted: their
    keys at hand, and two systems on one file when it is mounted again.
    """
    created(1, tiny.name)
    volumes = Volumes(tmp_path / "volumes", host.volumes.space)
    disk = SealedDisk(volumes.root / volume_id(NEIGHBOUR, "models"), host.volumes.space)
    key = bytes(range(32)).hex()
    await volumes.attach(7, NEIGHBOUR, VolumeMount(name="models", path="/data", key=key), 64 << 20)
    lease = SimpleNamespace(lease=1, author=ME)
    async with code_unpacking(host, lease, Code(digest="0" * 64, path=AT)) as unpacking:
        await unpacking.put(CodePart(code.tree, 0, 1, False))  # and the rest does not come
        assert unpacking._straight
        assert loops_of(disk.file)
        await volumes.detach(7)
        await let_go(disk.file)
        await volumes.attach(8, NEIGHBOUR, VolumeMount(name="models", path="/data", key=key), 128 << 20)
        await volumes.detach(8)
        await let_go(disk.file)
    disk.close()


async def let_go(file: Path) -> None:
    """Waits until no loop device has the file: what another process forks meanwhile, it sees for a moment."""
    async with asyncio.timeout(patient(20)):
        while loops_of(file):  # noqa: ASYNC110  # a kernel announces none
            await asyncio.sleep(0.05)


def loops_of(file: Path) -> str:
    """The loop devices of a file, wherever they are mounted."""
    done = subprocess.run(["losetup", "--associated", file], check=True, capture_output=True, text=True)
    return done.stdout


async def test_what_somebody_has_started_is_left_to_the_engine(
    host: Any, client: docker.DockerClient, created: Created, tiny: Image, code: CodeContents
) -> None:
    name = created(1, tiny.name)
    client.containers.get(name).start()
    assert not (await put(host, 1, code))._straight
    assert "srv/work/sub/run" in held(client, name)


async def test_what_is_damaged_is_waited_for_anew(
    host: Any, created: Created, tiny: Image, code: CodeContents
) -> None:
    created(1, tiny.name)
    store = host.supplies.code
    (pack, *_) = sorted(store.places(ME, code.tree.chunks)[0].glob("*.pack"))
    pack.write_bytes(bytes(pack.stat().st_size))
    with pytest.raises(CodeLost):
        await put(host, 1, code)
    assert any(store.lacking(ME, code.tree.chunks))


async def test_a_container_that_is_gone(host: Any, code: CodeContents) -> None:
    with pytest.raises(NoContainer):
        await put(host, 9, code)


async def test_an_engine_elsewhere_unpacks_it_itself(
    host: Any, created: Created, tiny: Image, driver: str
) -> None:
    name = created(1, tiny.name)
    seen = host.volumes.space.seen
    assert await host.containers.engine.layer_place(name, host.facts.engine.root, seen) is not None
    if driver == "btrfs":
        assert await host.containers.engine.layer_place(name, Path("/nowhere"), seen) is None
    elsewhere = Engine("tcp://127.0.0.1:1")
    try:
        assert await elsewhere.layer_place(name, host.facts.engine.root, seen) is None
    finally:
        await elsewhere.aclose()

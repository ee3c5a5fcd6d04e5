"""Images that say little and come to much: what is counted before the engine is given any of it."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import io
import json
import platform
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator, Iterator
from functools import cache
from pathlib import Path
from typing import cast

import pytest

from devnet.engine import Engine as DevEngine
from devnet.kubo import Kubo
from leasehold.datasets import Ipfs
from leasehold_agent._errors import Declined, EngineRefused, ImageDelayed, ImageTooLarge, NoRoom
from leasehold_agent.engine import Claimant, Engine, Images
from leasehold_agent.engine._image_archive import survey
from leasehold_agent.engine._local_image import LocalImage

from .conftest import made_room

MIB = 1 << 20
LIMIT = 32 * MIB


def tar(**files: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name.replace("__", "."))
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def image(
    layers: list[bytes], *, named: list[str] | None = None, extra: dict[str, bytes] | None = None
) -> bytes:
    """An archive as `docker save` writes it; `named`: the layers as the manifest lists them."""
    digests = [hashlib.sha256(_plain(layer)).hexdigest() for layer in layers]
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Cmd": ["sh"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
        }
    ).encode()
    names = [f"layer{number}" for number in range(len(layers))]
    manifest = [{"Config": "config", "RepoTags": ["leasehold/tiny:1"], "Layers": named or names}]
    files = dict(zip(names, layers, strict=True)) | (extra or {})
    return tar(config=config, manifest__json=json.dumps(manifest).encode(), **files)


def _plain(layer: bytes) -> bytes:
    return gzip.decompress(layer) if layer.startswith(b"\x1f\x8b") else layer


def sparse(size: int) -> bytes:
    """A layer of one kilobyte that says a file of `size` bytes, all of them holes."""
    info = tarfile.TarInfo("hole")
    info.size, info.type = 0, tarfile.GNUTYPE_SPARSE
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"%011o\0" % size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + bytes(1024)


def extended(kind: bytes, size: int = 512) -> bytes:
    """A header that says something of the next one."""
    info = tarfile.TarInfo("more")
    info.type, info.size = kind, size
    return info.tobuf(tarfile.USTAR_FORMAT) + (b"20 comment=" + b"x" * 8 + b"\n").ljust(size, b"\0")


SMALL = tar(file=b"small")


@cache
def bomb() -> bytes:
    return tar(zeros=bytes(64 * MIB))


@cache
def compressed_bomb() -> bytes:
    return gzip.compress(bomb(), 1)


# Each is made by its test: what is made here every process makes that collects the tests.
LARGE = {
    "a layer that is a bomb": lambda: image([compressed_bomb()]),
    "a layer that is large": lambda: image([bomb()]),
    "all of it a bomb": lambda: gzip.compress(image([bomb()]), 1),
    "one layer again and again": lambda: image([tar(zeros=bytes(MIB))], named=["layer0"] * 64),
    "a bomb beside the image": lambda: image([SMALL], extra={"other": compressed_bomb()}),
    "a bomb behind the end of its layer": lambda: image([gzip.compress(SMALL + bytes(64 * MIB), 1)]),
}
USELESS = {
    "no archive": lambda: b"junk",
    "empty": lambda: b"",
    "a sparse file": lambda: image([sparse(1 << 40)]),
    "no layer of that name": lambda: image([SMALL], named=["layer7"]),
    "a layer that is none": lambda: image([b"junk"]),
    "a layer by xz": lambda: image([b"\xfd7zXZ\0" + bytes(600)]),
    "all of it by zstd": lambda: b"\x28\xb5\x2f\xfd" + bytes(600),
    "too many layers": lambda: image([SMALL], named=["layer0"] * 200),
    "a manifest that is none": lambda: tar(manifest__json=b'{"a": 1}'),
    "two images": lambda: tar(manifest__json=b"[{}, {}]"),
    "cut off": lambda: image([compressed_bomb()])[:4000],
    "a manifest without end": lambda: tar(manifest__json=b"[" + bytes(5 * MIB)),
    "headers within headers": lambda: image([extended(tarfile.XHDTYPE) * 2_000]),
    "a header for all that follow": lambda: image([extended(tarfile.XGLTYPE)]),
    "a header without end": lambda: image([extended(tarfile.XHDTYPE, MIB)]),
}


@pytest.mark.parametrize("kind", LARGE)
def test_what_comes_to_much_is_refused_by_the_limit(kind: str, tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(LARGE[kind]())
    with pytest.raises(ImageTooLarge, match="33,554,432 bytes that this host takes"):
        survey(tmp_path / "image", LIMIT)


@pytest.mark.parametrize("kind", USELESS)
def test_what_is_no_image_is_refused(kind: str, tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(USELESS[kind]())
    with pytest.raises(EngineRefused):
        survey(tmp_path / "image", LIMIT)


def test_what_is_said_of_it_can_be_printed_anywhere(tmp_path: Path) -> None:
    """Its names are a stranger's: half a character, and what steers a terminal."""
    name = "\udc80\x1b[31m"
    manifest = json.dumps([{"Config": "config", "Layers": [name]}]).encode()
    (tmp_path / "image").write_bytes(tar(config=b"{}", **{name: b"junk"}, manifest__json=manifest))
    with pytest.raises(EngineRefused) as refused:
        survey(tmp_path / "image", LIMIT)
    assert str(refused.value).isascii()
    assert str(refused.value).isprintable()


def test_what_an_image_needs_is_counted(tmp_path: Path) -> None:
    layer = tar(file=bytes(100_000))
    (tmp_path / "image").write_bytes(gzip.compress(image([layer, gzip.compress(SMALL)])))
    found = survey(tmp_path / "image", LIMIT)
    assert 2 * len(layer) < found.needs < 2 * len(layer) + 50_000
    with tarfile.open(fileobj=io.BytesIO(b"".join(found.stream()))) as anew:
        described = json.loads((anew.extractfile("manifest.json") or io.BytesIO()).read())
        assert described[0]["RepoTags"] is None
        assert len(anew.getnames()) == 4


# ------------------------------------------------------------------------------------------------ an OCI layout

HERE = {"architecture": {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()], "os": "linux"}
NO_IMAGE = {"architecture": "unknown", "os": "unknown"}


def layout(kind: str) -> bytes:
    """An archive with blobs and an index, as skopeo writes it, or as buildx does."""
    blobs = dict[str, bytes]()

    def blob(data: bytes, **more: object) -> dict[str, object]:
        digest = hashlib.sha256(data).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = data
        return {"digest": f"sha256:{digest}", "size": len(data), **more}

    def described(content: object, **more: object) -> dict[str, object]:
        return blob(json.dumps(content).encode(), **more)

    plain = [hashlib.sha256(SMALL).hexdigest()]
    config = {
        **HERE,
        "config": {"Cmd": ["x"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{plain[0]}"]},
    }
    layers = [blob(compressed_bomb() if kind == "a bomb" else gzip.compress(SMALL, mtime=0))]
    image = described({"config": described(config), "layers": layers}, platform=HERE)
    manifests = {
        "nested": [described({"manifests": [image, described({"x": 1}, platform=NO_IMAGE)]})],
        "two": [image, image],
        "of another processor": [{**image, "platform": {"architecture": "s390x", "os": "linux"}}],
        "none": [],
        "a hole": [{**image, "digest": "sha256:" + "0" * 64}],
        "elsewhere": [{**image, "digest": "../../etc:passwd"}],
        "odd": ["x"],
    }.get(kind, [image])
    if kind == "deep":
        for _ in range(5):
            manifests = [described({"manifests": manifests})]
    return tar(**blobs, index__json=json.dumps({"manifests": manifests}).encode())


@pytest.mark.parametrize("kind", ["plain", "nested"])
async def test_an_oci_layout_is_an_image(
    kind: str, tmp_path: Path, docker_engine: DevEngine, engine: Engine
) -> None:
    (tmp_path / "image").write_bytes(layout(kind))
    loaded = await engine.load_image(survey(tmp_path / "image", LIMIT), f"leasehold/ipfs:{kind}")
    local = await engine.local_image(loaded)
    assert local is not None
    assert local.tags == (f"leasehold/ipfs:{kind}",)
    await engine.forget_image(loaded)


@pytest.mark.parametrize(
    "kind", ["two", "of another processor", "none", "a hole", "elsewhere", "odd", "deep"]
)
def test_a_layout_that_is_no_image(kind: str, tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(layout(kind))
    with pytest.raises(EngineRefused):
        survey(tmp_path / "image", LIMIT)


def test_a_layout_that_is_a_bomb(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(layout("a bomb"))
    with pytest.raises(ImageTooLarge):
        survey(tmp_path / "image", LIMIT)


@pytest.fixture
async def engine(docker_engine: DevEngine) -> AsyncIterator[Engine]:
    found = Engine(docker_engine.url)
    yield found
    found.close()


async def test_one_lease_s_archive_keeps_no_other_waiting(
    tmp_path: Path, kubo: Kubo, engine: Engine, docker_engine: DevEngine
) -> None:
    """Each is counted and loaded beside the others; the bomb is declined with the limit, and leaves nothing."""
    before = await engine.images()
    async with Ipfs(kubo.api) as ipfs:
        finder = Images(
            engine, ipfs, tmp_path / "images", wait=5, limit=LIMIT, disk=docker_engine.folder / "data"
        )
        cids = []
        for number, archive in enumerate((LARGE["a layer that is a bomb"](), image([tar(mine=b"1")]))):
            folder = tmp_path / str(number)
            folder.mkdir()
            (folder / "image").write_bytes(archive)
            (entry,) = await ipfs.ls((await ipfs.add_folder(folder)).cid)
            cids.append(entry.cid)
        bomb, mine = await asyncio.gather(
            *(finder.ensure(f"ipfs:{cid}") for cid in cids), return_exceptions=True
        )
    assert isinstance(bomb, Declined)
    assert (bomb.reason, "33,554,432" in bomb.detail, "image_limit" in bomb.detail) == (
        "unsupported",
        True,
        True,
    )
    assert isinstance(mine, str)
    assert set(await engine.images()) - set(before) == {(mine, f"leasehold/ipfs:{cids[1]}")}
    await engine.forget_image(mine)


# --------------------------------------------------------------------------------------------- from a registry

# Serves one image of one layer, which it may send slowly: half of it, and then nothing for ever.
_REGISTRY = """
import hashlib, http.server, json, sys, time
layer, slow = open(sys.argv[1], "rb").read(), sys.argv[2] == "slow"
plain = sys.argv[3]
config = json.dumps({"architecture": "amd64", "os": "linux", "config": {},
    "rootfs": {"type": "layers", "diff_ids": ["sha256:" + plain]}}).encode()
name = lambda data: "sha256:" + hashlib.sha256(data).hexdigest()
V2 = "application/vnd.docker.distribution.manifest.v2+json"
manifest = json.dumps({"schemaVersion": 2, "mediaType": V2,
    "config": {"mediaType": "application/vnd.docker.container.image.v1+json",
        "size": len(config), "digest": name(config)},
    "layers": [{"mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
        "size": len(layer), "digest": name(layer)}],
}).encode()
blobs = {name(data): data for data in (config, layer, manifest)}
class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        data = blobs.get(self.path.rpartition("/")[2], b"")
        self.send_response(200)
        self.send_header("Content-Type", V2 if data is manifest else "application/octet-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET" and slow and data is layer:
            self.wfile.write(data[: len(data) // 2]); self.wfile.flush()
            while True:
                time.sleep(0.1); self.wfile.write(b"x"); self.wfile.flush()
        elif self.command == "GET":
            self.wfile.write(data)
    do_HEAD = do_GET
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
print(server.server_port, name(manifest), flush=True)
server.serve_forever()
"""


@contextlib.contextmanager
def registry(engine: DevEngine, folder: Path, layer: bytes, how: str = "fast") -> Iterator[str]:
    """On the engine's own loopback; the image's reference."""
    (folder / "layer").write_bytes(layer)
    plain = hashlib.sha256(_plain(layer)).hexdigest()
    command = engine.in_netns(sys.executable, "-c", _REGISTRY, str(folder / "layer"), how, plain)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            port, digest = process.stdout.readline().decode().split()
            yield f"127.0.0.1:{port}/x@{digest}"
        finally:
            process.kill()


def finder(engine: Engine, tmp_path: Path, reference: str, **options: object) -> Images:
    return Images(
        engine,
        Ipfs("/ip4/127.0.0.1/tcp/1"),
        tmp_path / "images",
        wait=1,
        registries=[reference.partition("/")[0]],
        **options,  # type: ignore[arg-type]  # by name
    )


async def test_an_image_of_a_registry_comes(docker_engine: DevEngine, engine: Engine, tmp_path: Path) -> None:
    with registry(docker_engine, tmp_path, gzip.compress(SMALL)) as reference:
        assert await finder(engine, tmp_path, reference, limit=LIMIT).ensure(reference) == reference
        await engine.forget_image(reference)


async def test_images_that_nobody_needs_make_room(
    docker_engine: DevEngine, engine: Engine, tmp_path: Path
) -> None:
    """Each lease may bring another: what was fetched for those before goes, and what the host has itself stays."""
    with registry(docker_engine, tmp_path, gzip.compress(SMALL)) as reference:
        fetched = finder(engine, tmp_path, reference, limit=LIMIT)
        await fetched.ensure(reference)
        own = await engine.images()
        with docker_engine.client() as client:
            client.containers.create(reference, ["sh"], name="lht-needs", network_mode="none")
        try:
            assert not await made_room(fetched)
        finally:
            await engine.remove("lht-needs")
        assert not await made_room(fetched, reference)
        assert await made_room(fetched)
        assert await engine.image_size(reference) is None
        assert not await made_room(fetched)
        assert await engine.images() == own


async def test_a_registry_s_bomb_does_not_stay(
    docker_engine: DevEngine, engine: Engine, tmp_path: Path
) -> None:
    with registry(docker_engine, tmp_path, compressed_bomb()) as reference:
        with pytest.raises(Declined, match="33,554,432 bytes") as refused:
            await finder(engine, tmp_path, reference, limit=LIMIT).ensure(reference)
        assert refused.value.reason == "unsupported"
        assert await engine.image_size(reference) is None


async def test_what_is_announced_is_enough_to_refuse(
    docker_engine: DevEngine, engine: Engine, tmp_path: Path
) -> None:
    """Long before it has come: this one never does."""
    large = tar(noise=hashlib.shake_128(b"noise").digest(2 * MIB))
    with (
        registry(docker_engine, tmp_path, gzip.compress(large), "slow") as reference,
        pytest.raises(Declined, match="1,048,576 bytes"),
    ):
        await finder(engine, tmp_path, reference, limit=MIB).ensure(reference)


async def test_the_reserve_of_the_disk_ends_a_pull(
    docker_engine: DevEngine, engine: Engine, tmp_path: Path
) -> None:
    large = tar(noise=hashlib.shake_128(b"noise").digest(2 * MIB))
    with (
        registry(docker_engine, tmp_path, gzip.compress(large), "slow") as reference,
        pytest.raises(NoRoom),
    ):
        await finder(
            engine, tmp_path, reference, limit=LIMIT, disk=docker_engine.folder / "data", reserve=1 << 60
        ).ensure(reference)


class Narrow:
    """Stands in for an engine whose disk has room for one image at a time."""

    def __init__(self, rounds: int = 5) -> None:
        self.at_once = 0
        self.rounds = rounds
        self.pulls = 0
        self.had: list[str] = []

    async def image_size(self, image: str) -> int | None:
        return 1 if image in self.had else None

    async def local_image(self, image: str) -> LocalImage | None:
        return LocalImage(image, 1, (), ()) if image in self.had else None

    async def pull(self, image: str, limit: int, room: object, **_: object) -> None:
        self.at_once += 1
        self.pulls += 1
        try:
            for _ in range(self.rounds):
                await asyncio.sleep(0)
                if self.at_once > 1 or "bomb" in image:
                    raise NoRoom
            self.had.append(image)
        finally:
            self.at_once -= 1


async def test_whose_image_it_was_that_took_the_room_is_found_out(tmp_path: Path) -> None:
    engine, names = Narrow(), [f"127.0.0.1:1/{name}" for name in ("one", "bomb", "two")]
    images = finder(cast(Engine, engine), tmp_path, names[0])
    found = await asyncio.gather(*map(images.ensure, names), return_exceptions=True)
    assert [found[0], found[2]] == [names[0], names[2]]
    assert isinstance(found[1], NoRoom)


class TestTheOwnersOwnJob:
    """What its image takes while it comes is no tenant's loss."""

    OWNER = Claimant("0xowner", gives_way=True)

    async def test_it_is_ended_where_a_tenants_begins(self, tmp_path: Path) -> None:
        engine, names = Narrow(rounds=10_000), [f"127.0.0.1:1/{name}" for name in ("own", "theirs")]
        images = finder(cast(Engine, engine), tmp_path, names[0])
        own = asyncio.create_task(images.ensure(names[0], self.OWNER))
        while not engine.at_once:  # noqa: ASYNC110  # a number announces nothing
            await asyncio.sleep(0)
        engine.rounds = 5
        assert await images.ensure(names[1]) == names[1]
        with pytest.raises(ImageDelayed):
            await own
        assert engine.had == [names[1]]
        assert await images.ensure(names[0], self.OWNER) == names[0]

    async def test_it_does_not_begin_beside_one(self, tmp_path: Path) -> None:
        engine, names = Narrow(rounds=10_000), [f"127.0.0.1:1/{name}" for name in ("own", "theirs")]
        images = finder(cast(Engine, engine), tmp_path, names[0])
        theirs = asyncio.create_task(images.ensure(names[1]))
        while not engine.at_once:  # noqa: ASYNC110
            await asyncio.sleep(0)
        with pytest.raises(ImageDelayed):
            await images.ensure(names[0], self.OWNER)
        assert await theirs == names[1]

    async def test_a_tenants_that_has_no_room_is_told_so_at_once(self, tmp_path: Path) -> None:
        """It was counted as one beside the owner's, and tried again and again."""
        engine, names = Narrow(rounds=10_000), [f"127.0.0.1:1/{name}" for name in ("own", "bomb")]
        images = finder(cast(Engine, engine), tmp_path, names[0])
        own = asyncio.create_task(images.ensure(names[0], self.OWNER))
        while not engine.at_once:  # noqa: ASYNC110
            await asyncio.sleep(0)
        begun = engine.pulls
        with pytest.raises(NoRoom):
            await images.ensure(names[1])
        assert engine.pulls == begun + 1
        with pytest.raises(ImageDelayed):
            await own

    async def test_cut_off_with_its_job(self, tmp_path: Path) -> None:
        engine, name = Narrow(rounds=10_000), "127.0.0.1:1/own"
        own = asyncio.create_task(finder(cast(Engine, engine), tmp_path, name).ensure(name, self.OWNER))
        while not engine.at_once:  # noqa: ASYNC110
            await asyncio.sleep(0)
        own.cancel()
        with pytest.raises(asyncio.CancelledError):
            await own
        assert (engine.at_once, engine.had) == (0, [])

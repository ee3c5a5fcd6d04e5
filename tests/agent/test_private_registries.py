"""Images behind a password: who gets them, and where the password goes. A real registry and a real engine."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from devnet import images as devimages
from devnet.engine import Engine as DevEngine
from devnet.patience import patient
from devnet.registry import PASSWORD, USERNAME, Registry
from leasehold.chain import LeaseState
from leasehold.datasets import Ipfs
from leasehold.workload import RegistryLogin
from leasehold_agent._errors import Declined, EngineRefused, ImageDelayed
from leasehold_agent.engine import Claimant, Engine, Images
from leasehold_agent.engine._registry_access import auth_header

from .conftest import made_room

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

ALICE, BOB = "0xA", "0xB"
MIB = 1 << 20


@pytest.fixture(scope="module")
def registry(docker_engine: DevEngine) -> Iterator[Registry]:
    with Registry(docker_engine) as started:
        yield started


@pytest.fixture
def secret(registry: Registry, docker_engine: DevEngine, tmp_path: Path) -> Iterator[str]:
    """A reference to an image that is nowhere but in the registry, another for each test."""
    reference = _pushed(registry, docker_engine, tmp_path, hashlib.sha256(str(tmp_path).encode()).digest())
    yield reference
    with docker_engine.client() as client, contextlib.suppress(Exception):
        client.images.remove(reference, force=True)


def _pushed(registry: Registry, engine: DevEngine, folder: Path, content: bytes) -> str:
    layer, archive = folder / "layer.tar", folder / "image.tar"
    with tarfile.open(layer, "w") as tar:
        for name, data in (("secret", content), ("busybox", Path("/usr/bin/busybox").read_bytes())):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o755
            tar.addfile(entry, io.BytesIO(data))
    name = "lht/secret:1"
    config = {"Cmd": ["/busybox", "sleep", "600"]}
    made = devimages.archive_of(layer, name, config, archive)
    devimages.load(engine.url, devimages.Image(name, made, archive))
    reference = registry.push(name, f"acme/{hashlib.sha256(content).hexdigest()[:12]}")
    with engine.client() as client:
        client.images.remove(name)
    return reference


@contextlib.contextmanager
def finder(engine: DevEngine, folder: Path, server: str, **options: Any) -> Iterator[Images]:
    client = Engine(engine.url)
    nowhere = Ipfs("/ip4/127.0.0.1/tcp/1")
    try:
        yield Images(
            client,
            nowhere,
            folder / "images",
            wait=1,
            registries=[server],
            netns=engine.netns,
            **options,
        )
    finally:
        client.close()


def _bytes_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def claimant(account: str, server: str, password: str = PASSWORD) -> Claimant:
    return Claimant(account, RegistryLogin(server=server, username=USERNAME, password=password))


@pytest.mark.slow
async def test_a_login_fetches_what_nobody_else_gets(
    registry: Registry, secret: str, docker_engine: DevEngine, tmp_path: Path
) -> None:
    with finder(docker_engine, tmp_path, registry.server) as images:
        with pytest.raises(Declined, match="for all to pull"):
            await images.ensure(secret)
        assert await images.ensure(secret, claimant(ALICE, registry.server)) == secret


async def test_a_wrong_password_is_told_nowhere(
    registry: Registry, secret: str, docker_engine: DevEngine, tmp_path: Path
) -> None:
    with finder(docker_engine, tmp_path, registry.server) as images, structlog.testing.capture_logs() as log:
        with pytest.raises(Declined, match="`registry` login to pull") as refused:
            await images.ensure(secret, claimant(ALICE, registry.server, "xyzzy-plugh"))
        assert refused.value.reason == "image-unknown"
    files = _bytes_below(tmp_path)
    assert "xyzzy" not in str(log) + str(refused.value) + repr(refused.value.__context__)
    assert b"xyzzy" not in files


async def test_what_one_tenants_password_brought_is_not_anothers(
    registry: Registry, secret: str, docker_engine: DevEngine, tmp_path: Path
) -> None:
    """The engine itself gives what it has to whoever names it, and does not ask the registry again."""
    with finder(docker_engine, tmp_path, registry.server) as images:
        await images.ensure(secret, claimant(ALICE, registry.server))
        with docker_engine.client() as client:
            known = client.images.get(secret).id
        for thief in (Claimant(BOB), claimant(BOB, registry.server, "guessed")):
            with pytest.raises(Declined, match="to pull"):
                await images.ensure(secret, thief)
        with pytest.raises(Declined, match="has no image"):
            await images.ensure(str(known), Claimant(BOB))
        assert await images.ensure(secret, Claimant(ALICE)) == secret  # she has shown it once
        assert await images.public() == []  # who looks at the host's documents learns nothing of it
        assert await images.ensure(secret, claimant(BOB, registry.server)) == secret
        assert await images.ensure(secret, Claimant(BOB)) == secret


async def test_an_archive_that_only_names_its_layers_brings_them_not(
    registry: Registry, secret: str, docker_engine: DevEngine, tmp_path: Path
) -> None:
    """The engine takes no second copy of a layer that it has, and looks at none that it is sent for it: who knows what
    a private image's layers are called would have what is in them, and by its id the image itself.
    """
    with finder(docker_engine, tmp_path, registry.server) as images:
        await images.ensure(secret, claimant(ALICE, registry.server))
        with docker_engine.client() as client:
            known = client.images.get(secret).attrs
        for spelling in ("diff_ids", "Diff_IDs", "diff_id\u017f"):
            forged = tmp_path / f"forged-{spelling}"
            forged.write_bytes(_naming(known["RootFS"]["Layers"], spelling))
            with pytest.raises(EngineRefused, match="layer"):
                await images._load(forged, f"leasehold/ipfs:{len(spelling)}")


def _naming(layers: list[str], spelling: str) -> bytes:
    """An archive of an image with these layers, of which it holds none; its configuration says so in a name that the
    engine takes for the right one, after the right one with what is there.
    """
    empty, out = bytes(10_240), io.BytesIO()
    named = json.dumps([f"sha256:{hashlib.sha256(empty).hexdigest()}"] * len(layers))
    own = f'"diff_ids": {named}, ' if spelling != "diff_ids" else ""
    config = (
        f'{{"architecture": "amd64", "os": "linux", "config": {{"Cmd": ["/busybox"]}}, "rootfs": '
        f'{{"type": "layers", {own}"{spelling}": {json.dumps(layers)}}}}}'
    )
    manifest = [{"Config": "config", "RepoTags": None, "Layers": ["layer"] * len(layers)}]
    files = {"config": config.encode(), "layer": empty, "manifest.json": json.dumps(manifest).encode()}
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


async def test_a_restarted_agent_knows_whose_it_is(
    registry: Registry, secret: str, docker_engine: DevEngine, tmp_path: Path
) -> None:
    with finder(docker_engine, tmp_path, registry.server) as images:
        await images.ensure(secret, claimant(ALICE, registry.server))
    with finder(docker_engine, tmp_path, registry.server) as images, pytest.raises(Declined):
        await images.ensure(secret, Claimant(BOB))
    for note in (tmp_path / "images").iterdir():
        assert PASSWORD not in note.read_text()


@pytest.mark.slow
async def test_a_private_image_that_lost_its_name_is_private_still(
    registry: Registry, secret: str, docker_engine: DevEngine, tmp_path: Path
) -> None:
    """Its manifest and, under a container, its layers are with the engine: it would put them together for anybody."""
    with finder(docker_engine, tmp_path, registry.server) as images:
        await images.ensure(secret, claimant(ALICE, registry.server))
        with docker_engine.client() as client:
            client.containers.create(secret, name="lht-private", network_mode="none")
            try:
                client.images.remove(secret, force=True)
                for _ in range(2):
                    with pytest.raises(Declined, match="to pull"):
                        await images.ensure(secret, Claimant(BOB))
                    await made_room(images)  # and with it what is remembered of whose it was
            finally:
                client.containers.get("lht-private").remove(force=True)


@pytest.mark.slow
async def test_it_makes_room_as_others_do_and_takes_its_contents_along(
    registry: Registry, secret: str, docker_engine: DevEngine, tmp_path: Path
) -> None:
    with finder(docker_engine, tmp_path, registry.server) as images:
        await images.ensure(secret, claimant(ALICE, registry.server))
        assert not await made_room(images, secret)
        assert await made_room(images)
        assert list((tmp_path / "images").iterdir()) == []
        with pytest.raises(Declined, match="for all to pull"):
            await images.ensure(secret, Claimant(BOB))


@pytest.mark.slow
async def test_the_owners_own_login_is_no_tenants(
    registry: Registry, secret: str, docker_engine: DevEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenant chooses the name: what lies in the provider's private registry would be anybody's who knows it."""
    home = tmp_path / "docker"
    home.mkdir()
    (home / "config.json").write_text(registry.docker_config())
    monkeypatch.setenv("DOCKER_CONFIG", str(home))
    with (
        finder(docker_engine, tmp_path, registry.server) as images,
        pytest.raises(Declined, match="for all to pull"),
    ):
        await images.ensure(secret, Claimant(ALICE))
    allowed = [registry.server]
    with finder(docker_engine, tmp_path, registry.server, logins=allowed) as images:
        assert await images.public() == []
        assert await images.ensure(secret, Claimant(ALICE)) == secret
        assert [named for _, named in await images.public()] == [secret]  # and is told of
        assert await images.ensure(secret, Claimant(BOB)) == secret  # for every tenant, as its owner said


@pytest.mark.slow
async def test_how_far_it_is_is_told(registry: Registry, docker_engine: DevEngine, tmp_path: Path) -> None:
    noise = hashlib.shake_128(b"noise").digest(24 * MIB)
    large = _pushed(registry, docker_engine, tmp_path, noise)
    heard: list[str] = []
    with finder(docker_engine, tmp_path, registry.server) as images:
        await images.ensure(large, claimant(ALICE, registry.server), heard.append)
        await made_room(images)
    percents = [int(text.partition(" %")[0]) for text in heard if " % of " in text]
    assert percents == sorted(percents)
    assert len(set(percents)) > 1
    assert any(
        text.endswith((" % of 25 MB", " % of 26 MB", " % of 26.1 MB")) or " MB" in text for text in heard
    )
    assert "unpacking" in heard


# --------------------------------------------------------------------------------------- where a password goes

# Asks for a token at the address that it is given, and notes every password and token that it hears. It has one image,
# of no layers. `?` in the address is its own port.
_BEARER = """
import hashlib, http.server, json, sys, urllib.parse
config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Cmd": ["x"], "Labels": {"test": sys.argv[1]}},
    "rootfs": {"type": "layers", "diff_ids": []}}).encode()
name = lambda data: "sha256:" + hashlib.sha256(data).hexdigest()
V2 = "application/vnd.docker.distribution.manifest.v2+json"
manifest = json.dumps({"schemaVersion": 2, "mediaType": V2, "layers": [], "config": {
    "mediaType": "application/vnd.docker.container.image.v1+json",
    "size": len(config), "digest": name(config)}}).encode()
blobs = {name(data): data for data in (config, manifest)}
class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self, status, data=b"", kind="application/json", **headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        shown = self.headers.get("Authorization", "")
        with open(sys.argv[1], "a") as heard:
            heard.write(f"{self.command} {self.path} {shown} {body}\\n")
        if self.path.startswith("/token"):
            form = dict(urllib.parse.parse_qsl(body))
            good = shown.startswith("Basic ") or form.get("refresh_token") == "lasting"
            self.answer(200 if good else 401, json.dumps({"token": "short", "access_token": "short"}).encode())
        elif shown != "Bearer short":
            realm = sys.argv[2].replace("?", str(server.server_port))
            self.answer(401, WWW_Authenticate=f'Bearer realm="{realm}",service="tests"')
        else:
            data = blobs.get(self.path.rpartition("/")[2], b"{}")
            self.answer(200, data, V2 if data is manifest else "application/octet-stream")
    do_HEAD = do_POST = do_GET
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
print(server.server_port, name(manifest), flush=True)
server.serve_forever()
"""


@contextlib.contextmanager
def bearer(engine: DevEngine, heard: Path, realm: str) -> Iterator[tuple[str, str]]:
    """The registry's server and its image's reference."""
    command = engine.in_netns(sys.executable, "-c", _BEARER, str(heard), realm)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port, digest = process.stdout.readline().split()
            yield f"127.0.0.1:{port}", f"127.0.0.1:{port}/acme/x@{digest}"
        finally:
            process.kill()


@pytest.mark.slow
async def test_a_password_goes_to_no_other_place(docker_engine: DevEngine, tmp_path: Path) -> None:
    theirs, elsewhere = tmp_path / "theirs", tmp_path / "elsewhere"
    with (
        bearer(docker_engine, elsewhere, "http://127.0.0.1:?/token") as (other, _),
        bearer(docker_engine, theirs, f"http://{other}/token") as (server, reference),
        finder(docker_engine, tmp_path, server) as images,
        pytest.raises(Declined, match="wants its passwords sent to") as refused,
    ):
        await images.ensure(reference, claimant(ALICE, server))
    assert refused.value.reason == "unsupported"
    assert not elsewhere.exists()
    assert "Basic" not in theirs.read_text()


@pytest.mark.parametrize("kind", ["password", "identity token"])
@pytest.mark.slow
async def test_a_token_of_the_registrys_own(docker_engine: DevEngine, tmp_path: Path, kind: str) -> None:
    heard = tmp_path / "heard"
    with bearer(docker_engine, heard, "http://127.0.0.1:?/token") as (server, reference):
        lasting = Claimant(ALICE, RegistryLogin(server=server, identity_token="lasting"))
        chosen = claimant(ALICE, server) if kind == "password" else lasting
        with finder(docker_engine, tmp_path, server) as images:
            assert await images.ensure(reference, chosen) == reference
            with pytest.raises(Declined, match="for all to pull"):
                await images.ensure(reference, Claimant(BOB))
            assert await made_room(images)
    wanted = "/token?" if kind == "password" else "POST /token"
    assert wanted in heard.read_text()


@pytest.mark.slow
def test_the_engine_is_told_either_kind_of_login() -> None:
    import base64

    token = RegistryLogin(server="ghcr.io", identity_token="lasting")
    told = json.loads(base64.urlsafe_b64decode(auth_header(token)))
    assert told == {"identitytoken": "lasting", "serveraddress": "ghcr.io"}


# ------------------------------------------------------------------------------------------- what breaks off

# Carries connections to another port, but breaks off the first ones after some bytes have come back.
_FLAKY = """
import socket, sys, threading
to, breaks, after = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
def carry(a, b, most):
    try:
        while most and (data := a.recv(min(65536, most))):
            b.sendall(data); most -= len(data)
    except OSError: pass
    for end in (a, b):
        try: end.shutdown(socket.SHUT_RDWR)
        except OSError: pass
number = 0
while True:
    client, _ = server.accept()
    number += 1
    behind = socket.create_connection(("127.0.0.1", to))
    threading.Thread(target=carry, args=(client, behind, 1 << 60), daemon=True).start()
    threading.Thread(target=carry, args=(behind, client, after if number <= breaks else 1 << 60), daemon=True).start()
"""


@contextlib.contextmanager
def flaky(engine: DevEngine, server: str, *, breaks: int, after: int) -> Iterator[str]:
    command = engine.in_netns(sys.executable, "-c", _FLAKY, server.partition(":")[2], str(breaks), str(after))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


@pytest.mark.slow
async def test_a_connection_that_breaks_off_declines_nothing(
    registry: Registry, secret: str, docker_engine: DevEngine, tmp_path: Path
) -> None:
    with flaky(docker_engine, registry.server, breaks=2, after=1) as server:
        through = secret.replace(registry.server, server)
        with finder(docker_engine, tmp_path, server) as images:
            delays = 0
            while True:
                try:
                    await images.ensure(through, claimant(ALICE, server))
                    break
                except ImageDelayed:
                    delays += 1
            assert delays >= 1
            await made_room(images)


# --------------------------------------------------------------------------------------------- a whole lease


@pytest.mark.slow
async def test_a_lease_of_a_private_image_shows_its_password_nowhere(
    rig_of: Any, registry: Registry, secret: str, docker_engine: DevEngine
) -> None:
    rig: Rig = await rig_of(registries=[registry.server])
    login = {"server": registry.server, "username": USERNAME, "password": PASSWORD}
    with structlog.testing.capture_logs() as log:
        lease = await rig.open(rig.workload(image=secret, command=[], registry=login))
        await rig.reaches(lease, LeaseState.ACTIVE)
    container = await rig.container(lease)
    assert container is not None
    with docker_engine.client() as client:
        inspected = json.dumps(client.api.inspect_container(container.id))
    kept = _bytes_below(rig.settings.state_dir)
    shown = inspected + str(log) + str(await rig.handle(lease)) + repr(rig.host.leases.workload(lease))
    assert PASSWORD not in shown
    assert PASSWORD.encode() not in kept


@pytest.mark.slow
async def test_a_lease_says_how_far_its_image_is(rig_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rig: Rig = await rig_of()
    told, go_on, ensure = asyncio.Event(), asyncio.Event(), rig.host.supplies.images.ensure

    async def slow(image: str, claimant: Claimant, show: Callable[[str], None]) -> str:
        show("41 % of 3.2 GB")
        told.set()
        await go_on.wait()
        return await ensure(image, claimant)

    monkeypatch.setattr(rig.host.supplies.images, "ensure", slow)
    lease = await rig.open()
    async with asyncio.timeout(patient(60)):
        await told.wait()
    assert (await rig.handle(lease)).progress == "fetching the image: 41 % of 3.2 GB"
    go_on.set()
    await rig.reaches(lease, LeaseState.ACTIVE)

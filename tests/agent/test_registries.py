"""What the engine may be sent to for an image: it fetches as root, from the host's own network."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devnet.engine import Engine as DevEngine
from devnet.images import Image
from leasehold.datasets import Ipfs
from leasehold.images import registry_of
from leasehold_agent._config import AgentSettings
from leasehold_agent._errors import Declined, ImageDelayed, ImageTooLarge
from leasehold_agent.engine import Engine, ImageRules, Images
from leasehold_agent.engine._pull import Coming
from leasehold_agent.engine._registries import Registries

DIGEST = "@sha256:" + "a" * 64
DEFAULT = AgentSettings.model_validate({}).registries
# A registry that sends whoever asks on to the address where clouds keep a host's credentials, and notes who asked.
_REGISTRY = """
import http.server, sys
class Registry(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open(sys.argv[1], "a") as heard: heard.write(self.path + "\\n")
        status = int(sys.argv[2])
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", f'Bearer realm="http://127.0.0.1:{port}/realm",service="x"')
        code = b"MANIFEST_UNKNOWN" if status == 404 else b"UNKNOWN"
        body = b'{"errors": [{"code": "' + code + b'", "message": "what only the host may know"}]}'
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_HEAD = do_GET
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Registry)
port = server.server_port
print(port, flush=True)
server.serve_forever()
"""


@contextlib.contextmanager
def registry(engine: DevEngine, heard: Path, status: int) -> Iterator[int]:
    """One on the engine's own loopback; its port."""
    command = engine.in_netns(sys.executable, "-c", _REGISTRY, str(heard), str(status))
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


@contextlib.contextmanager
def images(engine: DevEngine, tmp_path: Path, *allowed: str) -> Iterator[Images]:
    client = Engine(engine.url)
    try:
        yield Images(client, Ipfs("/ip4/127.0.0.1/tcp/1"), tmp_path / "images", wait=1, registries=allowed)
    finally:
        client.close()


async def test_a_registry_nobody_named_is_never_asked(docker_engine: DevEngine, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    with registry(docker_engine, heard, 401) as port, images(docker_engine, tmp_path, *DEFAULT) as finder:
        with pytest.raises(Declined, match="fetches none from") as refused:
            await finder.ensure(f"127.0.0.1:{port}/secret{DIGEST}")
        assert refused.value.reason == "unsupported"
        assert not heard.exists()


@pytest.mark.parametrize("status", [401, 500])
async def test_what_one_says_stays_with_the_host(
    docker_engine: DevEngine, tmp_path: Path, status: int
) -> None:
    heard = tmp_path / "heard"
    with registry(docker_engine, heard, status) as port:
        allowed = f"127.0.0.1:{port}"
        with images(docker_engine, tmp_path, allowed) as finder:
            with pytest.raises((Declined, ImageDelayed)) as refused:
                await finder.ensure(f"{allowed}/x{DIGEST}")
            assert "only the host may know" not in str(refused.value)
        assert heard.exists()


async def test_an_image_that_is_not_there_and_a_registry_that_is_away(
    docker_engine: DevEngine, tmp_path: Path
) -> None:
    with registry(docker_engine, tmp_path / "heard", 404) as port:
        allowed = f"127.0.0.1:{port}"
        with (
            images(docker_engine, tmp_path, allowed) as finder,
            pytest.raises(Declined, match="for all to pull") as refused,
        ):
            await finder.ensure(f"{allowed}/x{DIGEST}")
        assert refused.value.reason == "image-unknown"
    with images(docker_engine, tmp_path, "127.0.0.1:1") as finder, pytest.raises(ImageDelayed, match="again"):
        await finder.ensure(f"127.0.0.1:1/x{DIGEST}")


@pytest.mark.parametrize(
    ("image", "asked"),
    [
        ("busybox", "docker.io"),
        ("library/busybox", "docker.io"),
        ("index.docker.io/library/busybox", "docker.io"),
        ("ghcr.io/a/b", "ghcr.io"),
        ("localhost/x", "localhost"),
        ("169.254.169.254/x", "169.254.169.254"),
        ("ghcr.io:22/x", "ghcr.io:22"),
        ("host:5000/x", "host:5000"),
        ("2130706433/x", "docker.io"),
        ("iNTRANET/x", "intranet"),
        ("0x7f.1/x", "0x7f.1"),
    ],
)
def test_which_registry_the_engine_would_ask(image: str, asked: str) -> None:
    assert registry_of(image + DIGEST) == asked


@pytest.mark.parametrize(
    "address",
    ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "fe80::1%eth0", "::ffff:10.0.0.1", "fd00::1"],
)
async def test_a_name_of_the_hosts_own_network(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    def resolve(*_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, 1, 6, "", ("203.0.113.9", 443)), (socket.AF_INET, 1, 6, "", (address, 443))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(Declined, match="no public registry"):
        await Registries(["ghcr.io"]).check(f"ghcr.io/x{DIGEST}")
    await Registries(["registry.lan:443"]).check(f"registry.lan:443/x{DIGEST}")  # its owner said so


async def test_a_name_that_cannot_be_looked_up_now(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_: Any, **__: Any) -> list[Any]:
        raise socket.gaierror("no resolver 192.0.2.53")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(ImageDelayed, match=r"docker\.io") as delayed:
        await Registries(["docker.io"]).check(f"x{DIGEST}")
    assert "192.0.2.53" not in str(delayed.value)


# ------------------------------------------------------------------------------------- what the owner lets run


@pytest.mark.parametrize(
    "image",
    [
        "debian",
        "debian:12",
        "library/debian",
        "docker.io/debian",
        "docker.io/library/debian:latest",
        "index.docker.io/library/debian",
        "registry-1.docker.io/debian",
        "DOCKER.io/library/debian",
    ],
)
def test_no_other_spelling_comes_past_a_denial(image: str) -> None:
    with pytest.raises(Declined, match="does not run") as refused:
        ImageRules(deny=["docker.io/library/debian"]).check(image + DIGEST)
    assert refused.value.reason == "unsupported"
    ImageRules(deny=["docker.io/library/debian"]).check(image.replace("debian", "debian2") + DIGEST)


@pytest.mark.parametrize(
    ("image", "runs"),
    [
        ("ghcr.io/acme/train" + DIGEST, True),
        ("ghcr.io/acme/deep/train" + DIGEST, True),
        ("ghcr.io/acme/miner" + DIGEST, False),
        ("ghcr.io/acme2/train" + DIGEST, False),
        ("evil.example/ghcr.io/acme/train" + DIGEST, False),
        ("debian" + DIGEST, False),
        ("ipfs:bafyx", True),
        ("sha256:" + "1" * 64, False),
        ("quay.io/x/y@sha256:" + "b" * 64, True),
        ("quay.io/x/y@sha256:" + "c" * 64, False),
    ],
)
def test_what_is_allowed_and_not_denied_runs(image: str, runs: bool) -> None:
    rules = ImageRules(
        ["ghcr.io/acme/*", "ipfs:*", "quay.io/*@sha256:" + "b" * 64, "quay.io/*@sha256:c*"],
        ["*/miner", "*@sha256:" + "c" * 64],
    )
    with contextlib.nullcontext() if runs else pytest.raises(Declined, match="owner"):
        rules.check(image)


async def test_an_image_that_does_not_run_here_is_neither_asked_for_nor_given(
    docker_engine: DevEngine, tmp_path: Path, tiny: Image
) -> None:
    client = Engine(docker_engine.url)
    nowhere = Ipfs("/ip4/127.0.0.1/tcp/1")
    rules = ImageRules(deny=["sha256:*", "127.0.0.1:*"])
    found = Images(client, nowhere, tmp_path, wait=1, registries=["127.0.0.1:1"], rules=rules)
    try:
        for image in (tiny.id, f"127.0.0.1:1/x{DIGEST}"):
            with pytest.raises(Declined, match="does not run"):
                await found.ensure(image)
    finally:
        client.close()


# ----------------------------------------------------------------------------------------- how far a pull is


def _line(status: str, layer: str, **detail: int) -> dict[str, object]:
    return {"status": status, "id": layer, "progressDetail": detail}


def test_how_far_an_image_is() -> None:
    coming, heard = Coming(10**12), []
    for line in (
        _line("Pulling from library/x", "latest"),
        _line("Pulling fs layer", "a"),
        _line("Pulling fs layer", "b"),
        _line("Already exists", "c"),
        _line("Waiting", "b"),
        _line("Downloading", "a", current=10**9, total=2 * 10**9),
        _line("Downloading", "b", current=3 * 10**8, total=12 * 10**8),
        _line("Downloading", "a", current=10**9 + 12 * 10**6, total=2 * 10**9),
        _line("Download complete", "a"),
        _line("Download complete", "b"),
        _line("Extracting", "a", current=5, total=10),
        _line("Pull complete", "a"),
    ):
        coming.heed(line)
        heard.append(coming.progress())
    assert heard == [
        *[""] * 5,
        "1 GB of more than 2 GB",
        "40 % of 3.2 GB",
        "41 % of 3.2 GB",
        "71 % of 3.2 GB",
        *["unpacking"] * 3,
    ]


@pytest.mark.parametrize("total", [-(2**70), 2**70])
def test_figures_that_a_registry_makes_up(total: int) -> None:
    coming = Coming(10**12)
    with contextlib.nullcontext() if total < 0 else pytest.raises(ImageTooLarge):
        coming.heed(_line("Downloading", "a", current=-1, total=total))
        assert coming.progress() == ""

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
from leasehold.datasets import Ipfs
from leasehold.workload import registry_of
from leasehold_agent._config import AgentSettings
from leasehold_agent._errors import Declined, ImageDelayed
from leasehold_agent.engine import Engine, Images
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

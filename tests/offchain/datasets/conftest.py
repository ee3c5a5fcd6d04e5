"""Two real nodes in a private swarm, and a node that lies, which no real one does on request."""

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from urllib.parse import parse_qs, urlsplit

import pytest

from devnet.kubo import Kubo
from devnet.patience import patient
from leasehold.datasets import Ipfs


@pytest.fixture(scope="session")
def publisher_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubo]:
    with Kubo(tmp_path_factory.mktemp("publisher")) as node:
        yield node


@pytest.fixture(scope="session")
def fetcher_node(tmp_path_factory: pytest.TempPathFactory, publisher_node: Kubo) -> Iterator[Kubo]:
    with Kubo(tmp_path_factory.mktemp("fetcher")) as node:
        node.connect(publisher_node)
        yield node


@pytest.fixture
async def publisher(publisher_node: Kubo) -> AsyncIterator[Ipfs]:
    async with Ipfs(publisher_node.api, timeout=patient(20)) as ipfs:
        yield ipfs


@pytest.fixture
async def fetcher(fetcher_node: Kubo) -> AsyncIterator[Ipfs]:
    async with Ipfs(fetcher_node.api, timeout=patient(20)) as ipfs:
        yield ipfs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with everything that a dataset may hold: large, small, empty, hidden, links, names of all kinds."""
    source = Random(7)
    root = tmp_path / "source"
    (root / "deep/er/empty").mkdir(parents=True)
    (root / "large.bin").write_bytes(source.randbytes(9 * 1024 * 1024 + 17))
    (root / "deep/er/ünïcode & spaces?#%.txt").write_text("text")
    (root / ".hidden").write_bytes(b"")
    (root / "deep/run.sh").write_text("#!/bin/sh\n")
    (root / "deep/run.sh").chmod(0o755)
    (root / "deep/link").symlink_to("../large.bin")
    (root / "here").symlink_to("deep/er")
    for index in range(40):
        (root / f"deep/{index}.txt").write_text(str(index))
    return root


def snapshot(root: Path) -> dict[str, object]:
    """What a folder holds: bytes of files, targets of links, None for folders."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    return found


Answer = Callable[[str, dict[str, str]], tuple[int, bytes]]


class LyingNode:
    """Answers the RPC API as it is told: `answer(command, query) -> (status, body)`."""

    def __init__(self, answer: Answer) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                parts = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                while size := int(self.rfile.readline(), 16) if "Transfer-Encoding" in self.headers else 0:
                    self.rfile.read(size + 2)
                status, body = answer(parts.path.removeprefix("/api/v0/"), query)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def api(self) -> str:
        return f"/ip4/127.0.0.1/tcp/{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def lying() -> Iterator[Callable[[Answer], Ipfs]]:
    """`lying(answer)`: a client of such a node."""
    nodes: list[LyingNode] = []
    clients: list[Ipfs] = []

    def start(answer: Answer) -> Ipfs:
        nodes.append(LyingNode(answer))
        clients.append(Ipfs(nodes[-1].api, timeout=patient(5)))
        return clients[-1]

    yield start
    for client in clients:
        client.close()
    for node in nodes:
        node.close()

"""Ten thousand requests that schemathesis makes of the API's own description, and not one that it fails on.

Requests go by way of a proxy in the test that signs most of them as the lease's tenant, since whatever is not signed
gets no further than the signature; and sends each from an address of its own, since whoever asks often is told to wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import random
import re
import socket
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from devnet.patience import patient

from .conftest import LEASE, World
from .test_every_operation import OPERATIONS, VALUES

REQUESTS = 10_000
SIGNED = 0.8
"""The part of requests that is signed, whether what is asked for makes sense or not."""
MOST_READ = 1 << 16
SEED = 20_261_124
DOCUMENT = Path(__file__).parents[3] / "docs/reference/agent-api.json"

SCHEMATHESIS = os.environ.get("LEASEHOLD_SCHEMATHESIS", "")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.deep,
    pytest.mark.skipif(
        not Path(SCHEMATHESIS).is_file(), reason="`scripts/setup schemathesis` has not been run"
    ),
]


@dataclass
class Signing:
    """Signs what schemathesis asks, hands it on, and counts what comes back."""

    world: World
    chance: random.Random = field(default_factory=lambda: random.Random(SEED))
    statuses: Counter[int] = field(default_factory=Counter)
    by_operation: defaultdict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    failures: list[str] = field(default_factory=list)

    async def __call__(self, request: Request) -> Response:
        body, query = await request.body(), request.scope["query_string"].decode()
        raw = self._meant(request.scope["raw_path"].decode(), body)
        headers = {
            name: value for name, value in request.headers.items() if name not in ("host", "content-length")
        }
        if self.chance.random() < SIGNED:
            headers |= await self._signature(request.method, raw, query, body)
        source = f"127.{self.chance.randrange(1, 255)}.{self.chance.randrange(255)}.{self.chance.randrange(1, 255)}"
        way = httpx.AsyncHTTPTransport(verify=self.world.tls, local_address=source)
        url = self.world.base + raw + (f"?{query}" if query else "")
        async with (
            httpx.AsyncClient(transport=way, timeout=patient(30)) as http,
            http.stream(request.method, url, content=body, headers=headers) as answer,
        ):
            status, read = answer.status_code, await _beginning(answer)
        self.statuses[status] += 1
        self.by_operation[f"{request.method} {_kind(raw)}"][status] += 1
        if status >= 500:
            self.failures.append(f"{status} for {request.method} {raw}?{query}: {read[:200]!r}")
        return Response(read, status, media_type=answer.headers.get("content-type"))

    def _meant(self, path: str, body: bytes) -> str:
        """Mostly of the lease that there is, and with the digest of what is sent."""
        if self.chance.random() < SIGNED:
            path = re.sub(r"^(/v1/leases)/[^/]*", r"\1/12", path)
            named = r"^(/v1/workloads|/v1/leases/12/(?:code|code-packs|closing-orders))/[^/]*$"
            path = re.sub(named, rf"\1/{hashlib.sha256(body).hexdigest()}", path)
        return path

    async def _signature(self, method: str, path: str, query: str, body: bytes) -> dict[str, str]:
        meant = [o for o in OPERATIONS if o.method == method and _has(path, o.path)]
        operation = meant[0] if meant and self.chance.random() < SIGNED else self.chance.choice(OPERATIONS)
        lease = LEASE if operation.lease else 0
        return await self.world.tenant.sign(
            method, path, query=query, body=body, lease=lease, op=operation.op
        )


def _kind(path: str) -> str:
    """Its operation's path, or nothing where it has none."""
    return next((o.path for o in OPERATIONS if _has(path, o.path)), "")


def _has(path: str, example: str) -> bool:
    """Whether the path is of the same operation as this one."""
    names, known = path.split("/"), example.split("/")
    same = (name == wanted or wanted in VALUES.values() for name, wanted in zip(names, known, strict=False))
    return len(names) == len(known) and all(same)


async def _beginning(answer: httpx.Response) -> bytes:
    """As much as there is at once: a log that is followed has no end."""
    body = bytearray()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.2):
            async for piece in answer.aiter_raw():
                body += piece
                if len(body) > MOST_READ:
                    break
    return bytes(body)


class _Proxy(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()


@pytest.fixture
async def signing(world: World) -> AsyncIterator[tuple[Signing, str]]:
    proxy = Signing(world)
    methods = ["GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"]
    app = Starlette(routes=[Route("/{path:path}", proxy.__call__, methods=methods)])
    server = _Proxy(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
    serving = asyncio.create_task(server.serve())
    await server.up.wait()
    yield proxy, f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = server.force_exit = True  # a followed log has no end
    await serving


async def test_no_request_makes_it_fail(signing: tuple[Signing, str], tmp_path: Path) -> None:
    proxy, url = signing
    command = [
        SCHEMATHESIS,
        "run",
        str(DOCUMENT),
        f"--url={url}",
        "--checks=not_a_server_error",
        f"--max-examples={REQUESTS // 16}",
        "--phases=examples,coverage,fuzzing",
        f"--seed={SEED}",
        "--suppress-health-check=all",
        "--generation-database=none",
    ]
    running = await asyncio.create_subprocess_exec(
        *command, cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await running.communicate()
    print(
        dict(proxy.statuses),
        {operation: dict(statuses) for operation, statuses in proxy.by_operation.items()},
    )
    assert proxy.failures == []
    assert running.returncode == 0, said.decode()[-4000:]
    assert proxy.statuses.total() >= REQUESTS
    assert proxy.statuses[200] >= REQUESTS // 20, "most never got past the signature"
    described = [operation for operation in OPERATIONS if not operation.headers]  # the others upgrade
    often = [o.name for o in described if proxy.by_operation[o.name].total() >= 30]
    unheard = [name for name in often if not set(proxy.by_operation[name]) - {401, 403}]
    assert not unheard, "an operation was never reached"

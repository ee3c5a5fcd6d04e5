"""Thousands of requests that are made of the gateway's own description, and not one that it fails on or that it answers
otherwise than described. The gateway is whole: chain, IPFS node and agent are real.

Some hundred are made here, whenever tests run; schemathesis makes the others.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest
import uvicorn

from devnet.kubo import Kubo
from devnet.patience import patient
from devnet.pool import PoolChain
from leasehold.gateway._uploading import OFFSET_TYPE

from .test_described import REFERENCE
from .test_hostile import ODD as ODD_TEXTS
from .visiting import ODD, Operation, Visiting
from .whole import whole_gateway

FEW = 150
REQUESTS = 2_000
FEW_MISSED = 2
"""Operations that chance may lead nobody to in a whole run: what wants several right things one after the other."""
SEED = 20_261_127
SCHEMATHESIS = os.environ.get("LEASEHOLD_SCHEMATHESIS", "")
HOOKS = f"""
import schemathesis
schemathesis.serializer.alias({OFFSET_TYPE!r}, "application/octet-stream")
"""
"""So that schemathesis knows how a part of an upload is written."""
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)


@pytest.fixture
def kubo(tmp_path: Path) -> Iterator[Kubo]:
    with Kubo(tmp_path / "kubo") as node:
        yield node


@asynccontextmanager
async def visited(chain: PoolChain, kubo: Kubo, folder: Path) -> AsyncIterator[Visiting]:
    async with whole_gateway(chain, kubo, folder) as whole:
        yield Visiting(whole, json.loads(REFERENCE.read_bytes()), Random(SEED))


def check(visiting: Visiting, least: int) -> None:
    """Nothing was wrong, and much of it went well."""
    print(dict(visiting.statuses), {name: dict(met) for name, met in visiting.by_operation.items()})
    assert visiting.wrong == []
    assert visiting.statuses.total() >= least
    assert visiting.statuses[200] >= least // 8


def reached(visiting: Visiting) -> set[str]:
    """The operations that went well at least once."""
    return {name for name, met in visiting.by_operation.items() if {200, 201, 204} & set(met)}


NEVER_WELL = frozenset(
    f"{method} /api/v1/agents/{{machine}}/{{path}}" for method in ("DELETE", "POST", "PUT")
) | {
    "POST /api/v1/alerts/{recipient}/code",
    "GET /api/v1/rounds/{number}",
    "GET /api/v1/leases/{lease}/results/blocks",
}
"""Nobody signs here what an agent does: that is the tests' of its own API. Nor does anybody read what a place gets; no
committee meets, and no lease leaves results.
"""


# --------------------------------------------------------------------------------------------------------- our own


def asked(operation: Operation, chance: Random) -> httpx.Request:
    """A request for an operation, made of anything."""
    path, query, headers = operation.path, list[tuple[str, str]](), dict[str, str]()
    for parameter in operation.said.get("parameters", ()):
        value = anything(parameter["schema"], chance)
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", quote(value, safe=""))
        elif parameter["in"] == "query" and chance.random() < 0.5:
            query.append((parameter["name"], value))
        elif parameter["in"] == "header":
            headers[parameter["name"]] = quote(value)
    body: bytes | None = None
    if content := operation.said.get("requestBody", {}).get("content"):
        kind = next(iter(content))
        headers["content-type"] = chance.choice((kind, kind, "text/plain", ""))
        text = json.dumps(chance.choice(ODD), default=str)
        body = chance.choice((text, text, text[:-1], '{"a":' * 5_000)).encode("utf-8", "surrogatepass")
    url = "https://gate.example" + path[:3_000] + ("?" + urlencode(query)[:1_000] if query else "")
    return httpx.Request(operation.method, url, headers=headers, content=body)


def anything(schema: Mapping[str, Any], chance: Random) -> str:
    """What may stand for a parameter, or may not."""
    low, high = schema.get("minimum", 0), schema.get("maximum", 10**6)
    plain = (low, high, low - 1, high + 1, chance.randrange(10**6), 1, 2**63, 2**64)
    return str(chance.choice(plain)) if chance.random() < 0.5 else chance.choice(ODD_TEXTS)


async def test_some_hundred_requests(chain: PoolChain, kubo: Kubo, tmp_path: Path) -> None:
    async with visited(chain, kubo, tmp_path) as visiting:
        chance = Random(SEED)
        transport = httpx.ASGITransport(visiting)
        async with httpx.AsyncClient(transport=transport, timeout=patient(30)) as client:
            for number in range(FEW):
                await client.send(asked(visiting.operations[number % len(visiting.operations)], chance))
    check(visiting, FEW)


# ---------------------------------------------------------------------------------------------------- schemathesis


@asynccontextmanager
async def served(visiting: Visiting) -> AsyncIterator[str]:
    """At a port of the loopback."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(visiting, lifespan="off", log_config=None, timeout_graceful_shutdown=5)
    )
    server.capture_signals = nullcontext  # type: ignore[method-assign]  # the tests' own process keeps its signals
    serving = asyncio.create_task(server.serve([listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.skipif(not Path(SCHEMATHESIS).is_file(), reason="`scripts/setup schemathesis` has not been run")
async def test_schemathesis_finds_nothing(chain: PoolChain, kubo: Kubo, tmp_path: Path) -> None:
    (tmp_path / "written_so.py").write_text(HOOKS)
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "written_so", "PYTHONPATH": str(tmp_path)}
    async with visited(chain, kubo, tmp_path) as visiting, served(visiting) as url:
        command = [
            SCHEMATHESIS,
            "run",
            str(REFERENCE),
            f"--url={url}",
            f"--checks={','.join(CHECKS)}",
            f"--max-examples={REQUESTS // 16}",
            "--phases=examples,coverage,fuzzing",
            f"--seed={SEED}",
            "--suppress-health-check=all",
            "--generation-database=none",
        ]
        running = await asyncio.create_subprocess_exec(
            *command,
            cwd=tmp_path,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await running.communicate()
    check(visiting, REQUESTS)
    assert running.returncode == 0, said.decode()[-6_000:]
    missed = {operation.name for operation in visiting.operations} - reached(visiting) - NEVER_WELL
    assert len(missed) <= FEW_MISSED, missed

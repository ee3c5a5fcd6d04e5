"""Whether it lives, whether it may be asked, and how it does."""

from __future__ import annotations

import time

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from leasehold.gateway._gateway import TheGateway
from leasehold.gateway._reading import written

router = APIRouter(tags=["health"])


@router.get("/healthz", summary="Whether the process lives")
async def healthz() -> Response:
    return written({"status": "ok"})


@router.get(
    "/readyz",
    summary="Whether it stands at the head of the chain; 503 where it does not",
    responses={503: {"description": "It does not", "content": {"application/json": {}}}},
)
async def readyz(gateway: TheGateway) -> Response:
    head = gateway.market.head
    trouble = gateway.troubled(time.time())
    ready = head is not None and trouble is None
    answer = written(
        {
            "status": "ok" if ready else "waiting",
            "block": None if head is None else head.number,
            "behind_s": None if head is None else max(0, int(time.time()) - head.timestamp),
            "trouble": trouble,
        }
    )
    answer.status_code = 200 if ready else 503
    return answer


@router.get(
    "/metrics",
    summary="How it does, as Prometheus reads it",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}},
)
async def metrics(request: Request, gateway: TheGateway) -> Response:
    head = gateway.market.head
    counted = request.app.state.counted
    rows = [
        ("leasehold_gateway_block", "gauge", 0 if head is None else head.number),
        ("leasehold_gateway_block_timestamp_seconds", "gauge", 0 if head is None else head.timestamp),
        ("leasehold_gateway_machines", "gauge", len(gateway.market.board)),
        ("leasehold_gateway_live_connections", "gauge", gateway.live.count),
        ("leasehold_gateway_live_dropped_total", "counter", gateway.hub.dropped),
        ("leasehold_gateway_up", "gauge", int(gateway.troubled(time.time()) is None)),
        ("leasehold_gateway_writes", "gauge", int(gateway.index.elected or not gateway.index.shared)),
    ]
    lines = [f"# TYPE {name} {kind}\n{name} {value}\n" for name, kind, value in rows]
    lines.append("# TYPE leasehold_gateway_answers_total counter\n")
    lines += [
        f'leasehold_gateway_answers_total{{status="{status}"}} {count}\n'
        for status, count in sorted(counted.items())
    ]
    return Response("".join(lines), media_type="text/plain; version=0.0.4")

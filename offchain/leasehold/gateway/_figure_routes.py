"""Prices over time, and how the market stands."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from leasehold.gateway._figures import DAYS
from leasehold.gateway._gateway import TheGateway
from leasehold.gateway._reading import answered

router = APIRouter(prefix="/api/v1", tags=["figures"])


@router.get("/prices", summary="What a GPU-hour was asked for, by class, every six hours")
async def prices(
    gateway: TheGateway,
    class_: Annotated[
        str | None, Query(alias="class", max_length=80, description="One class; all without.")
    ] = None,
    days: Annotated[int, Query(ge=1, le=DAYS)] = 30,
) -> Response:
    head = gateway.market.at()
    series = await gateway.figures.prices(gateway.market.board, head)
    since = head.timestamp - days * 86_400
    items = [
        {
            "class": name,
            "series": [
                {
                    "time": point.time,
                    "least": str(point.least),
                    "median": str(point.median),
                    "most": str(point.most),
                    "machines": point.machines,
                }
                for point in points
                if point.time >= since
            ],
        }
        for name, points in sorted(series.items())
        if class_ is None or name == class_
    ]
    return answered(gateway, {"items": items, "total": len(items), "next": None})


@router.get("/statistics", summary="How much there is, and how much of it is rented")
async def statistics(gateway: TheGateway) -> Response:
    head = gateway.market.at()
    return answered(gateway, {"statistics": await gateway.figures.statistics(gateway.market.board, head)})

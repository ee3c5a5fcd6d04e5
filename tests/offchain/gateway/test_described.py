"""The document that describes the gateway is what the gateway has."""

from __future__ import annotations

import json
from pathlib import Path

from leasehold.gateway import openapi

from .conftest import World

REFERENCE = Path(__file__).parents[3] / "docs/reference/gateway-api.json"


async def test_the_reference_is_up_to_date(world: World) -> None:
    assert openapi(world.app) == REFERENCE.read_bytes(), "run scripts/gateway_api.py"
    assert await world.get("/openapi.json") == json.loads(REFERENCE.read_bytes())


def test_every_place_has_its_sentence_and_says_how_it_refuses() -> None:
    described = json.loads(REFERENCE.read_bytes())
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], (method, path)
            assert "application/problem+json" in operation["responses"]["default"]["content"], path

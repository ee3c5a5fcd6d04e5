"""Writes docs/reference/gateway-api.json, the gateway's OpenAPI document, from the code."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from leasehold.chain import ZERO_ADDRESS, Deployment
from leasehold.gateway import GatewaySettings, create_app, openapi

PATH: Final = Path(__file__).parents[1] / "docs/reference/gateway-api.json"
# Nothing is served: the document depends on the routes alone.
NOWHERE: Final = Deployment(1, f"0x{'0' * 64}", *[ZERO_ADDRESS] * 4, 0, "TUSD", 18)


def main() -> None:
    PATH.write_bytes(openapi(create_app(GatewaySettings(NOWHERE, Path("/nonexistent")))))


if __name__ == "__main__":
    main()

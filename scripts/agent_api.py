"""Writes docs/reference/agent-api.json, the agent's OpenAPI document, from the code."""

from __future__ import annotations

from pathlib import Path
from typing import Final, cast

from leasehold_agent._runtime import ServeContext
from leasehold_agent.api import Api, Authorizer, create_app, openapi

PATH: Final = Path(__file__).parents[1] / "docs/reference/agent-api.json"


def main() -> None:
    # Nothing is served: the document depends on the routes alone.
    api = Api(cast(ServeContext, None), cast(Authorizer, None))
    PATH.parent.mkdir(parents=True, exist_ok=True)
    PATH.write_bytes(openapi(create_app(api)))


if __name__ == "__main__":
    main()

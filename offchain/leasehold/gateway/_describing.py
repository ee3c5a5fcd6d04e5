"""The document that describes the gateway, put right where what FastAPI writes of itself is not what is answered.

A refusal is a problem document and nothing else, of the gateway or of the agent that was asked by way of it; and what
the schema of a body refers to stands where others look for it, among the document's components.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from leasehold.gateway._problems import MEDIA_TYPE, ProblemDocument, RelayedProblem

COMPONENT: Final = "#/components/schemas/{model}"
"""By which a schema refers to another one."""
AGENTS: Final = "/api/v1/agents/"
"""Below it, agents answer by way of the gateway."""


def put_right(document: dict[str, Any]) -> dict[str, Any]:
    """The document, changed in place; a second time changes nothing."""
    document["components"]["schemas"][RelayedProblem.__name__] = RelayedProblem.model_json_schema()
    for path, operation in _operations(document):
        refusal = RelayedProblem if path.startswith(AGENTS) else ProblemDocument
        schema = {"$ref": COMPONENT.format(model=refusal.__name__)}
        operation["responses"]["default"]["content"] = {MEDIA_TYPE: {"schema": schema}}
        for body in operation.get("requestBody", {}).get("content", {}).values():
            document["components"]["schemas"] |= body.get("schema", {}).pop("$defs", {})
    return document


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        yield from ((path, operation) for operation in methods.values())

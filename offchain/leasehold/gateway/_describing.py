"""The document that describes the gateway, put right where what FastAPI writes of itself is not what is answered.

A refusal is a problem document and nothing else; and what the schema of a body refers to stands where others look for
it, among the document's components.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from leasehold.gateway._problems import MEDIA_TYPE, ProblemDocument

COMPONENT: Final = "#/components/schemas/{model}"
"""By which a schema refers to another one."""


def put_right(document: dict[str, Any]) -> dict[str, Any]:
    """The document, changed in place; a second time changes nothing."""
    problem = {"schema": {"$ref": COMPONENT.format(model=ProblemDocument.__name__)}}
    for operation in _operations(document):
        operation["responses"]["default"]["content"] = {MEDIA_TYPE: problem}
        for body in operation.get("requestBody", {}).get("content", {}).values():
            document["components"]["schemas"] |= body.get("schema", {}).pop("$defs", {})
    return document


def _operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for methods in document["paths"].values():
        yield from methods.values()

"""The parts of a gateway that its routes need, by their kind: put into the application when it begins to serve."""

from __future__ import annotations

from typing import Generic, TypeVar, cast

from starlette.requests import HTTPConnection

from leasehold.gateway._refusals import NotServed

P = TypeVar("P")


class PartOf(Generic[P]):
    """A dependency of a route: the part of that kind. Raises NotServed where this gateway has none, or not yet."""

    def __init__(self, kind: type[P]) -> None:
        self._kind = kind

    async def __call__(self, connection: HTTPConnection) -> P:
        found = getattr(connection.app.state, "parts", {}).get(self._kind)
        if found is None:
            raise NotServed(
                "This gateway does not do that, or not yet;", "use another, or try again in a moment."
            )
        return cast(P, found)

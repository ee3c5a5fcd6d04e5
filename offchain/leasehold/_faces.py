"""Packages whose names are imported when they are asked for (PEP 562): what uses one of them waits for that one alone.

Such a package writes its imports below `if TYPE_CHECKING:`, for people and mypy; `scripts/faces.py` writes them once
more as a table for this, and a test holds the two equal. Where a module needs something of a room seldom, and it is
slow to import, it imports the room (`from leasehold import market`) and takes the name where it uses it
(`market.Contact`).
"""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def face(
    package: str,
    parts: Mapping[str, Iterable[str]],
    *,
    rest: str = "",
) -> Callable[[str], Any]:
    """The package's `__getattr__`.

    parts: names by the module that has them. rest: a module, all of whose names the package has too, and which is asked
    last. Both are modules of the package, or another's whole name.
    """
    places = {name: module for module, names in parts.items() for name in names}

    def module(place: str) -> Any:
        return import_module(place if place.startswith("leasehold.") else f"{package}.{place}")

    def get(name: str) -> Any:
        place = places.get(name)
        if place is None and rest and not name.startswith("_"):
            place = rest if name in module(rest).__all__ else None
        if place is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(module(place), name)
        setattr(import_module(package), name, value)  # from now on it is found without asking here
        return value

    return get

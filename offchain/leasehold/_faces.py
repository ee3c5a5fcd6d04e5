"""Packages whose names are imported when they are asked for (PEP 562): what uses one of them waits for that one alone.

Such a package writes its imports below `if TYPE_CHECKING:`, for people and mypy, and once more as a table for this; a
test holds the two equal.
"""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def face(
    package: str,
    parts: Mapping[str, Iterable[str]],
    *,
    renamed: Mapping[str, tuple[str, str]] | None = None,
    rest: str = "",
) -> Callable[[str], Any]:
    """The package's `__getattr__`.

    parts: names by the module of the package that has them. renamed: by a name, its module and what it is called
    there. rest: a module, all of whose names the package has too, and which is asked last.
    """
    places = {name: (module, name) for module, names in parts.items() for name in names} | dict(renamed or {})

    def get(name: str) -> Any:
        place = places.get(name)
        if place is None and rest and not name.startswith("_"):
            module = import_module(f"{package}.{rest}")
            place = (rest, name) if name in module.__all__ else None
        if place is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{place[0]}"), place[1])
        setattr(import_module(package), name, value)  # from now on it is found without asking here
        return value

    return get

"""Writes the tables of the library's faces from their imports, after a name has come or gone: `python scripts/faces.py`

A face is a package's `__init__` whose names are imported when they are asked for (`leasehold._faces`). Its imports for
type checkers say which names it has, and where they are; `__all__` and the table follow from them. An `__init__` that
imports at once becomes a face.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[1] / "offchain/leasehold"
FACES = (
    "agreements",
    "chain",
    "client",
    "datasets",
    "gateway",
    "guarding",
    "hardware",
    "home",
    "images",
    "market",
    "runs",
    "tables",
    "workload",
)
LONGEST = 110
HEAD = "from typing import TYPE_CHECKING\n\nfrom leasehold._faces import face\n\nif TYPE_CHECKING:\n"


def rewritten(package: str, source: str) -> str:
    """The `__init__` of `leasehold.<package>` with what follows from its imports."""
    tree = ast.parse(source)
    lines = source.splitlines()
    strange = [
        node for node in tree.body if not isinstance(node, ast.Expr | ast.ImportFrom | ast.Assign | ast.If)
    ]
    assert not strange, f"leasehold.{package} holds more than names: {ast.unparse(strange[0])}"
    lazy = next((node for node in tree.body if isinstance(node, ast.If)), None)
    imports = [node for node in (lazy or tree).body if isinstance(node, ast.ImportFrom)]
    begins = tree.body[1].lineno - 1
    written = "\n".join(lines[imports[0].lineno - 1 : imports[-1].end_lineno])
    said = textwrap.indent(textwrap.dedent(written), "    ")
    own = f"leasehold.{package}."
    parts = dict(_parts(own, imports))
    names = sorted((name for part in parts.values() for name in part), key=_rank)
    after = [
        *("__all__ = [", *(f'    "{name}",' for name in names), "]", ""),
        *("_PARTS = {", *(row for part in parts.items() for row in _row(*part)), "}  # fmt: skip"),
        *_end(own, imports),
    ]
    return "\n".join([*lines[:begins], HEAD + said, "", *after]) + "\n"


def _parts(package: str, imports: list[ast.ImportFrom]) -> Iterator[tuple[str, list[str]]]:
    for node in imports:
        names = [alias.name for alias in node.names if alias.name != "*" and not alias.asname]
        if names:
            yield str(node.module).removeprefix(package), names


def _rank(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, as ruff wants it."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def _row(place: str, names: list[str]) -> Iterator[str]:
    listed = ", ".join(f'"{name}"' for name in names)
    one = f'    "{place}": ({listed}{"," * (len(names) == 1)}),'
    if len(one) <= LONGEST:
        yield one
        return
    yield f'    "{place}": ('
    indent = " " * 8
    yield from textwrap.wrap(f"{listed},", LONGEST, initial_indent=indent, subsequent_indent=indent)
    yield "    ),"


def _end(package: str, imports: list[ast.ImportFrom]) -> list[str]:
    """All of a module's names are asked for there."""
    rest = next((str(node.module) for node in imports if node.names[0].name == "*"), None)
    if rest is None:
        return ["if not TYPE_CHECKING:", "    __getattr__ = face(__name__, _PARTS)"]
    whole = next(alias.asname for node in imports for alias in node.names if alias.asname)
    return [
        *("if TYPE_CHECKING:", f"    __all__ += {whole}.__all__"),
        *("else:", f'    __getattr__ = face(__name__, _PARTS, rest="{rest.removeprefix(package)}")'),
    ]


def main() -> None:
    for package in FACES:
        path = LIBRARY / package / "__init__.py"
        before = path.read_text()
        after = rewritten(package, before)
        if after != before:
            path.write_text(after)
            print(f"{path.relative_to(LIBRARY.parents[1])} is written anew.")


if __name__ == "__main__":
    main()

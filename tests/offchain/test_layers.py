"""Imports point one way, and through doors: a package's underscore modules are its own. The agent uses the SDK, never
the reverse.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from syntax import nodes

pytestmark = pytest.mark.together("syntax")

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {"leasehold": ROOT / "offchain", "leasehold_agent": ROOT / "agent"}

DOORS = (
    "checkpoints",
    "commits",
    "copying",
    "gasless",
    "groups",
    "guard",
    "overview",
    "owner",
    "provider",
    "services",
    "sharing",
    "validator",
    "volumes",
)
"""What the front door keeps apart by who needs it: they show what `client` has."""

ROOMS = (
    "chain",
    "hardware",
    "datasets",
    "images",
    "workload",
    "market",
    "agreements",
    "home",
    "client",
    "runs",
    "guarding",
    "tables",
    "gateway",
    *DOORS,
    "cli",
)
"""Of the library, from the ground up; what lies beside them (errors, fields, files, rates) is below all."""


def modules(*packages: str) -> Iterator[tuple[str, Path]]:
    """Each by its name; of all packages where none is named."""
    for package in packages or SOURCES:
        root = SOURCES[package]
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(module: str, path: Path) -> Iterator[str]:
    """Every module that the file names, also inside functions."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in nodes(path.read_text()):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


def within(name: str, part: str) -> bool:
    return name == part or name.startswith(part + ".")


def forbidden_to(module: str) -> set[str]:
    """What lies above the module."""
    if within(module, "leasehold_agent"):
        return {"leasehold.cli", "leasehold.client", "leasehold.home", "leasehold.agreements"}
    room = next((place for place, name in enumerate(ROOMS) if within(module, f"leasehold.{name}")), -1)
    above = {f"leasehold.{name}" for name in ROOMS[room + 1 :]} if module != "leasehold" else set[str]()
    return above | {"leasehold_agent"}


def behind_a_door(module: str, name: str) -> bool:
    """Whether a name lies in an underscore module of a package that the module is not in."""
    parts = name.split(".")
    private = next((place for place, part in enumerate(parts) if part[0] == "_" and part != "__init__"), None)
    return private is not None and not within(module, ".".join(parts[:private]))


@pytest.mark.parametrize("package", SOURCES)
def test_nothing_imports_upward(package: str) -> None:
    wrong = {
        f"{module} imports {name}"
        for module, path in modules(package)
        for above in [forbidden_to(module)]
        for name in imports(module, path)
        if any(within(name, part) for part in above)
    }
    assert not wrong, "\n".join(sorted(wrong))


@pytest.mark.parametrize("package", SOURCES)
def test_nothing_is_taken_past_a_door(package: str) -> None:
    wrong = {
        f"{module} takes {name}"
        for module, path in modules(package)
        for name in imports(module, path)
        if name.partition(".")[0] in SOURCES and behind_a_door(module, name)
    }
    assert not wrong, "\n".join(sorted(wrong))


def test_an_upward_import_would_be_found(tmp_path: Path) -> None:
    bad = tmp_path / "_bad.py"
    bad.write_text("def late():\n    from leasehold.market import query\n")
    assert "leasehold.market" in set(imports("leasehold.chain._bad", bad))
    bad.write_text("from .. import market\n")
    assert "leasehold.market" in set(imports("leasehold.chain._bad", bad))
    assert "leasehold.market" in forbidden_to("leasehold.chain._bad")
    assert "leasehold.client" in forbidden_to("leasehold.home._home")
    assert "leasehold.cli" in forbidden_to("leasehold.market.query")
    assert "leasehold.chain" in forbidden_to("leasehold.errors")
    assert "leasehold.owner" in forbidden_to("leasehold.client._rent")
    assert "leasehold.cli" in forbidden_to("leasehold.owner")
    assert behind_a_door("leasehold.market._bill", "leasehold.chain._ids")
    assert behind_a_door("leasehold_agent.api._app", "leasehold.chain._ids.cid_of_digest")
    assert not behind_a_door("leasehold.chain._pool", "leasehold.chain._ids")
    assert len(list(modules())) > 20


def test_the_command_line_has_no_part_of_the_chain_in_hand() -> None:
    """It imports `leasehold.chain` for types alone: what is decided there is decided in the library."""
    wrong = []
    for path in (SOURCES["leasehold"] / "leasehold/cli").rglob("*.py"):
        whole = nodes(path.read_text())
        for_types = {
            id(inside)
            for node in whole
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for inside in ast.walk(node)
        }
        for node in whole:
            if not isinstance(node, ast.Import | ast.ImportFrom) or id(node) in for_types:
                continue
            names = (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else [each.name for each in node.names]
            )
            if any(name == "leasehold.chain" or name.startswith("leasehold.chain.") for name in names):
                wrong.append(path.name)
    assert wrong == []

"""Imports point one way: cli → market → workload, datasets → chain. The agent uses the SDK, never the reverse."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {"leasehold": ROOT / "offchain", "leasehold_agent": ROOT / "agent"}

# What a part must not import. A part that is not named may be imported by all.
FORBIDDEN = {
    "leasehold.errors": ("leasehold.chain", "leasehold.workload", "leasehold.datasets", "leasehold.market"),
    "leasehold.chain": ("leasehold.workload", "leasehold.datasets", "leasehold.market"),
    "leasehold.datasets": ("leasehold.market",),
    "leasehold.workload": ("leasehold.market",),
    "leasehold": ("leasehold_agent",),
    "leasehold_agent": ("leasehold.cli", "leasehold.gateway"),
}
BELOW_THE_DOORS = ("errors", "chain", "datasets", "workload", "market", "node")


def modules() -> Iterator[tuple[str, Path]]:
    for package, root in SOURCES.items():
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(module: str, path: Path) -> Iterator[str]:
    """Every module that the file names, also inside functions."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
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
    parts = {part for owner, parts in FORBIDDEN.items() if within(module, owner) for part in parts}
    if any(within(module, f"leasehold.{part}") for part in BELOW_THE_DOORS):
        parts |= {"leasehold.cli", "leasehold.gateway"}
    return parts


@pytest.mark.parametrize(
    ("module", "path"), list(modules()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_nothing_imports_upward(module: str, path: Path) -> None:
    wrong = {name for name in imports(module, path) for part in forbidden_to(module) if within(name, part)}
    assert not wrong, f"{module} imports {', '.join(sorted(wrong))}"


def test_an_upward_import_would_be_found(tmp_path: Path) -> None:
    bad = tmp_path / "_bad.py"
    bad.write_text("def late():\n    from leasehold.market import query\n")
    assert "leasehold.market" in set(imports("leasehold.chain._bad", bad))
    bad.write_text("from .. import market\n")
    assert "leasehold.market" in set(imports("leasehold.chain._bad", bad))
    assert "leasehold.market" in forbidden_to("leasehold.chain._bad")
    assert "leasehold.cli" in forbidden_to("leasehold.market.query")
    assert len(list(modules())) > 20

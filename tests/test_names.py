"""One name for one thing: no public class of the library and of the agent is called as another is, and what a variable
holds is said by its name.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from syntax import nodes

pytestmark = pytest.mark.together("syntax")

ROOT = Path(__file__).parents[1]
SIGNED = "offchain/leasehold/chain/_typed.py"
"""What a wallet shows before it signs goes by the name that was agreed for it, whatever else has it here."""

NAMED_BY_NOUNS = (
    "agent",
    "offchain/leasehold/agreements",
    "offchain/leasehold/client",
    "offchain/leasehold/datasets",
    "offchain/leasehold/hardware",
    "offchain/leasehold/home",
    "offchain/leasehold/market",
    "offchain/leasehold/runs",
    "offchain/leasehold/tables",
    "offchain/leasehold/workload",
)
NO_NOUNS = {"each", "found"}


def test_no_class_is_called_as_another() -> None:
    places = defaultdict(set)
    for folder in ("offchain/leasehold", "agent/leasehold_agent"):
        for path in (ROOT / folder).rglob("*.py"):
            file = path.relative_to(ROOT).as_posix()
            if file == SIGNED or "_generated" in path.parts:
                continue
            for node in nodes(path.read_text()):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].add(file)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


@pytest.mark.parametrize("package", NAMED_BY_NOUNS)
def test_what_is_bound_is_named_by_its_noun(package: str) -> None:
    files = list((ROOT / package).rglob("*.py"))
    assert files
    assert [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in files
        for line, name in _bindings(nodes(path.read_text()))
        if name in NO_NOUNS
    ] == []


def test_every_way_to_bind_a_name_is_seen() -> None:
    source = """
import a as each
from a import b as each
each = 1
each: int = 1
each += 1
(first, *each), last = 1, 2
if each := 1: pass
for each in []: pass
[0 for each in []]
lambda each: 0
def plain(first, /, each, *, last): pass
def rest(*each, **more): pass
def keywords(*some, **each): pass
def each(): pass
class each: pass
with a as each: pass
try: pass
except E as each: pass
match a:
    case each: pass
match a:
    case [*each]: pass
match a:
    case {**each}: pass
"""
    bound = [line for line, name in _bindings(nodes(source)) if name == "each"]
    assert len(set(bound)) == source.count("each")


def _bindings(tree: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Every name that is bound there, with its line; attributes are not names."""
    for node in tree:
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store())
                | ast.arg(arg=name)
                | ast.alias(asname=str(name))
                | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                yield node.lineno, name

"""The agent's rooms stand in an order, and so do the files in each. Every `__init__` draws its own; this holds them."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from syntax import nodes

pytestmark = pytest.mark.together("syntax")

PACKAGE = "leasehold_agent"
ROOT = Path(__file__).resolve().parents[2]
AGENT, LIBRARY = ROOT / "agent" / PACKAGE, ROOT / "offchain" / "leasehold"
FILES = sorted(AGENT.rglob("*.py"))
ROOMS = sorted(path.parent for path in AGENT.glob("*/__init__.py"))
PART = 5
"""No room holds more than such a part of the agent's lines."""


@cache
def drawn(folder: Path) -> list[str]:
    """The order that a folder's `__init__` draws: indented lines of a name, two spaces or more, and what it is."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    return re.findall(r"^    (\w+)  ", text, re.MULTILINE)


def imports(path: Path) -> Iterator[tuple[str, ...]]:
    """What the file takes from the agent, also inside functions and for types alone: ("engine", "_pull") or
    ("engine", "Engine"), without the package's own name.
    """
    for node in nodes(path.read_text()):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports relatively; write the whole name, as everywhere here"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        yield from (tuple(name.split(".")[1:]) for name in names if name.split(".")[0] == PACKAGE)


def trespasses(path: Path, house: Path = AGENT) -> Iterator[str]:
    """What the file takes from above it, or past another room's door."""
    rooms, (room, *file) = drawn(house), path.relative_to(house).with_suffix("").parts
    inside = drawn(path.parent)
    for taken in imports(path):
        what = ".".join(taken)
        if taken[0] not in rooms:
            yield f"{what} is no part of the agent"
        elif taken[0] != room:
            if rooms.index(taken[0]) > rooms.index(room):
                yield f"{what} lies above"
            if len(taken) > 1 and taken[1].startswith("_") and taken[0] in {each.name for each in ROOMS}:
                yield f"{what} lies behind a door: take it from `{taken[0]}`"
        elif file != ["__init__"] and (
            taken[1] not in inside or inside.index(taken[1]) >= inside.index(file[0])
        ):
            yield f"{what} lies above"


@pytest.mark.parametrize("folder", [AGENT, *ROOMS], ids=lambda folder: folder.name)
def test_an_order_names_what_is_there(folder: Path) -> None:
    there = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
    there += [path.parent.name for path in folder.glob("*/__init__.py")]
    assert Counter(drawn(folder)) == Counter(there)


def test_nothing_reaches_up_or_past_a_door() -> None:
    wrong = {f"{path.relative_to(AGENT)}: {said}" for path in FILES[1:] for said in trespasses(path)}
    assert not wrong, "\n".join(sorted(wrong))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("from leasehold_agent.engine._high import a", "engine._high.a lies above"),
        ("def late():\n    from leasehold_agent.chain import Desired", "chain.Desired lies above"),
        ("from leasehold_agent.host._trees import remove_tree", "lies behind a door"),
        ("from leasehold_agent.host import _trees", "lies behind a door"),
        ("import leasehold_agent.chain", "chain lies above"),
        ("from leasehold_agent.engine import Engine", "engine.Engine lies above"),
        ("from leasehold_agent.host import connect", None),
        ("from leasehold_agent._errors import NoRoom", None),
    ],
)
def test_a_trespass_would_be_found(line: str, said: str | None, tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    rooms = "".join(f"    {room}  a room\n" for room in ("_errors", "host", "engine", "chain"))
    (tmp_path / "__init__.py").write_text(f'"""Rooms.\n\nIn their order:\n\n{rooms}"""\n')
    files = "".join(f"    {file}  a file\n" for file in ("_low", "_high"))
    (tmp_path / "engine" / "__init__.py").write_text(f'"""Files.\n\nIn their order:\n\n{files}"""\n')
    low = tmp_path / "engine" / "_low.py"
    low.write_text(line + "\n")
    found = list(trespasses(low, tmp_path))
    assert [said in sentence for sentence in found] == [True] if said else not found


def test_no_room_is_most_of_the_house() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in FILES}
    rooms = {room.name: sum(lines[path] for path in room.glob("*.py")) for room in ROOMS}
    largest = max(rooms, key=lambda room: rooms[room])
    assert rooms[largest] * PART <= sum(lines.values()), f"{largest} has {rooms[largest]} lines"


def classes(root: Path) -> dict[str, list[str]]:
    """Public classes by their names, and the files that each name stands in."""
    places = defaultdict(list)
    for path in sorted(root.rglob("*.py")):
        for node in nodes(path.read_text()):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(ROOT)))
    return places


def test_no_class_is_named_twice() -> None:
    """Neither in the agent nor, since both are read side by side, in the library beneath it."""
    own, library = classes(AGENT), classes(LIBRARY)
    twice = {name: own[name] + library.get(name, []) for name in own if len(own[name]) > 1 or name in library}
    assert not twice


def test_the_tree_of_errors_is_as_drawn() -> None:
    tree = ast.parse((AGENT / "_errors.py").read_text())
    parents = {node.name: ast.unparse(node.bases[0]) for node in tree.body if isinstance(node, ast.ClassDef)}
    above, found = ["AgentError"], {}
    for branch, name in re.findall(r"^([│ ]*[├└]── )(\w+)", ast.get_docstring(tree) or "", re.MULTILINE):
        depth = len(branch) // 4
        found[name] = above[depth - 1]
        above[depth:] = [name]
    assert found == parents

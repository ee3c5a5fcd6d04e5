"""One name for one thing: no public class of the library and of the agent is called as another is."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
SIGNED = "offchain/leasehold/chain/_typed.py"
"""What a wallet shows before it signs goes by the name that was agreed for it, whatever else has it here."""


def test_no_class_is_called_as_another() -> None:
    places = defaultdict(set)
    for folder in ("offchain/leasehold", "agent/leasehold_agent"):
        for path in (ROOT / folder).rglob("*.py"):
            file = path.relative_to(ROOT).as_posix()
            if file == SIGNED or "_generated" in path.parts:
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].add(file)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}

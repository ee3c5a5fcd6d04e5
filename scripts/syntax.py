"""The syntax of Python's text, read once in a process, however many look through it: the tests of layers and of names
each look through all of the tree.
"""

from __future__ import annotations

import ast
from functools import cache


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """All of it in the order of `ast.walk`; the first is the module."""
    return tuple(ast.walk(ast.parse(source)))

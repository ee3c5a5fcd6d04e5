"""`import leasehold`: what an outsider finds there, and what it costs to look."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import leasehold

SOURCE = Path(leasehold.__file__).read_text()


def test_every_name_is_there_once() -> None:
    assert len(set(leasehold.__all__)) == len(leasehold.__all__)
    for name in leasehold.__all__:
        assert getattr(leasehold, name) is not None
    assert set(leasehold.__all__) <= set(dir(leasehold))


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(SOURCE)
    (checked,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        (str(node.module).removeprefix("leasehold."), alias.name)
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == {(room, name) for room, names in leasehold._ROOMS.items() for name in names}
    assert {name for _, name in seen} | {"__version__"} == set(leasehold.__all__)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'rent_everything'"):
        leasehold.rent_everything  # noqa: B018


def test_importing_it_loads_nothing_of_the_chain() -> None:
    code = "import sys, leasehold; print([m for m in ('eth_account', 'sqlalchemy', 'pydantic') if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"

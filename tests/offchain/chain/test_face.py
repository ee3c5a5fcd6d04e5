"""The package's names come from where its imports say, and each brings along only what it needs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from leasehold import chain
from leasehold.chain._generated import events


def told() -> dict[str, tuple[str, str]]:
    """Names by the module that has them and what they are called there, as mypy reads it."""
    block = next(
        node for node in ast.parse(Path(chain.__file__).read_text()).body if isinstance(node, ast.If)
    )
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in imports
        for alias in node.names
        if alias.name != "*" and alias.asname != "_events"
    }


def test_every_name_is_what_the_imports_say() -> None:
    names = told()
    assert names.keys() == set(chain.__all__)
    for name, (module, there) in names.items():
        value = getattr(chain, name)
        assert value is getattr(sys.modules[module], there)
        assert name in vars(chain)  # it is asked for once
    for name in events.__all__:
        assert getattr(chain, name) is getattr(events, name)


def test_a_name_that_is_none_is_told_as_everywhere() -> None:
    with pytest.raises(AttributeError, match=r"module 'leasehold\.chain' has no attribute 'Nothing'"):
        _ = chain.Nothing  # type: ignore[attr-defined]
    assert not hasattr(chain, "_nothing")


@pytest.mark.parametrize("name", ["Deployment", "Keystore", "Pool", "Rpc", "format_lease"])
def test_a_name_brings_no_library_along_that_it_does_not_need(name: str) -> None:
    heavy = ("eth_abi", "eth_account", "alembic", "sqlalchemy", "web3")
    code = f"import sys; from leasehold.chain import {name}; print(*[each for each in {heavy} if each in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []

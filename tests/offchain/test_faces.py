"""Packages' names come from where their imports say, and each brings along only what it needs."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from faces import rewritten
from leasehold import (
    agreements,
    chain,
    client,
    datasets,
    hardware,
    home,
    images,
    market,
    runs,
    tables,
    workload,
)
from leasehold._generated import contract_errors
from leasehold.chain._generated import events

FACES = (agreements, chain, client, datasets, hardware, home, images, market, runs, tables, workload)
HEAVY = (
    "aiohttp",
    "eth_abi",
    "eth_account",
    "eth_utils",  # which brings pydantic along
    "httpx",
    "ipfshttpclient",
    "pyrage",
    "sqlalchemy",
    "sqlalchemy.orm",
    "web3",
)


def told(package: ModuleType) -> dict[str, tuple[str, str]]:
    """Names by the module that has them and what they are called there, as mypy reads it."""
    tree = ast.parse(Path(str(package.__file__)).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in imports
        for alias in node.names
        if alias.name != "*" and alias.asname != "_events"
    }


@pytest.mark.parametrize("package", FACES, ids=lambda package: package.__name__)
def test_the_tables_are_as_they_would_be_written(package: ModuleType) -> None:
    """Else run `python scripts/faces.py`."""
    source = Path(str(package.__file__)).read_text()
    name = package.__name__.removeprefix("leasehold.")
    assert rewritten(name, source) == source


def test_a_package_that_imports_at_once_becomes_a_face() -> None:
    source = '"""What it is."""\n\nfrom leasehold.market._bill import bill\n\n__all__ = ["bill"]\n'
    written = rewritten("market", source)
    assert '    "_bill": ("bill",),\n' in written
    assert rewritten("market", written) == written
    with pytest.raises(AssertionError, match="more than names"):
        rewritten("market", source + "def more() -> None: ...\n")


@pytest.mark.parametrize("package", FACES, ids=lambda package: package.__name__)
def test_every_name_is_what_the_imports_say(package: ModuleType) -> None:
    names = told(package)
    assert names.keys() == set(package.__all__)
    for name, (module, there) in names.items():
        value = getattr(package, name)
        assert value is getattr(sys.modules[module], there)
        assert name in vars(package)  # it is asked for once


def test_what_is_generated_is_there_too() -> None:
    errors = import_module("leasehold.errors")
    for name in events.__all__:
        assert getattr(chain, name) is getattr(events, name)
    for name in contract_errors.__all__:
        assert getattr(errors, name) is getattr(contract_errors, name)
    assert not set(contract_errors.__all__) & set(errors.__all__)


@pytest.mark.parametrize("package", FACES, ids=lambda package: package.__name__)
def test_a_name_that_is_none_is_told_as_everywhere(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=rf"module '{package.__name__}' has no attribute 'Nothing'"):
        _ = package.Nothing
    assert not hasattr(package, "_nothing")


@pytest.mark.parametrize(
    "name",
    [
        "chain.Deployment",
        "chain.Indexer",
        "chain.Keystore",
        "chain.Pool",
        "chain.Rpc",
        "chain.format_lease",
        "chain.read_machines",
        "client.search_at_a_glance",
        "home.Home",
        "market.Machines",
        "market.parse_search",
        "workload.Workload",
    ],
)
def test_a_name_brings_no_library_along_that_it_does_not_need(name: str) -> None:
    package, _, wanted = name.partition(".")
    needed = {
        "chain.Indexer": {"sqlalchemy"},
        "chain.Keystore": {"eth_utils"},
        "chain.Pool": {"eth_utils"},
        "workload.Workload": {"eth_utils", "pyrage"},
    }.get(name, set())
    code = f"import sys; from leasehold.{package} import {wanted}; print(*set({HEAVY}) & sys.modules.keys())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(ran.stdout.split()) == needed

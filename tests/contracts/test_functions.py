"""Every function is one that somebody has called, and every event one that somebody has looked at."""

import re
from pathlib import Path

from brownie import interface

CONTRACTS = (
    interface.IController,
    interface.IPoolHooks,
    interface.IControllerFactory,
    interface.IAccounts,
    interface.ICommittee,
    interface.IFaults,
    interface.IReputation,
    interface.IDirectory,
    interface.ILens,
)


def declared(kind: str) -> set[str]:
    """The names of a kind in every interface of ours."""
    return {item["name"] for contract in CONTRACTS for item in contract.abi if item["type"] == kind}


def text() -> str:
    """All tests and what they share."""
    return "\n".join(file.read_text() for file in Path(__file__).parent.rglob("*.py"))


def test_every_function_is_called_by_some_test():
    called = set(re.findall(r"\.(\w+)(?:\.encode_input|\.call)?\(|\"(\w+)\"", text()))
    assert declared("function") - {name for names in called for name in names} == set()


def test_every_event_is_looked_at_by_some_test():
    assert declared("event") - set(re.findall(r'"(\w+)"', text())) == set()

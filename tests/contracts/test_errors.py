"""Every custom error is one that somebody has met, here or in forge's unit tests."""

import re
from pathlib import Path

from brownie import interface

FOREIGN = {
    "ERC20InsufficientAllowance",
    "SafeERC20FailedOperation",
    "Blocked",
    "ReentrancyGuardReentrantCall",
}


def declared() -> set[str]:
    """The errors of every interface of ours."""
    contracts = (
        interface.IController,
        interface.IAccounts,
        interface.IControllerFactory,
        interface.IPoolHooks,
        interface.ICommittee,
        interface.IReputation,
        interface.IDirectory,
        interface.IFaults,
        interface.ICompanion,
        interface.ILens,
    )
    return {item["name"] for contract in contracts for item in contract.abi if item["type"] == "error"}


def met_in_solidity() -> set[str]:
    """The errors that forge's unit tests wait for: they name `TheError.selector`."""
    tests = Path(__file__).parent.joinpath("unit").rglob("*.sol")
    return {name for test in tests for name in re.findall(r"(\w+)\.selector", test.read_text())}


def expected() -> set[str]:
    """The errors that the tests in Python wait for."""
    tests = Path(__file__).parent.rglob("test_*.py")
    return {
        name for test in tests for name in re.findall(r'(?:reverts|selector)\(\s*"(\w+)"', test.read_text())
    }


def test_every_error_is_met_by_some_test():
    assert declared() - expected() - met_in_solidity() == set()


def test_no_test_waits_for_an_error_that_does_not_exist():
    assert expected() - declared() - FOREIGN == set()

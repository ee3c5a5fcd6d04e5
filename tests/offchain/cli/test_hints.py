"""The command line gives advice in its own terms, chosen by an error's code; the library's words stay for the rest."""

from __future__ import annotations

import importlib
import pkgutil
import re
import string
from pathlib import Path

import pytest
from typer.main import get_command

import leasehold
from leasehold import errors
from leasehold.cli import app
from leasehold.cli._hints import _DECLINED, HINTS, PROBLEMS, said, why_declined
from leasehold.cli._lazy import LazyGroup
from leasehold.errors import LeaseholdError
from leasehold.market import (
    AllowanceTooLow,
    DeclinedUnstarted,
    LedgerTooLow,
    Money,
    NobodyMeasured,
    NoneTakesIt,
    SomebodyElses,
    declined,
)

MONEY = Money("USDT", 6)
DAPP = Path(__file__).parents[3] / "offchain" / "dapp" / "src"


def every(kind: type[LeaseholdError] = LeaseholdError) -> dict[str, type[LeaseholdError]]:
    known = {kind.code: kind}
    for child in kind.__subclasses__():
        known |= every(child)
    return known


def test_every_hint_is_of_an_error_that_there_is_and_of_its_data() -> None:
    for module in pkgutil.walk_packages(leasehold.__path__, "leasehold."):
        importlib.import_module(module.name)
    known = every()
    for code, template in (*HINTS.items(), *PROBLEMS.items()):
        names = [name for _, name, _, _ in string.Formatter().parse(template) if name]
        data = set(known[code].__dataclass_fields__)  # type: ignore[attr-defined]
        assert set(names) <= data | set(vars(known[code])), code


def unknown(named: set[str]) -> set[str]:
    """Those of `provider terms`, `machines` and the like that begin no command."""
    root = get_command(app)
    assert isinstance(root, LazyGroup)
    root.load_all()
    lost = set()
    for words in named:
        command: object = root
        for word in words.split():
            if isinstance(command, LazyGroup):
                if word not in command.commands:
                    lost.add(words)
                    break
                command = command.commands[word]
    return lost


def test_a_hint_names_commands_that_there_are() -> None:
    advice = [*HINTS.values(), *PROBLEMS.values()]
    named = {words for text in advice for words in re.findall(r"`leasehold ([a-z -]+)", text)}
    assert len(named) > 20
    assert unknown(named) == set()


def test_the_app_s_pages_name_commands_that_there_are() -> None:
    pages = [path.read_text() for path in DAPP.rglob("*.ts*")]
    # `toHex("leasehold …")` is what a hash begins with, and no command.
    named = {
        words for text in pages for words in re.findall(r"(?<!toHex\(\")\bleasehold ([a-z][a-z -]*)", text)
    }
    assert len(named) > 20
    assert unknown(named) == set()


@pytest.mark.parametrize(
    ("error", "whole"),
    [
        (
            errors.MachineStalled(3),
            "Machine 3 left a lease unstarted and takes none until `leasehold provider recover 3`: choose another.",
        ),
        (
            errors.WrongState(12 << 16 | 1, 3),
            "Lease 12.1 is ended, in which this cannot be done: see `leasehold show 12.1`.",
        ),
        (
            AllowanceTooLow(2_500_001).in_money(Money("USDT", 7)),
            "The pool may not take ~0.25 USDT from the wallet yet: run `leasehold wallet approve 0.2500001`, or pass "
            "--approve.",
        ),
        (
            LedgerTooLow("0xa", 1_500_000).in_money(MONEY),
            "The ledger of 0xa lacks 1.5 USDT, and nothing else pays here: run `leasehold wallet deposit 1.5 --to 0xa` "
            "first.",
        ),
        (
            NoneTakesIt(2, NobodyMeasured(4)),
            "None of the 2 machines that match takes this lease. The cheapest: Nobody has measured machine 4: pass "
            "--allow-unverified to rent it all the same.",
        ),
        (
            SomebodyElses(1, "0xa", "0xb"),
            "Machine 1 belongs to 0xa, not to 0xb: choose its wallet with --wallet.",
        ),
        (errors.KeyExists("me"), "There is already a wallet `me`: choose another name."),
    ],
)
def test_an_error_is_told_in_commands(error: LeaseholdError, whole: str) -> None:
    assert said(error) == whole


@pytest.mark.parametrize("reason", ["dataset-missing", "not-ready", "something-{exit_code}"])
def test_why_a_machine_declined(reason: str) -> None:
    told = said(DeclinedUnstarted(4, 12 << 16, 2_500_000, reason).in_money(MONEY))
    assert told == f"Machine 4 declined lease 12 and 2.5 USDT were refunded: {why_declined(reason)}"
    assert (why_declined(reason) == declined(reason)) == (reason not in _DECLINED)

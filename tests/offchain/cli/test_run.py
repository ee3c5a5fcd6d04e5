"""The outermost loop: every end of a command is an exit code and at most one sentence."""

from __future__ import annotations

import pytest
import typer

from leasehold.cli._run import LoopFactory, run
from leasehold.errors import LeaseholdError
from leasehold.gateway import loop_factory
from leasehold.market import NoMachineMatches


async def ending(error: BaseException | None = None, code: int | None = None) -> int | None:
    if error is not None:
        raise error
    return code


@pytest.mark.parametrize("loop", [None, loop_factory()], ids=["asyncio", "a gateway's"])
@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (LeaseholdError("Do this next."), 1, "Do this next."),
        (NoMachineMatches("None fits: widen the search."), 9, "None fits: widen the search."),
        (KeyboardInterrupt(), 130, "Interrupted."),
        (ZeroDivisionError("oops"), 1, "Unexpected ZeroDivisionError: oops. Please report it"),
        (typer.Exit(7), 7, ""),
    ],
)
def test_errors_become_one_sentence_and_a_code(
    error: BaseException, code: int, said: str, loop: LoopFactory | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as caught:
        run(ending(error), loop_factory=loop)
    assert caught.value.exit_code == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(said)
    assert len(err.splitlines()) <= 1


def test_codes_of_commands_are_kept() -> None:
    for code in (None, 0, 5):
        with pytest.raises(typer.Exit) as caught:
            run(ending(code=code))
        assert caught.value.exit_code == (code or 0)


@pytest.mark.parametrize("error", [LeaseholdError("x"), ZeroDivisionError("x")])
def test_debugging_lets_the_traceback_through(error: Exception) -> None:
    with pytest.raises(type(error)):
        run(ending(error), debug=True)

"""What a command says: strangers' words are shown, and steer nothing."""

from __future__ import annotations

import json
import threading

import pytest
import typer

from devnet.patience import patient
from leasehold.cli import _waiting
from leasehold.cli._output import Output
from leasehold.cli._run import run
from leasehold.market import NoMachineMatches
from leasehold.tables import MACHINE_COLUMNS

HOSTILE = "H100\x1b]52;c;cm0gLXJm\x07\x9b2J\r\u202eegnahc"
SHOWN = "H100\ufffd]52;c;cm0gLXJm\ufffd\ufffd2J\ufffd\ufffdegnahc"


def test_escapes_are_not_obeyed(capfd: pytest.CaptureFixture[str]) -> None:
    out = Output()
    out.say(HOSTILE)
    out.warn(HOSTILE)
    out.pairs(HOSTILE, [(HOSTILE, HOSTILE)])
    out.table([HOSTILE], [[HOSTILE]], empty="")
    with out.working(HOSTILE) as update:
        update(HOSTILE + ".")
    with pytest.raises(typer.Exit):
        run(_fails())
    said = "".join(capfd.readouterr())
    assert not set(said) & set("\x1b\x9b\x07\r\u202e")
    assert said.count(SHOWN) == 9


def test_json_keeps_every_character_and_sends_none_of_them(capfd: pytest.CaptureFixture[str]) -> None:
    Output(as_json=True).answer({"model": HOSTILE, "country": "Österreich"})
    said = capfd.readouterr().out
    assert not set(said) & set("\x1b\x9b\x07\r\u202e")
    assert "Österreich" in said
    assert json.loads(said) == {"model": HOSTILE, "country": "Österreich"}


def test_a_machine_fits_a_terminal_of_80_columns(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    row = ("12", "AMD EPYC", "1/1", "-", "2", "25.2 GB", "25.5 GB", "DE", "unverified", "2.4")
    Output().table(MACHINE_COLUMNS, [row], empty="")
    heading, line = capfd.readouterr().out.splitlines()
    assert heading.split() == [each.lstrip(">") for each in MACHINE_COLUMNS]
    assert line.split() == " ".join(row).split()


async def _fails() -> None:
    raise NoMachineMatches(HOSTILE)


def test_what_is_waited_for_inside_is_not_said_any_more_once_it_is_over(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it went well or not, and without a line of its own."""
    monkeypatch.setattr(_waiting, "QUIET", 3600.0)
    out = Output()
    with out.working("Renting"):
        with out.working("Handing over"):
            pass
        with pytest.raises(LookupError), out.working("Opening"):
            raise LookupError
        out.report("Renting")  # what it says already
    assert capfd.readouterr().err == "Handing over\nOpening\n"


def test_a_transfer_without_a_terminal_writes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with Output().transferring("Fetching") as told:
        told(1, 2)
    assert capfd.readouterr() == ("", "")


def test_waiting_is_said_with_its_seconds_where_no_spinner_turns(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_waiting, "QUIET", 0.0)
    monkeypatch.setattr(_waiting, "AGAIN", 0.0)
    said = threading.Event()
    out = Output()
    with monkeypatch.context() as patched:
        real = out.err.print

        def heard(text: str) -> None:
            real(text)
            said.set()

        patched.setattr(out.err, "print", heard)
        with out.working("Waiting for [one] thing"):
            assert said.wait(patient(60))
    captured = capfd.readouterr()
    assert captured.err.startswith("Waiting for [one] thing (0 s)\n")
    assert captured.out == ""

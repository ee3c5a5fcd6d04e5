"""What a command says: strangers' words are shown, and steer nothing."""

from __future__ import annotations

import json

import pytest
import typer

from leasehold.cli._output import Output
from leasehold.cli._run import run
from leasehold.market import NoMachineMatches

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


async def _fails() -> None:
    raise NoMachineMatches(HOSTILE)

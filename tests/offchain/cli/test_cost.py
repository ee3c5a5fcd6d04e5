"""`leasehold cost`: what a terminal can draw."""

from __future__ import annotations

import pytest

from leasehold.cli.cost import block


def test_a_terminal_that_knows_no_blocks_gets_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain:
        encoding = "ascii"

    class Modern:
        encoding = "UTF-8"

    monkeypatch.setattr("sys.stdout", Plain())
    assert block() == "#"
    monkeypatch.setattr("sys.stdout", Modern())
    assert block() == "█"

"""How far it is from `leasehold rent` to its transaction: the rooms that the order passes, counted while it is sent.

A room is a module of ours. The order's path is what stands on the stack when the transaction that opens the lease is
handed to the node: each function called the next. It enters a room with each step into another module, and returns
with each step into one that it had left.
"""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from leasehold.cli import main

from .conftest import Cli
from .test_rent import IMAGE

ROOMS, RETURNS = 20, 6
SENDING = "eth_sendRawTransaction"


class Walk:
    """The rooms on the way to the transactions of a process, the first room first."""

    def __init__(self) -> None:
        self.paths: list[list[str]] = []

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """What `sys.setprofile` tells. A function of the chain that is given a transaction to send ends a path."""
        if event != "call" or not str(frame.f_globals.get("__name__", "")).startswith("leasehold.chain"):
            return
        sends = any(isinstance(value, str) and value == SENDING for value in frame.f_locals.values())
        if sends:
            self.paths.append(self._path(frame))

    def _path(self, frame: FrameType | None) -> list[str]:
        names = []
        while frame is not None:
            names.append(str(frame.f_globals.get("__name__", "")))
            frame = frame.f_back
        ours = [name for name in reversed(names) if name.partition(".")[0] == "leasehold"]
        return [room for place, room in enumerate(ours) if place == 0 or ours[place - 1] != room]


def returns(path: list[str]) -> int:
    """Steps into a room that the path had left."""
    return sum(room in path[:place] for place, room in enumerate(path))


def test_renting_passes_few_rooms_and_seldom_turns_back(
    market: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "rent",
        "--without-agent",
        "--for",
        "1h",
        "--image",
        IMAGE,
        "--allow-unverified",
        "--yes",
        "--no-wait",
    ]
    monkeypatch.setattr(sys, "argv", ["leasehold", *words, "--approve", "--json"])
    for name, value in market.environment("renter").items():
        monkeypatch.setenv(name, value)
    walk, before = Walk(), sys.getprofile()
    sys.setprofile(walk)
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.setprofile(before)
    assert ended.value.code == 0, capsys.readouterr().err
    opening = max(walk.paths, key=len)
    shown = " > ".join(opening)
    assert opening[0] == "leasehold.cli._app", shown
    assert "leasehold.cli.rent" in opening, shown
    assert "leasehold.client._rent" in opening, shown
    assert len(set(opening)) <= ROOMS, shown
    assert returns(opening) <= RETURNS, shown

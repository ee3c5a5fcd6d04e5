"""How often a lease's container ended, and by whose hand: counted over restarts of the agent, each end once.

A file of its own beside the notes, which nobody else writes: the loop counts an end while the lease's own action may be
holding the notes.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from leasehold.files import write_private

Hand = Literal["", "command", "hand", "host"]
"""Whose end it was: not known, the command's own, somebody's on the host, or the host's and its engine's."""
_NAME = "ends.json"


@dataclass(frozen=True)
class Ends:
    """last: which end was counted last, and by whose hand it was. kills: those by a hand on the host."""

    last: str = ""
    hand: Hand = ""
    count: int = 0
    kills: int = 0

    def with_one(self, end: str, hand: Hand) -> Ends:
        """With that end too, unless it is the last that was counted."""
        if end == self.last:
            return self
        return replace(self, last=end, hand=hand, count=self.count + 1, kills=self.kills + (hand == "hand"))


def read_ends(folder: Path) -> Ends:
    """What was counted for the lease with that folder. What cannot be read was not."""
    try:
        return Ends(**json.loads((folder / _NAME).read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return Ends()


def count_end(folder: Path, end: str, hand: Hand) -> None:
    """Count an end. Raises OSError where it cannot be written."""
    before = read_ends(folder)
    if (after := before.with_one(end, hand)) != before:
        write_private(folder / _NAME, json.dumps(asdict(after)).encode())

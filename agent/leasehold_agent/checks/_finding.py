"""What one check found: a sentence, and how bad that is.

*bad* is what costs leases or stake, *warning* what costs speed, comfort or some tenants, or could not be tried.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

State = Literal["ok", "warning", "bad"]
_MOST_TEXT: Final = 1_000
_ORDER: Final[tuple[State, ...]] = ("ok", "warning", "bad")


@dataclass(frozen=True)
class Finding:
    """`text` says what is so, and what to do where something is wrong."""

    name: str
    state: State
    text: str

    def document(self) -> dict[str, str]:
        """As JSON. What a driver or a node said is one line of it, whatever that was."""
        line = "".join(letter if letter.isprintable() else " " for letter in self.text)
        return {"name": self.name, "state": self.state, "text": line[:_MOST_TEXT]}


def worst(findings: Iterable[Finding]) -> State:
    """The worst state of them; ok where there are none."""
    return max((finding.state for finding in findings), key=_ORDER.index, default="ok")

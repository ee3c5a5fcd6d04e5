"""How much runs at once: in all, for each caller, and for each machine. Who is over a bound is told so at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from leasehold.gateway._refusals import Busy

_ALL: Final = ""


class SharedPlaces:
    """`most` by the kind of a key: `{"all": 512, "caller": 32, "machine": 64}`."""

    def __init__(self, most: dict[str, int]) -> None:
        self._most = most
        self._taken: Counter[tuple[str, str]] = Counter()

    @property
    def count(self) -> int:
        """How much runs."""
        return self._taken["all", _ALL]

    @contextmanager
    def taken(self, **keys: str) -> Iterator[None]:
        """One place in all, and one for each key, until the block is left. Raises Busy where one is full."""
        wanted = [("all", _ALL), *keys.items()]
        for place in wanted:
            if self._taken[place] >= self._most[place[0]]:
                raise Busy("As much runs already as may at once;", "end something, or try again in a moment.")
        self._taken.update(wanted)
        try:
            yield
        finally:
            self._taken.subtract(wanted)
            for place in wanted:
                if not self._taken[place]:
                    del self._taken[place]

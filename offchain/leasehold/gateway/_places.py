"""How much runs at once: in all, for each caller, and for each machine. Who is over a bound is told so at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from leasehold.gateway._errors import GatewayFull
from leasehold.gateway._refusals import Busy

_ALL: Final = ("all", "")


class Places:
    """`most` by the kind of a key: `{"all": 512, "caller": 32, "machine": 64}`."""

    def __init__(self, most: Mapping[str, int]) -> None:
        self._most = most
        self._taken: Counter[tuple[str, str]] = Counter()

    @property
    def count(self) -> int:
        """How much runs."""
        return self._taken[_ALL]

    def enter(self, **keys: str) -> None:
        """Takes one place in all, and one for each key; who entered leaves.

        Raises:
            Busy: one of the keys has as many as it may: by its own doing, or by that of others who want the same.
            GatewayFull: all together do.
        """
        wanted = [*keys.items(), _ALL]
        for place in wanted:
            if self._taken[place] < self._most[place[0]]:
                continue
            if place == _ALL:
                raise GatewayFull()
            raise Busy("As much runs already as may at once;", "end something, or try again in a moment.")
        self._taken.update(wanted)

    def leave(self, **keys: str) -> None:
        """Gives them back."""
        given = [*keys.items(), _ALL]
        self._taken.subtract(given)
        for place in given:
            if not self._taken[place]:
                del self._taken[place]

    @contextmanager
    def taken(self, **keys: str) -> Iterator[None]:
        """They are taken until the block is left. Raises Busy, GatewayFull."""
        self.enter(**keys)
        try:
            yield
        finally:
            self.leave(**keys)

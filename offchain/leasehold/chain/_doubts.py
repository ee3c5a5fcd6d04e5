"""Blocks that may hold events of ours, by their headers, and of which the node gives none.

A header's filter says so wrongly now and then, and a node that has just learnt of a block, or another one behind the
same address, may not have its events yet. So the node is asked a few times at once, then believed, and asked again
later: whoever opened a lease in such a block would wait for nothing otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from leasehold.chain._bloom import may_hold
from leasehold.chain._rpc import BlockHeader

_AT_ONCE = 4
_LATER = (1.0, 2.0, 4.0, 8.0, 32.0, 128.0)  # seconds after it was believed


class Doubts:
    """What is doubted of one pool's contracts. clock: seconds."""

    def __init__(self, addresses: Iterable[str], clock: Callable[[], float]) -> None:
        self._addresses = tuple(addresses)
        self._clock = clock
        self._asked: Counter[str] = Counter()
        self._believed: dict[
            str, tuple[float, int]
        ] = {}  # since when, and how often it was asked about again

    def believes(self, header: BlockHeader) -> bool:
        """Whether a block for which the node gives no events is taken to have none."""
        if not may_hold(header.bloom, self._addresses):
            return True
        if self._asked[header.hash] < _AT_ONCE:
            self._asked[header.hash] += 1
            return False
        self._believed[header.hash] = (self._clock(), 0)
        return True

    def in_parts(self, headers: Sequence[BlockHeader], full: int) -> Iterator[Sequence[BlockHeader]]:
        """The headers in their order, in parts that each have so many blocks at most that may hold events."""
        begin = held = 0
        for at, header in enumerate(headers):
            if may_hold(header.bloom, self._addresses):
                held += 1
                if held > full:
                    yield headers[begin:at]
                    begin, held = at, 1
        yield headers[begin:]

    def handed_out(self) -> None:
        """All that was asked for has been believed."""
        self._asked.clear()

    def due(self, known: Callable[[], Collection[str]]) -> list[str]:
        """Hashes of the blocks that are to be asked about again now. known: those of the chain that was handed out."""
        now = self._clock()
        found = [each for each, (since, times) in self._believed.items() if now >= since + _LATER[times]]
        if not found:
            return []
        ours = known()
        for gone in self._believed.keys() - ours:
            del self._believed[gone]
        return [each for each in found if each in ours]

    def asked(self, hashes: Iterable[str]) -> None:
        """They were asked about again."""
        for each in hashes:
            since, times = self._believed.pop(each)
            if times + 1 < len(_LATER):
                self._believed[each] = (since, times + 1)

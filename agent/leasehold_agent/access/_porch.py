"""Those who have connected and were not let in yet.

Who has said nothing has a place among the silent, where the oldest gives way, and of an address that holds more than
its part the oldest of that address. Whose first words are there stands in one of two lines: that of networks from
which tenants came lately, and everybody else's; by turns the first of either goes in. In both the lowest rank
(`_turns.py`) is first, and the highest is turned away when the line is full.
"""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from itertools import takewhile

from leasehold_agent.access._turns import Networks, Rank, Turns


@dataclass(eq=False, slots=True)
class Visitor:
    """A connection. wanted: bytes that its first words still need, as `missing` says. introduced: it comes through the
    IPFS node, whose word for the peer behind it is its network.

    `cut` ends it at once and may be called at any time. `know` is told the lease that it has shown (and raises
    `TooManyRequests`), `leave` that it has ended.
    """

    socket: socket.socket
    networks: Networks
    came_at: float = 0.0
    let_in_at: float = 0.0
    wanted: int = 0
    requests: int = 0
    lease: int | None = None
    owned: bool = False
    introduced: bool = False
    cut: Callable[[], None] = lambda: None
    know: Callable[[int], None] = lambda _: None
    leave: Callable[[], None] = lambda: None
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)

    @property
    def network(self) -> str:
        """What its address is counted as."""
        return self.networks[-1]


class Silent:
    """At most `places`, half of them of one address."""

    def __init__(self, places: int) -> None:
        self._places = places
        # The first of a dict that lost many is looked for among their remains.
        self._all: OrderedDict[Visitor, None] = OrderedDict()
        self._of_address: defaultdict[str, OrderedDict[Visitor, None]] = defaultdict(OrderedDict)

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, visitor: object) -> bool:
        return visitor in self._all

    def add(self, visitor: Visitor) -> Visitor | None:
        """Who gives way for it, if somebody must."""
        own = self._of_address[visitor.network]
        gives_way = None
        if 2 * len(own) >= max(2, self._places):
            gives_way = next(iter(own))
        elif len(self._all) >= self._places:
            gives_way = self.oldest()
        self._all[visitor] = own[visitor] = None
        return gives_way

    def oldest(self) -> Visitor | None:
        return next(iter(self._all), None)

    def came_before(self, moment: float) -> list[Visitor]:
        return list(takewhile(lambda visitor: visitor.came_at <= moment, self._all))

    def discard(self, visitor: Visitor) -> None:
        if visitor in self._all:
            del self._all[visitor]
            own = self._of_address[visitor.network]
            del own[visitor]
            if not own:
                del self._of_address[visitor.network]


class Porch:
    """`places` for each, the silent and either line. known: where tenants came from."""

    def __init__(self, places: int, known: Container[str], turns: Turns) -> None:
        self._places = places
        self._known = known
        self._turns = turns
        self.silent = Silent(places)
        self._tenants: dict[Visitor, Rank] = {}
        self._others: dict[Visitor, Rank] = {}
        self._tenants_turn = True

    def __len__(self) -> int:
        return len(self.silent) + self.lines

    @property
    def lines(self) -> int:
        """How many stand in both lines."""
        return len(self._tenants) + len(self._others)

    def line_up(self, visitor: Visitor) -> Visitor | None:
        """Its first words are there. Who is turned away for it, which may be itself."""
        self.silent.discard(visitor)
        line = self._tenants if visitor.network in self._known else self._others
        line[visitor] = self._turns.rank(visitor.networks)
        return max(line, key=line.__getitem__) if len(line) > self._places else None

    def first(self, *, new: bool) -> list[Visitor]:
        """The first of the line whose turn it is, and then of the other. new: also from where no tenant came."""
        lines = [self._tenants, *([self._others] if new else [])]
        if not self._tenants_turn:
            lines.reverse()
        return [min(line, key=self._rank) for line in lines if line]

    def _rank(self, visitor: Visitor) -> Rank:
        return self._turns.rank(visitor.networks)

    def let_in(self, visitor: Visitor) -> None:
        self._turns.took(visitor.networks)
        self._tenants_turn = visitor not in self._tenants
        self.leave(visitor)

    def leave(self, visitor: Visitor) -> None:
        self.silent.discard(visitor)
        self._tenants.pop(visitor, None)
        self._others.pop(visitor, None)

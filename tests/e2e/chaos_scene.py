"""Where a run of chaos takes place, and what a fault is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.agent.nvml.standin import StandIn

from devnet.relay import Relay
from devnet.site import Site

from .chaos_ledger import Told
from .clock.hostclock import HostClock

Line = Mapping[str, Any]


@dataclass
class Scene:
    """A site whose parts can be struck. `rpc` and `ws` lead its agent to the chain, `disk` is its state folder's,
    `cards` are those of its driver, `clock` is its agent's.

    running: the leases that are billed, by the chain, and whose command has not ended. struck: the parts that a spell
    has struck so far. back: until then a card may be ill, by the test's monotonic clock.
    frozen: the agent stands still, or waits for an answer. later: what is to be looked at once all parts are back.
    """

    site: Site
    rpc: Relay
    ws: Relay
    disk: Path
    cards: StandIn
    clock: HostClock
    running: Callable[[], list[Told]] = list
    back: float = 0.0
    frozen: bool = False
    struck: set[str] = field(default_factory=set)
    later: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def listens(self) -> bool:
        """Whether the agent runs, and would say what it notices."""
        return self.site.host.process is not None and not self.frozen

    def says(self, wanted: Callable[[Line], bool], since: int) -> None:
        """Waits until the agent, if it runs, says this."""
        if self.listens:
            self.site.host.wait_for(wanted, since=since)

    @property
    def lines(self) -> int:
        return len(self.site.host.steps)


@dataclass(frozen=True)
class Fault:
    """part: what it strikes. says: what the agent's log says of its end, or None where the agent has nothing to recover
    from. surely: each time; a block that is replaced may hold nothing that the agent knew, or would know.
    """

    part: str
    strike: Callable[[Scene, int], contextlib.AbstractContextManager[None]]
    says: Callable[[Line], bool] | None = None
    surely: bool = True


def event(name: str, **fields: Any) -> Callable[[Line], bool]:
    def holds(line: Line) -> bool:
        return line.get("event") == name and all(line.get(key) == value for key, value in fields.items())

    return holds


def trouble(name: str) -> Callable[[Line], bool]:
    """The line of that event that tells a problem."""
    return lambda line: line.get("event") == name and bool(line.get("problem"))

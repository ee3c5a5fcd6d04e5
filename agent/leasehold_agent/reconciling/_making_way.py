"""Whoever is over makes way for the lease that has his cards now: his grace is his own time, and not the next one's."""

from __future__ import annotations

from typing import Final

import structlog

from leasehold.chain import format_lease
from leasehold_agent.cards import WHOLE
from leasehold_agent.chain import Desired
from leasehold_agent.reconciling._host import Host
from leasehold_agent.store import Notes

_log = structlog.get_logger("leasehold_agent")
LEAST_GRACE: Final = 10.0
"""Seconds from the end of his lease on that a tenant's processes have in any case, if their workload asks for them."""


def has_cells_of(notes: Notes, desired: Desired) -> bool:
    """Whether a container was made for cells that are another lease's now, by the chain's placements."""
    both = notes.placement & desired.placement
    return notes.machine == desired.machine and bool(both & WHOLE) and both > WHOLE


async def end_who_is_over(host: Host, desired: Desired) -> None:
    """SIGKILL to containers of leases that are over and have had time to end by themselves, where they hold cells of
    the lease. Raises EngineDown.
    """
    over = {lease: record.stopping for lease, record in host.leases.records.items() if lease != desired.lease}
    for lease, since in over.items():
        if since is None or host.clock() - since < LEAST_GRACE:
            continue
        if has_cells_of(host.leases.folder(lease).load(), desired):
            _log.info("makes way", lease=format_lease(lease), whose=format_lease(desired.lease))
            await host.containers.engine.kill(host.containers.names.container(lease))

"""The pool as its operator, for what runs beside the agent: its machines, and the leases on them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from leasehold.chain import (
    Deployment,
    Lease,
    LeaseState,
    Machine,
    MachineStatus,
    Pool,
    Rpc,
    Sender,
    parse_lease,
)
from leasehold.errors import SettingsError
from leasehold_agent._config import AgentSettings
from leasehold_agent.chain import REASONS, OutOfSale, Reason, Withholdings, all_cells, send_withheld
from leasehold_agent.documents import read_status
from leasehold_agent.host import Identity


@contextlib.asynccontextmanager
async def opened_pool(settings: AgentSettings, identity: Identity) -> AsyncIterator[Pool]:
    """The pool, as its operator, for a command that runs beside the agent."""
    if settings.deployment is None or not settings.rpc:
        raise SettingsError("Name the pool's deployment file and an RPC address: `deployment` and `rpc`.")
    deployment = Deployment.load(settings.deployment)
    async with Rpc(list(settings.rpc)) as rpc:
        await rpc.check_chain(deployment)
        yield Pool(rpc, deployment, Sender(rpc, identity.operator))


async def in_service(pool: Pool, operator: str, owner: str) -> list[Machine]:
    machines = await _machines(pool, operator, owner)
    return [machine for machine in machines if machine.status is not MachineStatus.RETIRED]


async def _machines(pool: Pool, operator: str, owner: str) -> list[Machine]:
    """Every machine of this operator and its owner's, asked of the chain: the agent need not be running."""
    machines = [await pool.machine_of(number) for number in range(1, await pool.machine_count() + 1)]
    return [machine for machine in machines if (machine.operator, machine.provider) == (operator, owner)]


async def leases_here(pool: Pool, settings: AgentSettings) -> list[Lease]:
    """Leases that run on this host, by the agent's last status and the chain's word on each."""
    status = read_status(settings.state_dir) or {"leases": []}
    ids = [parse_lease(str(entry["lease"])) for entry in status["leases"] if entry["phase"] != "ended"]
    leases = [await pool.lease_of(lease) for lease in ids]
    return [lease for lease in leases if lease.state in (LeaseState.OPENED, LeaseState.ACTIVE)]


async def set_aside(
    pool: Pool, settings: AgentSettings, machine: Machine, reason: Reason, *, undo: bool
) -> OutOfSale:
    """Take the whole machine out of sale for that reason, or put back what is out for that alone; gives what is out
    now, and why. Raises ChainError. What was noted and could not be sent, the agent sends.
    """
    kept = Withholdings.of(settings.state_dir, pool.deployment)
    cells, block = 0 if undo else all_cells(machine), await pool.block_number()
    await send_withheld(
        pool, kept, machine.id, block, settings.confirmations, change=lambda known: known.put(reason, cells)
    )
    return kept.known(machine.id)


_BECAUSE: dict[Reason, str] = {
    "paused": "you paused it (`leasehold-agent pause --undo`)",
    "drained": "you drained it (`leasehold-agent drain --undo`)",
    "hours": "these are its owner's hours (`hours`)",
    "maintenance": "maintenance is near (`maintenance`)",
    "ill": "something is wrong with a card",
    "provider": "its provider withholds cells (`leasehold provider withhold`)",
}


def back_on_sale(left: OutOfSale) -> str:
    """What is so of a machine once a reason is gone."""
    if not left.cells:
        return "takes new leases again."
    return f"still has cells out of sale, for {because(left)}."


def because(left: OutOfSale) -> str:
    """Why a machine has cells out of sale, as clauses."""
    return " and ".join(_BECAUSE[reason] for reason in REASONS if reason in left.reasons)

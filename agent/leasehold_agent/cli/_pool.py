"""The pool as its operator, for what runs beside the agent: its machines, and the leases on them."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import AsyncIterator

from leasehold.chain import (
    Deployment,
    HardwareSet,
    Lease,
    LeaseState,
    Machine,
    MachineStatus,
    Pool,
    Rpc,
    Sender,
    cid_of_digest,
    decode_log,
    logs_since,
    parse_lease,
)
from leasehold.datasets import Ipfs
from leasehold.errors import DatasetError, SettingsError
from leasehold_agent._config import AgentSettings
from leasehold_agent.cards import Described, HardwareFiles, InService
from leasehold_agent.chain import REASONS, OutOfSale, Reason, Withholdings, all_cells, send_withheld
from leasehold_agent.documents import read_status
from leasehold_agent.host import Identity

_DOCUMENT_SECONDS = 10


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


async def parts_in_service(
    settings: AgentSettings, identity: Identity, owner: str, ipfs: Ipfs
) -> dict[int, InService]:
    """What of this host is sold already, by machine; nothing where no node is configured to ask.

    Raises SettingsError where a machine's cards are not known here: one of them might be sold again.
    """
    if settings.deployment is None or not settings.rpc:
        return {}
    files = HardwareFiles(settings.hardware_dir)
    async with Rpc(list(settings.rpc)) as rpc, opened_pool(settings, identity) as pool:
        sold = {}
        for machine in await in_service(pool, identity.operator.address, owner):
            digest = await _hardware_of(rpc, Deployment.load(settings.deployment), machine)
            described = files.of(digest) or await _from_ipfs(files, digest, ipfs)
            if described is None:
                raise SettingsError(
                    f"What machine {machine.id} was described as is neither in {settings.hardware_dir} nor on the IPFS "
                    "node: put it back, or retire the machine."
                )
            sold[machine.id] = InService(machine.gpus, described.cards[: machine.gpus])
        return sold


async def _hardware_of(rpc: Rpc, deployment: Deployment, machine: Machine) -> bytes:
    """The digest of the machine's hardware document."""
    topics = [None, f"0x{machine.id:064x}"]
    logs = await logs_since(rpc, deployment.block, address=deployment.controller, topics=topics)
    events = [decode_log(raw) for raw in logs]
    return [event.digest for event in events if isinstance(event, HardwareSet)][-1]


async def _from_ipfs(files: HardwareFiles, digest: bytes, ipfs: Ipfs) -> Described | None:
    """A document that was lost here, as the provider's node has it; kept from now on."""
    with contextlib.suppress(DatasetError):
        document = await ipfs.get_block(cid_of_digest(digest), _DOCUMENT_SECONDS)
        if hashlib.sha256(document).digest() == digest:
            files.keep(document)
    return files.of(digest)


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


async def would_be_set_aside(
    pool: Pool, settings: AgentSettings, machine: Machine, reason: Reason, *, undo: bool
) -> OutOfSale:
    """What `set_aside` would give. Nothing is sent or noted."""
    known = Withholdings.of(settings.state_dir, pool.deployment).known(machine.id)
    heard = known.heard(machine.withheld, await pool.block_number(), settings.confirmations)
    return heard.put(reason, 0 if undo else all_cells(machine))


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

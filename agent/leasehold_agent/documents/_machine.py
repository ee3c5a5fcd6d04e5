"""The documents in which a machine introduces itself: what it is, and where and how it can be reached."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from leasehold.chain import format_lease
from leasehold.datasets import Ipfs, Peer
from leasehold.errors import DatasetError
from leasehold.market import canonical
from leasehold_agent._config import AgentSettings
from leasehold_agent.cards import MachinePart
from leasehold_agent.chain import Desired
from leasehold_agent.documents._measured import last_measured
from leasehold_agent.documents._reach import Reach, endpoints, kept_contact, public_host, reach_of, ssh_of
from leasehold_agent.engine import EngineFacts
from leasehold_agent.host import HostDisk, Identity, Inventory, runtimes

_MOST_NAMED = 4_096


def hardware_document(
    inventory: Inventory,
    part: MachinePart,
    facts: EngineFacts,
    disk_bytes: int,
    isolation: Sequence[str] = (),
    disks: Sequence[HostDisk] = (),
    fault_domain: str | None = None,
) -> dict[str, object]:
    """hardware.json of a machine that is `part` of the host. What the engine cannot run is not offered.

    Processors, memory and disk are the machine's: what leases of the whole of it come to, but for what is kept back.
    disks: those on which leases have their files.
    """
    offered = tuple(name for name in runtimes() if name in facts.runtimes)
    whole, units = max(1, part.host_units), part.units
    of_machine = replace(
        inventory,
        gpus=part.cards,
        cores=inventory.cores * units // whole,
        memory_bytes=inventory.memory_bytes * units // whole,
    )
    document = of_machine.document(
        cpu_units=units, disk_bytes=disk_bytes * units // whole, quota=facts.quota, runtimes=offered
    )
    lie_on = [disk.document() for disk in disks]
    told = {} if fault_domain is None else {"fault_domain": fault_domain}
    return {
        **document, "host_units": part.host_units, "isolation": list(isolation), "disks": lie_on, **told,
    }  # fmt: skip


async def contact_document(
    settings: AgentSettings,
    identity: Identity,
    ipfs: Ipfs,
    *,
    images: Sequence[tuple[str, str]],
    datasets: Sequence[str],
    now: Callable[[], float] = time.time,
) -> dict[str, object]:
    """contact.json. An IPFS node that does not answer is left out: the agent runs without it too.

    Raises DatasetError where it is to be the only way to the agent.
    """
    reach = await reach_of(settings, ipfs)
    peer: Peer | None = None
    with contextlib.suppress(DatasetError):
        peer = await ipfs.id()
    return {
        "version": 1,
        "endpoints": endpoints(settings, identity, reach),
        "certificate": identity.certificate_pem,
        "ports": [settings.first_port, settings.last_port],
        "ssh": ssh_of(settings, identity, reach),
        "age_recipient": identity.age_recipient,
        "peer_id": peer.peer_id if peer else None,
        "ipfs": list(peer.addresses) if peer else [],
        "images": [{"id": image, "name": name} for image, name in images[:_MOST_NAMED]],
        "datasets": list(datasets[:_MOST_NAMED]),
        "maintenance": [
            [window.begins_at, window.ends_at]
            for window in settings.maintenance_windows
            if now() < window.ends_at
        ],
        "egress": settings.host_egress.document(),
        "location": {"country": settings.country} if settings.country else {},
        **last_measured(settings.state_dir),
        "operator": identity.operator.address,
        "issued_at": int(now()),
    }


def endpoint_document(
    settings: AgentSettings, identity: Identity, desired: Desired, ports: Collection[tuple[int, str, int]]
) -> bytes:
    """Where a lease can be reached, by the ways of the contact document; its SHA-256 goes on the chain with `start`."""
    kept, direct = kept_contact(settings), Reach(public_host(settings), None)
    return canonical(
        {
            "version": 1,
            "lease": format_lease(desired.lease),
            "machine": desired.machine,
            "api": kept.get("endpoints") or endpoints(settings, identity, direct),
            "ssh": kept.get("ssh") or ssh_of(settings, identity, direct),
            "host": settings.ports_host or public_host(settings),
            "ports": [
                {"container": port, "host": host, "protocol": protocol} for port, protocol, host in ports
            ],
        }
    )

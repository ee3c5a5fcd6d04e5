"""The documents in which a machine introduces itself: what it is, and where and how it can be reached."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from leasehold.chain import format_lease
from leasehold.datasets import Ipfs, Peer
from leasehold.errors import DatasetError
from leasehold_agent._config import AgentSettings
from leasehold_agent.cards import MachinePart
from leasehold_agent.chain import Desired
from leasehold_agent.documents._measured import last_measured
from leasehold_agent.engine import EngineFacts
from leasehold_agent.host import Identity, Inventory, default_address, runtimes

_MOST_NAMED = 4_096


def canonical(document: object) -> bytes:
    """Canonical JSON: keys sorted, no spaces, UTF-8."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def hardware_document(
    inventory: Inventory,
    part: MachinePart,
    facts: EngineFacts,
    disk_bytes: int,
    isolation: Sequence[str] = (),
) -> dict[str, object]:
    """hardware.json of a machine that is `part` of the host. What the engine cannot run is not offered.

    Processors, memory and disk are the machine's: what leases of the whole of it come to, but for what is kept back.
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
    return {**document, "host_units": part.host_units, "isolation": list(isolation)}


async def contact_document(
    settings: AgentSettings,
    identity: Identity,
    ipfs: Ipfs,
    *,
    images: Sequence[tuple[str, str]],
    datasets: Sequence[str],
    now: Callable[[], float] = time.time,
) -> dict[str, object]:
    """contact.json. An IPFS node that does not answer is left out: the agent runs without it too."""
    host = public_host(settings)
    peer: Peer | None = None
    with contextlib.suppress(DatasetError):
        peer = await ipfs.id()
    return {
        "version": 1,
        "endpoints": list(api_endpoints(settings)),
        "certificate": identity.certificate_pem,
        "ports": [settings.first_port, settings.last_port],
        "ssh": {"host": host, "port": settings.ssh_port, "host_key": identity.ssh_public_key},
        "age_recipient": identity.age_recipient,
        "peer_id": peer.peer_id if peer else None,
        "ipfs": list(peer.addresses) if peer else [],
        "images": [{"id": image, "name": name} for image, name in images[:_MOST_NAMED]],
        "datasets": list(datasets[:_MOST_NAMED]),
        "location": {"country": settings.country} if settings.country else {},
        **last_measured(settings.state_dir),
        "operator": identity.operator.address,
        "issued_at": int(now()),
    }


def endpoint_document(
    settings: AgentSettings, identity: Identity, desired: Desired, ports: Collection[tuple[int, str, int]]
) -> bytes:
    """Where a lease can be reached; its SHA-256 goes on the chain with `start`."""
    return canonical(
        {
            "version": 1,
            "lease": format_lease(desired.lease),
            "machine": desired.machine,
            "api": list(api_endpoints(settings)),
            "ssh": {
                "host": public_host(settings),
                "port": settings.ssh_port,
                "host_key": identity.ssh_public_key,
            },
            "host": settings.ports_host or public_host(settings),
            "ports": [
                {"container": port, "host": host, "protocol": protocol} for port, protocol, host in ports
            ],
        }
    )


def public_host(settings: AgentSettings) -> str:
    return settings.public_host or default_address()


def api_endpoints(settings: AgentSettings) -> tuple[str, ...]:
    host = public_host(settings)
    shown = f"[{host}]" if ":" in host else host
    return settings.endpoints or (f"https://{shown}:{settings.api_port}",)

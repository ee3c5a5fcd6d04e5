"""The networks of leases, as the engine makes them; each function asks a `docker.APIClient`, whose stubs lack types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network, ip_network
from typing import Any

from docker.errors import APIError
from docker.types import IPAMConfig, IPAMPool

from leasehold_agent._errors import EngineRefused
from leasehold_agent.host import AddressBlocks

_ATTEMPTS = 8
_OVERLAPS = "overlaps"


def find_network(client: Any, name: str) -> dict[str, Any] | None:
    """The engine itself takes a part of a name for the whole."""
    return next((network for network in client.networks(names=[name]) if network["Name"] == name), None)


def make_network(
    client: Any, name: str, bridge: str, labels: Mapping[str, str], blocks: AddressBlocks
) -> None:
    """A bridge network with addresses that nothing else here has. Whoever took them in this moment has them."""
    refused: set[IPv4Network] = set()
    for _ in range(_ATTEMPTS):
        block = blocks.free({*_given_out(client), *refused})
        try:
            client.create_network(
                name,
                driver="bridge",
                check_duplicate=True,
                labels=dict(labels),
                options={"com.docker.network.bridge.name": bridge},
                ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=str(block))]),
            )
            return
        except APIError as error:
            if _OVERLAPS not in str(error.explanation):
                raise
            refused.add(block)
    raise EngineRefused(f"the engine takes none of {', '.join(map(str, sorted(refused)))} for a network")


def _given_out(client: Any) -> Iterator[IPv4Network]:
    for network in client.networks():
        for pool in (network.get("IPAM") or {}).get("Config") or ():
            if isinstance(subnet := ip_network(pool.get("Subnet") or "::/128", strict=False), IPv4Network):
                yield subnet


def join(client: Any, name: str, network: str) -> None:
    """Put a container that does not run on `network`, where it is still on one that was here before by that name."""
    if (now := find_network(client, network)) is None:
        raise EngineRefused(f"the network {network} has just gone")
    joined = client.inspect_container(name)["NetworkSettings"]["Networks"]
    if joined.get(network, {}).get("NetworkID", "") not in ("", now["Id"]):
        client.disconnect_container_from_network(name, network, force=True)
        client.connect_container_to_network(name, network)

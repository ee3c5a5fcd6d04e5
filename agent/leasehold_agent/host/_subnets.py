"""Which addresses a lease's network gets: a small block that nothing on the host has a use for.

The engine's own pools are few and wide. With its defaults it has 31 networks to give out, all of which one tenant
can hold, and 65,536 addresses in each: by asking for all of them a tenant crowds the host's own neighbours out of
the kernel's table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from ipaddress import IPv4Network
from pathlib import Path

from leasehold_agent._errors import NetworkError
from leasehold_agent.host._netns import inside

BLOCK_BITS = 28
"""Fourteen addresses: the bridge has one, the container another."""
LEASE_NETWORKS = tuple(map(IPv4Network, ("10.201.0.0/16", "172.30.0.0/16", "192.168.224.0/19")))
_ROUTES = Path("/proc/thread-self/net/route")


class AddressBlocks:
    """Finds addresses for networks. `netns` is the engine's network namespace, where it is not the agent's own."""

    def __init__(self, ranges: Sequence[IPv4Network] = LEASE_NETWORKS, netns: Path | None = None) -> None:
        self._ranges = ranges
        self._netns = netns

    def free(self, taken: Collection[IPv4Network]) -> IPv4Network:
        """A block that is neither in `taken` nor routed. Raises NetworkError where there is none, OSError."""
        return free_block(self._ranges, {*routed(self._netns), *taken})


def free_block(ranges: Sequence[IPv4Network], taken: Collection[IPv4Network]) -> IPv4Network:
    """The first block of `ranges` that meets none of `taken`. Raises NetworkError."""
    for wide in ranges:
        near = sorted(neighbour for neighbour in taken if neighbour.overlaps(wide))
        for block in _blocks(wide, near):
            return block
    shown = ", ".join(map(str, ranges))
    raise NetworkError(
        f"No addresses are left for another lease's network in {shown}: name a private range in `lease_networks` "
        "that this host has no route to."
    )


def _blocks(wide: IPv4Network, near: Sequence[IPv4Network]) -> Iterator[IPv4Network]:
    """Blocks of `wide` that lie between those of `near`, which are in order."""
    size, at = 1 << (32 - BLOCK_BITS), int(wide.network_address)
    end = at + wide.num_addresses
    for neighbour in near:
        while at + size <= min(end, int(neighbour.network_address)):
            yield IPv4Network((at, BLOCK_BITS))
            at += size
        at = max(at, -(-(int(neighbour.broadcast_address) + 1) // size) * size)
    while at + size <= end:
        yield IPv4Network((at, BLOCK_BITS))
        at += size


def routed(netns: Path | None) -> set[IPv4Network]:
    """What the host has a route to, in the engine's network namespace, but for the way to everywhere else."""
    return {network for network in map(_route, inside(netns, _ROUTES.read_text).splitlines()[1:]) if network}


def _route(line: str) -> IPv4Network | None:
    """A line of the kernel's table, whose addresses are hexadecimal in the machine's own order of bytes."""
    fields = line.split()
    address, mask = (int(fields[at], 16).to_bytes(4, "little") for at in (1, 7))
    destination = IPv4Network((int.from_bytes(address), int.from_bytes(mask).bit_count()), strict=False)
    return destination if destination.prefixlen else None

"""What a lease's container may reach: one nftables table, rendered from all leases and replaced as a whole.

A table of our own is independent of Docker's chains, covers IPv4 and IPv6 at once, is swapped in one
transaction and goes with one `delete`. Its hooks run before the filter chains of Docker or of a firewall
manager, and a `drop` there is final; an `accept` is not, so the host's own rules keep their say.

The order of the rules is the argument:

1. Replies of connections that came from outside (published ports, the agent's own) pass. Only `ct direction reply` says
   that: `ct state established` would also pass the container's own connections, whatever the rules say now.
2. What conntrack cannot place is dropped.
3. Nothing goes to the host's own addresses (hook `input`), to another lease, or to private ranges (hook `forward`;
   destinations are those after Docker's address translation, so a published port of the host is no way around).
4. The lease's policy decides; a bridge without a policy, such as one whose lease has just ended, drops everything.

A second table counts for each bridge: the connections that it has open, since the kernel remembers a limited number for
the whole host; and where the owner of the host wants it, how many places it has gone to of late, and its bytes. It is
made once and left as it is: replaced with the first, it would begin to count anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address
from pathlib import Path
from typing import Literal

from leasehold_agent._errors import NetworkError
from leasehold_agent.host._egress import LeasePace

TABLE = "leasehold"
COUNTS = "leasehold_counts"
BRIDGE_PREFIX = "lh-"
_NAMES = "limit rate 20/second burst 100 packets"
"""Of questions for names, where only some addresses are allowed: names carry data past any list, but not much of it."""
_PACE = "200/second burst 2000 packets"
"""Of new TCP connections. One that is closed counts no more, but the kernel remembers it for two minutes."""
_PORTS = "ct state new meta l4proto { tcp, udp }"
_REMEMBERED = "5m"
_LEAST_BURST = 1 << 17
"""Bytes: more than the kernel hands on as one packet, which would never pass otherwise."""
_UNPACED = LeasePace()
_THERE = "File exists"
Network = IPv4Network | IPv6Network

# RFC 6890 and what clouds put beside it: nothing that a tenant rents a host's address to reach. One is of the public
# internet to look at: Azure's inner address, which hands a host's certificates and settings to whatever runs on it.
PRIVATE_V4 = (
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/3",
)
# In version 6 also what carries an address of version 4 inside, whichever that is.
PRIVATE_V6 = (
    "::/96",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "2001::/32",
    "2002::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
)


@dataclass(frozen=True)
class Rule:
    """An exception of an allow list; without a port, all of them."""

    network: Network
    port: int | None = None


@dataclass(frozen=True)
class LeasePolicy:
    """A lease's bridge and what may leave it. `allow` counts with mode "allow" only."""

    bridge: str
    mode: Literal["none", "internet", "allow"]
    allow: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class HostPolicy:
    """What holds over every lease: `internet` false lets nothing out, `deny` is added to the private ranges, and
    nothing goes to `refused_ports`.
    """

    internet: bool = True
    deny: tuple[Network, ...] = ()
    dns: tuple[str, ...] = ()
    refused_ports: tuple[int, ...] = ()


def bridge_name(lease_label: str) -> str:
    """The bridge of a lease: at most 15 characters, as the kernel wants, and the same at every start."""
    return BRIDGE_PREFIX + hashlib.sha256(lease_label.encode()).hexdigest()[:12]


def parse_rule(text: str) -> Rule:
    """An entry of a workload's allow list: `203.0.113.0/24`, `203.0.113.7:443`, `[2001:db8::]/32`."""
    port: int | None = None
    if text.startswith("["):
        inside, _, rest = text[1:].partition("]")
        prefix, _, number = rest.partition(":")
        host = inside + prefix
    else:
        host, _, number = text.partition(":")
    if number:
        port = int(number)
    network: Network = IPv6Network(host) if ":" in host else IPv4Network(host)
    return Rule(network, port)


def render(leases: Sequence[LeasePolicy], host: HostPolicy) -> str:
    """The whole table as text for `nft -f -`: replaces what is there, in one transaction."""
    deny_v4 = [*PRIVATE_V4, *(str(n) for n in host.deny if n.version == 4)]
    deny_v6 = [*PRIVATE_V6, *(str(n) for n in host.deny if n.version == 6)]
    chains = "\n".join(_chain(lease, host) for lease in leases)
    refused = "".join(
        f"\n    {protocol} dport {{ {', '.join(map(str, host.refused_ports))} }} drop"
        for protocol in ("tcp", "udp")
        if host.refused_ports
    )
    jumps = ", ".join(f'"{lease.bridge}" : jump {_chain_name(lease.bridge)}' for lease in leases)
    dispatch = f"\n    iifname vmap {{ {jumps} }}" if jumps else ""
    return f"""table inet {TABLE} {{}}
delete table inet {TABLE}
table inet {TABLE} {{
  set private4 {{
    type ipv4_addr; flags interval; auto-merge
    elements = {{ {", ".join(deny_v4)} }}
  }}
  set private6 {{
    type ipv6_addr; flags interval; auto-merge
    elements = {{ {", ".join(deny_v6)} }}
  }}
{chains}
  chain forward {{
    type filter hook forward priority filter - 10; policy accept;
    iifname != "{BRIDGE_PREFIX}*" accept
    ct direction reply ct state established,related accept
    ct state invalid,untracked drop
    oifname "{BRIDGE_PREFIX}*" drop
    ip daddr @private4 drop
    ip6 daddr @private6 drop{refused}{dispatch}
    drop
  }}
  chain input {{
    type filter hook input priority filter - 10; policy accept;
    iifname != "{BRIDGE_PREFIX}*" accept
    ct direction reply ct state established,related accept
    drop
  }}
}}
"""


def render_counts(pace: LeasePace) -> str:
    """The table that counts for each bridge, and refuses what is more than its pace; an error ("File exists") where it
    is there.

    Bytes to a bridge count whoever asked for them. A destination is new that has not been gone to for five minutes; so
    many new ones in a minute, and twice as many at once.
    """
    return f"""create table inet {COUNTS}
table inet {COUNTS} {{
{_sets(pace)}
  chain forward {{
    type filter hook forward priority filter - 11; policy accept;{_capped("oifname", "down", pace.down)}
    iifname != "{BRIDGE_PREFIX}*" accept{_capped("iifname", "up", pace.up)}
    meta l4proto tcp ct state new add @begun {{ iifname limit rate over {_PACE} }} drop
    ct state new add @connections {{ iifname ct count over {pace.connections} }} drop{_new_ones(pace)}
  }}
}}
"""


def _sets(pace: LeasePace) -> str:
    counted = ["connections", "begun"]
    counted += [name for name in ("destinations", "down", "up") if getattr(pace, name) is not None]
    sets = [f"  set {name} {{ type ifname; size 65535; flags dynamic; }}" for name in counted]
    if pace.destinations is not None:
        sets += [
            f"  set known{version} {{ type ifname . ipv{version}_addr . inet_service; size 65535; "
            f"flags dynamic,timeout; timeout {_REMEMBERED}; }}"
            for version in (4, 6)
        ]
    return "\n".join(sets)


def _capped(side: str, name: str, rate: int | None) -> str:
    """A rule that drops what is more than so many bytes a second; half a second's worth may come at once."""
    if rate is None:
        return ""
    bridge = f'\n    {side} "{BRIDGE_PREFIX}*"'
    burst = max(_LEAST_BURST, rate // 2)
    return f"{bridge} add @{name} {{ {side} limit rate over {rate} bytes/second burst {burst} bytes }} counter drop"


def _new_ones(pace: LeasePace) -> str:
    """Rules that drop the first packet to one destination too many. One that is known is known for longer each time."""
    if pace.destinations is None:
        return ""
    rate = f"{pace.destinations}/minute burst {2 * pace.destinations} packets"
    keys = {version: f"iifname . {family} daddr . th dport" for version, family in ((4, "ip"), (6, "ip6"))}
    rules = [
        *(f"{_PORTS} {key} @known{v} update @known{v} {{ {key} }} accept" for v, key in keys.items()),
        f"ct state new add @destinations {{ iifname limit rate over {rate} }} counter drop",
        *(f"{_PORTS} add @known{v} {{ {key} }}" for v, key in keys.items()),
    ]
    return "".join(f"\n    {rule}" for rule in rules)


def _chain(lease: LeasePolicy, host: HostPolicy) -> str:
    lines: list[str] = []
    if host.internet and lease.mode != "none":
        pace = f"{_NAMES} " if lease.mode == "allow" else ""
        for server in host.dns:
            family = "ip6" if ip_address(server).version == 6 else "ip"
            lines += [
                f"{family} daddr {server} {protocol} dport 53 {pace}accept" for protocol in ("udp", "tcp")
            ]
        if lease.mode == "internet":
            lines.append("accept")
        for rule in lease.allow if lease.mode == "allow" else ():
            lines += _accepts(rule)
    body = "".join(f"\n    {line}" for line in [*lines, "drop"])
    return f"  chain {_chain_name(lease.bridge)} {{{body}\n  }}"


def _accepts(rule: Rule) -> list[str]:
    target = f"{'ip6' if rule.network.version == 6 else 'ip'} daddr {rule.network}"
    if rule.port is None:
        return [f"{target} accept"]
    return [f"{target} {protocol} dport {rule.port} accept" for protocol in ("tcp", "udp")]


def _chain_name(bridge: str) -> str:
    return "from_" + bridge.replace("-", "_")


def _without(table: str) -> str:
    return f"table inet {table} {{}}\ndelete table inet {table}\n"


class Firewall:
    """Puts the tables in place, in the engine's network namespace. Applying them again changes nothing.

    `pace`: how much of the network a lease gets.
    """

    def __init__(self, netns: Path | None = None, pace: LeasePace = _UNPACED) -> None:
        self._prefix = ["nsenter", f"--net={netns}"] if netns else []
        self._pace = pace
        self._counts = False

    async def apply(self, leases: Sequence[LeasePolicy], host: HostPolicy) -> None:
        """Raises NetworkError when the kernel or the tool refuses; what was there before then stays."""
        await self._nft(render(leases, host))
        if not self._counts:  # an earlier run of the agent may have had another limit
            await self._nft(_without(COUNTS) + render_counts(self._pace))
            self._counts = True
            return
        try:
            await self._nft(render_counts(self._pace))
        except NetworkError as error:
            if _THERE not in str(error):
                raise

    async def remove(self) -> None:
        """Take the tables away. Only for a host that no longer runs leases: without them nothing is blocked."""
        await self._nft(_without(TABLE) + _without(COUNTS))

    async def _nft(self, text: str) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *self._prefix,
                "nft",
                "-f",
                "-",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
        except FileNotFoundError as error:
            raise NetworkError("nft is missing: install the package nftables.") from error
        try:
            _, problem = await process.communicate(text.encode())
        except BaseException:  # cut off: it must not write after whoever comes next
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            raise
        if process.returncode != 0:
            raise NetworkError(
                f"nftables refused the leases' rules: {problem.decode(errors='replace').strip()}"
            )

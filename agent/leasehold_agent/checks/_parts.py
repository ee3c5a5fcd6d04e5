"""The checks by themselves: what is so of one part of a host, in a sentence that says what to do."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from pathlib import Path

from leasehold.chain import Deployment, Rpc
from leasehold.datasets import Ipfs
from leasehold.errors import ChainError, DatasetError, LeaseholdError
from leasehold.market import format_size
from leasehold_agent._config import AgentSettings
from leasehold_agent.checks._disk import measure_disk
from leasehold_agent.checks._finding import Finding, State
from leasehold_agent.checks._outside import Outside, name_of
from leasehold_agent.checks._ports import Held
from leasehold_agent.checks._resolvers import PORT, resolver_trouble
from leasehold_agent.documents import Pace, concerns, lacks
from leasehold_agent.engine import EngineFacts
from leasehold_agent.host import Inventory, bounded

_NODE_SECONDS, _RESOLVER_SECONDS, _IPFS_SECONDS = 5.0, 2.0, 10.0
_DISK_SECONDS, _DISK_BYTES, _DISK_PATIENCE = 1.0, 256 << 20, 20.0
_SLOW_DISK = 50_000_000
_FAST, _SLOW = 15, 120
"""Seconds that a clock may be behind the newest block, and ahead of it: blocks come late, never early."""
_NO_CHAIN = "Name the pool's deployment file and a node of its chain: `deployment` and `rpc`."
_ONE_NODE = "One node is asked, and what it says is believed: name a second one of somebody else's in `rpc`."
_SET_IT = "have it set over the network (`timedatectl set-ntp true`)"
_TOOLKIT = ("nvidia-ctk", "nvidia-container-runtime-hook", "nvidia-container-cli")


def look_at_cards(inventory: Inventory) -> list[Finding]:
    """Drivers and cards; and what is not sold of them."""
    findings = [Finding("cards", "bad", sentence) for sentence in inventory.problems]
    findings += [Finding("cards", "warning", sentence) for sentence in inventory.refused]
    for card in inventory.gpus:
        if card.lanes is not None and card.lanes_now is not None and card.lanes_now < card.lanes:
            text = f"{card.model} at {card.pci} has {card.lanes_now} of its {card.lanes} PCIe lanes"
            findings.append(
                Finding("cards", "warning", f"{text}: see that it sits well, and what shares its slot.")
            )
    if not findings:
        driver = f", driver {inventory.driver}" if inventory.driver else ""
        said = (
            f"{len(inventory.gpus)} GPUs answer{driver}."
            if inventory.gpus
            else "There is no GPU: CPU units are sold."
        )
        findings.append(Finding("cards", "ok", said))
    return findings


def look_at_engine(facts: EngineFacts, inventory: Inventory) -> list[Finding]:
    """The engine's settings and versions, and what the kernel gives. Asks programs of the host: not for a loop."""
    findings = [Finding("engine", "warning", sentence) for sentence in lacks(facts)]
    findings += [Finding("engine", "warning", said) for said in concerns(facts, gpus=inventory.needs_toolkit)]
    if inventory.needs_toolkit and not any(map(shutil.which, _TOOLKIT)):
        text = (
            "No lease gets its card: install the NVIDIA Container Toolkit, run `nvidia-ctk runtime configure` "
            "and restart the engine."
        )
        findings.append(Finding("engine", "bad", text))
    if facts.quota:
        findings.append(Finding("quota", "ok", "Leases are held to their part of the disk."))
    else:
        text = "No lease is held to its part of the disk: keep the engine's data on btrfs, or xfs mounted with pquota."
        findings.append(Finding("quota", "warning", text))
    if not any(finding.name == "engine" for finding in findings):
        findings.insert(
            0, Finding("engine", "ok", f"It answers, with {' and '.join(facts.runtimes) or 'no runtime'}.")
        )
    return findings


async def look_at_chain(settings: AgentSettings, clock: Callable[[], float]) -> list[Finding]:
    """Each node by itself, and the host's clock against the newest block."""
    if settings.deployment is None or not settings.rpc:
        return [Finding("chain", "bad", _NO_CHAIN)]
    try:
        deployment = Deployment.load(settings.deployment)
    except LeaseholdError as error:
        return [Finding("chain", "bad", str(error))]
    heads = await asyncio.gather(*(_head(url, deployment) for url in dict.fromkeys(settings.rpc)))
    return judge_nodes(heads, clock())


def judge_nodes(heads: Sequence[int | str], now: float) -> list[Finding]:
    """heads: of each node the newest block's time, or what is wrong with it. now: what the clock shows then.

    The clock goes by the node that is nearest to it: one that lies, or is behind, puts no clock in the wrong.
    """
    times = [head for head in heads if isinstance(head, int)]
    state: State = "warning" if times else "bad"
    findings = [Finding("chain", state, said) for said in heads if isinstance(said, str)]
    if len(heads) < 2:
        findings.append(Finding("chain", "warning", _ONE_NODE))
    if not findings:
        findings.append(Finding("chain", "ok", f"{len(heads)} nodes answer."))
    nearest = min(times, key=lambda time: abs(now - time), default=None)
    return findings if nearest is None else [*findings, judge_clock(now, nearest)]


async def _head(url: str, deployment: Deployment) -> int | str:
    """The newest block's time, or why it cannot be had."""
    try:
        async with asyncio.timeout(2 * _NODE_SECONDS), Rpc([url], timeout=_NODE_SECONDS, patience=0) as rpc:
            await rpc.check_chain(deployment)
            header = await rpc.header("latest")
    except ChainError as error:
        return str(error)
    except TimeoutError:
        header = None
    if header is None:
        return f"A node of the chain does not answer ({name_of(url)}): name another in `rpc`."
    return header.timestamp


def judge_clock(now: float, head: int) -> Finding:
    """The clock, by the newest block's time: what tenants sign and what is owed to the chain goes by it."""
    ahead = int(now) - head
    if ahead < -_FAST:
        text = f"This host's clock is {-ahead} s behind the chain: {_SET_IT}."
        return Finding("clock", "bad", text)
    if ahead > _SLOW:
        text = (
            f"The newest block is {ahead} s old by this host's clock. Where its node is not behind, the clock is "
            f"fast: {_SET_IT}."
        )
        return Finding("clock", "warning", text)
    return Finding("clock", "ok", "It agrees with the chain.")


async def look_at_ipfs(settings: AgentSettings) -> Finding:
    """Whether the host's IPFS node is there: results and datasets go by it."""
    try:
        async with asyncio.timeout(_IPFS_SECONDS), Ipfs(settings.ipfs, timeout=_IPFS_SECONDS) as ipfs:
            await ipfs.id()
    except (DatasetError, TimeoutError):
        text = f"The IPFS node at {settings.ipfs} does not answer: start it; datasets and results go by it."
        return Finding("ipfs", "bad", text)
    return Finding("ipfs", "ok", "The node answers.")


async def look_at_resolvers(settings: AgentSettings, port: int = PORT) -> Finding:
    """Whether what leases are given to find names by answers."""
    if settings.egress == "none" or not settings.dns:
        return Finding("dns", "ok", "No lease reaches the internet, so none needs a resolver.")
    name = _known_name(settings.registries)
    asked = (resolver_trouble(server, name, seconds=_RESOLVER_SECONDS, port=port) for server in settings.dns)
    troubles = zip(settings.dns, await asyncio.gather(*asked), strict=True)
    wrong = [f"{server} {trouble}" for server, trouble in troubles if trouble is not None]
    if wrong:
        return Finding(
            "dns", "warning", f"Leases find few names: {', '.join(wrong)}. Name other resolvers in `dns`."
        )
    return Finding("dns", "ok", f"{', '.join(settings.dns)} answer.")


def _known_name(registries: Sequence[str]) -> str:
    """The first registry that has a name of the internet's, which leases will ask for."""
    hosts = (registry.partition("/")[0].partition(":")[0] for registry in registries)
    return next(
        (host for host in hosts if re.fullmatch(r"[^.\s]+(\.[^.\s]+)*\.[^\W\d]+", host)), "example.org"
    )


def judge_egress(settings: AgentSettings, address: str) -> Finding:
    """What the owner's network lends to tenants. address: the host's own, by which one behind a router is known."""
    policy = settings.host_egress.policy
    if "egress" in settings.model_fields_set or ip_address(address).is_global:
        return Finding("egress", "ok", f"Tenants reach what `egress` says: {policy}.")
    text = (
        f"This host is behind a router ({address}), and tenants may do on its line as they like: if it is a home's, "
        'set `egress = "residential"`, by which they send no mail, search no networks and leave you some of the line; '
        'if it is not, `egress = "internet"` says so.'
    )
    return Finding("egress", "warning", text)


def look_at_disk(root: Path, settings: AgentSettings) -> tuple[list[Finding], Pace | None]:
    """Room and speed of the disk that leases get. root: where the engine keeps its data. Blocks for seconds."""
    folder = root if root.is_dir() else settings.state_dir
    try:
        free = bounded(lambda: shutil.disk_usage(folder).free, _DISK_PATIENCE)
        spare = free - settings.disk_reserve
        if spare <= 0:
            text = f"{folder} has {format_size(free)} left, which is the reserve: no lease begins. Make room."
            return [Finding("disk", "bad", text)], None
        most = min(_DISK_BYTES, spare // 2)
        pace = bounded(lambda: measure_disk(folder, seconds=_DISK_SECONDS, most=most), _DISK_PATIENCE)
    except TimeoutError:
        return [Finding("disk", "bad", f"The disk of {folder} does not answer: look at `dmesg`.")], None
    except OSError as error:
        text = f"{folder} cannot be written ({error.strerror or error}): see to that, or run this as root."
        return [Finding("disk", "bad", text)], None
    return [_judge_disk(folder, spare, pace)], pace


def _judge_disk(folder: Path, spare: int, pace: Pace | None) -> Finding:
    room = f"{folder} has {format_size(spare)} beyond the reserve"
    if pace is None:
        return Finding("disk", "warning", f"{room}, too little to measure it. Make room.")
    speeds = f"reads {format_size(pace.read)} and writes {format_size(pace.write)} a second"
    if min(pace.read, pace.write) < _SLOW_DISK:
        return Finding(
            "disk",
            "warning",
            f"{room}, and only {speeds}: leases start slowly. Move the engine's data to an SSD.",
        )
    return Finding("disk", "ok", f"{room}, {speeds}.")


def judge_ports(held: Held, outside: Outside | None, *, serving: bool, peer: str) -> list[Finding]:
    """What can be reached of this host. serving: an agent runs here. outside: what a peer says, or None without one."""
    findings = [Finding("ports", "bad", f"The host refuses port {refused}.") for refused in held.refused]
    if held.taken and not serving:
        ports = ", ".join(map(str, held.taken))
        findings.append(Finding("ports", "bad", f"Another program has {ports}: end it, or set other ports."))
    if outside is None:
        text = "Whether they can be reached from outside could not be tried: name a peer elsewhere in `speed_peer`."
        return [*findings, Finding("ports", "warning", text)]
    if not outside.reached:
        why = ", ".join(outside.troubles) or "nothing was tried"
        return [
            *findings,
            Finding("ports", "warning", f"{peer} could not say what it reaches of this host: {why}."),
        ]
    shut = ", ".join(str(port) for port, reached in outside.reached.items() if not reached)
    if shut:
        text = (
            f"{peer} cannot reach port {shut} at {outside.address}: open it in the firewall, and forward it in the "
            "router where there is one."
        )
        return [*findings, Finding("ports", "bad", text)]
    return [
        *findings,
        Finding(
            "ports", "ok", f"{peer} reaches {', '.join(map(str, outside.reached))} at {outside.address}."
        ),
    ]


def judge_network(outside: Outside | None, peer: str) -> Finding:
    """How fast this host is, as far as that could be measured."""
    if outside is None:
        return Finding(
            "network",
            "warning",
            "How fast it is could not be measured: name a peer elsewhere in `speed_peer`.",
        )
    if outside.down is None or outside.up is None:
        why = ", ".join(outside.troubles)
        return Finding("network", "warning", f"How fast it is could not be measured against {peer}: {why}.")
    return Finding(
        "network", "ok", f"{_mbits(outside.down)} down and {_mbits(outside.up)} up, against {peer}."
    )


def _mbits(bits: int) -> str:
    return f"{bits / 1e6:.0f} Mbit/s" if bits >= 10**7 else f"{bits / 1e6:.1f} Mbit/s"

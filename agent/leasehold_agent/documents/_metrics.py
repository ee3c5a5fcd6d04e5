"""What Prometheus reads: the host's cards, machines and leases, in its text format.

Names follow its conventions: base units, `_total` for what only grows. A lease is named by its number, a card by the
SHA-256 of its UUID, as everywhere: no address, no name of a program or a file, and nothing that a tenant chose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from leasehold.chain import format_lease
from leasehold_agent.host import CardReading, LeaseUsage
from leasehold_agent.reconciling import Host, UsageWatch

_MHZ = 1e6


def metrics(host: Host, usage: UsageWatch) -> bytes:
    """All of it, as it is now."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(host, usage))
    return generate_latest(registry)


class _Collector(Collector):
    def __init__(self, host: Host, usage: UsageWatch) -> None:
        self._host, self._usage = host, usage

    def describe(self) -> Iterator[Metric]:
        """Nothing is said before it is asked for."""
        yield from ()

    def collect(self) -> Iterator[Metric]:
        yield from _of_chain(self._host)
        yield from _of_cards(self._host)
        yield from _of_leases(self._usage)


def _of_chain(host: Host) -> Iterator[Metric]:
    chain = host.snapshot
    yield GaugeMetricFamily(
        "leasehold_chain_current", "Whether the chain answers and is followed.", int(chain.current)
    )
    yield GaugeMetricFamily("leasehold_chain_block", "The last block that was seen.", chain.block)
    cells = GaugeMetricFamily(
        "leasehold_machine_cells", "Eighths of GPUs or CPU units.", labels=("machine", "state")
    )
    for machine in chain.machines.values():
        cells.add_metric((str(machine.id), "all"), machine.gpus * 8)
        cells.add_metric((str(machine.id), "leased"), machine.leased.bit_count())
        cells.add_metric((str(machine.id), "withheld"), machine.withheld.bit_count())
    yield cells


def _of_cards(host: Host) -> Iterator[Metric]:
    facts = host.facts
    info = GaugeMetricFamily("leasehold_card_info", "A card that is here.", labels=("card", "model", "pci"))
    ill = GaugeMetricFamily("leasehold_card_ill", "1 while the card is ill.", labels=("card", "cause"))
    xids = CounterMetricFamily("leasehold_card_xids", "XIDs since the agent began.", labels=("card", "xid"))
    for card in facts.inventory.gpus:
        info.add_metric((card.uuid_hash, card.model, card.pci), 1)
    for name, ailment in facts.ill.items():
        ill.add_metric((name, ailment.cause), 1)
    for (name, number), times in facts.xids.items():
        xids.add_metric((name, str(number)), times)
    yield from (info, ill, xids)
    for name, text, value in _CARD:
        yield _family(name, text, "card", {card: value(said) for card, said in facts.readings.items()})


def _of_leases(usage: UsageWatch) -> Iterator[Metric]:
    for name, text, value in _LEASE:
        yield _family(
            name, text, "lease", {format_lease(lease): value(used) for lease, used in usage.leases.items()}
        )
    memory = GaugeMetricFamily(
        "leasehold_lease_card_memory_bytes", "A card's memory that a lease uses.", labels=("lease", "card")
    )
    for (lease, card), used in usage.card_memory.items():
        memory.add_metric((format_lease(lease), card), used)
    yield memory


def _family(name: str, text: str, label: str, values: dict[str, float | None]) -> Metric:
    kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
    family = kind(name.removesuffix("_total"), text, labels=(label,))
    for named, value in values.items():
        if value is not None:
            family.add_metric((named,), value)
    return family


def _part(percent: int | None) -> float | None:
    return None if percent is None else percent / 100


def _hertz(mhz: int | None) -> float | None:
    return None if mhz is None else mhz * _MHZ


_CARD: tuple[tuple[str, str, Callable[[CardReading], float | None]], ...] = (
    (
        "leasehold_card_busy_ratio",
        "Part of the time in which the card computed.",
        lambda card: _part(card.busy),
    ),
    ("leasehold_card_memory_used_bytes", "Memory of the card in use.", lambda card: card.memory_used),
    ("leasehold_card_memory_bytes", "Memory of the card.", lambda card: card.memory_bytes),
    ("leasehold_card_temperature_celsius", "How hot the card is.", lambda card: card.temperature),
    ("leasehold_card_power_watts", "What the card draws.", lambda card: card.power_watts),
    ("leasehold_card_clock_hertz", "The clock of its processors.", lambda card: _hertz(card.clock_mhz)),
    (
        "leasehold_card_memory_clock_hertz",
        "The clock of its memory.",
        lambda card: _hertz(card.memory_clock_mhz),
    ),
    (
        "leasehold_card_throttle_reasons",
        "Why its clocks are lower, as NVML's bits.",
        lambda card: card.throttle,
    ),
    (
        "leasehold_card_corrected_errors_total",
        "Memory errors that were corrected.",
        lambda card: card.corrected,
    ),
    (
        "leasehold_card_uncorrected_errors_total",
        "Memory errors that were not.",
        lambda card: card.uncorrected,
    ),
)
_LEASE: tuple[tuple[str, str, Callable[[LeaseUsage], float | None]], ...] = (
    ("leasehold_lease_cpu_seconds_total", "Time on the host's processors.", lambda lease: lease.cpu_seconds),
    ("leasehold_lease_memory_bytes", "Memory that counts against the limit.", lambda lease: lease.memory),
    ("leasehold_lease_processes", "Processes and threads.", lambda lease: lease.processes),
    ("leasehold_lease_disk_read_bytes_total", "Read from disks.", lambda lease: lease.read),
    ("leasehold_lease_disk_written_bytes_total", "Written to disks.", lambda lease: lease.written),
    ("leasehold_lease_network_received_bytes_total", "Received by the lease.", lambda lease: lease.received),
    ("leasehold_lease_network_sent_bytes_total", "Sent by the lease.", lambda lease: lease.sent),
)

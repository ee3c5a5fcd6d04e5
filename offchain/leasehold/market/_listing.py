"""A machine as a renter sees it: what the chain says, joined with what its documents say; and what can be searched."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from leasehold.chain import Machine, MachineStatus
from leasehold.market import _machine_facts as facts
from leasehold.market._errors import InvalidInput
from leasehold.market._money import Money
from leasehold.market._placing import free_cells, free_gpus
from leasehold.market._track import Track
from leasehold.market._units import to_tokens
from leasehold.market.query import Fact, FieldKind, Query, Schema, SearchField, parse

if TYPE_CHECKING:
    from leasehold.market._documents import Contact, Hardware, Measured


@dataclass(frozen=True)
class Listing:
    """One machine of the pool. A document that could not be fetched is `None`, and `missing` says why. track: what the
    chain remembers of it, where somebody asked.
    """

    machine: Machine
    money: Money
    hardware: Hardware | None = None
    contact: Contact | None = None
    missing: str | None = None
    track: Track | None = None

    @property
    def id(self) -> int:
        return self.machine.id

    @property
    def price(self) -> Decimal:
        """Whole tokens per GPU-hour."""
        return to_tokens(self.machine.terms.price, self.money.decimals)

    @property
    def sells_gpus(self) -> bool | None:
        """Whether it sells GPUs, or units of its CPU; `None` while the hardware document is missing."""
        return bool(self.hardware.gpus) if self.hardware else None

    @property
    def model(self) -> str | None:
        """What the machine's GPUs are, or its CPU where it sells that."""
        if self.hardware is None:
            return None
        return self.hardware.gpus[0].model if self.hardware.gpus else self.hardware.cpu.model

    @property
    def gpu_memory(self) -> int | None:
        """Bytes of each GPU: of the smallest, should they differ."""
        if self.hardware is None or not self.hardware.gpus:
            return None
        return min(gpu.memory_bytes for gpu in self.hardware.gpus)

    @property
    def card_class(self) -> str | None:
        """What the machine's GPUs are called by everybody, where they are of one class: see `card_class`."""
        return facts.class_of(self.hardware) if self.hardware else None

    @property
    def country(self) -> str | None:
        return self.contact.location.country if self.contact else None


def _gpu(listing: Listing) -> Fact:
    return listing.model if listing.sells_gpus else None


def _kind(listing: Listing) -> Fact:
    return {None: None, True: "gpu", False: "cpu"}[listing.sells_gpus]


def _hardware(fact: Callable[[Hardware], Fact]) -> Callable[[Listing], Fact]:
    return lambda listing: None if listing.hardware is None else fact(listing.hardware)


def _measured(fact: Callable[[Measured], Fact]) -> Callable[[Listing], Fact]:
    def of(listing: Listing) -> Fact:
        measured = listing.contact.measured if listing.contact else None
        return None if measured is None else fact(measured)

    return of


def _speed(way: Literal["down", "up"]) -> Callable[[Listing], Fact]:
    """Mbit a second that a lease may get: what the host measured, or what it gives one lease where that is less."""

    def of(listing: Listing) -> Fact:
        contact = listing.contact
        measured = getattr(contact.measured, way) if contact and contact.measured else None
        if measured is None:
            return None
        most = getattr(contact.egress, way) if contact and contact.egress else None
        return Decimal(measured if most is None else min(measured, most)) / 10**6

    return of


def _egress(listing: Listing) -> Fact:
    return listing.contact.egress.policy if listing.contact and listing.contact.egress else None


def _track(fact: Callable[[Track], Fact]) -> Callable[[Listing], Fact]:
    return lambda listing: None if listing.track is None else fact(listing.track)


def _images(listing: Listing) -> Fact:
    images = listing.contact.images if listing.contact else ()
    return frozenset(text for image in images for text in (image.id, image.name) if text)


def _state(listing: Listing) -> Fact:
    machine = listing.machine
    if machine.status is MachineStatus.RETIRED:
        return "retired"
    if not machine.open_for_leases:
        return "closed"
    return "free" if free_cells(machine) else "busy"


MACHINES: Schema[Listing] = Schema.of(
    (
        SearchField("id", FieldKind.NUMBER, lambda m: m.id, "the machine's number"),
        SearchField("gpu", FieldKind.TEXT, _gpu, "model of its GPUs"),
        SearchField(
            "class",
            FieldKind.TEXT,
            lambda m: m.card_class,
            "what its GPUs are called by rule, where they are all of one class: `h100-80g`",
        ),
        SearchField(
            "kind",
            FieldKind.TEXT,
            _kind,
            "`gpu`, or `cpu` for a host that sells units of its CPU",
            values=("gpu", "cpu"),
        ),
        SearchField(
            "gpus", FieldKind.NUMBER, lambda m: m.machine.gpus, "how many GPUs (or CPU units) it has"
        ),
        SearchField(
            "free",
            FieldKind.NUMBER,
            lambda m: free_gpus(m.machine.busy, m.machine.gpus),
            "how many are wholly free",
        ),
        SearchField(
            "cells", FieldKind.NUMBER, lambda m: free_cells(m.machine), "eighths of a GPU that can be rented"
        ),
        SearchField(
            "smallest",
            FieldKind.NUMBER,
            lambda m: m.machine.smallest_share,
            "least eighths of a GPU it leases",
        ),
        SearchField("mem", FieldKind.SIZE, lambda m: m.gpu_memory, "memory of each GPU; a bare number is GB"),
        SearchField("price", FieldKind.NUMBER, lambda m: m.price, "whole tokens per GPU-hour"),
        SearchField(
            "verified",
            FieldKind.FLAG,
            lambda m: m.machine.status is MachineStatus.VERIFIED,
            "whether a committee has measured it",
        ),
        SearchField(
            "state",
            FieldKind.TEXT,
            _state,
            "`free`, `busy`, `closed` (takes no lease) or `retired`",
            values=("free", "busy", "closed", "retired"),
        ),
        SearchField("min", FieldKind.DURATION, lambda m: m.machine.terms.min_duration, "shortest lease"),
        SearchField("max", FieldKind.DURATION, lambda m: m.machine.terms.max_duration, "longest lease"),
        SearchField(
            "trial",
            FieldKind.DURATION,
            lambda m: m.machine.terms.trial,
            "how long a started lease may be rejected",
        ),
        SearchField(
            "stake",
            FieldKind.NUMBER,
            lambda m: to_tokens(m.machine.stake, m.money.decimals),
            "its stake, whole tokens",
        ),
        SearchField("provider", FieldKind.TEXT, lambda m: m.machine.provider, "its provider's address"),
        SearchField(
            "isolation",
            FieldKind.SET,
            _hardware(facts.isolation_of),
            "what keeps shares of a GPU apart: `whole`, `mig`, `mps`, `time-slice`; with `mps`, `cooperative` where "
            "its limits bind only who keeps to them",
            values=("whole", "mig", "mps", "cooperative", "time-slice"),
        ),
        SearchField(
            "fault_domain",
            FieldKind.TEXT,
            _hardware(facts.fault_domain_of),
            "what a fault of one tenant's work ends: his own `share`, or all on the `card`",
            values=("share", "card"),
        ),
        SearchField(
            "nvlink",
            FieldKind.NUMBER,
            _hardware(facts.joined_of),
            "how many of its GPUs are joined by links of their own; 1 where none is",
        ),
        SearchField("pcie", FieldKind.NUMBER, _hardware(facts.pcie_of), "PCIe generation of its GPUs"),
        SearchField("lanes", FieldKind.NUMBER, _hardware(facts.lanes_of), "PCIe lanes of each GPU"),
        SearchField(
            "numa",
            FieldKind.NUMBER,
            _hardware(facts.numa_of),
            "nodes of the host that its GPUs are spread over",
        ),
        SearchField(
            "ecc", FieldKind.FLAG, _hardware(facts.ecc_of), "whether its GPUs correct errors of their memory"
        ),
        SearchField(
            "capability", FieldKind.VERSION, _hardware(facts.capability_of), "compute capability of its GPUs"
        ),
        SearchField("cuda", FieldKind.VERSION, _hardware(facts.cuda_of), "newest CUDA that its driver runs"),
        SearchField("driver", FieldKind.VERSION, _hardware(facts.driver_of), "version of the GPU driver"),
        SearchField("rdma", FieldKind.FLAG, _hardware(facts.rdma_of), "whether it has InfiniBand or RoCE"),
        SearchField(
            "down",
            FieldKind.NUMBER,
            _speed("down"),
            "what it fetched when it last measured, or the most that it lets to one lease, in Mbit a second",
        ),
        SearchField(
            "up",
            FieldKind.NUMBER,
            _speed("up"),
            "what it sent when it last measured, or the most that it lets out of one lease, in Mbit a second",
        ),
        SearchField(
            "egress",
            FieldKind.TEXT,
            _egress,
            "what any lease may reach: `internet`, `residential` (no mail, few new addresses), `none`",
        ),
        SearchField(
            "disk_speed",
            FieldKind.SIZE,
            _measured(lambda measured: measured.disk.slower if measured.disk else None),
            "the slower of reading and writing one file, a second; a bare number is MB",
            unit="mb",
        ),
        SearchField(
            "disk_kind",
            FieldKind.SET,
            _hardware(facts.disk_kinds_of),
            "what leases' files lie on: `nvme`, `ssd`, `hdd`, `virtual`",
        ),
        SearchField(
            "cpu",
            FieldKind.NUMBER,
            lambda m: m.hardware.cpu.cores if m.hardware else None,
            "CPU cores of the host",
        ),
        SearchField(
            "arch",
            FieldKind.TEXT,
            _hardware(lambda hardware: hardware.architecture or None),
            "its processors, as images name them: `amd64`, `arm64`",
        ),
        SearchField(
            "ram",
            FieldKind.SIZE,
            lambda m: m.hardware.memory_bytes if m.hardware else None,
            "the host's memory, in GB",
        ),
        SearchField(
            "disk",
            FieldKind.SIZE,
            lambda m: m.hardware.disk.bytes if m.hardware else None,
            "space for leases, in GB",
        ),
        SearchField(
            "quota",
            FieldKind.FLAG,
            lambda m: m.hardware.disk.quota if m.hardware else None,
            "whether the host can enforce a lease's share of the disk",
        ),
        SearchField(
            "runtime",
            FieldKind.SET,
            lambda m: frozenset(m.hardware.runtimes) if m.hardware else None,
            "container runtimes: `runc`, `runsc` (gVisor)",
        ),
        SearchField("country", FieldKind.TEXT, lambda m: m.country, "where the provider says it stands"),
        SearchField("image", FieldKind.SET, _images, "images that the host has at hand"),
        SearchField(
            "dataset",
            FieldKind.SET,
            lambda m: frozenset(m.contact.datasets) if m.contact else None,
            "datasets that the host has at hand, by CID",
        ),
        SearchField(
            "maintenance",
            FieldKind.FLAG,
            lambda m: bool(m.contact.maintenance) if m.contact else None,
            "whether its owner has announced to work on it",
        ),
        SearchField(
            "score", FieldKind.NUMBER, _track(lambda track: track.score), "its provider's score, 0 to 1000"
        ),
        SearchField(
            "stars",
            FieldKind.NUMBER,
            _track(lambda track: track.stars),
            "mean of its tenants' ratings, 1 to 5, by the fees that they paid",
        ),
        SearchField(
            "ratings", FieldKind.NUMBER, _track(lambda track: track.ratings), "how many tenants have rated it"
        ),
        SearchField(
            "started",
            FieldKind.NUMBER,
            _track(lambda track: track.start_rate),
            "how many of 100 leases were started, not declined nor left",
        ),
        SearchField(
            "uptime",
            FieldKind.NUMBER,
            _track(lambda track: track.uptime),
            "of 100 parts of the last 30 days, those in which it was not down",
        ),
    ),
    text=("gpu", "class", "country", "image"),
)


TRACKED = ("score", "stars", "ratings", "started", "uptime")
"""What the chain remembers, and is worked out only when somebody searches or sorts by it."""

AT_HAND = ("image", "dataset", "maintenance", "egress")
"""What changes daily, and is asked of the agents themselves when somebody searches by it."""


def parse_search(text: str) -> Query[Listing]:
    """A search over machines, such as ``gpu:H100 mem>=80 price<2.5``.

    Raises:
        QueryError: with the column that is wrong.
    """
    return parse(text, MACHINES)


def sort(listings: Iterable[Listing], by: str = "price") -> list[Listing]:
    """The listings ordered by a field of the search, ``-`` before it for the largest first; ties by id.

    What lacks the field comes last either way.

    Raises:
        InvalidInput: no such field, or one that has no order.
    """
    name = by.removeprefix("-")
    field = MACHINES.fields.get(name)
    if field is None or field.kind is FieldKind.SET:
        known = ", ".join(
            sorted(field.name for field in MACHINES.fields.values() if field.kind is not FieldKind.SET)
        )
        raise InvalidInput(f"Machines cannot be sorted by '{name}'", f"use one of {known}.")
    have: list[tuple[str | Decimal | tuple[int, ...], Listing]] = []
    lack: list[Listing] = []
    for listing in sorted(listings, key=lambda listing: listing.id):
        fact = field.get(listing)
        if isinstance(fact, str):
            have.append((fact.casefold(), listing))
        elif isinstance(fact, tuple):
            have.append((fact, listing))
        elif isinstance(fact, int | Decimal):
            have.append((Decimal(fact), listing))
        else:
            lack.append(listing)
    have.sort(key=_fact, reverse=by.startswith("-"))
    return [listing for _, listing in have] + lack


def _fact(pair: tuple[str | Decimal | tuple[int, ...], Listing]) -> str | Decimal | tuple[int, ...]:
    return pair[0]

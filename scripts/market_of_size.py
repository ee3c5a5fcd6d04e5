"""A market of any size, told event by event: for benchmarks and tests of what must hold with many machines and leases.

    documents = await fill(index, machines=10_000, leases=100_000)

The events are such as a pool emits, in an order in which it could, and become rows as a chain's do. What the machines'
digests stand for, their hardware and contact documents, is given back by digest: no IPFS node has them.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from eth_utils.address import to_checksum_address

from leasehold.chain import (
    Applied,
    Block,
    ContactSet,
    Deployment,
    Deposited,
    Event,
    HardwareSet,
    Indexer,
    LeaseClosed,
    LeaseOpened,
    LeaseStarted,
    LogMeta,
    MachineRegistered,
    MachineStatus,
    MachineStatusSet,
    OwnershipTransferred,
    Params,
    ParamsProposed,
    Rated,
    Terms,
    TermsSet,
    TreasurySet,
)
from leasehold.market import canonical

CARDS = (
    ("NVIDIA H100 80GB HBM3", 80, 2.40),
    ("NVIDIA H200", 141, 3.10),
    ("NVIDIA A100-SXM4-80GB", 80, 1.30),
    ("NVIDIA L40S", 48, 0.90),
    ("NVIDIA RTX A6000", 48, 0.60),
    ("NVIDIA GeForce RTX 4090", 24, 0.40),
    ("NVIDIA GeForce RTX 3090", 24, 0.20),
)
"""Model, GiB, and about what it costs an hour."""

COUNTRIES = ("DE", "FR", "NL", "PL", "SE", "US", "CA", "JP", "SG", "KR")
IMAGES = ("pytorch/pytorch", "vllm/vllm-openai", "ubuntu", "jupyter/scipy-notebook")
HOUR = 3_600
BEGIN = 1_750_000_000  # unix seconds of its first block
SECONDS_A_BLOCK = 12
_EVENTS_A_BLOCK = 20
_EVENTS_A_COMMIT = 5_000


async def fill(
    index: Indexer, deployment: Deployment, *, machines: int = 10_000, leases: int = 100_000, seed: int = 1
) -> dict[bytes, bytes]:
    """Tells an empty index a market; returns the documents by their digests."""
    market = MarketOfSize(deployment, machines, leases, seed)
    batch: list[Applied] = []
    events = 0
    for block in market.blocks():
        batch.append(block)
        events += len(block.events)
        if events >= _EVENTS_A_COMMIT:
            await index.apply(batch)
            batch, events = [], 0
    await index.apply(batch)
    return market.documents


@dataclass
class _Machine:
    id: int
    provider: str
    gpus: int
    price: int
    running: list[tuple[int, int, str, int]] = field(default_factory=list)
    """Lease, card, tenant, escrow."""


class MarketOfSize:
    """The same for the same arguments. documents: filled while `blocks` is read."""

    def __init__(self, deployment: Deployment, machines: int, leases: int, seed: int = 1) -> None:
        self._deployment = deployment
        self._unit = 10**deployment.token_decimals
        self._random = random.Random(seed)
        self._leases = leases
        self._number, self._time = deployment.block, BEGIN
        self._machines = [self._machine(number) for number in range(1, machines + 1)]
        self._tenants = [_account(2, number) for number in range(1, max(2, leases // 50))]
        self.documents: dict[bytes, bytes] = {}

    def blocks(self) -> Iterator[Applied]:
        """A block for every so many events."""
        some: list[tuple[type[Event], dict[str, Any]]] = []
        for told in self._events():
            some.append(told)
            if len(some) == _EVENTS_A_BLOCK:
                yield self._block(some)
                some.clear()
        yield self._block(some)

    def _block(self, told: list[tuple[type[Event], dict[str, Any]]]) -> Applied:
        block = Block(self._number, f"0x{self._number:064x}", self._time)
        controller = self._deployment.controller
        events = tuple(
            kind(
                LogMeta(
                    block.number,
                    block.hash,
                    f"0x{block.number:062x}{place:02x}",
                    place,
                    controller,
                    self._time,
                ),
                **values,
            )
            for place, (kind, values) in enumerate(told)
        )
        self._number += 1
        self._time += SECONDS_A_BLOCK
        return Applied(block, events)

    # ------------------------------------------------------------------------------------------------- what happens

    def _events(self) -> Iterator[tuple[type[Event], dict[str, Any]]]:
        owner = _account(9, 1)
        yield OwnershipTransferred, {"owner": owner}
        yield TreasurySet, {"treasury": owner}
        yield ParamsProposed, {"version": 1, "in_force_at": BEGIN, "params": self._params()}
        for machine in self._machines:
            yield from self._registered(machine)
        for tenant in self._tenants:
            amount = 1_000_000 * self._unit
            yield Deposited, {"account": tenant, "from_": tenant, "amount": amount, "balance": amount}
        for number in range(1, self._leases + 1):
            machine = self._random.choice(self._machines)
            if len(machine.running) == machine.gpus:
                yield from self._closed(machine)
            yield from self._opened(machine, number << 16)

    def _registered(self, machine: _Machine) -> Iterator[tuple[type[Event], dict[str, Any]]]:
        stake, subject = 200 * self._unit * machine.gpus, {"machine": machine.id}
        sizes = {"gpus": machine.gpus, "smallest_share": 8, "stake": stake, "pulled": stake}
        yield (
            MachineRegistered,
            {**subject, "provider": machine.provider, "operator": _account(3, machine.id), **sizes},
        )
        terms = Terms(machine.price, machine.price // 2, 60, 30 * 24 * HOUR, 300, 60_000)
        yield TermsSet, {**subject, "revision": 1, "params": 1, "terms": terms}
        yield HardwareSet, {**subject, "revision": 2, "digest": self._document(self._hardware(machine))}
        yield ContactSet, {**subject, "digest": self._document(self._contact(machine))}
        if self._random.random() < 0.8:
            flags = {"delisted": False, "under_staked": False, "stalled": False}
            yield MachineStatusSet, {**subject, "status": MachineStatus.VERIFIED, **flags}

    def _opened(self, machine: _Machine, lease: int) -> Iterator[tuple[type[Event], dict[str, Any]]]:
        taken = {card for _, card, _, _ in machine.running}
        card = next(number for number in range(machine.gpus) if number not in taken)
        tenant, hours = self._random.choice(self._tenants), self._random.randint(1, 48)
        deposit = hours * machine.price
        machine.running.append((lease, card, tenant, deposit))
        subject = {"lease": lease, "machine": machine.id}
        rest = {"pulled": 0, "workload": _digest(b"workload", lease), "flags": 0, "backup": bytes(32)}
        yield (
            LeaseOpened,
            {
                **subject,
                "tenant": tenant,
                "placement": 1 << card << 8 | 0xFF,
                "revision": 2,
                "params": 1,
                "price": machine.price,
                "duration": hours * HOUR,
                "deposit": deposit,
                **rest,
            },
        )
        span = {"start": self._time, "end": self._time + hours * HOUR}
        yield LeaseStarted, {**subject, **span, "endpoint": _digest(b"endpoint", lease)}

    def _closed(self, machine: _Machine) -> Iterator[tuple[type[Event], dict[str, Any]]]:
        lease, _, tenant, deposit = machine.running.pop(self._random.randrange(len(machine.running)))
        used = self._random.randint(1, deposit)
        fee = used // 50
        money = {"paid": used - fee, "fee": fee, "refunded": deposit - used}
        yield LeaseClosed, {"lease": lease, "machine": machine.id, "end": self._time, **money}
        if self._random.random() < 0.2:
            stars = self._random.choice((5, 5, 5, 4, 3, 1))
            rating = {"stars": stars, "comment": bytes(32), "fee": 0}
            yield Rated, {"provider": machine.provider, "lease": lease, "tenant": tenant, **rating}

    # ------------------------------------------------------------------------------------------------- what there is

    def _machine(self, number: int) -> _Machine:
        gpus = self._random.choice((1, 1, 2, 4, 8))
        _, _, hourly = self._card(number)
        price = int(hourly * self._random.uniform(0.8, 1.4) * self._unit)
        return _Machine(number, _account(1, 1 + number // 10), gpus, price)

    def _card(self, number: int) -> tuple[str, int, float]:
        return CARDS[number * 7_919 % len(CARDS)]

    def _document(self, document: dict[str, Any]) -> bytes:
        raw = canonical(document)
        digest = hashlib.sha256(raw).digest()
        self.documents[digest] = raw
        return digest

    def _hardware(self, machine: _Machine) -> dict[str, Any]:
        model, gibibytes, _ = self._card(machine.id)
        card = {"model": model, "memory_bytes": gibibytes << 30}
        return {
            "version": 1,
            "gpus": [
                {**card, "uuid_hash": _digest(b"card", machine.id << 3 | n).hex()}
                for n in range(machine.gpus)
            ],
            "cpu": {"model": "AMD EPYC 9354", "cores": 8 * machine.gpus},
            "memory_bytes": machine.gpus * (64 << 30),
            "disk": {"bytes": machine.gpus * (500 << 30), "quota": True},
            "runtimes": ["runc"],
            "driver": "570.86.15",
            "cuda": "12.8",
            "architecture": "amd64",
        }

    def _contact(self, machine: _Machine) -> dict[str, Any]:
        names = self._random.sample(IMAGES, self._random.randint(0, len(IMAGES)))
        images = [
            {"id": f"sha256:{hashlib.sha256(name.encode()).hexdigest()}", "name": name} for name in names
        ]
        return {
            "version": 1,
            "endpoints": [f"https://m{machine.id}.example:8443"],
            "certificate": "",
            "age_recipient": "age1" + hashlib.sha256(str(machine.id).encode()).hexdigest()[:58],
            "images": images,
            "location": {"country": self._random.choice(COUNTRIES)},
            "operator": f"host {machine.id}",
            "issued_at": BEGIN,
        }

    def _params(self) -> Params:
        return Params(
            min_stake_per_gpu=100 * self._unit,
            fee_bps=200,
            hold_fee_bps=100,
            max_slash_bps=5_000,
            start_window=900,
            notice_seconds=HOUR,
            penalty_seconds=HOUR,
            claim_lag=HOUR,
            challenge_window=300,
            filing_window=24 * HOUR,
            appeal_window=24 * HOUR,
            ruling_window=72 * HOUR,
            unstake_delay=30 * 24 * HOUR,
            bond=self._unit,
            reverify_interval=30 * 24 * HOUR,
            seat_stake=100 * self._unit,
            verification_fee=self._unit,
            committee_size=5,
        )


def _account(kind: int, number: int) -> str:
    return to_checksum_address(f"0x{kind:02x}{number:038x}")


def _digest(what: bytes, number: int) -> bytes:
    return hashlib.sha256(what + number.to_bytes(16, "big")).digest()

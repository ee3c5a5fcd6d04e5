"""Machines with their stake, and leases with their bills: of `Controller` what an outage meets."""

from __future__ import annotations

from dataclasses import dataclass

from . import arithmetic
from .book import Book, Refused
from .rules import Rules


@dataclass
class Machine:
    provider: str
    gpus: int
    stake: int
    version: int  # of the rules that its provider has accepted
    registered_at: int
    retired_at: int = 0
    down_since: int = 0
    unsettled: int = 0
    leased: int = 0

    @property
    def cells(self) -> int:
        return 8 * self.gpus


@dataclass
class Lease:
    tenant: str
    machine: int
    cells: int
    price: int
    start: int
    end: int
    deposit: int
    fee_bps: int
    paused: int = 0
    closed: bool = False

    def owed(self, until: int) -> int:
        seconds = max(0, min(until, self.end) - self.start - self.paused)
        return arithmetic.accrued(self.price, self.cells, seconds)


class Leasing:
    """The pool's machines and leases. A lease starts when it opens."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self.machines: dict[int, Machine] = {}
        self.leases: dict[int, Lease] = {}

    def register(self, who: str, gpus: int, version: int, rules: Rules) -> int:
        number, stake = len(self.machines) + 1, rules.min_stake_per_gpu * gpus
        self._book.owners[f"stake {number}"] = who
        self._book.move(who, f"stake {number}", stake, "stake", number)
        self.machines[number] = Machine(who, gpus, stake, version, self._book.now)
        return number

    def retire(self, number: int) -> None:
        machine = self.machines[number]
        if machine.retired_at or machine.leased:
            raise Refused("it has retired, or is leased")
        machine.retired_at = self._book.now

    def unstake(self, number: int, rules: Rules) -> None:
        machine = self.machines[number]
        waits = machine.unsettled or self._book.now < machine.retired_at + rules.unstake_delay
        if not machine.retired_at or waits:
            raise Refused("its stake is locked")
        self._book.move(f"stake {number}", machine.provider, machine.stake, "stake", number)
        machine.stake = 0

    def open(self, who: str, number: int, cells: int, seconds: int, price: int, rules: Rules) -> int:
        machine = self.machines[number]
        if machine.retired_at or machine.down_since or machine.leased + cells > machine.cells:
            raise Refused("it cannot be rented")
        if machine.stake < rules.min_stake_per_gpu * machine.gpus:
            raise Refused("it has less than its stake")
        lease, deposit = len(self.leases) + 1, arithmetic.escrow(price, cells, seconds)
        self._book.owners[f"lease {lease}"] = who
        self._book.move(who, f"lease {lease}", deposit, "deposit", lease)
        machine.leased += cells
        now = self._book.now
        self.leases[lease] = Lease(who, number, cells, price, now, now + seconds, deposit, rules.fee_bps)
        return lease

    def close(self, number: int) -> None:
        """Bills what ran, up to an outage that runs, and gives the rest back."""
        lease = self.leases[number]
        if lease.closed:
            raise Refused("it has ended")
        machine = self.machines[lease.machine]
        lease.end = min(lease.end, self._book.now)
        if machine.down_since:
            lease.paused += arithmetic.overlap(lease.start, lease.end, machine.down_since, lease.end)
        total = lease.owed(lease.end)
        fee = arithmetic.portion(total, lease.fee_bps)
        account = f"lease {number}"
        self._book.move(account, machine.provider, total - fee, "rent", number)
        self._book.move(account, "treasury", fee, "pool's fee", number)
        self._book.move(account, lease.tenant, lease.deposit - total, "refund", number)
        lease.closed = True
        machine.leased -= lease.cells

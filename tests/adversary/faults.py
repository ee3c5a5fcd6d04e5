"""Outages and what they cost: `Faults` over again."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from . import arithmetic
from .arithmetic import LONG, SHORT, Window
from .book import BURNT, Book, Refused
from .leasing import Leasing, Machine
from .rules import DAY, FALSE_TIME, Mends, Rules


class Kind(Enum):
    REPORTED = auto()
    CHALLENGED = auto()
    ATTESTED = auto()
    FALSE_HARDWARE = auto()


class State(Enum):
    RUNNING = auto()
    FILED = auto()
    APPEALED = auto()
    UPHELD = auto()
    EXECUTED = auto()
    DROPPED = auto()


@dataclass(frozen=True)
class Reporter:
    """Who shares a tenth, by the level of the seat that signed."""

    name: str
    level: int = 1


@dataclass
class Fault:
    machine: int
    kind: Kind
    begin: int
    reporters: list[Reporter]
    rules: Rules  # by which it is judged: those that its provider had accepted when it began
    to: int = 0
    filed_at: int = 0
    deadline: int = 0
    bps: int = 0
    amount: int = 0
    bond: int = 0
    round: int = 0
    state: State = State.RUNNING
    losses: dict[int, int] = field(default_factory=dict)  # by lease: its part, or cell-seconds


class Faults:
    """What a pool knows of its machines' outages."""

    def __init__(self, book: Book, leasing: Leasing, mends: Mends) -> None:
        self._book, self._leasing, self._mends = book, leasing, mends
        self.faults: dict[int, Fault] = {}
        self._windows: dict[int, Window] = {}
        self.reserved: dict[int, int] = {}

    # ------------------------------------------------------------------------------------------- begin and end

    def running(self, machine: int) -> int | None:
        found = [n for n, f in self.faults.items() if f.machine == machine and f.state is State.RUNNING]
        return found[0] if found else None

    def begin(self, machine: int, kind: Kind, since: int, reporters: list[Reporter], rules: Rules) -> int:
        """An outage that runs."""
        if self._leasing.machines[machine].retired_at or self.running(machine) is not None:
            raise Refused("it has retired, or is down")
        number = self._create(machine, kind, max(since, self._last_end(machine)), reporters, rules)
        self._leasing.machines[machine].down_since = self.faults[number].begin
        return number

    def end(self, number: int) -> None:
        self._leasing.machines[self.faults[number].machine].down_since = 0
        self._file(number, self._book.now)

    def attest(self, machine: int, begin: int, to: int, reporters: list[Reporter], rules: Rules) -> int:
        """An outage that is over, after all that are known, and as long as the scale has steps."""
        begin = max(begin, self._last_end(machine), to - LONG - 1)
        if begin >= to or to > self._book.now or to + rules.filing_window < self._book.now:
            raise Refused("out of range")
        if self.running(machine) is not None:
            raise Refused("it is down")
        number = self._create(machine, Kind.ATTESTED, begin, reporters, rules)
        self._file(number, to)
        return number

    def false_hardware(self, machine: int, requested_at: int, round_: int, rules: Rules) -> int:
        """Of the week before anybody asked."""
        number = self._create(machine, Kind.FALSE_HARDWARE, requested_at - FALSE_TIME, [], rules)
        self.faults[number].round = round_
        self._file(number, requested_at)
        return number

    def _last_end(self, machine: int) -> int:
        outages = (
            f for f in self.faults.values() if f.machine == machine and f.kind is not Kind.FALSE_HARDWARE
        )
        return max((f.to for f in outages), default=0)

    def _create(self, machine: int, kind: Kind, begin: int, reporters: list[Reporter], rules: Rules) -> int:
        number = len(self.faults) + 1
        self.faults[number] = Fault(machine, kind, begin, reporters, rules)
        self._leasing.machines[machine].unsettled += 1
        return number

    # --------------------------------------------------------------------------------------------------- price

    def _file(self, number: int, to: int) -> None:
        fault = self.faults[number]
        rules = fault.rules
        machine = self._leasing.machines[fault.machine]
        fault.to, fault.filed_at = to, self._book.now
        fault.deadline = self._book.now + rules.appeal_window
        fault.bps, charged = self._price(fault, machine, rules)
        reserved = self.reserved.get(fault.machine, 0)
        fault.amount = arithmetic.amount(machine.stake - reserved, fault.bps, charged)
        self.reserved[fault.machine] = reserved + fault.amount
        judged = fault.kind in (Kind.ATTESTED, Kind.FALSE_HARDWARE)
        fault.state = State.FILED if fault.amount or judged else State.EXECUTED
        machine.unsettled -= fault.state is State.EXECUTED

    def window(self, number: int) -> Window:
        machine = self._leasing.machines[number]
        today = (machine.retired_at or self._book.now) // DAY
        window = self._windows.setdefault(number, Window(today))
        window.advance(today)
        return window

    def _price(self, fault: Fault, machine: Machine, rules: Rules) -> tuple[int, int]:
        window = self.window(fault.machine)
        full = arithmetic.BPS
        if fault.kind is not Kind.FALSE_HARDWARE:
            begin, to = self._counted(fault)
            window.add_downtime(begin, to)
            downtime = max(sum(window.downtime), to - begin)
            least = 0 if fault.kind is Kind.CHALLENGED else downtime
            full = arithmetic.tier(fault.kind is not Kind.REPORTED, least)
        charged = sum(window.charged)
        bps = arithmetic.due(full, charged, rules.max_slash_bps)
        window.charge(bps)
        return bps, charged

    def _counted(self, fault: Fault) -> tuple[int, int]:
        to = min(fault.to, fault.begin + SHORT) if fault.kind is Kind.CHALLENGED else fault.to
        return fault.begin, to

    # ------------------------------------------------------------------------------------------------- appeals

    def appeal(self, number: int) -> None:
        fault = self.faults[number]
        rules = fault.rules
        if fault.state is not State.FILED or self._book.now > fault.deadline:
            raise Refused("too late")
        provider = self._leasing.machines[fault.machine].provider
        self._book.owners[f"bond {number}"] = provider
        self._book.move(provider, f"bond {number}", rules.bond, "bond", number)
        fault.bond, fault.state = rules.bond, State.APPEALED
        fault.deadline = self._book.now + rules.ruling_window

    def rule(self, number: int, stands: bool) -> None:
        fault = self.faults[number]
        if fault.state is not State.APPEALED or self._book.now > fault.deadline:
            raise Refused("nothing to rule on")
        machine, bond, fault.bond = self._leasing.machines[fault.machine], fault.bond, 0
        if stands:
            fault.state, fault.deadline = State.UPHELD, fault.filed_at + fault.rules.appeal_window
            self._book.move(f"bond {number}", BURNT, bond, "bond", number)
            return
        fault.state = State.DROPPED
        window = self.window(fault.machine)
        if fault.kind is not Kind.FALSE_HARDWARE:
            window.take_downtime(*self._counted(fault))
        window.uncharge(min(fault.filed_at // DAY, window.day), fault.bps)
        self.reserved[fault.machine] -= fault.amount
        machine.unsettled -= 1
        self._book.move(f"bond {number}", machine.provider, bond, "bond", number)

    # ------------------------------------------------------------------------------------------- who gets what

    def apply(self, number: int, leases: list[int]) -> None:
        """Registers what tenants lost, and takes the outage off what they have not paid yet."""
        fault = self.faults[number]
        for n in leases:
            lease = self._leasing.leases[n]
            time = arithmetic.overlap(fault.begin, fault.to, lease.start, min(lease.end, self._book.now))
            if lease.machine != fault.machine or n in fault.losses or not time:
                continue
            fault.losses[n] = self._part(fault, lease.cells, time)
            if not lease.closed and fault.kind is not Kind.FALSE_HARDWARE:
                lease.paused += time

    def execute(self, number: int) -> None:
        """Takes the slash out of the stake: tenants' part, reporters' tenth, and the rest for nobody."""
        fault = self.faults[number]
        if fault.state in (State.RUNNING, State.EXECUTED, State.DROPPED) or self._book.now <= fault.deadline:
            raise Refused("not yet")
        machine, account = self._leasing.machines[fault.machine], f"stake {fault.machine}"
        fault.state = State.EXECUTED
        self.reserved[fault.machine] -= fault.amount
        machine.stake -= fault.amount
        machine.unsettled -= 1
        left = fault.amount
        for lease, part in self._parts(fault).items():
            self._book.move(account, self._leasing.leases[lease].tenant, part, "compensation", number)
            left -= part
        levels = sum(reporter.level for reporter in fault.reporters)
        for reporter in fault.reporters:
            reward = fault.amount // 10 * reporter.level // levels if levels else 0
            self._book.move(account, reporter.name, reward, "report", number)
            left -= reward
        self._book.move(account, BURNT, left, "slash", number)
        self._book.move(f"bond {number}", machine.provider, fault.bond, "bond", number)
        fault.bond = 0

    def _part(self, fault: Fault, cells: int, time: int) -> int:
        """What a tenant has coming; without the mend what he lost, to be weighed against the others' later."""
        if not self._mends.part_by_cells:
            return cells * time
        half = fault.amount // 2
        whole = self._leasing.machines[fault.machine].cells * (fault.to - fault.begin)
        return min(half * (cells * time) // whole, half - sum(fault.losses.values()))

    def _parts(self, fault: Fault) -> dict[int, int]:
        if self._mends.part_by_cells:
            return fault.losses
        pot, lost, parts = fault.amount // 2, sum(fault.losses.values()), {}
        for lease, weight in fault.losses.items():
            parts[lease] = part = pot * weight // lost
            pot, lost = pot - part, lost - weight
        return parts

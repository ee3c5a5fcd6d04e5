"""A pool: whose rules judge what, and every call that the contracts offer to the people of a world."""

from __future__ import annotations

from .book import BURNT, Book, Refused
from .faults import Faults, Kind, Reporter
from .leasing import Leasing
from .rules import TIMELOCK, Mends, Rules
from .seats import Seats


class Pool:
    """One pool, with the versions of its rules. Amounts in token units, times in seconds."""

    def __init__(self, rules: Rules, mends: Mends, now: int) -> None:
        self.mends = mends
        self.book = Book()
        self.book.now = now
        self.versions = [(now, rules)]
        self.seats = Seats(self.book, mends)
        self.leasing = Leasing(self.book)
        self.faults = Faults(self.book, self.leasing, mends)

    @property
    def in_force(self) -> int:
        return max(n for n, (since, _) in enumerate(self.versions) if since <= self.book.now)

    def rules(self, version: int) -> Rules:
        return self.versions[version][1]

    def accepted(self, machine: int) -> Rules:
        """The rules that a machine's provider has accepted. They judge it, its stake and its seats."""
        return self.rules(self.leasing.machines[machine].version)

    # --------------------------------------------------------------------------------------------- owner, provider

    def propose(self, rules: Rules) -> None:
        if self.versions[-1][0] > self.book.now:
            raise Refused("one waits")
        self.versions.append((self.book.now + TIMELOCK, rules))

    def register(self, who: str, gpus: int) -> int:
        return self.leasing.register(who, gpus, self.in_force, self.rules(self.in_force))

    def accept(self, machine: int) -> None:
        self.leasing.machines[machine].version = self.in_force

    def retire(self, machine: int) -> None:
        self.leasing.retire(machine)

    def unstake(self, machine: int) -> None:
        self.leasing.unstake(machine, self.accepted(machine))

    # ------------------------------------------------------------------------------------------------------ tenant

    def open(self, who: str, machine: int, cells: int, seconds: int, price: int) -> int:
        """Only at rules that the provider has accepted and that are in force."""
        if self.leasing.machines[machine].version != self.in_force:
            raise Refused("its provider has not accepted the rules in force")
        return self.leasing.open(who, machine, cells, seconds, price, self.accepted(machine))

    def answer(self, challenger: str, machine: int, bond: int) -> None:
        """A challenge that is answered costs its author the bond: a tenth is the provider's, the rest nobody's."""
        provider = self.leasing.machines[machine].provider
        self.book.move(challenger, provider, bond // 10, "answer", machine)
        self.book.move(challenger, BURNT, bond - bond // 10, "challenge", machine)

    # -------------------------------------------------------------------------------------------------- validators

    def request(self, who: str, machine: int) -> int:
        accepted = self.accepted(machine)
        by_accepted = self.mends.committee_by_accepted_rules
        judging = accepted if by_accepted else self.rules(self.in_force)
        provider = self.leasing.machines[machine].provider
        return self.seats.request(who, machine, provider, judging, accepted)

    def attest(self, machine: int, begin: int, to: int, numbers: list[int]) -> int:
        """Files an outage that these seats attest."""
        accepted = self.accepted(machine)
        if not self.seats.is_quorum(numbers, accepted):
            raise Refused("no quorum")
        signing = (self.seats.seats[n] for n in sorted(numbers))
        reporters = [Reporter(seat.validator, seat.level) for seat in signing]
        return self.faults.attest(machine, begin, to, reporters, accepted)

    def join(self, who: str, version: int) -> int:
        """At the price of any version that is or was in force, numbered from 1."""
        return self.seats.join(who, version, self.rules(version - 1))

    # ------------------------------------------------------------------------------------------------------ faults

    def down(self, machine: int, kind: Kind, since: int, reporters: list[Reporter]) -> int:
        return self.faults.begin(machine, kind, since, reporters, self.accepted(machine))

    def up(self, machine: int) -> int | None:
        """Ends the outage that runs, if one does."""
        running = self.faults.running(machine)
        if running is not None:
            self.faults.end(running)
        return running

"""The contracts' arithmetic, in their own units and roundings: `Slashing` and `Billing` over again."""

from __future__ import annotations

from .rules import DAY, HOUR, MINUTE

BPS = 10_000
CELL_SECONDS_PER_GPU_HOUR = 28_800
LANES = 8
SHORT, MEDIUM, LONG = 7 * MINUTE, 48 * HOUR, 120 * HOUR


def accrued(price: int, cells: int, seconds: int) -> int:
    """What a lease owes for so many seconds."""
    return price * cells * seconds // CELL_SECONDS_PER_GPU_HOUR


def escrow(price: int, cells: int, seconds: int) -> int:
    """What it must hold for them."""
    return -(-price * cells * seconds // CELL_SECONDS_PER_GPU_HOUR)


def portion(amount: int, bps: int) -> int:
    return amount * bps // BPS


def overlap(begin: int, end: int, other_begin: int, other_end: int) -> int:
    return max(0, min(end, other_end) - max(begin, other_begin))


def tier(proven: bool, downtime: int) -> int:
    """Basis points of the stake that an outage costs before anything is taken off."""
    if downtime <= SHORT:
        return 400 if proven else 200
    if downtime <= MEDIUM:
        return 800 if proven else 400
    if downtime <= LONG:
        return 6000 if proven else 3000
    return BPS if proven else 5000


def due(full: int, charged: int, most: int) -> int:
    """What is left to charge of `full`."""
    return max(0, min(full, most) - charged)


def amount(left: int, bps: int, charged: int) -> int:
    """`bps` of the stake as it was before the week's first charge."""
    return left * bps // (BPS - charged) if bps else 0


class Window:
    """Downtime and charges of a machine's last eight days, today's first."""

    def __init__(self, day: int) -> None:
        self.day = day
        self.downtime = [0] * LANES
        self.charged = [0] * LANES

    def advance(self, today: int) -> None:
        """Forgets what is older than seven whole days."""
        for _ in range(min(today - self.day, LANES)):
            self.downtime = [0, *self.downtime[:-1]]
            self.charged = [0, *self.charged[:-1]]
        self.day = today

    def add_downtime(self, begin: int, end: int) -> None:
        for lane in range(LANES):
            self.downtime[lane] += min(self._on(lane, begin, end), max(0, DAY - self.downtime[lane]))

    def take_downtime(self, begin: int, end: int) -> None:
        for lane in range(LANES):
            self.downtime[lane] -= min(self._on(lane, begin, end), self.downtime[lane])

    def charge(self, bps: int) -> None:
        self.charged[0] += bps

    def uncharge(self, day: int, bps: int) -> None:
        if (ago := self.day - day) < LANES:
            self.charged[ago] -= bps

    def _on(self, lane: int, begin: int, end: int) -> int:
        day = self.day - lane
        return overlap(begin, end, day * DAY, (day + 1) * DAY)

"""Which cells of a machine are out of sale, and why: each reason has its own, and the chain is told of them together.

The contract keeps one word of withheld cells, which whoever sends it replaces. Reasons come and go apart: hours in
which the owner uses his card, a card that is ill, a pause. So that none takes back what another said, each is kept here
by itself, in a file for each machine, and what is sent is their union. Whoever has a reason calls `Withholdings.put`;
the agent's loop, or a command beside it, sends (`send_withheld`).

What stands on the chain and was not sent from here is the provider's own word: what it adds is a reason like the
others, which he alone takes back, by withholding something else. What he adds of cells that are out of sale already
cannot be told from what was said from here, and goes with it (docs/decisions/0192).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Final, Literal, Protocol, get_args

from leasehold.chain import Deployment, Machine, Receipt
from leasehold.files import replace_file

Reason = Literal["paused", "drained", "hours", "maintenance", "ill", "provider"]
REASONS: Final[tuple[Reason, ...]] = get_args(Reason)
_PROVIDER: Final[Reason] = "provider"
_REMEMBERED = (
    16  # words that may still be seen: more are sent only where a chain is reorganised again and again
)


@dataclass(frozen=True)
class OutOfSale:
    """What is known of one machine. reasons: the cells of each that has some, bit `8 × gpu + cell`.

    said: what was sent from here, oldest first, each with the head's number before it was. A word that was said
    before the last may be seen again, where the index is behind or the chain was reorganised: nobody else said it.
    """

    reasons: Mapping[Reason, int] = field(default_factory=dict)
    said: tuple[tuple[int, int], ...] = ()

    @property
    def cells(self) -> int:
        """What is to be out of sale."""
        return reduce(or_, self.reasons.values(), 0)

    def has_said(self, cells: int) -> bool:
        """Whether the chain may have these cells from here."""
        return any(cells == word for word, _ in self.said)

    def put(self, reason: Reason, cells: int) -> OutOfSale:
        """With just these cells for that reason."""
        others = {known: named for known, named in self.reasons.items() if known != reason}
        return replace(self, reasons=others | {reason: cells} if cells else others)

    def heard(self, cells: int, block: int, confirmations: int) -> OutOfSale:
        """Where the chain has these cells withheld at `block`: what nobody said from here is the provider's word."""
        if not self.has_said(cells):
            own = replace(self, reasons={r: c for r, c in self.reasons.items() if r != _PROVIDER}).cells
            return replace(self.put(_PROVIDER, cells & ~own), said=((cells, block),))
        last, at = self.said[-1]
        settled = cells == last and block >= at + confirmations
        return replace(self, said=self.said[-1:]) if settled else self

    def saying(self, cells: int, block: int) -> OutOfSale:
        """Where these cells are about to be sent."""
        return replace(self, said=(*self.said, (cells, block))[-_REMEMBERED:])


class Withholdings:
    """One pool's machines on this host. Files that cannot be read are as good as none: what stands on the chain is then
    the provider's, and stays out of sale. Methods raise OSError where nothing can be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def of(cls, state_dir: Path, deployment: Deployment) -> Withholdings:
        return cls(state_dir / "withheld" / f"{deployment.chain_id}-{deployment.controller.lower()[2:]}")

    def known(self, machine: int) -> OutOfSale:
        try:
            return _read(self._path(machine).read_bytes())
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return OutOfSale()

    def put(self, machine: int, reason: Reason, cells: int) -> OutOfSale:
        """Just these cells for that reason from now on. Writes nothing where that is so already."""
        return self.change(machine, lambda known: known.put(reason, cells))

    def change(self, machine: int, change: Callable[[OutOfSale], OutOfSale]) -> OutOfSale:
        """What is known, changed; no other process changes it meanwhile."""
        with self._alone():
            before = self.known(machine)
            after = change(before)
            if after != before:
                replace_file(self._path(machine), _written(after))
        return after

    def _path(self, machine: int) -> Path:
        return self._folder / f"{machine}.json"

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


class WithholdingPool(Protocol):
    """As much of a pool's binding as is needed here."""

    async def machine_of(self, machine: int) -> Machine: ...

    async def withhold(self, machine: int, cells: int) -> Receipt: ...


def _as_it_is(known: OutOfSale) -> OutOfSale:
    return known


async def _unasked() -> None:
    pass


async def send_withheld(
    pool: WithholdingPool,
    kept: Withholdings,
    machine: int,
    block: int,
    confirmations: int,
    *,
    change: Callable[[OutOfSale], OutOfSale] = _as_it_is,
    spare: Callable[[], Awaitable[None]] = _unasked,
) -> Machine:
    """Have the chain withhold what is to be; returns the machine as it was found. Nothing is sent where it does.

    block: the head's number. change: what is to be otherwise than before. spare: asked before anything is sent; it
    raises where no gas is left for that.

    Raises:
        ChainError: no node answers, or the pool refuses. OSError: what is about to be said cannot be noted.
    """
    seen = await pool.machine_of(machine)
    known = kept.change(machine, lambda known: change(known.heard(seen.withheld, block, confirmations)))
    cells = known.cells & all_cells(seen)
    if cells != seen.withheld:
        await spare()
        kept.change(machine, lambda known: known.saying(cells, block))
        await pool.withhold(machine, cells)
    return seen


def all_cells(machine: Machine) -> int:
    """The map of a whole machine."""
    return (1 << 8 * machine.gpus) - 1


def _read(raw: bytes) -> OutOfSale:
    loaded = json.loads(raw)
    reasons: dict[Reason, int] = {r: int(loaded["reasons"][r], 16) for r in REASONS if r in loaded["reasons"]}
    return OutOfSale(reasons, tuple((int(word, 16), int(block)) for word, block in loaded["said"]))


def _written(known: OutOfSale) -> bytes:
    reasons = {reason: hex(cells) for reason, cells in known.reasons.items()}
    said = [[hex(word), block] for word, block in known.said]
    return json.dumps({"reasons": reasons, "said": said}, sort_keys=True).encode()

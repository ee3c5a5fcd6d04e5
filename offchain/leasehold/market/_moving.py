"""What changing a running lease costs: another share, another machine. Pure functions of a snapshot.

Source of the formulas: `Billing` and `Moves` of the contracts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from leasehold.chain import CELLS_PER_GPU, Lease, LeaseState, Machine, Params, backup_digest, cost
from leasehold.errors import LeaseOver, MachineDelisted, MachineDown, TrialRunning, WrongState
from leasehold.market._bill import accrued, bill, hold_fee
from leasehold.market._machine_errors import ResizeNotSold, ResizeTaken
from leasehold.market._money import Money
from leasehold.market._money_errors import ResizingNotCovered
from leasehold.market._placing import WHOLE, fits, valid_share
from leasehold.market._quote import Funds
from leasehold.market._renter import cells_of

# An `open` that pays out of what a `close` in the same transaction gives back: that shrinks until it is mined.
SENDING_SECONDS = 120


@dataclass(frozen=True)
class Resizing:
    """What another share costs. Amounts in token units.

    pays: what the provider is paid at once for the time until now. deposit: in escrow afterwards. charged, refunded:
    what the ledger gives or gets. pulled, approve: as in `Quote`. hourly: of the share before, and of the new one.
    """

    share: int
    pays: int
    deposit: int
    charged: int
    refunded: int
    pulled: int
    approve: int
    hourly_before: int
    hourly: int


def resizing(lease: Lease, machine: Machine, trial: int, share: int, now: int, funds: Funds) -> Resizing:
    """What `share` cells cost from now on, at the same price and until the same end. trial: seconds.

    Raises:
        ContractError, MachineUnavailable: why the pool would refuse.
    """
    if lease.state is not LeaseState.ACTIVE:
        raise WrongState(lease=lease.id, state=lease.state)
    if now >= lease.end:
        raise LeaseOver(lease=lease.id, end=lease.end)
    if now < min(lease.start + trial, lease.end):
        raise TrialRunning(lease=lease.id, until=min(lease.start + trial, lease.end))
    if machine.down:
        raise MachineDown(machine=machine.id, since=machine.down_since)
    if share > lease.cells and machine.delisted:
        raise MachineDelisted(machine=machine.id)
    others = machine.busy & ~cells_of(lease.placement)
    if share < machine.smallest_share:
        raise ResizeNotSold(machine.id, machine.smallest_share)
    if not valid_share(share, machine.gpus) or not fits(others, machine.gpus, share):
        raise ResizeTaken(machine.id, share)
    total = accrued(lease, now)
    deposit = total + cost(lease.price, share, lease.end - now, up=True)
    charged = max(0, deposit - lease.deposit)
    pulled = max(0, charged - funds.ledger)
    return Resizing(
        share=share,
        pays=total - lease.settled,
        deposit=deposit,
        charged=charged,
        refunded=max(0, lease.deposit - deposit),
        pulled=pulled,
        approve=max(0, pulled - funds.allowance),
        hourly_before=cost(lease.price, lease.cells, 3_600, up=True),
        hourly=cost(lease.price, share, 3_600, up=True),
    )


def check_resizing(change: Resizing, funds: Funds, money: Money) -> None:
    """Raises NotEnoughFunds if ledger and wallet together do not pay for it."""
    if change.pulled > funds.wallet:
        missing = change.pulled - funds.wallet
        raise ResizingNotCovered(change.charged, funds.ledger, funds.wallet, missing).in_money(money)


def funds_after_closing(lease: Lease, now: int, params: Params, down_since: int, funds: Funds) -> Funds:
    """What an account can pay with once its lease has been closed, in a transaction that is sent now.

    The refund goes into the ledger. It is counted as of `SENDING_SECONDS` later, so that what is approved will do; of a
    lease that has not started, as if it were still in its start window then.
    """
    then = now + SENDING_SECONDS
    if lease.state is LeaseState.OPENED:
        unused = lease.deposit - hold_fee(lease, params, then, down_since=down_since)
    else:
        unused = bill(lease, then, params, down_since=down_since).unused
    return replace(funds, ledger=funds.ledger + unused)


@dataclass(frozen=True)
class Standby:
    """What a lease's backup digest was made of."""

    machine: int
    revision: int
    placement: int
    workload: bytes


def standby_of(backup: bytes, machines: Iterable[Machine], workloads: Iterable[bytes]) -> Standby | None:
    """The standby that `backup` means, if it is on one of the machines and runs one of the workloads.

    The digest cannot be taken apart, but there are few machines, terms and places it can be of.
    """
    digests = tuple(workloads)
    for machine in machines:
        for revision in range(machine.revision, 0, -1):
            for placement in _placements(machine.gpus):
                for workload in digests:
                    if backup_digest(machine.id, revision, placement, workload) == backup:
                        return Standby(machine.id, revision, placement, workload)
    return None


def _placements(gpus: int) -> Iterator[int]:
    """Where a lease can be on a machine of so many GPUs; 0 leaves it to the contract."""
    yield 0
    for mask in range(1, 1 << gpus):
        yield mask << CELLS_PER_GPU | WHOLE
    for gpu in range(gpus):
        for cells in (1, 2, 4):
            for first in range(0, CELLS_PER_GPU, cells):
                yield 1 << (CELLS_PER_GPU + gpu) | ((1 << cells) - 1) << first

"""What a provider stakes, earns and can lose: pure functions of a snapshot.

Sources of the formulas: docs/contracts.md, "Machines", "Leases" and "Faults, slashing, appeals".
"""

from __future__ import annotations

from dataclasses import dataclass

from leasehold.chain import CELLS_PER_GPU, Lease, LeaseState, Machine, Params, Terms, cost
from leasehold.market._bill import accrued
from leasehold.market._errors import (
    LeavesTooEarly,
    NoSuchSpan,
    NotEnoughFunds,
    PriceNotPositive,
    TrialTooLong,
)
from leasehold.market._money import Money
from leasehold.market._money_errors import StakeNotCovered
from leasehold.market._quote import BPS, DAY, Funds

MAX_TRIAL = 900
MAX_UINT24 = 2**24 - 1
MAX_UINT80 = 2**80 - 1


@dataclass(frozen=True)
class JoinQuote:
    """What registering a machine takes, brings and risks. Amounts in token units.

    hourly: the machine wholly leased. daily: the same over a day, less the pool's fee.
    lost_at_most: the largest slash in any seven days. notice_penalty: what ending one whole lease early costs
    at most. discount_bps: what the provider's score takes off the stake, already taken off.
    """

    gpus: int
    stake: int
    from_ledger: int
    pulled: int
    approve: int
    hourly: int
    daily: int
    fee_bps: int
    lost_at_most: int
    max_slash_bps: int
    notice_penalty: int
    unstake_delay: int
    discount_bps: int = 0


def least_stake(gpus: int, params: Params, discount_bps: int) -> int:
    """What a machine of `gpus` GPUs must have at stake, token units; `Registry._minimumStake` rounds so.

    discount_bps: what its provider's score takes off.
    """
    full = params.min_stake_per_gpu * gpus
    return full - full * discount_bps // BPS


def join_quote(gpus: int, terms: Terms, params: Params, funds: Funds, discount_bps: int = 0) -> JoinQuote:
    """The quote for a machine of `gpus` GPUs under `params`, the version in force. discount_bps: see `least_stake`."""
    stake = least_stake(gpus, params, discount_bps)
    from_ledger = min(funds.ledger, stake)
    hourly = cost(terms.price, gpus * CELLS_PER_GPU, 3_600)
    whole_day = cost(terms.price, gpus * CELLS_PER_GPU, DAY)
    return JoinQuote(
        gpus=gpus,
        stake=stake,
        from_ledger=from_ledger,
        pulled=stake - from_ledger,
        approve=max(0, stake - from_ledger - funds.allowance),
        hourly=hourly,
        daily=net(whole_day, params.fee_bps),
        fee_bps=params.fee_bps,
        lost_at_most=stake * params.max_slash_bps // BPS,
        max_slash_bps=params.max_slash_bps,
        notice_penalty=cost(terms.price, gpus * CELLS_PER_GPU, params.penalty_seconds),
        unstake_delay=params.unstake_delay,
        discount_bps=discount_bps,
    )


def stake_shortfall(pulled: int, funds: Funds, money: Money) -> NotEnoughFunds | None:
    """Why the account cannot stake `pulled` beyond its ledger, or `None`."""
    if pulled <= funds.wallet:
        return None
    return StakeNotCovered(pulled, funds.wallet, pulled - funds.wallet).in_money(money)


def net(settled: int, fee_bps: int) -> int:
    """What the provider keeps of a bill."""
    return settled - settled * fee_bps // BPS


def check_terms(terms: Terms, now: int) -> None:
    """Refuse terms that the pool would refuse. `now` is unix seconds.

    Raises:
        PriceNotPositive, NoSuchSpan, TrialTooLong, LeavesTooEarly: what to correct.
    """
    if not 0 < terms.price <= MAX_UINT80:
        raise PriceNotPositive()
    if not 0 < terms.min_duration <= terms.max_duration <= MAX_UINT24:
        raise NoSuchSpan(terms.min_duration, terms.max_duration, MAX_UINT24)
    if not 0 <= terms.trial <= MAX_TRIAL:
        raise TrialTooLong(MAX_TRIAL)
    if (terms.available_until_day + 1) * DAY <= now + terms.min_duration:
        raise LeavesTooEarly()


def claimable(lease: Lease, params: Params, trial: int, now: int, machine: Machine | None = None) -> int:
    """Token units that `claim` would settle of the lease now, before the fee; `trial` in seconds.

    machine: stops it at the begin of an outage, while that runs and for as long as it is held up afterwards.
    """
    if lease.state is not LeaseState.ACTIVE or now <= lease.start + trial:
        return 0
    until = min(now - params.claim_lag, lease.end)
    if machine is not None and machine.down:
        until = min(until, machine.down_since)
    if machine is not None and machine.holds(lease, now):
        until = min(until, machine.held_from)
    return max(0, accrued(lease, until) - lease.settled)


def overdue(lease: Lease, params: Params, now: int, machine: Machine | None = None) -> bool:
    """Whether anyone may settle the lease for good: its end has passed, or it should have been started long ago.

    machine: what of a lease an outage of it has, while that runs or is held, only its tenant ends.
    """
    if lease.state is LeaseState.ACTIVE:
        disputed = machine is not None and machine.disputes(lease, now)
        return now >= lease.end and not disputed
    return lease.state is LeaseState.OPENED and now > lease.start + params.start_window


@dataclass(frozen=True)
class NoticeTerms:
    """What ending a lease early means: its new end, and the penalty from the provider's ledger, token units."""

    end: int
    penalty: int


def notice(lease: Lease, params: Params, now: int) -> NoticeTerms:
    """What `terminate` would do now."""
    end = min(lease.end, now + params.notice_seconds)
    if lease.spot:
        return NoticeTerms(end, 0)
    return NoticeTerms(end, cost(lease.price, lease.cells, min(params.penalty_seconds, lease.end - end)))


def unstakable_at(machine: Machine, params: Params) -> int | None:
    """When a retired machine's stake may leave, unix seconds; `None` before it retires."""
    return machine.retired_at + params.unstake_delay if machine.retired_at else None

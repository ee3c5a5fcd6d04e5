"""What a lease will cost, what comes back when, and whether the pool would take it: pure functions of a snapshot.

Sources of the formulas: docs/contracts.md, "Money" and "Leases". The contract decides in the end; this says
the same before anything is sent, so that a refusal costs no gas and names the next step.
"""

from __future__ import annotations

from dataclasses import dataclass

from leasehold.chain import UNLIMITED, Lease, Machine, MachineStatus, Params, cost
from leasehold.errors import ContractError, ParamsOutdated, UnknownMachine
from leasehold.market._errors import MarketError, NotEnoughFunds
from leasehold.market._machine_errors import (
    DurationNotServed,
    LeavingTooSoon,
    MachineClosed,
    MachineGone,
    NobodyMeasured,
    NoSpotPrice,
    PriceAboveMaximum,
    ShareNotServed,
    ShareNotSold,
    ShareTaken,
    ShareWithheld,
)
from leasehold.market._money import Money
from leasehold.market._money_errors import ExtensionNotCovered, LeaseNotCovered
from leasehold.market._placing import fits, format_share, valid_share
from leasehold.market._units import Json, format_duration, per_hour

BPS = 10_000
DAY = 86_400


@dataclass(frozen=True)
class Funds:
    """What an account can pay with, token units: its ledger in the pool, its wallet, what the pool may take of that."""

    ledger: int
    wallet: int
    allowance: int

    def to_json(self, money: Money) -> dict[str, Json]:
        """The same in whole tokens."""
        unlimited = self.allowance == UNLIMITED
        return {
            "token": money.symbol,
            "wallet": money.exact(self.wallet),
            "ledger": money.exact(self.ledger),
            "allowance": "unlimited" if unlimited else money.exact(self.allowance),
        }


@dataclass(frozen=True)
class Wish:
    """What a renter wants of a machine: cells, seconds, and the most per GPU-hour (`None`: what it asks now).

    spot: at the lower price of a lease that the provider may end with notice. offered: a price that the provider has
    signed, which stands in place of the listed one and of the listed durations and days.
    """

    share: int
    duration: int
    max_price: int | None = None
    allow_unverified: bool = False
    spot: bool = False
    offered: int | None = None

    def price_on(self, machine: Machine) -> int:
        """What a GPU-hour costs there, token units; 0 where the machine sells no spot leases."""
        if self.offered is not None:
            return self.offered
        return machine.terms.spot_price if self.spot else machine.terms.price


@dataclass(frozen=True)
class Quote:
    """What opening a lease takes and what comes back. Amounts in token units, durations in seconds.

    hourly: what this share costs per hour. hold_fee_per_hour, hold_fee_at_most: what `reject` keeps of it.
    pulled: taken from the wallet by allowance. approve: how much the allowance has to grow for that.
    penalty_at_most: what the provider pays the tenant for ending the lease early.
    """

    machine: int
    revision: int
    share: int
    duration: int
    price: int
    max_price: int
    hourly: int
    deposit: int
    from_ledger: int
    pulled: int
    approve: int
    fee_bps: int
    trial: int
    start_window: int
    hold_fee_per_hour: int
    hold_fee_at_most: int
    notice: int
    penalty_at_most: int
    allow_unverified: bool
    spot: bool = False

    def refunds(self, money: Money) -> tuple[tuple[str, str], ...]:
        """When something comes back, and how much: rows for people."""
        rate, most = (
            money.show(self.hold_fee_per_hour, places=6),
            money.show(self.hold_fee_at_most, places=6),
        )
        held = f"all but {rate} per hour held, at most {most}"
        return (
            (f"not started within {format_duration(self.start_window)}, or declined", "all of it"),
            ("closed by you before that", held),
            (
                f"rejected within {format_duration(self.trial)} of the start",
                held if self.trial else "there is no trial",
            ),
            (
                "closed early",
                f"what is unused: you pay {money.show(self.hourly, places=6)} per hour, by the second",
            ),
            (
                f"ended by the provider ({format_duration(self.notice)} notice)",
                "what is unused"
                if self.spot
                else f"what is unused, and up to {money.show(self.penalty_at_most, places=6)} of penalty",
            ),
        )

    def to_json(self, money: Money) -> dict[str, Json]:
        """The quote, amounts in whole tokens."""
        return {
            "machine": self.machine,
            "revision": self.revision,
            "cells": self.share,
            "duration": self.duration,
            "token": money.symbol,
            "spot": self.spot,
            "price": money.exact(self.price),
            "hourly": money.exact(self.hourly),
            "deposit": money.exact(self.deposit),
            "from_ledger": money.exact(self.from_ledger),
            "from_wallet": money.exact(self.pulled),
            "approve": money.exact(self.approve),
            "trial": self.trial,
            "start_window": self.start_window,
            "hold_fee_at_most": money.exact(self.hold_fee_at_most),
        }

    def rows(self, money: Money, sells_gpus: bool | None = None) -> tuple[tuple[str, str], ...]:
        """What is leased, what it costs and what comes back when: rows for people. sells_gpus: as a listing has it."""
        unit = "CPU unit" if sells_gpus is False else "GPU"
        spot = ", spot: the provider may end it with notice" if self.spot else ""
        hourly = f"{money.show(self.hourly)} per hour for this"
        return (
            ("share", f"{format_share(self.share)} {unit}, for {format_duration(self.duration)}{spot}"),
            ("price", f"{money.show(self.price)} {per_hour(sells_gpus)}: {hourly}"),
            (
                "escrow",
                f"{money.show(self.deposit)}: {money.show(self.from_ledger)} from the ledger, "
                f"{money.show(self.pulled)} from the wallet",
            ),
            ("what comes back", ""),
            *((f"  {when}", what) for when, what in self.refunds(money)),
        )


def quote(machine: Machine, params: Params, wish: Wish, funds: Funds) -> Quote:
    """The quote for `wish` on `machine` under `params`, the version that the machine has accepted."""
    price = wish.price_on(machine)
    max_price = price if wish.max_price is None else wish.max_price
    deposit = cost(price, wish.share, wish.duration, up=True)
    from_ledger = min(funds.ledger, deposit)
    pulled = deposit - from_ledger
    hourly = cost(price, wish.share, 3_600, up=True)
    hold_time = max(
        params.start_window, machine.terms.trial
    )  # counted from `open` until started, then from `start`
    return Quote(
        machine=machine.id,
        revision=machine.revision,
        share=wish.share,
        duration=wish.duration,
        price=price,
        max_price=max_price,
        hourly=hourly,
        deposit=deposit,
        from_ledger=from_ledger,
        pulled=pulled,
        approve=max(0, pulled - funds.allowance),
        fee_bps=params.fee_bps,
        trial=machine.terms.trial,
        start_window=params.start_window,
        hold_fee_per_hour=hourly * params.hold_fee_bps // BPS,
        hold_fee_at_most=cost(price, wish.share, min(hold_time, wish.duration)) * params.hold_fee_bps // BPS,
        notice=params.notice_seconds,
        penalty_at_most=0
        if wish.spot
        else cost(price, wish.share, min(params.penalty_seconds, wish.duration)),
        allow_unverified=wish.allow_unverified,
        spot=wish.spot,
    )


def obstacle(
    machine: Machine, current_params: int, wish: Wish, now: int, money: Money
) -> MarketError | ContractError | None:
    """Why the pool would refuse the lease as things stand, or `None`. `now` is unix seconds."""
    terms = machine.terms
    if machine.status is MachineStatus.NONE:
        return UnknownMachine(machine.id)
    if machine.status is MachineStatus.RETIRED:
        return MachineGone(machine.id)
    for closed, why in (
        (machine.delisted, "is delisted"),
        (machine.under_staked, "has less stake than it needs"),
        (machine.stalled, "left a lease unstarted and has not recovered"),
        (machine.down, "is down"),
    ):
        if closed:
            return MachineClosed(machine.id, why)
    if machine.params != current_params:
        return ParamsOutdated(accepted=machine.params, current=current_params)
    if machine.status is MachineStatus.UNVERIFIED and not wish.allow_unverified:
        return NobodyMeasured(machine.id)
    price = wish.price_on(machine)
    if wish.spot and not price:
        return NoSpotPrice(machine.id)
    if wish.max_price is not None and price > wish.max_price:
        return PriceAboveMaximum(machine.id, price, wish.max_price).in_money(money)
    offered = wish.offered is not None
    if not offered and not terms.min_duration <= wish.duration <= terms.max_duration:
        return DurationNotServed(machine.id, terms.min_duration, terms.max_duration, wish.duration)
    if not offered and now + wish.duration > (terms.available_until_day + 1) * DAY:
        left = max(0, (terms.available_until_day + 1) * DAY - now)
        return LeavingTooSoon(machine.id, left)
    if not valid_share(wish.share, machine.gpus):
        return ShareNotServed(machine.id, machine.gpus, wish.share)
    if wish.share < machine.smallest_share:
        return ShareNotSold(machine.id, machine.smallest_share)
    if not fits(machine.busy, machine.gpus, wish.share):
        free = fits(machine.leased, machine.gpus, wish.share)
        return (ShareWithheld if free else ShareTaken)(machine.id, wish.share)
    return None


def shortfall(offer: Quote | Payment, funds: Funds, money: Money) -> NotEnoughFunds | None:
    """Why the account cannot pay the quote at all, whatever it approves, or `None`."""
    missing = offer.pulled - funds.wallet
    if missing <= 0:
        return None
    amount = offer.amount if isinstance(offer, Payment) else offer.deposit
    return LeaseNotCovered(amount, funds.ledger, funds.wallet, missing).in_money(money)


@dataclass(frozen=True)
class Payment:
    """What something takes now, in token units.

    amount: all of it. pulled: the part that comes from the wallet, the ledger paying the rest. approve: by how much the
    pool may take too little from the wallet; 0 where it may already.
    """

    amount: int
    pulled: int
    approve: int

    @property
    def from_ledger(self) -> int:
        """The part that the ledger pays."""
        return self.amount - self.pulled

    def said(self, money: Money) -> str:
        """Where the money comes from that only a ledger can pay, for people."""
        if not self.pulled:
            return f"{money.show(self.amount)} from your ledger"
        return (
            f"{money.show(self.amount)}: {money.show(self.pulled)} go from the wallet into the ledger first"
        )


def extension_cost(lease: Lease, seconds: int) -> int:
    """What `seconds` more take into escrow, token units."""
    since = lease.segment_start or lease.start
    whole = lease.segment_settled + cost(lease.price, lease.cells, lease.end + seconds - since, up=True)
    return max(0, whole - lease.deposit)


def extension(lease: Lease, seconds: int, funds: Funds, money: Money) -> Payment:
    """What `seconds` more cost: the escrow up to the new end, less what it has.

    Raises:
        NotEnoughFunds: the account cannot pay it.
    """
    amount = extension_cost(lease, seconds)
    pulled = max(0, amount - funds.ledger)
    if pulled > funds.wallet:
        missing = pulled - funds.wallet
        raise ExtensionNotCovered(amount, funds.ledger, funds.wallet, missing).in_money(money)
    return Payment(amount, pulled, max(0, pulled - funds.allowance))

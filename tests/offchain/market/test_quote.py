"""Placing, quotes and bills against the contract's own formulas, by example and by property."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.chain import Lease, LeaseState, Machine, MachineStatus, Params, Terms
from leasehold.cli._hints import said
from leasehold.errors import ParamsOutdated
from leasehold.market import (
    Funds,
    InvalidInput,
    MachineUnavailable,
    Money,
    PriceAboveMaximum,
    Wish,
    bill,
    check_terms,
    claimable,
    fits,
    format_cells,
    format_share,
    free_gpus,
    join_quote,
    notice,
    obstacle,
    overdue,
    parse_cells,
    parse_share,
    quote,
    rentable_cells,
    shortfall,
    stake_shortfall,
    unstakable_at,
    valid_share,
)

MONEY = Money("USDT", 6)
NOW = 1_800_000_000
TERMS = Terms(
    price=2_500_000,
    spot_price=0,
    min_duration=600,
    max_duration=86_400,
    trial=600,
    available_until_day=NOW // 86_400 + 30,
)
PARAMS = Params(
    min_stake_per_gpu=100_000_000,
    fee_bps=250,
    hold_fee_bps=1_000,
    max_slash_bps=5_000,
    start_window=900,
    notice_seconds=3_600,
    penalty_seconds=7_200,
    claim_lag=600,
    challenge_window=600,
    filing_window=86_400,
    appeal_window=172_800,
    ruling_window=86_400,
    unstake_delay=400_000,
    bond=5_000_000,
    reverify_interval=86_400,
    seat_stake=500_000_000,
    verification_fee=5_000_000,
    committee_size=5,
)
MACHINE = Machine(
    id=3,
    provider="0x" + "11" * 20,
    operator="0x" + "22" * 20,
    status=MachineStatus.UNVERIFIED,
    delisted=False,
    under_staked=False,
    stalled=False,
    gpus=2,
    revision=1,
    params=1,
    stake=200_000_000,
    busy=0,
    leased=0,
    withheld=0,
    retired_at=0,
    terms=TERMS,
)
WISH = Wish(share=8, duration=7_200, allow_unverified=True)
LEASE = Lease(
    id=12 << 16,
    tenant="0x" + "33" * 20,
    machine=3,
    placement=0x01FF,
    state=LeaseState.ACTIVE,
    spot=False,
    noticed=False,
    start=NOW,
    end=NOW + 7_200,
    deposit=5_000_000,
    price=2_500_000,
    revision=1,
    params=1,
    settled=0,
    backup=bytes(32),
)


def test_shares_as_people_write_them() -> None:
    assert [parse_share(text) for text in ("1/8", "1/4", "0.5", "1", "8")] == [1, 2, 4, 8, 64]
    for text in ("0", "9", "3/8", "1.5", "", "two", "-1", "²"):
        with pytest.raises(InvalidInput, match="is not a share"):
            parse_share(text)
    assert all(parse_share(format_share(cells)) == cells for cells in (1, 2, 4, *range(8, 65, 8)))


def test_the_eighth_cell_of_a_gpu_goes_with_a_half_or_the_whole_of_it() -> None:
    assert rentable_cells(0, 2) == 16
    assert rentable_cells(0x7F, 1) == 0
    assert rentable_cells(0x0F, 2) == 4 + 8
    for busy in range(1, 256):
        assert bool(rentable_cells(busy, 1)) == fits(busy, 1, 1)


def test_cells_as_people_write_them() -> None:
    assert parse_cells("0", 2) == 0xFF
    assert parse_cells("1:0-3", 2) == 0x0F00
    assert parse_cells("all", 2) == 0xFFFF
    assert parse_cells("none", 2) == 0
    assert parse_cells("0-1", 2) == 0xFFFF
    for text in ("2", "0:8", "1-0", "x", "0:", "0:1-"):
        if text == "0:":
            assert parse_cells(text, 2) == 0xFF
            continue
        with pytest.raises(InvalidInput, match="names no cells"):
            parse_cells(text, 2)


@given(st.integers(0, 2**64 - 1))
@settings(max_examples=100, deadline=None)
def test_cells_survive_the_round_trip(cells: int) -> None:
    assert parse_cells(format_cells(cells), 8) == cells


def test_the_geometry_is_that_of_mig() -> None:
    assert [cells for cells in range(20) if valid_share(cells, 2)] == [1, 2, 4, 8, 16]
    assert not fits(0b0111_1111, 1, 1)  # cell 7 takes no share of one
    assert fits(0b1000_1111, 1, 1)
    assert fits(0b1100_1111, 1, 2)
    assert not fits(0b0011_1111, 1, 2)  # two cells start at 0, 2, 4
    assert fits(0x0F, 1, 4)
    assert not fits(0x3C, 1, 4)
    assert fits(0x00FF, 2, 8)
    assert not fits(0x01FF, 2, 8)
    assert not fits(0, 1, 16)
    assert free_gpus(0x01FF, 3) == 1


@given(st.integers(0, 2**16 - 1), st.sampled_from([1, 2, 4, 8, 16]))
@settings(max_examples=200, deadline=None)
def test_freeing_cells_never_takes_a_place_away(busy: int, share: int) -> None:
    assert fits(0, 2, share)
    if fits(busy, 2, share):
        assert all(fits(busy & ~(1 << bit), 2, share) for bit in range(16))


def test_a_quote_splits_the_deposit_between_ledger_and_wallet() -> None:
    offer = quote(MACHINE, PARAMS, WISH, Funds(ledger=2_000_000, wallet=10_000_000, allowance=1_000_000))
    assert (offer.deposit, offer.hourly) == (5_000_000, 2_500_000)
    assert (offer.from_ledger, offer.pulled, offer.approve) == (2_000_000, 3_000_000, 2_000_000)
    assert offer.max_price == 2_500_000
    assert offer.hold_fee_per_hour == 250_000
    assert offer.hold_fee_at_most == 62_500  # a tenth of a quarter of an hour
    assert offer.penalty_at_most == 5_000_000
    assert shortfall(offer, Funds(0, 3_000_000, 0), MONEY) is None
    missing = shortfall(offer, Funds(2_000_000, 1_000_000, 0), MONEY)
    assert missing is not None
    assert "get 2 USDT more" in str(missing)
    rows = dict(offer.refunds(MONEY))
    assert rows["not started within 15m, or declined"] == "all of it"
    assert "0.25 USDT per hour held, at most 0.0625 USDT" in rows["rejected within 10m of the start"]


def test_a_machine_without_a_trial_says_so() -> None:
    machine = replace(MACHINE, terms=replace(TERMS, trial=0))
    assert ("rejected within 0s of the start", "there is no trial") in quote(
        machine, PARAMS, WISH, Funds(0, 0, 0)
    ).refunds(MONEY)


def test_nothing_stands_in_the_way_of_a_plain_lease() -> None:
    assert obstacle(MACHINE, 1, WISH, NOW, MONEY) is None
    verified = replace(MACHINE, status=MachineStatus.VERIFIED)
    assert obstacle(verified, 1, replace(WISH, allow_unverified=False), NOW, MONEY) is None


@pytest.mark.parametrize(
    ("machine", "wish", "kind", "says"),
    [
        (replace(MACHINE, status=MachineStatus.RETIRED), WISH, MachineUnavailable, "has retired"),
        (replace(MACHINE, delisted=True), WISH, MachineUnavailable, "is delisted"),
        (replace(MACHINE, under_staked=True), WISH, MachineUnavailable, "less stake"),
        (replace(MACHINE, stalled=True), WISH, MachineUnavailable, "has not recovered"),
        (replace(MACHINE, params=0), WISH, ParamsOutdated, "set its terms again"),
        (MACHINE, replace(WISH, allow_unverified=False), MachineUnavailable, "--allow-unverified"),
        (MACHINE, replace(WISH, max_price=2_400_000), PriceAboveMaximum, "your maximum is 2.4 USDT"),
        (MACHINE, replace(WISH, duration=60), MachineUnavailable, "10m to 1d, not 1m"),
        (replace(MACHINE, terms=replace(TERMS, available_until_day=NOW // 86_400 - 1)), WISH, MachineUnavailable,
         "leaves the market"),
        (MACHINE, replace(WISH, share=24), MachineUnavailable, "cannot serve 3"),
        (replace(MACHINE, smallest_share=8), replace(WISH, share=4), MachineUnavailable, "no less than 1 of"),
        (replace(MACHINE, busy=0x0101, leased=0x0101), WISH, MachineUnavailable, "no room"),
        (replace(MACHINE, busy=0x0101, leased=0x0001), WISH, MachineUnavailable, "keeps that out of sale now"),
    ],
)  # fmt: skip
def test_each_obstacle_is_named_with_its_next_step(
    machine: Machine, wish: Wish, kind: type[Exception], says: str
) -> None:
    found = obstacle(machine, 1, wish, NOW, MONEY)
    assert isinstance(found, kind)
    assert says in said(found)


def test_a_bill_counts_seconds_from_the_start_and_never_passes_the_deposit() -> None:
    assert bill(LEASE, NOW + 3_600, PARAMS).used == 2_500_000
    assert bill(LEASE, NOW + 3_600, PARAMS).left == 3_600
    assert bill(LEASE, NOW + 99_999, PARAMS).used == 5_000_000
    assert bill(LEASE, NOW - 5, PARAMS).used == 0
    opened = bill(replace(LEASE, state=LeaseState.OPENED), NOW + 100, PARAMS)
    assert (opened.used, opened.unused, opened.left) == (6_944, 4_993_056, 7_200)  # a tenth of 100 seconds
    late = bill(replace(LEASE, state=LeaseState.OPENED), NOW + 901, PARAMS)
    assert (late.used, late.unused, late.outcome) == (0, 5_000_000, LeaseState.CANCELLED)
    ended = bill(replace(LEASE, state=LeaseState.ENDED, settled=1_000_000), NOW, PARAMS)
    assert (ended.used, ended.unused, ended.left) == (1_000_000, 0, 0)


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 4]), st.integers(1, 2**80 - 1))
@settings(max_examples=200, deadline=None)
def test_used_and_unused_always_make_the_deposit(seconds: int, cells: int, price: int) -> None:
    deposit = -(-price * cells * 7_200 // 28_800)
    lease = replace(LEASE, placement=0x0100 | ((1 << cells) - 1), price=price, deposit=deposit)
    account = bill(lease, NOW + seconds, PARAMS)
    assert account.used + account.unused == deposit
    assert account.used >= 0
    assert account.unused >= 0


def test_joining_shows_stake_earnings_and_the_most_that_can_be_lost() -> None:
    offer = join_quote(2, TERMS, PARAMS, Funds(ledger=50_000_000, wallet=0, allowance=100_000_000))
    assert (offer.stake, offer.from_ledger, offer.pulled, offer.approve) == (
        200_000_000,
        50_000_000,
        150_000_000,
        50_000_000,
    )
    assert offer.hourly == 5_000_000
    assert offer.daily == 117_000_000
    assert offer.lost_at_most == 100_000_000
    assert offer.notice_penalty == 10_000_000
    assert stake_shortfall(offer.pulled, Funds(0, 150_000_000, 0), MONEY) is None
    assert "get 50 USDT more" in str(stake_shortfall(offer.pulled, Funds(0, 100_000_000, 0), MONEY))


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        (replace(TERMS, price=0), "--price"),
        (replace(TERMS, min_duration=0), "--min"),
        (replace(TERMS, max_duration=2**24), "--max"),
        (replace(TERMS, trial=901), "--trial"),
        (replace(TERMS, available_until_day=NOW // 86_400 - 1), "--until"),
    ],
)
def test_terms_that_the_pool_would_refuse_name_the_option(terms: Terms, says: str) -> None:
    check_terms(TERMS, NOW)
    with pytest.raises(InvalidInput) as refused:
        check_terms(terms, NOW)
    assert says in said(refused.value), "at the prompt"


def test_claims_wait_for_the_trial_and_leave_the_lag() -> None:
    assert claimable(LEASE, PARAMS, 600, NOW + 600) == 0
    assert claimable(LEASE, PARAMS, 600, NOW + 601) == 694
    assert claimable(LEASE, PARAMS, 600, NOW + 4_200) == 2_500_000
    assert claimable(replace(LEASE, settled=2_500_000), PARAMS, 600, NOW + 4_200) == 0
    assert claimable(LEASE, PARAMS, 600, NOW + 10**6) == 5_000_000
    assert claimable(replace(LEASE, state=LeaseState.OPENED), PARAMS, 600, NOW + 10**6) == 0


def test_what_is_overdue_can_be_settled_by_anyone() -> None:
    assert not overdue(LEASE, PARAMS, NOW + 7_199)
    assert overdue(LEASE, PARAMS, NOW + 7_200)
    opened = replace(LEASE, state=LeaseState.OPENED)
    assert not overdue(opened, PARAMS, NOW + 900)
    assert overdue(opened, PARAMS, NOW + 901)
    assert not overdue(replace(LEASE, state=LeaseState.ENDED), PARAMS, NOW + 10**6)


def test_notice_lowers_the_end_and_costs_the_time_cut_off() -> None:
    given_now = notice(LEASE, PARAMS, NOW)
    assert given_now.end == NOW + 3_600
    assert given_now.penalty == 2_500_000
    assert notice(replace(LEASE, spot=True), PARAMS, NOW).penalty == 0
    assert notice(LEASE, PARAMS, NOW + 7_000).penalty == 0


def test_stake_leaves_after_its_delay() -> None:
    assert unstakable_at(MACHINE, PARAMS) is None
    assert unstakable_at(replace(MACHINE, retired_at=NOW), PARAMS) == NOW + 400_000

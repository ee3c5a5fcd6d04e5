"""Bills of leases that were resized or paused, and what moving them costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leasehold.chain import Lease, LeaseState, Machine, MachineStatus, Params, Terms, backup_digest, cost
from leasehold.errors import LeaseOver, MachineDelisted, MachineDown, TrialRunning, WrongState
from leasehold.market import (
    Due,
    Funds,
    MachineUnavailable,
    Money,
    NotEnoughFunds,
    bill,
    check_resizing,
    claimable,
    extension,
    funds_after_closing,
    overdue,
    resizing,
    standby_of,
)

NOW = 1_800_000_000
MONEY = Money("USDT", 6)
TERMS = Terms(2_500_000, 0, 600, 86_400, 600, 30_000)
MACHINE = Machine(
    id=1, provider="0x1", operator="0x2", status=MachineStatus.VERIFIED, delisted=False, under_staked=False,
    stalled=False, gpus=2, revision=3, params=1, stake=200_000_000, busy=0x0F, leased=0x0F, withheld=0, retired_at=0,
    terms=TERMS,
)  # fmt: skip
HALF = 0x010F  # four cells of the first GPU
LEASE = Lease(
    id=1 << 16, tenant="0x3", machine=1, placement=HALF, state=LeaseState.ACTIVE, spot=False, noticed=False, start=NOW,
    end=NOW + 7_200, deposit=2_500_000, price=2_500_000, revision=3, params=1, settled=0, backup=bytes(32),
    segment_start=NOW,
)  # fmt: skip
PARAMS = Params(
    min_stake_per_gpu=100_000_000, fee_bps=300, hold_fee_bps=5_000, max_slash_bps=5_000, start_window=1_800,
    notice_seconds=3_600, penalty_seconds=86_400, claim_lag=900, challenge_window=600, filing_window=604_800,
    appeal_window=172_800, ruling_window=259_200, unstake_delay=1_209_600, bond=5_000_000, reverify_interval=86_400,
    seat_stake=500_000_000, verification_fee=5_000_000, committee_size=5,
)  # fmt: skip
RICH = Funds(ledger=10**9, wallet=0, allowance=0)
POOR = Funds(ledger=0, wallet=10**6, allowance=0)


def test_a_pause_and_an_outage_stop_the_bill() -> None:
    assert bill(replace(LEASE, paused=600), NOW + 3_600, PARAMS).used == cost(2_500_000, 4, 3_000)
    assert bill(replace(LEASE, paused=600), NOW + 300, PARAMS).used == 0
    assert bill(LEASE, NOW + 3_600, PARAMS, down_since=NOW + 1_800).used == cost(2_500_000, 4, 1_800)
    assert bill(LEASE, NOW + 3_600, PARAMS, down_since=NOW - 50).used == 0
    assert bill(replace(LEASE, settled=900_000), NOW + 3_600, PARAMS, down_since=NOW).used == 900_000


def test_a_segment_is_billed_by_its_own_share() -> None:
    resized = replace(LEASE, placement=0x01FF, segment_start=NOW + 3_600, segment_settled=1_250_000, settled=1_250_000,
                      deposit=3_750_000)  # fmt: skip
    assert bill(resized, NOW + 5_400, PARAMS).used == 1_250_000 + cost(2_500_000, 8, 1_800)
    assert bill(resized, NOW + 9_999, PARAMS).used == 3_750_000
    assert extension(resized, 3_600, RICH, MONEY).amount == 2_500_000
    assert claimable(resized, PARAMS, 600, NOW + 6_300) == cost(2_500_000, 8, 1_800)


def test_nothing_is_collected_past_the_begin_of_an_outage_nor_are_others_leases_ended() -> None:
    down = replace(MACHINE, down_since=NOW + 1_000)
    held = replace(MACHINE, held_from=NOW + 2_000, held_to=NOW + 2_500, held_until=NOW + 9_000)
    assert claimable(LEASE, PARAMS, 600, NOW + 7_000, down) == cost(2_500_000, 4, 1_000)
    assert claimable(LEASE, PARAMS, 600, NOW + 7_000, held) == cost(2_500_000, 4, 2_000)
    assert claimable(LEASE, PARAMS, 600, NOW + 9_001, held) == LEASE.deposit
    assert not overdue(LEASE, PARAMS, NOW + 8_000, down)
    assert not overdue(LEASE, PARAMS, NOW + 8_000, held)
    assert overdue(LEASE, PARAMS, NOW + 9_000, held)


def test_a_hold_reaches_what_lived_through_the_outage_and_nothing_else() -> None:
    held = replace(MACHINE, held_from=NOW - 500, held_to=NOW, held_until=NOW + 90_000)
    assert not held.disputes(LEASE, NOW + 8_000)  # it began as the outage ended
    assert overdue(LEASE, PARAMS, NOW + 8_000, held)
    assert claimable(LEASE, PARAMS, 600, NOW + 9_001, held) == LEASE.deposit
    before = replace(MACHINE, held_from=LEASE.end, held_to=LEASE.end + 60, held_until=NOW + 90_000)
    assert not before.disputes(LEASE, NOW + 8_000)  # and was over as it began
    resized = replace(LEASE, segment_start=NOW + 600)
    during = replace(MACHINE, held_from=NOW, held_to=NOW + 300, held_until=NOW + 90_000)
    assert during.disputes(LEASE, NOW + 8_000)
    assert not during.disputes(resized, NOW + 8_000)
    assert not replace(MACHINE, down_since=LEASE.end).disputes(LEASE, NOW + 8_000)
    again = replace(during, down_since=NOW)  # of a time that is both, the outage that runs decides
    assert (again.holds(LEASE, NOW + 8_000), again.disputes(LEASE, NOW + 8_000)) == (False, True)


def test_a_provider_may_forgo_what_is_disputed() -> None:
    due = Due(overdue=(1,), claimable={2: 5, 3: 7}, disputed=(3, 4))
    assert due.forgoing() == Due(overdue=(1, 3, 4), claimable={2: 5})


def test_a_larger_share_is_charged_and_a_smaller_one_refunded() -> None:
    larger = resizing(LEASE, MACHINE, 600, 8, NOW + 3_600, POOR)
    assert (larger.pays, larger.deposit, larger.charged) == (1_250_000, 3_750_000, 1_250_000)
    assert (larger.pulled, larger.approve, larger.refunded) == (1_250_000, 1_250_000, 0)
    assert (larger.hourly_before, larger.hourly) == (1_250_000, 2_500_000)
    with pytest.raises(NotEnoughFunds, match=r"get 0\.25 USDT more"):
        check_resizing(larger, POOR, MONEY)
    smaller = resizing(LEASE, MACHINE, 600, 1, NOW + 3_600, POOR)
    assert (smaller.charged, smaller.refunded) == (0, 2_500_000 - 1_250_000 - 312_500)
    check_resizing(smaller, POOR, MONEY)


@pytest.mark.parametrize(
    ("lease", "machine", "share", "at", "kind"),
    [
        (replace(LEASE, state=LeaseState.OPENED), MACHINE, 8, 3_600, WrongState),
        (LEASE, MACHINE, 8, 7_200, LeaseOver),
        (LEASE, MACHINE, 8, 599, TrialRunning),
        (LEASE, replace(MACHINE, down_since=5), 8, 3_600, MachineDown),
        (LEASE, replace(MACHINE, delisted=True), 8, 3_600, MachineDelisted),
        (LEASE, MACHINE, 24, 3_600, MachineUnavailable),
        (LEASE, replace(MACHINE, smallest_share=4), 2, 3_600, MachineUnavailable),
        (LEASE, replace(MACHINE, busy=0x1FF), 16, 3_600, MachineUnavailable),
        (LEASE, replace(MACHINE, busy=0x1FF, withheld=0x0F), 8, 3_600, MachineUnavailable),
    ],
)
def test_what_the_pool_refuses_is_said_before(
    lease: Lease, machine: Machine, share: int, at: int, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        resizing(lease, machine, 600, share, NOW + at, RICH)


def test_a_lease_that_is_closed_pays_for_the_next_one() -> None:
    after = funds_after_closing(LEASE, NOW + 3_600, PARAMS, 0, POOR)
    assert after.ledger == 2_500_000 - cost(2_500_000, 4, 3_720)
    opened = funds_after_closing(replace(LEASE, state=LeaseState.OPENED), NOW, PARAMS, 0, POOR)
    assert opened.ledger == 2_500_000 - cost(2_500_000, 4, 120) // 2  # the hold fee


def test_a_standby_is_found_by_its_digest() -> None:
    one, other = b"\1" * 32, b"\2" * 32
    machines = [MACHINE, replace(MACHINE, id=2, revision=2)]
    for placement in (0, 0x03FF, 0x0203):
        found = standby_of(backup_digest(2, 1, placement, other), machines, (one, other))
        assert found is not None
        assert (found.machine, found.revision, found.placement, found.workload) == (2, 1, placement, other)
    assert standby_of(backup_digest(9, 1, 0, other), machines, (one, other)) is None

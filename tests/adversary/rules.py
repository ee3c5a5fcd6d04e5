"""The rules of a pool, as far as they decide about stakes, and the mends that can be taken back."""

from __future__ import annotations

from dataclasses import dataclass

MINUTE, HOUR, DAY = 60, 3_600, 86_400
UNIT = 10**6
TIMELOCK = 2 * DAY
MATURITY = 3 * DAY
LEAVE_DELAY = 21 * DAY
FINE_INTERVAL = 7 * DAY
COMMIT_WINDOW = 4 * HOUR
REVEAL_WINDOW = 2 * HOUR
QUORUM_VALIDATORS = 5
FINE_DIVISOR = 10
REWARD_DIVISOR = 20
FALSE_TIME = 7 * DAY


@dataclass(frozen=True)
class Rules:
    """One version of a pool's parameters. Amounts in token units, times in seconds."""

    min_stake_per_gpu: int = 100 * UNIT
    seat_stake: int = 500 * UNIT
    max_slash_bps: int = 5000
    fee_bps: int = 300
    challenge_window: int = 10 * MINUTE
    filing_window: int = 4 * DAY
    appeal_window: int = 2 * DAY
    ruling_window: int = 3 * DAY
    unstake_delay: int = 14 * DAY
    bond: int = 5 * UNIT
    reverify_interval: int = DAY
    verification_fee: int = 5 * UNIT
    committee_size: int = 5
    arbiter: str = (
        "honest"  # finds the truth; `silent` rules on nothing; `bought` rules as the adversary likes
    )


@dataclass(frozen=True)
class Mends:
    """What keeps those who judge from gaining. Each can be taken back, to see that its absence is found.

    seats_by_accepted_rules: no seat judges a machine that cost less than the rules which its provider accepted ask
    dissent_is_free: a seat pays for silence, never for another view than the majority's
    committee_by_accepted_rules: so do a committee's size, fee and interval follow from what the provider accepted
    fined_by_own_arbiter: whose finding is taken back is fined only if it joined under the arbiter who took it back
    fee_by_size: a round's fee is shared as if all of it had agreed, however few the majority are
    part_by_cells: a tenant's part of a half is by its cells and seconds of all, not of those of who registered
    """

    seats_by_accepted_rules: bool = True
    dissent_is_free: bool = True
    committee_by_accepted_rules: bool = True
    fined_by_own_arbiter: bool = True
    part_by_cells: bool = True
    fee_by_size: bool = True


ALL = Mends()

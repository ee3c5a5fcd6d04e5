"""When a lease is extended out of its purse, and when what is left goes back: decided from the chain at each look.

Whoever holds a purse's signatures keeps no account of what he did: the purse's nonces and its money say it. So a second
look, another process or a reorganisation changes nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from leasehold.chain import PURSE_EXTENSIONS, PURSE_RETURNS, AccountsContract, Lease, LeasePurse, Pool
from leasehold.client._keeping import Keeping, decide
from leasehold.market import extension_cost

PURSE_BEFORE: Final = 900
"""Seconds before its end in which a lease is extended out of its purse; half an extension, where that is shorter."""
_FOR_EVER: Final = 1 << 40
_SEQUENCE: Final = (1 << 64) - 1


class PurseDeed(StrEnum):
    """What a look at a purse leads to."""

    WAIT = "wait"
    EXTEND = "extend"
    GIVE_BACK = "give-back"
    FORGET = "forget"


@dataclass(frozen=True)
class PurseStanding:
    """By the chain: how many extensions were made, whether what was left has gone back, and token units in it."""

    made: int
    returned: bool
    holds: int


@dataclass(frozen=True)
class PurseTurn:
    """What is to be done now. number: which extension, or after how many what is left goes back. at: unix seconds of
    the next look. why: in words.
    """

    deed: PurseDeed
    number: int
    at: int
    why: str


async def standing_of_purse(pool: Pool, accounts: AccountsContract, purse: LeasePurse) -> PurseStanding:
    """How it stands now. Raises ChainError."""
    account, nonce_of = purse.group.address(accounts.address), accounts.nonce_of
    extensions, returns, holds = await asyncio.gather(
        nonce_of(account, PURSE_EXTENSIONS), nonce_of(account, PURSE_RETURNS), pool.balance_of(account)
    )
    return PurseStanding(extensions & _SEQUENCE, bool(returns & _SEQUENCE), holds)


def turn_of_purse(purse: LeasePurse, lease: Lease, standing: PurseStanding, now: int) -> PurseTurn:
    """What to do now. Pure: the same standing at the same time gets the same answer.

    Nothing is paid for a lease that is somebody else's by now, under notice or over: what is left goes back at once.
    """
    if standing.returned or now > purse.deadline:
        return PurseTurn(PurseDeed.FORGET, 0, now, "What was signed is done, or over.")
    before = min(PURSE_BEFORE, purse.seconds // 2)
    step = decide(lease, Keeping(before, purse.seconds, _FOR_EVER, purse.tenant), now)
    if not step.at or standing.made >= purse.count:
        return _given_back(purse, standing, now, step.why)
    if not step.seconds:
        return PurseTurn(PurseDeed.WAIT, 0, step.at, step.why)
    if standing.holds < extension_cost(lease, purse.seconds) + purse.fee:
        return PurseTurn(PurseDeed.WAIT, 0, now, "Its purse has too little for one more extension.")
    return PurseTurn(PurseDeed.EXTEND, standing.made, step.at, step.why)


def _given_back(purse: LeasePurse, standing: PurseStanding, now: int, why: str) -> PurseTurn:
    """The most of what was signed that the purse can pay: after a resize it holds more, or less, than was reckoned."""
    for used in range(purse.count):
        if purse.left(used) <= standing.holds:
            return PurseTurn(PurseDeed.GIVE_BACK, used, now, why)
    return PurseTurn(PurseDeed.FORGET, 0, now, why)

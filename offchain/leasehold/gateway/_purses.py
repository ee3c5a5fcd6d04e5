"""Leases that are extended out of their purses, for renters who ask: `/api/v1/leases/{lease}/purse`.

A gateway holds no key that can spend a renter's money, and is nobody's delegate: a delegate may open a lease at a
machine of his own. It holds signatures of a key that was thrown away, for so many extensions of one lease and for the
way back, and sends each when it is time. Sent at another time they bring the gateway their fees, and no more.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Request

from leasehold.agreements import (
    MOST_EXTENSIONS,
    PURSE_SECONDS,
    BroughtPurse,
    HeldPurse,
    PurseOffer,
    accounts_domain,
)
from leasehold.chain import AccountsContract, Lease, Pool, Rpc, SignedPurse, cost
from leasehold.client import PURSE_BEFORE, standing_of_purse
from leasehold.errors import ContractError, ProofError, TypedDataError
from leasehold.gateway._bodies import json_body, read_json
from leasehold.gateway._extending import Extending
from leasehold.gateway._gas_costs import GasPricing
from leasehold.gateway._gas_key import GasKey
from leasehold.gateway._held_purses import HeldPurses
from leasehold.gateway._limits import CallRates
from leasehold.gateway._parts import PartOf
from leasehold.gateway._reading import lease_number
from leasehold.gateway._refusals import BadRequest, Conflicting, KeepsNoMore, NotHere, told_in
from leasehold.gateway._relaying import CallerOf
from leasehold.gateway._signing_in import TheSigningIn
from leasehold.guarding import LeaseFund
from leasehold.market import Money
from leasehold.rates import RateLimit

PURSE_GAS: Final = 300_000
"""What an extension, or the way back, takes where all of it is new to its accounts."""
DEARER: Final = 2
"""How much dearer than now gas may be before a purse's fee does not pay for it: it is signed for days."""
MOST_PURSES: Final = 2_000
_MOST_BODY: Final = 64 * 1024


class Purses:
    """What the routes need. pool: read by `rpc`. payee: whose ledger the fees go to. caller_of: by what a caller is
    counted. clock: seconds from anywhere.
    """

    def __init__(
        self,
        rpc: Rpc,
        pool: Pool,
        held: HeldPurses,
        extending: Extending,
        key: GasKey,
        payee: str,
        pricing: GasPricing,
        *,
        caller_of: CallerOf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.caller_of = caller_of
        self._rpc = rpc
        self._pool = pool
        self._held = held
        self._extending = extending
        self._key = key
        self._payee = payee
        self._pricing = pricing
        self._accounts = AccountsContract(rpc, pool.deployment.accounts)
        self._domain = accounts_domain(pool.deployment)
        self._money = Money.of(pool.deployment)
        self._asked = CallRates(RateLimit(120, 60.0), clock)
        self._brought = CallRates(RateLimit(30, 3_600.0), clock)

    def told(self) -> AbstractContextManager[None]:
        """What strangers are told of what fails inside."""
        return told_in(self._money, "try again in a moment.")

    async def offer(self, *, network: str) -> PurseOffer:
        """Raises NotServed while gas is too dear, TooManyCalls, ChainError."""
        self._asked.take(network)
        fee = self._pricing.worth(PURSE_GAS * DEARER * await self._key.price())
        return PurseOffer(payee=self._payee, fee=str(fee), before=PURSE_BEFORE, most=MOST_EXTENSIONS)

    async def bring(self, tenant: str, lease: int, said: BroughtPurse, *, network: str) -> HeldPurse:
        """Keeps it. tenant: who is signed in.

        Raises:
            BadRequest, Conflicting, FeeTooLow, NotServed, KeepsNoMore, TooManyCalls: it is not kept. ChainError.
        """
        self._brought.take(network)
        signed = said.to_signed(tenant, self._pool.address, lease)
        await self._check(signed, await self._pool.lease_of(lease))
        await self._check_room(signed)
        await self._held.put(signed)
        self._extending.wake(lease)
        return await self._standing(signed)

    async def read(self, lease: int, *, network: str) -> HeldPurse:
        """What is held for the lease. Raises NotHere, TooManyCalls, ChainError."""
        self._asked.take(network)
        if (signed := await self._held.get(lease)) is None:
            raise NotHere("This gateway extends that lease out of no purse;", "ask its tenant.")
        return await self._standing(signed)

    async def fund_of(self, lease: Lease) -> LeaseFund | None:
        """What extends the lease before its end, if anything does here. Raises ChainError."""
        signed = await self._held.get(lease.id)
        if signed is None or self._extending.trouble_of(lease.id) is not None:
            return None
        standing = await standing_of_purse(self._pool, self._accounts, signed.purse)
        return LeaseFund.of_purse(signed.purse, standing, lease)

    async def _standing(self, signed: SignedPurse) -> HeldPurse:
        purse = signed.purse
        standing = await standing_of_purse(self._pool, self._accounts, purse)
        trouble = self._extending.trouble_of(purse.lease)
        return HeldPurse.of(purse, self._accounts.address, standing.made, standing.holds, trouble)

    async def _check(self, signed: SignedPurse, lease: Lease) -> None:
        purse = signed.purse
        if lease.tenant != purse.tenant or not lease.state.live:
            raise Conflicting("The lease is not this account's, or is over;", "look at it again.")
        if purse.payee != self._payee:
            raise BadRequest("The fee is not paid to this gateway;", "ask it what it costs.")
        self._pricing.check_fee(purse.fee, PURSE_GAS, await self._key.price())
        least = max(1, cost(lease.price, lease.cells, purse.seconds, up=True))
        if purse.most < least:
            raise BadRequest(f"One extension takes {least} token units;", "sign it again.")
        now = await self._rpc.now()
        if not max(now, lease.end) < purse.deadline <= now + PURSE_SECONDS:
            raise BadRequest(
                f"It must be good past the lease's end, and for {PURSE_SECONDS} s at most;", "sign it again."
            )
        try:
            await asyncio.to_thread(signed.check, self._domain)
        except (ProofError, TypedDataError, ContractError) as error:
            raise BadRequest(f"The signatures do not hold ({error.problem});", "sign it again.") from error

    async def _check_room(self, signed: SignedPurse) -> None:
        """One with money in it is not thrown away: its signatures may be nowhere else."""
        known = await self._held.get(signed.purse.lease)
        if known is None:
            if await self._held.count() >= MOST_PURSES:
                raise KeepsNoMore("This gateway keeps as much as it may;", "use another one.")
        elif known != signed:
            standing = await standing_of_purse(self._pool, self._accounts, known.purse)
            if standing.holds >= known.purse.most + known.purse.fee:
                raise Conflicting("The lease has a purse with money in it;", "take that back first.")


router = APIRouter(prefix="/api/v1", tags=["purses"])
ThePurses = Annotated[Purses, Depends(PartOf(Purses))]


@router.get("/purses")
async def purse_offer(purses: ThePurses, request: Request) -> PurseOffer:
    """By whom leases are extended out of purses, and for how much. Where nobody does, 503 (`not-served`)."""
    with purses.told():
        return await purses.offer(network=purses.caller_of(request))


@router.post("/leases/{lease}/purse", openapi_extra=json_body(BroughtPurse))
async def bring_purse(lease: str, purses: ThePurses, signing_in: TheSigningIn, request: Request) -> HeldPurse:
    """Has the gateway extend a lease out of its purse, for its tenant, who is signed in."""
    session = await signing_in.signed_in(request)
    said = await read_json(request, BroughtPurse, _MOST_BODY)
    with purses.told():
        return await purses.bring(
            session.account, lease_number(lease), said, network=purses.caller_of(request)
        )


@router.get("/leases/{lease}/purse")
async def held_purse(lease: str, purses: ThePurses, request: Request) -> HeldPurse:
    """What this gateway holds for the lease. Nothing of it is secret, but for the signatures, which are not shown."""
    with purses.told():
        return await purses.read(lease_number(lease), network=purses.caller_of(request))

"""Sending for renters who have no gas money: what they signed pays for it, in the pool's token, or it is not sent.

The key that sends holds gas money and nothing else: `Accounts` looks at the renter's proof, never at who sends. The fee
is one of the signed calls, so that it is paid if they happen and only then, to an account that need not be the key's.

The chain alone says what was done: a nonce that is used, and the event that goes with it. Nothing is kept here that a
crash could lose; after one, nothing is sent until what was sent before is mined.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Request

from leasehold.agreements import (
    GaslessOutcome,
    GaslessQuote,
    GaslessTerms,
    GaslessWish,
    SignedGasless,
    accounts_domain,
    calls_said,
    check_gasless,
)
from leasehold.chain import (
    GASLESS_KEY,
    GASLESS_SECONDS,
    AccountsContract,
    GaslessCalls,
    Pool,
    Receipt,
    Rpc,
    Sends,
)
from leasehold.errors import (
    ChainError,
    InvalidNonce,
    ProofError,
    TypedDataError,
)
from leasehold.gateway._bodies import json_body, read_json
from leasehold.gateway._gas_costs import GasLosses, GasPricing
from leasehold.gateway._gas_key import GasKey, check_gas
from leasehold.gateway._limits import CallRates
from leasehold.gateway._parts import PartOf
from leasehold.gateway._places import Places
from leasehold.gateway._refusals import BadRequest, Conflicting, NotServed, told_in
from leasehold.gateway._relaying import CallerOf
from leasehold.market import Money
from leasehold.rates import RateLimit

QUOTE_SECONDS: Final = 120
LEAST_LEFT: Final = 120
"""Seconds that must be left of what is signed: what is mined too late costs its sender the gas."""
MOST_LEFT: Final = GASLESS_SECONDS + 120
WAITED: Final = 30.0
"""Seconds that an answer waits for the block."""
MOST_AT_ONCE: Final = {"all": 8, "caller": 2}
_OWN_GAS: Final = (
    110_000  # of `execute` and the payment, where the account and the payee are new to all of it
)
_BEGINNING: Final = 21_000  # of a transaction, which one that has several calls pays once
_SEARCHED: Final = (
    2_000  # blocks in which something that was done is looked for: what is signed is good for ten minutes
)
_MOST_BODY: Final = 64 * 1024


@dataclass(frozen=True)
class GaslessRates:
    """Quotes and sendings of one network."""

    quotes: CallRates
    sendings: CallRates

    @classmethod
    def of(cls, clock: Callable[[], float]) -> GaslessRates:
        return cls(CallRates(RateLimit(30, 60.0), clock), CallRates(RateLimit(20, 3_600.0), clock))


@dataclass(frozen=True)
class _Flying:
    digest: bytes
    task: asyncio.Task[Receipt]


class Gasless:
    """What the routes need. pool: read by `rpc`. sender: pays the gas. payee: whose ledger the fees go to. caller_of:
    by what a caller is counted. waited: seconds an answer waits for the block.
    """

    def __init__(
        self,
        rpc: Rpc,
        pool: Pool,
        sender: Sends,
        payee: str,
        pricing: GasPricing,
        losses: GasLosses,
        *,
        caller_of: CallerOf,
        clock: Callable[[], float] = time.monotonic,
        waited: float = WAITED,
    ) -> None:
        self.caller_of = caller_of
        self.payee = payee
        self._pool = pool
        self._rpc = rpc
        self._accounts = AccountsContract(rpc, pool.deployment.accounts)
        self._domain = accounts_domain(pool.deployment)
        self._money = Money.of(pool.deployment)
        self._key = GasKey(rpc, sender, pricing)
        self._pricing = pricing
        self._losses = losses
        self._rates = GaslessRates.of(clock)
        self._places = Places(MOST_AT_ONCE)
        self._waited = waited
        self._flying: dict[str, _Flying] = {}

    @property
    def terms(self) -> GaslessTerms:
        return GaslessTerms(payee=self.payee, sender=self._key.address, most_seconds=MOST_LEFT)

    def told(self) -> AbstractContextManager[None]:
        """What strangers are told of what fails inside."""
        return told_in(self._money, "ask again what became of it.")

    async def close(self) -> None:
        """Ends what is under way here. What was broadcast may be mined."""
        tasks = [flying.task for flying in self._flying.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -------------------------------------------------------------------------------------------------------- a quote

    async def quote(self, wish: GaslessWish, *, network: str) -> GaslessQuote:
        """What it would cost now. Raises NotGasless, NotServed, ContractError: why the calls would be refused."""
        self._rates.quotes.take(network)
        calls = calls_said(wish.calls)
        check_gasless(calls, await self._pool.contracts())
        price = await self._key.price()
        estimates = await self._rpc.batch(
            [("eth_estimateGas", [_call(wish.account, call.target, call.data)]) for call in calls]
        )
        gas = _OWN_GAS + sum(int(estimate, 16) - _BEGINNING for estimate in estimates)
        check_gas(gas)
        return GaslessQuote(
            payee=self.payee,
            fee=str(self._pricing.quoted(gas, price)),
            gas=gas,
            valid_until=await self._rpc.now() + QUOTE_SECONDS,
        )

    # -------------------------------------------------------------------------------------------------------- sending

    async def send(self, said: SignedGasless, *, network: str) -> GaslessOutcome:
        """Sends it, or tells what has become of it: as often as one likes, it is done once at most.

        Raises:
            BadRequest, Conflicting, NotGasless: it is not sent. FeeTooLow. Busy. NotServed. ContractError: why the pool
            would refuse it. ChainError.
        """
        self._rates.sendings.take(network)
        signed = said.to_calls(self._pool.address)
        await self._check(signed)
        digest, flying = signed.message.digest(self._domain), self._flying.get(signed.account)
        if flying is not None and flying.digest != digest:
            raise Conflicting(
                "Something else that the account signed is under way;", "wait until it is done."
            )
        if flying is None:
            flying = self._begun(signed, digest, network)
        done, _ = await asyncio.wait({flying.task}, timeout=self._waited)
        if not done:
            return GaslessOutcome(transaction=None, block=None)
        if flying.task.cancelled():
            raise NotServed("The gateway is ending;", "ask another whether it was done.")
        receipt = flying.task.result()
        return GaslessOutcome(transaction=receipt.tx_hash, block=receipt.block_number)

    def _begun(self, signed: GaslessCalls, digest: bytes, network: str) -> _Flying:
        async def carried() -> Receipt:
            with self._places.taken(caller=network):
                return await self._carry(signed, network)

        flying = _Flying(digest, asyncio.create_task(carried()))
        self._flying[signed.account] = flying

        def ended(task: asyncio.Task[Receipt]) -> None:
            del self._flying[signed.account]
            if not task.cancelled():
                task.exception()  # whoever waited was told

        flying.task.add_done_callback(ended)
        return flying

    async def _check(self, signed: GaslessCalls) -> None:
        """What can be said without trying it. Raises BadRequest, Conflicting, NotGasless."""
        if signed.payee != self.payee or signed.account in (self.payee, self._key.address):
            raise BadRequest("The fee is not paid to this gateway;", "ask it what it costs.")
        if not signed.in_its_row:
            raise BadRequest("The nonce is not of the row of gasless calls;", "take the next of that row.")
        left = signed.deadline - await self._rpc.now()
        if not LEAST_LEFT <= left <= MOST_LEFT:
            raise BadRequest(
                f"What is signed must be good for {LEAST_LEFT} to {MOST_LEFT} s;", "sign it again."
            )
        try:
            signed.check_key(self._domain)
        except (ProofError, TypedDataError) as error:
            raise BadRequest(f"The signature does not hold ({error.problem});", "sign it again.") from error
        check_gasless(signed.calls, await self._pool.contracts())

    async def _carry(self, signed: GaslessCalls, network: str) -> Receipt:
        if (done := await self._done(signed)) is not None:
            return done
        await self._key.check_alone()
        accounts, data = self._accounts.address, signed.data
        price = await self._key.price()
        gas = await self._key.gas_of(accounts, data)
        self._pricing.check_fee(signed.fee, gas, price)
        with self._losses.risked(self._key.risk(gas, price), signed.account, network) as lost:
            return await self._sent(signed, data, lost)

    async def _sent(self, signed: GaslessCalls, data: bytes, lost: Callable[[int], None]) -> Receipt:
        """What was mined and reverted stays lost, unless somebody else had sent the same: then the fee is here."""
        try:
            return await self._key.send(self._accounts.address, data, signed.fee, lost)
        except ChainError:
            if (done := await self._done(signed)) is None:
                raise
            lost(0)  # the fee is here, and somebody else paid for the gas
            return done

    async def _done(self, signed: GaslessCalls) -> Receipt | None:
        """Where it was done; `None` while the nonce is free. Raises InvalidNonce where it served something else."""
        expected = await self._accounts.nonce_of(signed.account, GASLESS_KEY)
        if expected <= signed.nonce:
            return None
        since = max(0, await self._rpc.block_number() - _SEARCHED)
        receipt = await self._accounts.executed(signed.message, since=since)
        if receipt is None:
            raise InvalidNonce(signed.nonce, expected)
        return receipt


def _call(sender: str, target: str, data: bytes) -> Mapping[str, str]:
    return {"from": sender, "to": target, "data": "0x" + data.hex()}


router = APIRouter(prefix="/api/v1/gasless", tags=["gasless"])
TheGasless = Annotated[Gasless, Depends(PartOf(Gasless))]


@router.get("")
async def gasless_terms(gasless: TheGasless) -> GaslessTerms:
    """Who sends for renters without gas money, and who is paid for it. Where nobody does, 503 (`not-served`)."""
    return gasless.terms


@router.post("/quotes", openapi_extra=json_body(GaslessWish))
async def gasless_quote(gasless: TheGasless, request: Request) -> GaslessQuote:
    """What it costs to have calls sent, in the pool's token."""
    wish = await read_json(request, GaslessWish, _MOST_BODY)
    with gasless.told():
        return await gasless.quote(wish, network=gasless.caller_of(request))


@router.post("", openapi_extra=json_body(SignedGasless))
async def send_gasless(gasless: TheGasless, request: Request) -> GaslessOutcome:
    """Sends what was signed with its fee. Again, it says what has become of it: it is done once at most."""
    signed = await read_json(request, SignedGasless, _MOST_BODY)
    with gasless.told():
        return await gasless.send(signed, network=gasless.caller_of(request))

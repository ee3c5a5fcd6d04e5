"""Paying for gas in the pool's token: a gateway sends what the wallet signs, and is paid out of the account's ledger.

    by = GaslessBy("https://gate.example", most="0.5")
    async with leasehold.connect("pool.json", wallet=key, gasless=by) as pool:
        await pool.carry_out(Close(lease))

Nothing that the gateway says is believed but its price, up to a bound: which calls are signed, and what was done, come
from the pool and the chain. It can refuse, and it can wait with what it was given until the signature is over; that is
all it can do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeVar

import httpx
import orjson
from pydantic import BaseModel, ValidationError

from leasehold._bounded import Unreadable, read_bounded
from leasehold._connections import authorities, tidy
from leasehold.agreements import (
    GaslessOutcome,
    GaslessQuote,
    GaslessWish,
    SignedGasless,
    accounts_domain,
    check_gasless,
    said_calls,
)
from leasehold.chain import (
    GASLESS_KEY,
    GASLESS_SECONDS,
    AccountsContract,
    Call,
    GaslessCalls,
    Pool,
    Receipt,
    Rpc,
    Signer,
)
from leasehold.client._gasless_errors import GaslessFeeTooHigh, GaslessRefused, GaslessUnknown
from leasehold.client._observer import Observer
from leasehold.market import Money, parse_amount

_MOST_ANSWER: Final = 64 * 1024
_SECONDS: Final = 60.0
"""For one answer: a gateway waits for the block before it gives it."""
_POLL: Final = 1.0
_LOOKS: Final = 30
"""Looks at the chain for what a gateway says is done, or says nothing of."""

A = TypeVar("A", bound=BaseModel)


@dataclass(frozen=True)
class GaslessBy:
    """Who sends. gateway: its address. most: whole tokens that its fee for one transaction may be."""

    gateway: str
    most: Decimal | str


@dataclass(frozen=True)
class GaslessFee:
    """What one transaction costs: `amount` token units into the ledger of `payee`. valid_until: unix seconds."""

    payee: str
    amount: int
    valid_until: int


class GaslessSender:
    """Stands where a wallet's sender would: each call is signed with its fee, and the gateway sends it.

    pool: read by `rpc`. sleep, transport: for tests.
    """

    def __init__(
        self,
        rpc: Rpc,
        signer: Signer,
        pool: Pool,
        by: GaslessBy,
        observer: Observer,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._rpc = rpc
        self._signer = signer
        self._pool = pool
        self._by = by
        self._observer = observer
        self._sleep = sleep
        self._transport = transport
        self._money = Money.of(pool.deployment)
        self._most = parse_amount(str(by.most), self._money.decimals)
        self._accounts = AccountsContract(rpc, pool.deployment.accounts)
        self._turn = asyncio.Lock()

    @property
    def address(self) -> str:
        """The wallet's account."""
        return self._signer.address

    async def fee_of(self, calls: Sequence[Call]) -> GaslessFee:
        """What the gateway asks for sending these now. Raises NotGasless, GaslessRefused, GaslessFeeTooHigh."""
        check_gasless(calls, await self._pool.contracts())
        wish = GaslessWish(account=self.address, calls=said_calls(calls))
        try:
            quote = await self._asked("/quotes", wish, GaslessQuote)
        except _Silent as error:
            raise GaslessRefused(str(error)) from error
        fee = GaslessFee(quote.payee, int(quote.fee), quote.valid_until)
        if fee.amount > self._most:
            raise GaslessFeeTooHigh(fee.amount, self._most).in_money(self._money)
        return fee

    async def send(self, to: str, data: bytes = b"", value: int = 0) -> Receipt:
        """As `Sends`, one after the other: what is signed for one nonce is done once at most.

        Raises:
            NotGasless: it is nothing that others send. GaslessRefused, GaslessFeeTooHigh: nothing was sent.
            GaslessUnknown: it may be sent yet. ContractError.
        """
        parts = self._pool.parts(data) if to == self._pool.address and not value else (data,)
        calls = tuple(Call(to, part) for part in parts)
        async with self._turn:
            fee = await self.fee_of(calls)
            self._observer.gasless_fee(self._money.show(fee.amount, places=None), fee.payee)
            signed, since = await self._signed(calls, fee)
            return await self._seen_through(signed, since)

    async def _signed(self, calls: tuple[Call, ...], fee: GaslessFee) -> tuple[GaslessCalls, int]:
        """It, and the block from which on it may be done."""
        made = GaslessCalls(
            account=self.address,
            controller=self._pool.address,
            payee=fee.payee,
            fee=fee.amount,
            calls=calls,
            nonce=await self._accounts.nonce_of(self.address, GASLESS_KEY),
            deadline=await self._rpc.now() + GASLESS_SECONDS,
        )
        since = await self._rpc.block_number()
        return await made.signed(accounts_domain(self._pool.deployment), self._signer), since

    async def _seen_through(self, signed: GaslessCalls, since: int) -> Receipt:
        """Hands it over, and looks on the chain for what came of it, whatever the gateway says."""
        try:
            outcome = await self._asked("", SignedGasless.of(signed), GaslessOutcome)
            looks = _LOOKS if outcome.transaction else GASLESS_SECONDS
        except GaslessRefused as refused:
            if (receipt := await self._accounts.executed(signed.message, since=since)) is not None:
                return receipt
            refused.until = signed.deadline
            raise
        except _Silent:
            looks = _LOOKS  # it may have taken it all the same
        for _ in range(looks):
            if (receipt := await self._accounts.executed(signed.message, since=since)) is not None:
                return receipt
            if await self._rpc.now() > signed.deadline:
                break
            self._observer.waiting("Waiting for the gateway to send what was signed")
            await self._sleep(_POLL)
        raise GaslessUnknown(signed.deadline)

    async def _asked(self, path: str, body: BaseModel, kind: type[A]) -> A:
        """What the gateway answers. Raises GaslessRefused with its words; _Silent where that is no answer."""
        address = self._by.gateway.rstrip("/") + "/api/v1/gasless" + path
        content, headers = body.model_dump_json().encode(), {"content-type": "application/json"}
        try:
            async with (
                self._client() as client,
                client.stream("POST", address, content=content, headers=headers) as answer,
            ):
                said, refused = await read_bounded(answer, _MOST_ANSWER), answer.status_code >= 400
        except (httpx.HTTPError, httpx.InvalidURL, Unreadable) as error:
            raise _Silent(f"it gives no answer ({type(error).__name__})") from error
        try:
            if not refused:
                return kind.model_validate_json(said)
            problem = orjson.loads(said)
            raise GaslessRefused(str(problem["detail"])[:500])
        except (ValidationError, ValueError, KeyError, TypeError) as error:
            raise _Silent("it answers with something else than a gateway does") from error

    def _client(self) -> httpx.AsyncClient:
        return tidy(
            httpx.AsyncClient(
                timeout=_SECONDS,
                follow_redirects=False,
                verify=authorities(),
                transport=self._transport,
                headers={"accept-encoding": "gzip"},
            )
        )


class _Silent(Exception):
    """No answer, or none that is one. Never leaves this module."""

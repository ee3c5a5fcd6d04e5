"""Paying for gas in the pool's token by the library: through a real gateway's routes, and through hostile ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from fastapi import FastAPI

import leasehold
from devnet.pool import PoolChain
from leasehold.agreements import NotGasless, SignedGasless
from leasehold.chain import LocalSigner, Pool, Token
from leasehold.client import Observer
from leasehold.client._gasless import GaslessSender
from leasehold.gasless import GaslessBy, GaslessFeeTooHigh, GaslessRefused, GaslessUnknown
from leasehold.gateway import _gasless
from leasehold.gateway._gas_costs import GasLosses, GasPricing
from leasehold.gateway._gasless import Gasless
from leasehold.gateway._problems import answer_problems
from leasehold.market import InvalidInput, Money

UNIT = 10**18
FRIEND, RELAY, PAYEE = 2, 5, 6
RENTER = LocalSigner("0x" + "5a" * 32)
BY = GaslessBy("http://gate.example/", "1")


class Told(Observer):
    """Keeps what it is told of fees."""

    def __init__(self) -> None:
        self.fees: list[tuple[str, str]] = []

    def gasless_fee(self, amount: str, payee: str) -> None:
        self.fees.append((amount, payee))


async def at_once(seconds: float) -> None:
    """Nobody waits in these tests."""


def served(chain: PoolChain) -> httpx.AsyncBaseTransport:
    """A gateway that sends, with its own routes."""
    gasless = Gasless(
        chain.rpc,
        chain.pool(),
        chain.sender(RELAY),
        chain.address(PAYEE),
        GasPricing(2_000 * UNIT, 10**12),
        GasLosses(10**18, lambda: 0.0),
        caller_of=lambda connection: "somewhere",
    )
    app = FastAPI()
    app.state.parts = {Gasless: gasless}
    app.include_router(_gasless.router)
    answer_problems(app)
    return httpx.ASGITransport(app)


def sender_of(
    chain: PoolChain,
    transport: httpx.AsyncBaseTransport,
    by: GaslessBy = BY,
    observer: Observer | None = None,
) -> GaslessSender:
    return GaslessSender(
        chain.rpc, RENTER, chain.pool(), by, observer or Observer(), sleep=at_once, transport=transport
    )


@pytest.fixture
async def funded(chain: PoolChain) -> PoolChain:
    """The renter has tokens in the ledger, and not a wei."""
    await chain.token(FRIEND).approve(chain.deployment.controller)
    await chain.pool(FRIEND).deposit(RENTER.address, 100 * UNIT)
    return chain


async def test_a_binding_sends_by_it_as_by_a_wallet(funded: PoolChain) -> None:
    told = Told()
    sender = sender_of(funded, served(funded), observer=told)
    pool = Pool(funded.rpc, funded.deployment, sender)
    receipt = await pool.withdraw(RENTER.address, 7 * UNIT)
    assert receipt.status == 1
    assert await Token(funded.rpc, funded.deployment.token).balance(RENTER.address) == 7 * UNIT
    fee = await pool.balance_of(funded.address(PAYEE))
    assert 0 < fee < UNIT
    money = Money.of(funded.deployment)
    assert told.fees == [(money.show(fee, places=None), funded.address(PAYEE))]
    together = await pool.multicall(
        [pool.encode("withdraw", RENTER.address, 1), pool.encode("withdraw", RENTER.address, 2)]
    )
    assert together.status == 1
    assert await funded.rpc.balance(RENTER.address) == 0


async def test_what_takes_the_wallets_tokens_is_refused_before_anything_is_signed(funded: PoolChain) -> None:
    sender = sender_of(funded, served(funded))
    pool = Pool(funded.rpc, funded.deployment, sender)
    with pytest.raises(NotGasless):
        await pool.deposit(RENTER.address, 1)
    with pytest.raises(NotGasless):
        await Token(funded.rpc, funded.deployment.token, sender).approve(funded.deployment.controller)


async def test_a_refusal_is_the_contracts(funded: PoolChain) -> None:
    pool = Pool(funded.rpc, funded.deployment, sender_of(funded, served(funded)))
    with pytest.raises(GaslessRefused, match=r"no lease|lease"):
        await pool.close(7 << 16)


# ------------------------------------------------------------------------------------------------- hostile gateways


@dataclass
class Hostile(httpx.AsyncBaseTransport):
    """A gateway that answers what the test says, once it has what was signed."""

    chain: PoolChain
    fee: str = str(UNIT)
    answer: Callable[[dict[str, Any]], httpx.Response] | None = None
    does: Callable[[SignedGasless], Any] | None = None
    signed: SignedGasless | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = orjson.loads(await request.aread())
        if request.url.path.endswith("/quotes"):
            quote = {"payee": self.chain.address(PAYEE), "fee": self.fee, "gas": 1, "valid_until": 1}
            return answered(200, quote)
        self.signed = SignedGasless.model_validate(body)
        if self.does is not None:
            await self.does(self.signed)
        assert self.answer is not None
        return self.answer(body)


def answered(status: int, body: object) -> httpx.Response:
    """As it comes off a connection: read once."""
    return httpx.Response(status, stream=httpx.ByteStream(orjson.dumps(body)))


def says_done(_: object) -> httpx.Response:
    return answered(200, {"transaction": "0x" + "ab" * 32, "block": 7})


def refuses(_: object) -> httpx.Response:
    return answered(409, {"detail": "Not today.", "code": "no"})


def is_gone(_: object) -> httpx.Response:
    raise httpx.ConnectError("gone")


def says_nonsense(_: object) -> httpx.Response:
    return answered(200, ["x"] * 100_000)


def withdrawing(chain: PoolChain, gateway: Hostile) -> Any:
    return Pool(chain.rpc, chain.deployment, sender_of(chain, gateway)).withdraw(RENTER.address, UNIT)


async def sent(chain: PoolChain, signed: SignedGasless) -> None:
    calls = signed.to_calls(chain.deployment.controller)
    await chain.sender(RELAY).send(chain.deployment.accounts, calls.data)


@pytest.mark.parametrize("fee", [str(UNIT + 1), "9" * 29])
async def test_a_fee_above_what_was_agreed_is_not_signed(funded: PoolChain, fee: str) -> None:
    gateway = Hostile(funded, fee)
    with pytest.raises(GaslessFeeTooHigh):
        await withdrawing(funded, gateway)
    assert gateway.signed is None


@pytest.mark.parametrize("fee", ["-1", "1e3", "", "9" * 30, " 1"])
async def test_a_fee_that_is_none(funded: PoolChain, fee: str) -> None:
    gateway = Hostile(funded, fee)
    with pytest.raises(GaslessRefused):
        await withdrawing(funded, gateway)
    assert gateway.signed is None


@pytest.mark.parametrize("answer", [says_done, is_gone, says_nonsense])
async def test_what_it_says_it_did_is_looked_up(
    funded: PoolChain, answer: Callable[..., httpx.Response]
) -> None:
    """It has the signature and has sent nothing: nobody is told that it is done, but until when it may be."""
    with pytest.raises(GaslessUnknown) as unknown:
        await withdrawing(funded, Hostile(funded, answer=answer))
    assert unknown.value.until > await funded.rpc.now()


@pytest.mark.parametrize("answer", [refuses, is_gone, says_nonsense, says_done])
async def test_what_it_did_is_found_whatever_it_says(
    funded: PoolChain, answer: Callable[..., httpx.Response]
) -> None:
    """One that takes the fee, does it, and says no, would have it paid for twice."""

    async def does(signed: SignedGasless) -> None:
        await sent(funded, signed)

    receipt = await withdrawing(funded, Hostile(funded, answer=answer, does=does))
    assert receipt.status == 1


async def test_what_it_keeps_is_done_once_at_most(funded: PoolChain) -> None:
    """It refuses, keeps what was signed, and the renter goes elsewhere: one of the two is done."""
    gateway = Hostile(funded, answer=refuses)
    with pytest.raises(GaslessRefused) as refused:
        await withdrawing(funded, gateway)
    assert refused.value.until > await funded.rpc.now()
    assert gateway.signed is not None
    pool = Pool(funded.rpc, funded.deployment, sender_of(funded, served(funded)))
    await pool.withdraw(RENTER.address, UNIT)
    with pytest.raises(leasehold.LeaseholdError):
        await sent(funded, gateway.signed)
    assert await Token(funded.rpc, funded.deployment.token).balance(RENTER.address) == UNIT


# ---------------------------------------------------------------------------------------------------- the front door


@asynccontextmanager
async def opened(chain: PoolChain, home: Path, **more: Any) -> AsyncIterator[leasehold.PoolClient]:
    opening = leasehold.connect(chain.deployment, wallet=RENTER, rpc=chain.anvil.url, home=home, **more)
    async with opening as pool:
        yield pool


async def test_all_is_paid_from_the_ledger(funded: PoolChain, tmp_path: Path) -> None:
    """A plan does not count on the wallet's tokens, which nobody can pull."""
    await funded.token(FRIEND).transfer(RENTER.address, 50 * UNIT)
    async with opened(funded, tmp_path, gasless=BY) as pool:
        assert pool.ledger_only
        funds = await pool.renter().funds()
        assert (funds.wallet, funds.ledger) == (0, 100 * UNIT)


@pytest.mark.parametrize("other", [{"account": "0x" + "12" * 20}, {"group": "ours"}])
async def test_nobody_elses_account(funded: PoolChain, tmp_path: Path, other: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        await leasehold.connect(
            funded.deployment, wallet=RENTER, rpc=funded.anvil.url, home=tmp_path, gasless=BY, **other
        )

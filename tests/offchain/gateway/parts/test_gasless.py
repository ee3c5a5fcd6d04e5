"""Sending for who has no gas money, on the real contracts: paid in the ledger's tokens or not sent, and done once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import httpx
import pytest
from fastapi import FastAPI

from devnet.pool import PoolChain
from leasehold.agreements import SignedGasless, accounts_domain, said_calls
from leasehold.chain import (
    GASLESS_KEY,
    AccountsContract,
    Call,
    GaslessCalls,
    LocalSigner,
    Pool,
    Receipt,
    Sender,
    Sends,
    Token,
)
from leasehold.chain.typed import Execute, sign
from leasehold.errors import ContractError, InvalidNonce, TransactionFailed
from leasehold.gateway import _gasless
from leasehold.gateway._gas_costs import COIN, MOST_FAILED, GasLosses, GasPricing
from leasehold.gateway._gasless import LEAST_LEFT, MOST_LEFT, Gasless
from leasehold.gateway._refusals import Busy

UNIT = 10**18
FRIEND, RELAY, PAYEE, ACCOMPLICE = 2, 5, 6, 7
PRICE = 2_000 * UNIT  # of a coin, in the pool's token
FEE = 5 * UNIT
PLENTY = 10**18


class Clock:
    """It stands still."""

    time = 1_000.0

    def __call__(self) -> float:
        return self.time


@dataclass
class Office:
    """A gateway that sends, and a renter with tokens in the ledger and not a wei."""

    chain: PoolChain
    renter: LocalSigner
    gasless: Gasless
    page: httpx.AsyncClient
    losses: GasLosses
    network: str = "somewhere"
    sent: list[str] = field(default_factory=list)

    @property
    def pool(self) -> Pool:
        return self.chain.pool()

    def call(self, function: str, *values: object) -> Call:
        return Call(self.chain.deployment.controller, self.pool.encode(function, *values))

    def withdrawal(self, amount: int = UNIT) -> Call:
        return self.call("withdraw", self.renter.address, amount)

    async def signed(self, *calls: Call, signer: LocalSigner | None = None, **fields: object) -> GaslessCalls:
        signer = signer or self.renter
        accounts = AccountsContract(self.chain.rpc, self.chain.deployment.accounts)
        made = GaslessCalls(
            account=signer.address,
            controller=self.chain.deployment.controller,
            payee=self.chain.address(PAYEE),
            fee=FEE,
            calls=calls or (self.withdrawal(),),
            nonce=await accounts.nonce_of(signer.address, GASLESS_KEY),
            deadline=await self.chain.rpc.now() + 500,
        )
        made = replace(made, **fields)  # type: ignore[arg-type]  # of whichever field
        return await made.signed(accounts_domain(self.chain.deployment), signer)

    async def send(self, signed: GaslessCalls) -> httpx.Response:
        body = SignedGasless.of(signed).model_dump(mode="json")
        return await self.page.post("/api/v1/gasless", json=body)

    async def sent_by(self, account: int) -> int:
        return int(
            self.chain.anvil.request("eth_getTransactionCount", self.chain.address(account), "latest"), 16
        )

    async def paid(self) -> int:
        return await self.pool.balance_of(self.chain.address(PAYEE))


@asynccontextmanager
async def office_of(
    chain: PoolChain,
    app_of: Callable[..., FastAPI],
    *,
    sender: Sends | None = None,
    most_price: int = 10**12,
    daily: int = PLENTY,
    waited: float = 60.0,
) -> AsyncIterator[Office]:
    renter = LocalSigner("0x" + "5a" * 32)
    await chain.token(FRIEND).approve(chain.deployment.controller)
    await chain.pool(FRIEND).deposit(renter.address, 100 * UNIT)
    losses = GasLosses(daily, Clock())
    gasless = Gasless(
        chain.rpc,
        chain.pool(),
        sender or chain.sender(RELAY),
        chain.address(PAYEE),
        GasPricing(PRICE, most_price),
        losses,
        caller_of=lambda connection: connection.headers.get("x-network", "somewhere"),
        clock=Clock(),
        waited=waited,
    )
    app = app_of([_gasless.router], gasless)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://gate.example") as page:
        yield Office(chain, renter, gasless, page, losses)
    await gasless.close()


@pytest.fixture
async def office(chain: PoolChain, app_of: Callable[..., FastAPI]) -> AsyncIterator[Office]:
    async with office_of(chain, app_of) as opened:
        yield opened


def code_of(answer: httpx.Response) -> str:
    return f"{answer.status_code} {answer.json()['code']}"


# ------------------------------------------------------------------------------------------------------ what it is for


async def test_who_has_no_coin_pays_in_tokens(office: Office) -> None:
    """Quote, signature, sending; and what comes back is on the chain."""
    chain, renter = office.chain, office.renter
    call = office.withdrawal(7 * UNIT)
    wish = {
        "account": renter.address,
        "calls": [call.model_dump() for call in said_calls([call])],
    }
    quote = (await office.page.post("/api/v1/gasless/quotes", json=wish)).json()
    fee = int(quote["fee"])
    assert 0 < fee < UNIT
    assert quote["payee"] == chain.address(PAYEE)
    signed = await office.signed(call, fee=fee)
    answer = (await office.send(signed)).json()
    receipt = await chain.rpc.call("eth_getTransactionReceipt", [answer["transaction"]])
    assert receipt["status"] == "0x1"
    assert int(receipt["blockNumber"], 16) == answer["block"]
    assert await Token(chain.rpc, chain.deployment.token).balance(renter.address) == 7 * UNIT
    assert await office.pool.balance_of(renter.address) == 93 * UNIT - fee
    assert await office.paid() == fee
    assert await chain.rpc.balance(renter.address) == 0
    cost = int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
    assert fee * COIN >= cost * PRICE  # whoever sends does not lose by it


async def test_who_sends_is_told(office: Office) -> None:
    terms = (await office.page.get("/api/v1/gasless")).json()
    assert terms == {
        "payee": office.chain.address(PAYEE),
        "sender": office.chain.address(RELAY),
        "most_seconds": MOST_LEFT,
    }


async def test_a_gateway_without_a_key_says_so(app_of: Callable[..., FastAPI]) -> None:
    transport = httpx.ASGITransport(app_of([_gasless.router]))
    async with httpx.AsyncClient(transport=transport, base_url="http://gate.example") as page:
        assert code_of(await page.get("/api/v1/gasless")) == "503 not-served"


# ----------------------------------------------------------------------------------- what a gateway in between could do


SWAPPED: list[dict[str, object]] = [
    {"fee": FEE + 1},
    {"fee": 0},
    {"payee": None},
    {"calls": None},
    {"deadline": 1},
    {"nonce": 1},
    {"proof": b"\x01" + b"\x11" * 65},
    {"proof": b"\x02" + b"\x11" * 65},
    {"proof": b"\x03\x01\x01"},
    {"proof": b""},
    {"proof": b"\x01"},
]


async def test_nothing_of_it_can_be_swapped(office: Office) -> None:
    """The chain refuses it too: what is refused here saves gas, and is nobody's safety."""
    chain, signed = office.chain, await office.signed()
    others = {
        "payee": chain.address(ACCOMPLICE),
        "calls": (office.call("withdraw", chain.address(ACCOMPLICE), UNIT),),
        "deadline": signed.deadline + 1,
        "nonce": signed.nonce + 1,
    }
    for swapped in SWAPPED:
        fields = {name: others.get(name, value) for name, value in swapped.items()}
        other = replace(signed, **fields)  # type: ignore[arg-type]  # of whichever field
        assert (await office.send(other)).status_code == 400, swapped
        with pytest.raises(ContractError):
            await chain.rpc.eth_call(chain.deployment.accounts, other.data, sender=chain.address(RELAY))
    assert await office.sent_by(RELAY) == 0
    assert await office.paid() == 0


async def test_the_fee_and_the_calls_happen_together_or_not_at_all(office: Office) -> None:
    """Who takes the fee has sent: there is no way to have one without the other."""
    signed = await office.signed(office.withdrawal(99 * UNIT))  # with the fee it is more than there is
    refused = await office.send(signed)
    assert code_of(refused) == "409 insufficient-balance"
    assert await office.paid() == 0
    assert await office.pool.balance_of(office.renter.address) == 100 * UNIT


# --------------------------------------------------------------------------------------------- what a renter could do


async def test_what_runs_a_strangers_code_is_not_sent(office: Office) -> None:
    """A proof, a consent or a token that calls out could behave otherwise in the block."""
    chain = office.chain
    deployment = chain.deployment
    permit = office.call("depositWithPermit", office.renter.address, 1, 2**40, 27, b"\1" * 32, b"\1" * 32)
    nested = office.call("multicall", [office.withdrawal().data])
    calls = [
        permit,
        nested,
        office.call("deposit", office.renter.address, 1),
        office.call("transferLease", 1 << 16, chain.address(FRIEND), 2**40, b"\x02"),
        Call(deployment.token, bytes.fromhex("a9059cbb") + b"\0" * 64),
        Call(deployment.factory, b"\1\2\3\4"),
        Call(chain.address(ACCOMPLICE), b"\1\2\3\4"),
        Call(deployment.controller, b"\1\2\3\4"),
        Call(deployment.controller, office.withdrawal().data + b"\0"),
        Call(
            deployment.accounts,
            AccountsContract.encode("execute", office.renter.address, [], 0, 2**40, b"\x01"),
        ),
        Call(
            deployment.accounts, AccountsContract.encode("rescue", deployment.token, office.renter.address, 1)
        ),
    ]
    for call in calls:
        for refused in (
            await office.send(await office.signed(office.withdrawal(), call)),
            await office.page.post(
                "/api/v1/gasless/quotes",
                json={
                    "account": office.renter.address,
                    "calls": [said.model_dump() for said in said_calls([call])],
                },
            ),
        ):
            assert refused.json()["code"] == "not-gasless", call
    assert await office.sent_by(RELAY) == 0


async def test_a_fee_that_does_not_pay_is_refused(office: Office) -> None:
    """A quote of yesterday, or a renter's own price: what counts is what gas costs now."""
    refused = await office.send(await office.signed(fee=1))
    assert code_of(refused) == "409 fee-too-low"
    assert office.chain.deployment.token_symbol in refused.json()["detail"]
    assert await office.sent_by(RELAY) == 0


async def test_a_fee_to_somebody_else_is_refused(office: Office) -> None:
    for signed in (
        await office.signed(payee=office.chain.address(ACCOMPLICE)),
        await office.signed(payee=office.renter.address),
        await office.signed(signer=office.chain.signer(PAYEE)),
        await office.signed(signer=office.chain.signer(RELAY)),
    ):
        assert code_of(await office.send(signed)) == "400 bad-request"
    assert await office.sent_by(RELAY) == 0


async def test_what_would_be_refused_is_not_sent(office: Office) -> None:
    refused = await office.send(await office.signed(office.call("close", 7 << 16)))
    assert code_of(refused) == "409 unknown-lease"
    assert await office.sent_by(RELAY) == 0


async def test_a_deadline_too_near_or_too_far(office: Office) -> None:
    for left in (-1, LEAST_LEFT - 30, MOST_LEFT + 30, 2**70):
        signed = await office.signed(deadline=await office.chain.rpc.now() + left)
        assert code_of(await office.send(signed)) == "400 bad-request"


async def test_only_the_row_of_gasless_calls(office: Office) -> None:
    """A nonce of the common row could be used up by whatever else the account has signed."""
    for nonce in (0, 5 << 64, (GASLESS_KEY << 64) + 7, 2**256 - 1):
        assert (await office.send(await office.signed(nonce=nonce))).status_code in (400, 409)
    assert await office.sent_by(RELAY) == 0


async def test_a_contracts_word_is_not_taken(office: Office) -> None:
    """It could say yes when it is asked and no in the block, and burn a million gas on the way."""
    signed = await office.signed()
    for kind in (2, 3, 4):
        refused = await office.send(replace(signed, proof=bytes([kind]) + signed.proof[1:]))
        assert code_of(refused) == "400 bad-request"


async def test_two_things_signed_for_one_nonce(office: Office) -> None:
    """One is done. The other is told so, and costs nobody anything."""
    one, other = await office.signed(), await office.signed(office.withdrawal(2 * UNIT))
    answers = await asyncio.gather(office.send(one), office.send(other))
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    again = await office.send(other if answers[0].status_code == 200 else one)
    assert code_of(again) == "409 invalid-nonce"
    assert await office.sent_by(RELAY) == 1
    assert await office.paid() == FEE


async def test_the_same_again_is_done_once(office: Office) -> None:
    """Whoever got no answer asks again; so does one who hopes to be paid twice."""
    signed = await office.signed()
    answers = await asyncio.gather(*(office.send(signed) for _ in range(5)))
    answers.append(await office.send(signed))
    assert len({answer.json()["transaction"] for answer in answers}) == 1
    assert await office.sent_by(RELAY) == 1
    assert await office.paid() == FEE


class Overtaken:
    """Stands for the moment between being tried and being mined: somebody is faster, and what was sent reverts."""

    def __init__(self, chain: PoolChain) -> None:
        self.address = chain.address(RELAY)
        self.first: list[Callable[[], object]] = []
        self._chain = chain

    async def send(self, to: str, data: bytes = b"", value: int = 0) -> Receipt:
        execution, proof = self.wins
        accounts = AccountsContract(self._chain.rpc, to, self._chain.sender(ACCOMPLICE))
        message = execution
        await accounts.execute(message.account, message.calls, message.nonce, message.deadline, proof)
        raise InvalidNonce(message.nonce, message.nonce + 1) from TransactionFailed("0x" + "ab" * 32)

    wins: tuple[Execute, bytes]


async def test_a_renter_who_is_faster_burns_little_gas(
    chain: PoolChain, app_of: Callable[..., FastAPI]
) -> None:
    """He signs two things for one nonce and has an accomplice send the other: it costs him as much, thrice a day."""
    overtaken = Overtaken(chain)
    async with office_of(chain, app_of, sender=overtaken) as office:
        domain = accounts_domain(chain.deployment)
        codes = []
        for _ in range(MOST_FAILED + 1):
            signed = await office.signed()
            other = Execute(
                account=signed.account,
                calls=(office.withdrawal(1),),
                nonce=signed.nonce,
                deadline=signed.deadline,
            )
            overtaken.wins = other, await sign(other, domain, office.renter)
            codes.append(code_of(await office.send(signed)))
        assert codes == ["409 invalid-nonce"] * MOST_FAILED + ["429 busy"]
        assert await office.paid() == 0


async def test_many_accounts_burn_no_more_than_a_days_loss(
    chain: PoolChain, app_of: Callable[..., FastAPI]
) -> None:
    """Accounts and networks cost nothing; the operator's loss of a day is bounded all the same."""
    losses, waits = GasLosses(10 * UNIT, Clock()), []
    for number in range(10):
        try:
            with losses.risked(3 * UNIT, f"account {number}", f"network {number}"):
                waits.append(0)
        except Busy as busy:
            waits.append(busy.retry_after or 0)
    assert waits[:3] == [0, 0, 0]
    assert all(0 < wait <= 86_400 for wait in waits[3:])


@pytest.mark.parametrize("of", [("the account", "network {}"), ("account {}", "the network")])
def test_neither_an_account_nor_a_network_fails_more_often(of: tuple[str, str]) -> None:
    """Whoever has one moves to another of the other."""
    losses = GasLosses(PLENTY, Clock())
    for number in range(MOST_FAILED):
        with losses.risked(1, of[0].format(number), of[1].format(number)):
            pass
    with pytest.raises(Busy), losses.risked(1, of[0].format(99), of[1].format(99)):
        pass


def test_what_is_paid_for_counts_for_nothing() -> None:
    losses = GasLosses(10 * UNIT, Clock())
    for _ in range(100):
        with losses.risked(9 * UNIT, "somebody", "somewhere") as paid:
            paid(0)
            paid(0)  # a second time gives nothing back
    with losses.risked(9 * UNIT, "somebody", "somewhere") as paid:
        paid(2 * UNIT)  # gas became dearer
    with pytest.raises(Busy), losses.risked(9 * UNIT, "somebody", "somewhere"):
        pass
    with losses.risked(8 * UNIT, "somebody", "somewhere"):
        pass
    with pytest.raises(Busy), losses.risked(9 * UNIT, "another", "elsewhere"):
        pass


async def test_who_copies_what_is_on_its_way_pays_for_us(
    chain: PoolChain, app_of: Callable[..., FastAPI]
) -> None:
    """Somebody sends the very same first: then it is done and the fee is here, and nothing was lost."""
    overtaken = Overtaken(chain)
    async with office_of(chain, app_of, sender=overtaken) as office:
        for times in range(1, MOST_FAILED + 3):
            signed = await office.signed()
            overtaken.wins = signed.message, signed.proof
            answer = await office.send(signed)
            assert answer.status_code == 200
            assert await office.paid() == times * FEE


# ------------------------------------------------------------------------------------------------- when it goes wrong


async def test_a_crash_between_sending_and_mining(chain: PoolChain, app_of: Callable[..., FastAPI]) -> None:
    """The next process sends nothing while something of the last one waits, and finds on the chain what it did."""
    anvil, broadcast = chain.anvil, asyncio.Event()

    async def watched(seconds: float) -> None:
        broadcast.set()
        await asyncio.sleep(seconds)

    sender = Sender(chain.rpc, chain.signer(RELAY), poll=0.01, sleep=watched)
    async with office_of(chain, app_of, sender=sender, waited=0.0) as office:
        anvil.request("evm_setAutomine", False)
        signed = await office.signed()
        assert (await office.send(signed)).json() == {"transaction": None, "block": None}
        await broadcast.wait()
    async with second_process(chain, app_of) as office:
        assert code_of(await office.send(signed)) == "429 busy"
        anvil.request("evm_setAutomine", True)
        anvil.request("anvil_mine", "0x1")
        done = await office.send(signed)
        assert done.json()["transaction"]
        assert await office.sent_by(RELAY) == 1
        assert await office.paid() == FEE


@asynccontextmanager
async def second_process(chain: PoolChain, app_of: Callable[..., FastAPI]) -> AsyncIterator[Office]:
    """Another gateway with the same key, whose renter has what he had."""
    gasless = Gasless(
        chain.rpc,
        chain.pool(),
        chain.sender(RELAY),
        chain.address(PAYEE),
        GasPricing(PRICE, 10**12),
        (losses := GasLosses(PLENTY, Clock())),
        caller_of=lambda connection: "somewhere",
        clock=Clock(),
    )
    transport = httpx.ASGITransport(app_of([_gasless.router], gasless))
    async with httpx.AsyncClient(transport=transport, base_url="http://gate.example") as page:
        yield Office(chain, LocalSigner("0x" + "5a" * 32), gasless, page, losses)
    await gasless.close()


async def test_gas_that_is_too_dear(chain: PoolChain, app_of: Callable[..., FastAPI]) -> None:
    async with office_of(chain, app_of, most_price=1) as office:
        assert code_of(await office.send(await office.signed())) == "503 not-served"
        assert await office.sent_by(RELAY) == 0


async def test_a_key_without_gas_money(chain: PoolChain, app_of: Callable[..., FastAPI]) -> None:
    poor = LocalSigner("0x" + "77" * 32)
    async with office_of(chain, app_of, sender=Sender(chain.rpc, poor, poll=0.01)) as office:
        signed = await office.signed()
        assert code_of(await office.send(signed)) == "503 not-served"
        async with second_process(chain, app_of) as other:  # and it can be taken elsewhere
            assert (await other.send(signed)).status_code == 200


async def test_how_often_a_network_may(office: Office) -> None:
    signed = await office.signed(fee=1)
    codes = [code_of(await office.send(signed)) for _ in range(21)]
    assert codes == ["409 fee-too-low"] * 20 + ["429 too-many-calls"]

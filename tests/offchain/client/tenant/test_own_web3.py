"""The library through somebody's own web3.py client: whatever provider, middleware and account it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientResponseError, RequestInfo
from eth_account import Account
from multidict import CIMultiDict, CIMultiDictProxy
from web3 import AsyncHTTPProvider, AsyncWeb3, Web3, WebSocketProvider
from web3.middleware import SignAndSendRawMiddlewareBuilder
from web3.middleware.base import Web3Middleware
from web3.providers.async_base import AsyncBaseProvider
from web3.types import RPCEndpoint, RPCResponse
from yarl import URL

import leasehold
from devnet.anvil import Anvil
from devnet.odd_node import OddNode, kinds
from leasehold.chain import LeaseRequest, Rpc
from leasehold.chain._wire import HttpWire
from leasehold.chain.typed import Domain, Session
from leasehold.errors import (
    ChainError,
    ContractError,
    RpcError,
    RpcUnavailable,
    WalletError,
    WrongChain,
)

from .conftest import OTHER, UNIT, World


class Counted(Web3Middleware):
    """Counts what goes through it, by method."""

    seen: Counter[str]

    async def async_request_processor(self, method: RPCEndpoint, params: Any) -> Any:
        self.seen[method] += 1
        return method, params


def counting() -> tuple[Any, Counter[str]]:
    """A middleware, and what it counts."""
    seen: Counter[str] = Counter()
    return type("CountedHere", (Counted,), {"seen": seen}), seen


@pytest.fixture
async def own(world: World) -> AsyncIterator[AsyncWeb3[AsyncHTTPProvider]]:
    """web3.py as most have it."""
    provider = AsyncHTTPProvider(world.chain.anvil.url)
    yield AsyncWeb3(provider)
    await provider.disconnect()


def account_of(world: World, who: int) -> Any:
    return Account.from_key(world.chain.anvil.accounts[who].key)


async def test_a_ledger_and_a_lease_from_beginning_to_end(
    world: World, own: AsyncWeb3[AsyncHTTPProvider]
) -> None:
    middleware, seen = counting()
    own.middleware_onion.add(middleware, "counted")
    opening = leasehold.connect(
        world.chain.deployment, wallet=account_of(world, OTHER), w3=own, home=world.folder / "own"
    )
    async with opening as pool:
        assert pool.w3 is own
        assert pool.account == world.address(OTHER)
        paid = await pool.carry_out(leasehold.Deposit("20"), approve=True)
        assert paid.ledger == 20 * UNIT
        wanted = LeaseRequest(
            machine=world.machine,
            revision=1,
            share=8,
            duration=3_600,
            max_price=2 * UNIT,
            workload=b"w" * 32,
            allow_unverified=True,
        )
        number, receipt = await pool.pool.open(wanted)
        assert receipt.status == 1
        await world.chain.pool(4).start(number, bytes(32))
        await pool.carry_out(leasehold.Extend(number, 600))
        assert (await pool.lease(number)).end - (await pool.lease(number)).start == 4_200
        world.advance(60)
        await pool.carry_out(leasehold.Close(number))
        left = await pool.carry_out(leasehold.Withdraw())
        assert left.ledger == 0
        index = await pool.index()
        assert [record.machine.id for record in await index.machines()] == [world.machine]
        wire = pool.rpc._wire
        assert isinstance(wire, HttpWire)
        assert not wire._sessions, "nothing goes past it"
    assert {
        "eth_sendRawTransaction",
        "eth_getTransactionReceipt",
        "eth_estimateGas",
        "eth_feeHistory",
    } <= seen.keys()
    assert {"eth_getTransactionCount", "eth_call", "eth_getLogs", "eth_getBlockByNumber"} <= seen.keys()
    assert seen["eth_sendRawTransaction"] == 6


async def test_a_client_over_one_connection_that_stays(world: World) -> None:
    async with AsyncWeb3(WebSocketProvider(world.chain.anvil.ws_url)) as own:
        opening = leasehold.connect(
            world.chain.deployment, wallet=account_of(world, OTHER), w3=own, home=world.folder / "ws"
        )
        async with opening as pool:
            assert (await pool.carry_out(leasehold.Deposit("3"), approve=True)).ledger == 3 * UNIT
            headers = await pool.rpc.headers(range(1, 9))
            assert [header.number for header in headers if header] == list(range(1, 9))
            with pytest.raises(ContractError):
                await pool.pool.withdraw(pool.account, 4 * UNIT)


# ------------------------------------------------------------------------------------------------------- who signs


def typed_session(pool: leasehold.PoolClient) -> Any:
    """Words to an agent, as a wallet is shown them."""
    chain, controller = pool.deployment.chain_id, pool.deployment.controller
    session = Session(pool.account, chain, controller, (7,), ("logs",), "0x" + "12" * 20, 2**40)
    return session.typed_data(Domain(chain, controller))


async def test_its_signing_middleware_is_a_wallet(world: World, own: AsyncWeb3[AsyncHTTPProvider]) -> None:
    account = account_of(world, OTHER)
    own.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(account), layer=0)  # type: ignore[arg-type]
    own.eth.default_account = account.address
    async with leasehold.connect(world.chain.deployment, w3=own, home=world.folder / "own") as pool:
        assert pool.account == account.address
        assert (await pool.carry_out(leasehold.Deposit("2"), approve=True)).ledger == 2 * UNIT


async def test_a_node_that_signs_is_a_wallet(world: World, own: AsyncWeb3[AsyncHTTPProvider]) -> None:
    own.eth.default_account = Web3.to_checksum_address(world.address(OTHER))
    async with leasehold.connect(world.chain.deployment, w3=own, home=world.folder / "own") as pool:
        assert (await pool.carry_out(leasehold.Deposit("2"), approve=True)).ledger == 2 * UNIT
        message = typed_session(pool)
        mine = await world.chain.signer(OTHER).sign_typed_data(message)
        assert await pool.wallet.sign_typed_data(message) == mine


async def test_an_account_that_nobody_signs_for(world: World, own: AsyncWeb3[AsyncHTTPProvider]) -> None:
    stranger = Account.create()
    world.chain.anvil.request("anvil_setBalance", stranger.address, hex(UNIT))
    own.eth.default_account = stranger.address
    async with leasehold.connect(world.chain.deployment, w3=own, home=world.folder / "own") as pool:
        with pytest.raises(WalletError, match="Nobody signs for"):
            await pool.carry_out(leasehold.Approve("1"))
        with pytest.raises(WalletError, match="signs no words"):
            await pool.wallet.sign_typed_data({"types": {}, "primaryType": "X", "domain": {}, "message": {}})


class Greedy(Web3Middleware):
    """Sends a coin along with whatever is to be signed."""

    async def async_request_processor(self, method: RPCEndpoint, params: Any) -> Any:
        if method == "eth_sendTransaction":
            params = [{**params[0], "value": hex(UNIT)}]
        return method, params


async def test_what_was_not_asked_for_is_not_sent(world: World, own: AsyncWeb3[AsyncHTTPProvider]) -> None:
    own.eth.default_account = Web3.to_checksum_address(world.address(OTHER))
    own.middleware_onion.inject(Greedy, layer=0)
    async with leasehold.connect(world.chain.deployment, w3=own, home=world.folder / "own") as pool:
        block = world.chain.anvil.block_number
        with pytest.raises(WalletError, match="is not what was to be sent"):
            await pool.carry_out(leasehold.Approve("1"))
        assert world.chain.anvil.block_number == block


# ---------------------------------------------------------------------------------------- providers that misbehave


class Broken(AsyncBaseProvider):
    """Does what it is told to, in place of an answer."""

    def __init__(self, *answers: Any) -> None:
        super().__init__()
        self._answers = list(answers)
        self.asked: list[str] = []

    async def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        self.asked.append(method)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        response: RPCResponse = answer
        return response


def broken(*answers: Any) -> AsyncWeb3[Broken]:
    return AsyncWeb3(Broken(*answers))


BAD = {
    "a connection that ends": ConnectionResetError("reset"),
    "no answer in time": TimeoutError(),
    "something else than an answer": "soon",
    "no number": {"jsonrpc": "2.0", "id": 1, "result": "0xzz"},
    "an error that is none": {"jsonrpc": "2.0", "id": 1, "error": "no"},
    "another chain": {"jsonrpc": "2.0", "id": 1, "result": "0x1"},
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
async def test_where_it_fails_the_addresses_are_asked(world: World, bad: Any) -> None:
    own = broken(bad)
    opening = leasehold.connect(
        world.chain.deployment,
        wallet=account_of(world, OTHER),
        w3=own,
        rpc=world.chain.anvil.url,
        home=world.folder / "own",
    )
    async with opening as pool:
        assert (await pool.carry_out(leasehold.Deposit("1"), approve=True)).ledger == UNIT
    assert own.provider.asked


async def test_where_it_fails_alone_it_is_said(world: World) -> None:
    with pytest.raises(RpcUnavailable, match="Broken: ConnectionResetError: reset"):
        await leasehold.connect(
            world.chain.deployment, w3=broken(ConnectionResetError("reset")), home=world.folder
        )
    with Anvil() as other:
        provider = AsyncHTTPProvider(other.url)
        with pytest.raises(WrongChain, match="genesis"):
            await leasehold.connect(world.chain.deployment, w3=AsyncWeb3(provider), home=world.folder)
        await provider.disconnect()
    with pytest.raises(ChainError, match="AsyncWeb3"):
        await leasehold.connect(world.chain.deployment, w3=Web3(), home=world.folder)  # type: ignore[arg-type]


async def test_what_its_node_answers_with_an_error_is_ours(own: AsyncWeb3[AsyncHTTPProvider]) -> None:
    rpc = Rpc([own])
    with pytest.raises(RpcError) as caught:
        await rpc.call("no_such_method")
    assert (caught.value.method, caught.value.number) == ("no_such_method", -32601)
    with pytest.raises(RpcError):
        await rpc.batch([("eth_chainId", ()), ("no_such_method", ())])
    assert await rpc.batch([("eth_chainId", ())] * 3) == [hex(31337)] * 3


class Faulty(Web3Middleware):
    """Has a bug."""

    async def async_request_processor(self, method: RPCEndpoint, params: Any) -> Any:
        raise ZeroDivisionError("here")


async def test_a_bug_of_a_middleware_is_told_as_it_is(own: AsyncWeb3[AsyncHTTPProvider]) -> None:
    """Asking another node would only hide it."""
    own.middleware_onion.add(Faulty)
    with pytest.raises(ZeroDivisionError, match="here"):
        await Rpc([own, "http://127.0.0.1:1"]).block_number()


async def test_a_client_that_is_closed(world: World) -> None:
    async with AsyncWeb3(WebSocketProvider(world.chain.anvil.ws_url)) as own:
        both = Rpc([own, world.chain.anvil.url])
        assert await both.block_number() == world.chain.anvil.block_number
    async with both:
        assert await both.block_number() == world.chain.anvil.block_number
    with pytest.raises(RpcUnavailable):
        await Rpc([own], patience=0).block_number()


LISTS = (
    "no lists",
    "no lists, by an empty list",
    "no lists over ten",
    "no lists over four, by HTTP 413",
    "no lists over three, by HTTP 400",
    "lists without their last answer",
    "lists in another order",
    "lists with more than was asked",
    "hashes in capitals",
)


@pytest.mark.parametrize("name", LISTS)
async def test_lists_are_as_long_as_its_node_takes_them(world: World, name: str) -> None:
    with OddNode(world.chain.anvil.url, kinds()[name]) as node:
        provider = AsyncHTTPProvider(node.url)
        headers = await Rpc([AsyncWeb3(provider)]).headers(range(1, 13))
        assert [header.number for header in headers if header] == list(range(1, 13))
        assert node.odd
        await provider.disconnect()


async def test_limits_are_waited_for(world: World) -> None:
    """As a node behind an address: HTTP 429 with seconds, then an answer."""
    waited: list[float] = []

    async def noted(seconds: float) -> None:
        waited.append(seconds)

    headers = CIMultiDictProxy(CIMultiDict({"Retry-After": "7"}))
    limited = ClientResponseError(
        RequestInfo(URL("http://x"), "POST", headers, URL("http://x")), (), status=429, headers=headers
    )
    own = broken(limited, {"jsonrpc": "2.0", "id": 1, "result": "0x5"})
    assert await Rpc([own], sleep=noted).block_number() == 5
    assert waited == [7.0]

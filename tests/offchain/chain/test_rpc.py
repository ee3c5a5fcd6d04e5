"""JSON-RPC: one good endpoint among bad ones, chains that are not ours, and what nodes say when a call reverts."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import orjson
import pytest
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from devnet.anvil import CHAIN_ID, Anvil
from devnet.pool import PoolChain
from leasehold import _connections
from leasehold.chain import Pool, Rpc, Token
from leasehold.chain._endpoint import Unanswered, revert_of
from leasehold.chain._wire import WireAnswer
from leasehold.errors import (
    ChainError,
    PriceTooHigh,
    Reverted,
    RpcError,
    RpcUnavailable,
    UnknownRevert,
    WrongChain,
)


class Answers:
    """A wire that answers by host: a list of answers to give one after the other, the last for ever."""

    def __init__(self, **hosts: list[Any]) -> None:
        self._hosts = hosts
        self.asked: list[str] = []

    async def post(self, url: str, body: bytes, most: int) -> WireAnswer:
        host = url.removeprefix("http://")
        self.asked.append(host)
        answers = self._hosts[host]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, WireAnswer):
            return answer
        call = orjson.loads(body)
        parts = [
            {"jsonrpc": "2.0", "id": part["id"], **answer}
            for part in (call if isinstance(call, list) else [call])
        ]
        return WireAnswer(200, {}, orjson.dumps(parts if isinstance(call, list) else parts[0]))

    async def aclose(self) -> None:
        pass


class Silent(Answers):
    """Nobody answers."""

    async def post(self, url: str, body: bytes, most: int) -> WireAnswer:
        raise Unanswered("it takes no connections", again=False)


async def at_once(seconds: float) -> None:
    """Stands in for `asyncio.sleep`."""


def client(wire: Answers, *hosts: str, **options: Any) -> Rpc:
    return Rpc([f"http://{host}" for host in hosts], wire=wire, **{"sleep": at_once, **options})


@pytest.fixture
async def rpc(anvil: Anvil) -> AsyncIterator[Rpc]:
    async with Rpc([anvil.url]) as opened:
        yield opened


async def test_calls_and_batches(anvil: Anvil, rpc: Rpc) -> None:
    assert await rpc.chain_id() == anvil.chain_id
    anvil.mine(3)
    assert await rpc.block_number() == 3
    assert await rpc.batch([]) == []
    number, chain = await rpc.batch([("eth_blockNumber", ()), ("eth_chainId", ())])
    assert (int(number, 16), int(chain, 16)) == (3, anvil.chain_id)
    header = await rpc.header(2)
    assert header is not None
    assert header == await rpc.header(header.hash)
    assert (await rpc.header("latest")) != header
    assert await rpc.header(99) is None
    assert await rpc.balance(anvil.accounts[0].address) > 0
    assert rpc.urls == (anvil.url,)
    await rpc.aclose()
    assert await rpc.chain_id() == anvil.chain_id, "it opens again"


def test_one_client_serves_loop_after_loop(anvil: Anvil) -> None:
    """As in a notebook, whose cells each call `asyncio.run`; nothing of a loop that has ended stays open."""
    rpc, before = Rpc([anvil.url]), len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        assert asyncio.run(rpc.chain_id()) == CHAIN_ID
    assert len(os.listdir("/proc/self/fd")) == before

    async def closed() -> None:
        await rpc.aclose()  # nothing is open in this loop
        await rpc.chain_id()
        await rpc.aclose()
        await rpc.aclose()

    asyncio.run(closed())


def test_a_loop_that_is_closed_by_hand_spoils_no_later_one(anvil: Anvil) -> None:
    rpc, loop = Rpc([anvil.url]), asyncio.new_event_loop()
    loop.run_until_complete(rpc.chain_id())
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
    assert asyncio.run(rpc.chain_id()) == CHAIN_ID


async def test_a_batch_fails_with_the_first_error(rpc: Rpc) -> None:
    with pytest.raises(RpcError) as caught:
        await rpc.batch([("eth_chainId", ()), ("no_such_method", ())])
    assert caught.value.method == "no_such_method"


@pytest.mark.parametrize(
    "bad",
    [
        Unanswered("refused", again=False),
        Unanswered("it breaks off"),
        WireAnswer(503, {}, b""),
        WireAnswer(429, {}, b""),
        WireAnswer(200, {}, b"<html>"),
        {"error": {"code": -32005, "message": "limit exceeded"}},
    ],
    ids=lambda bad: type(bad).__name__,
)
async def test_an_endpoint_that_does_not_answer_is_passed_over(bad: Any) -> None:
    now = 0.0
    transport = Answers(bad=[bad], good=[{"result": "0x5"}])
    async with client(transport, "bad", "good", clock=lambda: now) as both:
        assert await both.block_number() == 5
        assert await both.block_number() == 5
        assert transport.asked == ["bad", "good", "good"], "it rests for a while"
        now = 6.0
        assert await both.block_number() == 5
        assert transport.asked[3:] == ["bad", "good"], "and is tried again"


@pytest.mark.parametrize(
    ("urls", "read"),
    [
        (["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"], False),
        (["http://127.0.0.1:1", "https://127.0.0.1:1"], True),
        (["http://node.invalid"], True),  # a proxy on the way may be reached by TLS
        (["http://127.0.0.1@node.invalid"], True),
        (["http://[::1"], True),
    ],
)
def test_certificates_are_read_where_somebody_may_show_one(
    urls: list[str], read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = ssl.create_default_context()
    monkeypatch.setattr(_connections, "authorities", lambda: every)
    believed = Rpc(urls)._authorities()
    assert (believed is every) is read
    assert believed.verify_mode is ssl.CERT_REQUIRED, "who is not known is not believed"
    assert read or not believed.get_ca_certs()


async def test_no_endpoint_at_all() -> None:
    async with client(
        Answers(a=[Unanswered("refused", again=False)], b=[WireAnswer(500, {}, b"")]), "a", "b"
    ) as none:
        with pytest.raises(RpcUnavailable, match=r"refused.*HTTP 500"):
            await none.chain_id()
    with pytest.raises(RpcUnavailable, match="no address"):
        Rpc([])
    async with Rpc(["http://["]) as broken:
        with pytest.raises(RpcUnavailable):
            await broken.chain_id()


async def test_who_hears_that_no_node_answers_hears_no_key_of_theirs() -> None:
    keyed = Rpc(["http://me:word@node.example:8545/v3/key", "http://[key"], wire=Silent(), sleep=at_once)
    with pytest.raises(RpcUnavailable) as caught:
        await keyed.chain_id()
    assert "node.example:8545: " in str(caught.value)
    assert not any(secret in str(caught.value) for secret in ("me:", "word", "key"))


KEYED = "http://me%40x.example:secretword@a/v3/0123456789abcdef?token=tokentoken"
REPEATED = "project 0123456789abcdef of me@x.example (secretword) is over: v3?token=tokentoken"
HIDDEN = "project … of … (…) is over: v3?token=…"


async def test_a_node_that_repeats_its_key_is_not_quoted() -> None:
    """Where it refuses it, as some do: who reads a log or a terminal is not always who pays."""
    refused = WireAnswer(401, {}, orjson.dumps({"error": {"message": REPEATED}}))
    refusing = Answers(**{KEYED.removeprefix("http://"): [refused]})
    async with Rpc([KEYED], wire=refusing, sleep=at_once) as keyed:
        with pytest.raises(RpcUnavailable) as caught:
            await keyed.chain_id()
    assert f"a: HTTP 401: {HIDDEN}" in str(caught.value)


@pytest.mark.parametrize("data", [REPEATED, {"see": REPEATED}])
async def test_no_stranger_hears_a_key_by_an_error_that_is_handed_on(data: object) -> None:
    """A gateway's visitors have its node's errors of their calls."""
    said = {"error": {"code": -32600, "message": REPEATED, "data": data}}
    async with Rpc([KEYED], wire=Answers(**{KEYED.removeprefix("http://"): [said]}), sleep=at_once) as keyed:
        with pytest.raises(RpcError) as caught:
            await keyed.chain_id()
    assert (caught.value.message, caught.value.data) == (HIDDEN, None)


async def test_an_answer_that_nobody_asked_for_yet_is_not_taken_for_the_next() -> None:
    """A node that guesses numbers has to guess among 2**52."""
    numbers = set()

    class Listening(Answers):
        async def post(self, url: str, body: bytes, most: int) -> WireAnswer:
            numbers.add(orjson.loads(body)["id"])
            return await super().post(url, body, most)

    for _ in range(3):
        async with client(Listening(a=[{"result": "0x1"}]), "a") as rpc:
            await rpc.chain_id()
    assert len(numbers) == 3
    assert min(numbers) > 1_000_000


async def test_what_a_node_answers_is_not_asked_elsewhere() -> None:
    transport = Answers(a=[{"error": {"code": -32601, "message": "no such method"}}], b=[{"result": 1}])
    async with client(transport, "a", "b") as both:
        with pytest.raises(RpcError, match="no such method") as caught:
            await both.call("eth_foo")
    assert caught.value.number == -32601
    assert transport.asked == ["a"]


async def test_answers_of_the_wrong_shape() -> None:
    async with client(Answers(a=[WireAnswer(200, {}, b"[]")]), "a") as odd:
        with pytest.raises(RpcUnavailable):
            await odd.call("eth_chainId")
    refusal = WireAnswer(200, {}, b'{"error": {"code": -32600, "message": "batches are off"}}')
    async with client(Answers(a=[refusal]), "a") as single:
        with pytest.raises(RpcError, match="batches are off"):
            await single.batch([("eth_chainId", ())])


async def test_the_chain_is_checked(chain: PoolChain) -> None:
    await chain.rpc.check_chain(chain.deployment)
    assert await chain.rpc.block_number() > 0
    with pytest.raises(WrongChain, match="on chain 31337 and the deployment on chain 1:"):
        await chain.rpc.check_chain(replace(chain.deployment, chain_id=1))
    with pytest.raises(WrongChain, match="genesis"):
        await chain.rpc.check_chain(replace(chain.deployment, genesis="0x" + "00" * 32))


async def test_a_restarted_development_chain_is_another_chain(chain: PoolChain) -> None:
    with Anvil() as other:
        async with Rpc([other.url, chain.anvil.url]) as both:
            await both.check_chain(chain.deployment)
            assert await both.block_number() == chain.anvil.block_number, "the stranger was passed over"
        async with Rpc([other.url]) as only:
            with pytest.raises(WrongChain, match="genesis"):
                await only.check_chain(chain.deployment)
            with pytest.raises(WrongChain):
                await only.block_number()


async def test_an_endpoint_that_cannot_say_which_chain_it_is(chain: PoolChain) -> None:
    refusal = {"error": {"code": -32601, "message": "not for you"}}
    async with client(Answers(a=[refusal]), "a") as odd:
        with pytest.raises(RpcUnavailable, match="not for you"):
            await odd.check_chain(chain.deployment)


def test_reverts_in_all_the_ways_that_nodes_tell_them() -> None:
    data = "0x" + (keccak(text=PriceTooHigh.signature)[:4] + encode(["uint80", "uint80"], [5, 4])).hex()
    for told in (data, {"data": data}, {"originalError": {"data": data}}):
        error = revert_of({"code": 3, "message": "execution reverted", "data": told})
        assert isinstance(error, PriceTooHigh)
        assert (error.price, error.max_price) == (5, 4)
    reason = revert_of({"code": 3, "message": "execution reverted: too early"})
    assert isinstance(reason, Reverted)
    assert reason.reason == "too early"
    assert isinstance(revert_of({"code": -32000, "message": "execution reverted"}), UnknownRevert)
    assert isinstance(revert_of({"code": 3, "message": "execution reverted", "data": "0x"}), UnknownRevert)
    assert revert_of({"code": -32000, "message": "nonce too low"}) is None


async def test_a_contract_that_is_not_there(anvil: Anvil, chain: PoolChain) -> None:
    nowhere = replace(chain.deployment, controller="0x" + "12" * 20, token="0x" + "12" * 20)
    with pytest.raises(ChainError, match="There is no contract"):
        await Pool(chain.rpc, nowhere).machine_count()
    with pytest.raises(ChainError, match="There is no token"):
        await Token(chain.rpc, nowhere.token).decimals()

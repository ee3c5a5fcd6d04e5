"""The chain for browsers: reading, and what they signed; nothing of a node's that is its owner's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import orjson
import pytest
from eth_utils.crypto import keccak
from fastapi import FastAPI

from leasehold.chain import Rpc
from leasehold.chain._endpoint import Unanswered
from leasehold.chain._wire import WireAnswer
from leasehold.gateway import _rpc
from leasehold.gateway._rpc import MOST_CALLS, RpcProxy
from leasehold.gateway._rpc_calls import (
    METHODS,
    MOST_BLOCKS,
    MOST_DATA,
    MethodRefused,
    ParamsRefused,
    check_call,
)

MOST_ANSWER = 60_000
A = "0x" + "ab" * 20
H = "0x" + "cd" * 32
CALL = {"to": A, "data": "0x1234"}
GOOD: dict[str, list[Any]] = {
    "eth_chainId": [],
    "net_version": [],
    "eth_blockNumber": [],
    "eth_gasPrice": [],
    "eth_maxPriorityFeePerGas": [],
    "eth_syncing": [],
    "eth_feeHistory": ["0x4", "latest", [25, 75.5]],
    "eth_getBalance": [A, "latest"],
    "eth_getCode": [A, {"blockHash": H, "requireCanonical": True}],
    "eth_getStorageAt": [A, "0x0", "0x10"],
    "eth_getTransactionCount": [A, "pending"],
    "eth_getBlockByNumber": ["latest", False],
    "eth_getBlockByHash": [H, True],
    "eth_getTransactionByHash": [H],
    "eth_getTransactionReceipt": [H],
    "eth_getLogs": [{"address": A, "topics": [H, None, [H, H]], "fromBlock": "0x1", "toBlock": "latest"}],
    "eth_call": [{**CALL, "from": A, "value": "0x0", "gas": "0x5208"}, "latest"],
    "eth_estimateGas": [CALL],
    "eth_sendRawTransaction": ["0x02f8"],
}


@pytest.mark.parametrize("method", METHODS)
def test_what_a_wallet_asks_is_asked(method: str) -> None:
    check_call(method, GOOD[method])


@pytest.mark.parametrize(
    "method",
    [
        "anvil_setBalance",
        "anvil_impersonateAccount",
        "hardhat_reset",
        "evm_mine",
        "debug_traceTransaction",
        "admin_peers",
        "personal_sign",
        "eth_accounts",
        "eth_sendTransaction",
        "eth_sign",
        "eth_newFilter",
        "eth_subscribe",
        "txpool_content",
        "miner_start",
        "trace_block",
        "ETH_CALL",
        "eth_call ",
        "",
        "x" * 10_000,
    ],
)
def test_what_is_a_nodes_owners_is_not(method: str) -> None:
    with pytest.raises(MethodRefused):
        check_call(method, [])


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_chainId", [1]),
        ("eth_getBalance", []),
        ("eth_getBalance", [A, "latest", 1]),
        ("eth_getBalance", [A[:-1], "latest"]),
        ("eth_getBalance", [A, "0x01"]),
        ("eth_getBalance", [A, 1]),
        ("eth_getBalance", [A, {"blockHash": H, "x": 1}]),
        ("eth_call", [CALL, "latest", {A: {"code": "0x00"}}]),
        ("eth_call", [{**CALL, "accessList": []}]),
        ("eth_call", [{"data": "0x" + "00" * (MOST_DATA + 1)}]),
        ("eth_call", [{"data": "0x1"}]),
        ("eth_call", ["0x"]),
        ("eth_getLogs", [{}]),
        ("eth_getLogs", [{"address": []}]),
        ("eth_getLogs", [{"address": [A] * 17}]),
        ("eth_getLogs", [{"address": A, "topics": [H] * 5}]),
        ("eth_getLogs", [{"address": A, "topics": [[H] * 17]}]),
        ("eth_getLogs", [{"address": A, "blockHash": H, "fromBlock": "0x1"}]),
        ("eth_getLogs", [{"address": A, "limit": 5}]),
        ("eth_getLogs", [{"address": A, "fromBlock": {"blockHash": H}}]),
        ("eth_feeHistory", ["0x400", "latest"]),
        ("eth_feeHistory", [True, "latest"]),
        ("eth_feeHistory", ["0x4", "latest", [101]]),
        ("eth_getBlockByNumber", ["latest", "true"]),
        ("eth_sendRawTransaction", ["0x" + "00" * (MOST_DATA + 1)]),
    ],
)
def test_other_parameters_are_not(method: str, params: list[Any]) -> None:
    with pytest.raises(ParamsRefused):
        check_call(method, params)


class Node:
    """A node, at its HTTP."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[Any]]] = []
        self.answers: dict[str, dict[str, Any]] = {"eth_blockNumber": {"result": hex(50_000)}}
        self.down = False

    async def post(self, url: str, body: bytes, most: int) -> WireAnswer:
        if self.down:
            raise Unanswered("refused at http://secret-node.example/key", again=False)
        calls = orjson.loads(body)
        alone = isinstance(calls, dict)
        said = [self._one(one) for one in ([calls] if alone else calls)]
        return WireAnswer(200, {}, orjson.dumps(said[0] if alone else said))

    async def aclose(self) -> None:
        pass

    def _one(self, call: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((call["method"], call["params"]))
        answer = self.answers.get(call["method"], {"result": "0x1"})
        return {"jsonrpc": "2.0", "id": call["id"], **answer}


@pytest.fixture
def node() -> Node:
    return Node()


@pytest.fixture
async def page(node: Node, app_of: Callable[..., FastAPI]) -> AsyncIterator[httpx.AsyncClient]:
    async with Rpc(["http://node.example"], patience=0, wire=node) as chain:
        app = app_of([_rpc.router], RpcProxy(chain, caller_of=lambda connection: "somebody"))
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://gate.example"
        ) as client:
            yield client


async def ask(page: httpx.AsyncClient, asked: object) -> Any:
    return (await page.post("/api/v1/rpc", json=asked)).json()


def call(method: str, *params: Any, number: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)}


async def test_calls_are_answered_in_order_under_their_ids(page: httpx.AsyncClient) -> None:
    numbers: list[Any] = [7, "seven", 0, None]
    answers = await ask(page, [call("eth_gasPrice", number=number) for number in numbers])
    assert answers == [{"jsonrpc": "2.0", "id": number, "result": "0x1"} for number in numbers]
    assert await ask(page, call("eth_gasPrice", number="x")) == {"jsonrpc": "2.0", "id": "x", "result": "0x1"}


async def test_one_bad_call_keeps_no_other_from_its_answer(page: httpx.AsyncClient, node: Node) -> None:
    bad = [
        call("anvil_setBalance", A, "0x1"),
        call("eth_getBalance", "x"),
        5,
        {"jsonrpc": "1.0"},
        call("a", number={}),
    ]
    answers = await ask(page, [*bad, call("eth_gasPrice", number=9)])
    assert [answer.get("error", {}).get("code") for answer in answers] == [
        -32601,
        -32602,
        -32600,
        -32600,
        -32600,
        None,
    ]
    assert node.asked == [("eth_gasPrice", [])]


async def test_what_wants_no_answer_gets_none(page: httpx.AsyncClient) -> None:
    notice = {"jsonrpc": "2.0", "method": "eth_gasPrice"}
    assert (await page.post("/api/v1/rpc", json=notice)).status_code == 204
    assert [one["id"] for one in await ask(page, [notice, call("eth_gasPrice")])] == [1]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"nul", b"[" * 1000, b"5", b'"x"'])
async def test_what_is_no_call_is_told_so(page: httpx.AsyncClient, node: Node, body: bytes) -> None:
    answer = (await page.post("/api/v1/rpc", content=body)).json()
    assert answer["error"]["code"] in (-32700, -32600)
    assert not node.asked


async def test_a_list_is_bounded(page: httpx.AsyncClient, node: Node) -> None:
    answer = await ask(page, [call("eth_gasPrice")] * (MOST_CALLS + 1))
    assert answer["error"]["code"] == -32600
    assert (await page.post("/api/v1/rpc", content=b" " * 10**6)).status_code == 413
    assert not node.asked


async def test_logs_are_looked_for_in_so_many_blocks(page: httpx.AsyncClient, node: Node) -> None:
    node.answers["eth_getLogs"] = {"result": []}
    wide = [
        {"address": A, "fromBlock": "0x0"},
        {"address": A, "fromBlock": "earliest", "toBlock": "latest"},
        {"address": A, "fromBlock": "0x1", "toBlock": hex(MOST_BLOCKS + 1)},
        {"address": A, "fromBlock": "0x0", "toBlock": "finalized"},
    ]
    near = [
        {"address": A},
        {"address": A, "fromBlock": hex(50_000 - MOST_BLOCKS + 1)},
        {"address": A, "blockHash": H},
        {"address": A, "fromBlock": "0x1", "toBlock": hex(MOST_BLOCKS)},
    ]
    answers = await ask(page, [call("eth_getLogs", one) for one in wide + near])
    assert [answer.get("error", {}).get("code") for answer in answers] == [-32005] * 4 + [None] * 4
    assert [params[0] for method, params in node.asked if method == "eth_getLogs"] == near


async def test_an_answer_is_bounded(
    page: httpx.AsyncClient, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_rpc, "MOST_ANSWER", MOST_ANSWER)
    node.answers["eth_getCode"] = {"result": "0x" + "00" * (MOST_ANSWER // 3)}
    answers = await ask(page, [call("eth_getCode", A, number=number) for number in (1, 2)])
    assert "result" in answers[0]
    assert answers[1]["error"]["code"] == -32005
    node.answers["eth_getCode"] = {"result": "0x" + "00" * MOST_ANSWER}
    assert (await ask(page, call("eth_getCode", A)))["error"]["code"] == -32005


async def test_a_revert_comes_with_its_data(page: httpx.AsyncClient, node: Node) -> None:
    data = "0x08c379a0" + (32).to_bytes(32).hex() + (2).to_bytes(32).hex() + b"no".ljust(32, b"\0").hex()
    node.answers["eth_call"] = {"error": {"code": 3, "message": "execution reverted: no", "data": data}}
    error = (await ask(page, call("eth_call", CALL)))["error"]
    assert (error["code"], error["data"]) == (3, data)


async def test_a_transaction_that_is_known_was_sent(page: httpx.AsyncClient, node: Node) -> None:
    node.answers["eth_sendRawTransaction"] = {"error": {"code": -32000, "message": "already known"}}
    answer = await ask(page, call("eth_sendRawTransaction", "0x02f8"))
    assert answer["result"] == "0x" + keccak(hexstr="0x02f8").hex()
    node.answers["eth_sendRawTransaction"] = {"error": {"code": -32000, "message": "nonce too low"}}
    answer = await ask(page, call("eth_sendRawTransaction", "0x02f8"))
    assert answer["error"] == {"code": -32000, "message": "nonce too low"}


async def test_a_node_that_is_down_is_not_named(page: httpx.AsyncClient, node: Node) -> None:
    node.down = True
    answer = await ask(page, call("eth_gasPrice"))
    assert answer["error"]["code"] == -32603
    assert "secret" not in str(answer)
    assert "node.example" not in str(answer)

"""web3.py as the library gives it: over several nodes that may die or lie, and over the pool's contracts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from web3.exceptions import ContractCustomError, ContractLogicError, TransactionNotFound, Web3RPCError

import leasehold
from devnet.odd_node import Exchange, Kind, OddNode, Reply, kinds
from leasehold.chain import FallbackProvider, Rpc
from leasehold.chain._wire import WireAnswer
from leasehold.chain.typed import Group
from leasehold.client import NoSuchContract
from leasehold.errors import NotAuthorized, RpcUnavailable, WalletError, WrongChain

from .conftest import OTHER, RENTER, UNIT, World

DEAD = "http://127.0.0.1:1"
LIES = (
    "HTTP 500",
    "a page",
    "null",
    "an error that is a text",
    "every result is a text",
    "block numbers in decimal",
    "a block that nobody asked for",
    "another chain's number",
    "lists without their last answer",
)


async def test_it_is_made_when_it_is_asked_for_and_once(world: World) -> None:
    async with world.acting(OTHER) as pool:
        assert pool.w3 is pool.w3
        assert isinstance(pool.w3.provider, FallbackProvider)
        assert await pool.w3.is_connected()
        assert await pool.w3.eth.chain_id == 31337
        assert pool.w3.eth.default_account == world.address(OTHER)
    async with leasehold.connect(
        world.chain.deployment, rpc=world.chain.anvil.url, home=world.folder
    ) as reading:
        assert await reading.w3.eth.block_number == world.chain.anvil.block_number
        assert not reading.w3.eth.default_account


@pytest.mark.parametrize("lie", LIES)
async def test_where_the_first_node_lies_the_next_is_asked(world: World, lie: str) -> None:
    kind = Kind(kinds()[lie].bend, lasts=True)
    with OddNode(world.chain.anvil.url, kind) as node:
        async with leasehold.connect(
            world.chain.deployment, rpc=[node.url, world.chain.anvil.url], home=world.folder
        ) as pool:
            head = await pool.w3.eth.get_block("latest")
            assert head["number"] == world.chain.anvil.block_number
            controller = await pool.contract("Controller")
            assert await controller.functions.balanceOf(world.address(RENTER)).call() >= 0
            async with pool.w3.batch_requests() as batch:
                batch.add(pool.w3.eth.get_block(1))
                batch.add(pool.w3.eth.get_block(2))
                blocks: list[Any] = await batch.async_execute()
            assert [block["number"] for block in blocks] == [1, 2]
        assert node.odd


async def test_a_node_that_dies_is_passed_over(world: World) -> None:
    with OddNode(world.chain.anvil.url) as node:
        urls = [node.url, world.chain.anvil.url]
        async with leasehold.connect(world.chain.deployment, rpc=urls, home=world.folder) as pool:
            assert await pool.w3.eth.block_number == world.chain.anvil.block_number
            node.becomes(Kind(lambda exchange: Reply(b"", 0), lasts=True))
            assert await pool.w3.eth.block_number == world.chain.anvil.block_number
            assert node.odd


async def test_where_no_node_answers_it_says_so(world: World) -> None:
    async with Rpc([DEAD], patience=0) as rpc:
        assert not await rpc.w3.is_connected()
        with pytest.raises(RpcUnavailable):
            await rpc.w3.is_connected(show_traceback=True)
        with pytest.raises(RpcUnavailable):
            await rpc.w3.eth.get_block("latest")
    async with Rpc([world.chain.anvil.url]) as stranger:
        with pytest.raises(WrongChain):
            await stranger.check_chain(
                leasehold.Deployment(**{**_fields(world), "genesis": "0x" + "00" * 32})
            )
        with pytest.raises(WrongChain):
            await stranger.w3.eth.get_block("latest")


def _fields(world: World) -> dict[str, Any]:
    deployment = world.chain.deployment
    return {name: getattr(deployment, name) for name in deployment.__dataclass_fields__}


async def test_errors_that_a_node_answers_are_web3s_own(world: World) -> None:
    async with world.acting(OTHER) as pool:
        controller = await pool.contract("Controller")
        with pytest.raises(ContractCustomError) as refused:
            await controller.functions.close(world.lease).call()
        assert str(refused.value.data)[:10] == "0x" + _selector(NotAuthorized)
        with pytest.raises(TransactionNotFound):
            await pool.w3.eth.get_transaction_receipt("0x" + "12" * 32)  # type: ignore[arg-type]  # as people write it
        with pytest.raises(Web3RPCError, match="Method not found"):
            await pool.w3.manager.coro_request("nonsense", [])  # type: ignore[arg-type]  # as people write it


def _selector(kind: type[NotAuthorized]) -> str:
    from eth_utils.crypto import keccak

    return keccak(text=kind.signature)[:4].hex()


class Reverting:
    """Answers everything with one error."""

    def __init__(self, error: dict[str, Any]) -> None:
        self._error = error

    async def post(self, url: str, body: bytes, most: int) -> WireAnswer:
        call = orjson.loads(body)
        return WireAnswer(200, {}, orjson.dumps({"jsonrpc": "2.0", "id": call["id"], "error": self._error}))

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize(
    "error",
    [
        {"code": 3, "message": "execution reverted: too early"},
        {"code": -32000, "message": "execution reverted", "data": None},
        {"code": -32015, "message": "VM execution error", "data": {"data": "0x12345678"}},
        {"code": 3, "message": "execution reverted", "data": "0x"},
    ],
    ids=["a reason", "nothing", "wrapped", "empty"],
)
async def test_reverts_in_the_ways_that_nodes_tell_them(error: dict[str, Any]) -> None:
    rpc = Rpc([DEAD], wire=Reverting(error))
    with pytest.raises(ContractLogicError):
        await rpc.w3.eth.call({"to": rpc.w3.to_checksum_address("0x" + "12" * 20)})
    await rpc.aclose()


# ------------------------------------------------------------------------------------------------- contract objects


async def test_every_contract_of_the_pool_is_there(world: World) -> None:
    async with world.acting(RENTER) as pool:
        controller = await pool.contract("Controller")
        assert controller.address == world.chain.deployment.controller
        assert await controller.functions.machineCount().call() == 1
        opened = await controller.events.LeaseOpened().get_logs(from_block=0)
        assert [event["args"]["lease"] for event in opened] == [world.lease]
        for name in (
            "Accounts",
            "Committee",
            "Faults",
            "Reputation",
            "Directory",
            "ControllerFactory",
            "Lens",
        ):
            contract = await pool.contract(name)
            assert len(await pool.w3.eth.get_code(contract.address)) > 0
        with pytest.raises(NoSuchContract, match="Controller, Accounts") as caught:
            await pool.contract("Bank")
        assert caught.value.name == "Bank"


async def test_what_is_sent_through_it_is_sent_as_everything(world: World) -> None:
    async with world.acting(RENTER) as pool:
        controller = await pool.contract("Controller")
        tx_hash = await controller.functions.deposit(pool.account, 3 * UNIT).transact()
        receipt = await pool.w3.eth.get_transaction_receipt(tx_hash)  # it is mined already
        assert receipt["status"] == 1
        assert await pool.pool.balance_of(pool.account) == 3 * UNIT
        with pytest.raises(WalletError, match="`nonce` is chosen"):
            await controller.functions.deposit(pool.account, 1).transact({"nonce": 7})
        other = world.address(OTHER)  # the node's own account, and the node signs
        tx_hash = await pool.w3.eth.send_transaction({"from": other, "to": other, "value": 5})
        assert (await pool.w3.eth.wait_for_transaction_receipt(tx_hash))["status"] == 1
    async with world.acting(OTHER) as stranger:
        controller = await stranger.contract("Controller")
        with pytest.raises(NotAuthorized):
            await controller.functions.close(world.lease).transact()


async def test_a_group_sends_nothing_through_it(world: World) -> None:
    group = Group.of(1, [world.address(OTHER)])
    async with world.acting(OTHER, group=group) as pool:
        assert await pool.w3.eth.block_number > 0
        assert not pool.w3.eth.default_account


def bent(**changes: Callable[[dict[str, Any]], dict[str, Any]]) -> Kind:
    """A node whose results of some methods are changed."""

    def bend(exchange: Exchange) -> Reply | None:
        if not any(call["method"] in changes for call in exchange.calls):
            return None
        answers = exchange.answers()
        for call, answer in zip(exchange.calls, answers, strict=True):
            if call["method"] in changes and isinstance(answer.get("result"), dict):
                answer["result"] = changes[call["method"]](answer["result"])
        return Reply.of(exchange, answers)

    return Kind(bend, lasts=True)


ODD_FIELDS = {
    "a bloom that is cut": {"eth_getTransactionReceipt": lambda receipt: {**receipt, "logsBloom": "0xabc"}},
    "a receiver that is none": {
        "eth_getTransactionReceipt": lambda receipt: {**receipt, "to": "0x12", "type": "x"}
    },
    "a share that is a text": {
        "eth_feeHistory": lambda fees: {**fees, "gasUsedRatio": ["a", 1], "oldestBlock": "?"}
    },
    "blocks without tips": {
        "eth_feeHistory": lambda fees: {**fees, "reward": [None for _ in fees["reward"]]}
    },
}


@pytest.mark.parametrize("changes", ODD_FIELDS.values(), ids=ODD_FIELDS.keys())
async def test_a_field_that_nobody_needs_may_be_odd(world: World, changes: Any) -> None:
    """web3.py's own formatters end with an exception there, and a transaction on its way would be lost sight of."""
    with OddNode(world.chain.anvil.url, bent(**changes)) as node:
        async with leasehold.connect(
            world.chain.deployment, wallet=world.chain.signer(RENTER), rpc=node.url, home=world.folder
        ) as pool:
            assert (await pool.carry_out(leasehold.Deposit("2"))).ledger == 2 * UNIT
        assert node.odd


# ----------------------------------------------------------------------------------------- who does not need it


@pytest.mark.slow
def test_reading_at_the_prompt_does_not_wait_for_it(world: World, tmp_path: Path) -> None:
    deployment = world.chain.deployment.save(tmp_path)
    spy = (
        "import json, sys; from leasehold.cli import main\n"
        "try: main()\n"
        "finally: print(json.dumps('web3' in sys.modules), file=sys.stderr)"
    )
    environment = {
        **os.environ,
        "LEASEHOLD_HOME": str(tmp_path / "home"),
        "LEASEHOLD_DEPLOYMENT": str(deployment),
        "LEASEHOLD_RPC": world.chain.anvil.url,
    }
    for words in (["pool", "trust"], ["faults"]):
        ran = subprocess.run(
            [sys.executable, "-c", spy, *words], env=environment, capture_output=True, text=True, check=False
        )
        assert (ran.returncode, json.loads(ran.stderr.splitlines()[-1])) == (0, False), (words, ran.stderr)

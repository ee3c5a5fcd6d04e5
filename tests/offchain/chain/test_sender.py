"""Sending against a real chain whose mining the test holds in its hand."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest
from eth_account import Account
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from eth_utils.address import to_checksum_address
from hexbytes import HexBytes
from web3 import AsyncHTTPProvider, AsyncWeb3
from web3.providers.async_base import AsyncBaseProvider
from web3.types import RPCEndpoint, RPCResponse

from devnet.anvil import Anvil
from leasehold.chain import Deployment, LocalSigner, Rpc, Sender, Web3Signer
from leasehold.chain._shapes import Misshapen, checked
from leasehold.errors import (
    ChainError,
    GasFundsLow,
    RpcError,
    RpcUnavailable,
    TransactionCancelled,
    TransactionFailed,
    TransactionTimeout,
    UnknownRevert,
    WalletError,
)

from .sending import SINK, Steps, sender_of


@pytest.fixture
def anvil() -> Iterator[Anvil]:
    """Blocks come when the test says so."""
    with Anvil(args=["--no-mining"]) as chain:
        yield chain


@pytest.fixture
async def rpc(anvil: Anvil, request: pytest.FixtureRequest) -> AsyncIterator[Rpc]:
    provider = AsyncHTTPProvider(anvil.url)
    node = AsyncWeb3(provider) if getattr(request, "param", "") == OWN else anvil.url
    async with Rpc([node]) as client:
        yield client
    await provider.disconnect()


OWN = "a web3 client of somebody's own"
either_way = pytest.mark.parametrize("rpc", ["an address", OWN], indirect=True)


class RecordingSigner(LocalSigner):
    """Remembers the fees it signed for."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.fees: list[int] = []

    async def sign_transaction(self, transaction: Mapping[str, int | str | bytes]) -> bytes:
        self.fees.append(int(transaction["maxFeePerGas"]))
        return await super().sign_transaction(transaction)


@pytest.mark.slow
@either_way
async def test_concurrent_sends_are_all_mined_once(anvil: Anvil, rpc: Rpc) -> None:
    steps = Steps(*[*[None] * 19, anvil.mine] * 20)
    sender = sender_of(anvil, rpc, steps)
    receipts = await asyncio.gather(*(sender.send(SINK, value=n) for n in range(20)))
    assert len({r.tx_hash for r in receipts}) == 20
    assert all(r.status == 1 for r in receipts)
    assert await rpc.balance(SINK) == sum(range(20))
    assert int(await rpc.call("eth_getTransactionCount", [sender.address, "latest"]), 16) == 20


async def test_a_dropped_transaction_is_broadcast_again(anvil: Anvil, rpc: Rpc) -> None:
    def drop_all() -> None:
        anvil.request("anvil_dropAllTransactions")

    steps = Steps(drop_all, None, anvil.mine)
    sender = sender_of(anvil, rpc, steps)
    receipts = await asyncio.gather(sender.send(SINK, value=1), sender.send(SINK, value=2))
    assert [r.status for r in receipts] == [1, 1]
    assert await rpc.balance(SINK) == 3


@either_way
async def test_a_stuck_transaction_is_replaced_at_a_higher_fee(anvil: Anvil, rpc: Rpc) -> None:
    def outprice() -> None:  # what was offered no longer covers the base fee
        anvil.request("anvil_setNextBlockBaseFeePerGas", hex(10**12))
        anvil.mine()

    steps = Steps(outprice, *[None] * 12, anvil.mine, anvil.mine)
    sender = sender_of(anvil, rpc, steps, bump_after=5)
    receipt = await sender.send(SINK, value=7)
    assert receipt.status == 1
    assert receipt.gas_price > 10**11
    assert await rpc.balance(SINK) == 7
    assert int(await rpc.call("eth_getTransactionCount", [sender.address, "latest"]), 16) == 1


@pytest.mark.slow
async def test_fees_stop_at_the_limit(anvil: Anvil, rpc: Rpc) -> None:
    def outprice() -> None:
        anvil.request("anvil_setNextBlockBaseFeePerGas", hex(10**12))
        anvil.mine()

    steps = Steps(outprice)
    signer = RecordingSigner(anvil.accounts[0].key)
    sender = Sender(
        rpc,
        signer,
        poll=1,
        clock=steps.clock,
        sleep=steps,
        bump_after=5,
        timeout=60,
        max_fee=3 * 10**9,
    )
    with pytest.raises(TransactionTimeout) as caught:
        await sender.send(SINK, value=7)
    assert caught.value.seconds == 60
    assert signer.fees
    assert max(signer.fees) == 3 * 10**9


@either_way
async def test_another_process_with_the_same_key_takes_the_nonce(anvil: Anvil, rpc: Rpc) -> None:
    other = LocalSigner(anvil.accounts[0].key)
    raw = await other.sign_transaction(
        {
            "type": 2,
            "chainId": anvil.chain_id,
            "nonce": 0,
            "to": SINK,
            "value": 100,
            "data": "0x",
            "gas": 21_000,
            "maxFeePerGas": 10**12,
            "maxPriorityFeePerGas": 10**11,
        }
    )

    def steal() -> None:
        anvil.request("anvil_dropAllTransactions")
        anvil.request("eth_sendRawTransaction", "0x" + raw.hex())
        anvil.mine()

    steps = Steps(steal, *[None] * 20, anvil.mine)
    receipt = await sender_of(anvil, rpc, steps).send(SINK, value=1)
    assert receipt.status == 1
    assert await rpc.balance(SINK) == 101


async def test_a_node_that_is_behind_makes_nothing_be_paid_twice(anvil: Anvil) -> None:
    """One node of several behind an address counts the transaction, another has no receipt of it yet."""

    class Behind(Rpc):
        looks = 0

        async def call(self, method: str, params: Any = ()) -> Any:
            found = await super().call(method, params)
            if method != "eth_getTransactionReceipt":
                return found
            self.looks += 1
            return found if self.looks > 10 else None

    async with Behind([anvil.url]) as rpc:
        receipt = await sender_of(anvil, rpc, Steps(*[anvil.mine] * 20)).send(SINK, value=7)
        assert receipt.status == 1
        assert await rpc.balance(SINK) == 7


async def test_two_senders_of_one_key_do_not_lose_a_transaction(anvil: Anvil, rpc: Rpc) -> None:
    first, second = (sender_of(anvil, rpc, Steps(*[None, anvil.mine] * 40)) for _ in range(2))
    sends = [s.send(SINK, value=1) for _ in range(5) for s in (first, second)]
    receipts = await asyncio.gather(*sends)
    assert len({r.tx_hash for r in receipts}) == 10
    assert await rpc.balance(SINK) == 10


async def test_a_receipt_waits_out_a_reorganisation(anvil: Anvil, rpc: Rpc) -> None:
    seen: list[str] = []

    def note() -> None:
        anvil.mine()
        seen.append(anvil.request("eth_getBlockByNumber", "latest", False)["hash"])

    def undo() -> None:
        anvil.reorg(1)

    steps = Steps(note, undo, None, anvil.mine, anvil.mine, anvil.mine)
    receipt = await sender_of(anvil, rpc, steps, confirmations=3).send(SINK, value=5)
    assert receipt.block_hash != seen[0]
    block = anvil.request("eth_getBlockByNumber", hex(receipt.block_number), False)
    assert block["hash"] == receipt.block_hash
    assert anvil.block_number >= receipt.block_number + 2
    assert await rpc.balance(SINK) == 5


async def test_what_a_reorganisation_forgot_holds_up_nothing_behind_it(anvil: Anvil, rpc: Rpc) -> None:
    """The pool does not have it any more, and nobody watches what was mined: what waits behind its nonce waits on."""
    steps = Steps(anvil.mine, anvil.mine)
    sender = sender_of(anvil, rpc, steps, timeout=60)
    await sender.send(SINK, value=5)
    await sender.send(SINK, value=7)
    steps.then(lambda: anvil.reorg(2), *(anvil.mine for _ in range(4)))
    await sender.send(SINK, value=11)
    assert await rpc.balance(SINK) == 23


async def test_a_call_that_reverts_is_never_sent(anvil: Anvil, rpc: Rpc) -> None:
    anvil.request("anvil_setCode", SINK, "0x5f5ffd")
    with pytest.raises(UnknownRevert):
        await sender_of(anvil, rpc, Steps()).send(SINK)
    assert int(await rpc.call("eth_getTransactionCount", ["0x" + "00" * 20, "pending"]), 16) == 0
    assert (await rpc.call("txpool_status"))["pending"] == "0x0"


@either_way
async def test_reverting_in_the_block_after_all(anvil: Anvil, rpc: Rpc) -> None:
    def break_it() -> None:
        anvil.request("anvil_setCode", SINK, "0x5f5ffd")
        anvil.mine()

    with pytest.raises(UnknownRevert) as caught:
        await sender_of(anvil, rpc, Steps(break_it)).send(SINK)
    assert isinstance(caught.value.__cause__, TransactionFailed)


async def test_reverting_for_a_reason_that_has_gone(anvil: Anvil, rpc: Rpc) -> None:
    def break_it() -> None:
        anvil.request("anvil_setCode", SINK, "0x5f5ffd")
        anvil.mine()
        anvil.request("anvil_setCode", SINK, "0x00")

    with pytest.raises(TransactionFailed, match="mined and failed"):
        await sender_of(anvil, rpc, Steps(break_it)).send(SINK)


@either_way
async def test_no_money_for_gas(anvil: Anvil, rpc: Rpc) -> None:
    anvil.request("anvil_setBalance", anvil.accounts[0].address, hex(1_000))
    with pytest.raises(GasFundsLow) as caught:
        await sender_of(anvil, rpc, Steps()).send(SINK)
    assert caught.value.balance == 1_000
    assert "send it some" in str(caught.value)


async def test_what_is_no_address_is_not_asked_about(anvil: Anvil, rpc: Rpc) -> None:
    with pytest.raises(ChainError, match="is not an address"):
        await sender_of(anvil, rpc, Steps()).send("0x12")


async def _signed(anvil: Anvil, **fields: Any) -> str:
    """A transaction of the first account by another program, at a price that replaces any other."""
    values = {"type": 2, "chainId": anvil.chain_id, "nonce": 0, "value": 0, "data": "0x", "gas": 60_000}
    prices = {"maxFeePerGas": 10**12, "maxPriorityFeePerGas": 10**11}
    return (
        "0x"
        + (await LocalSigner(anvil.accounts[0].key).sign_transaction({**values, **prices, **fields})).hex()
    )


def _taking(anvil: Anvil, raw: str) -> Any:
    def take() -> None:
        anvil.request("eth_sendRawTransaction", raw)
        anvil.mine()

    return take


async def test_who_cancels_by_his_wallet_does_not_get_it_sent_anew(anvil: Anvil, rpc: Rpc) -> None:
    cancel = await _signed(anvil, to=anvil.accounts[0].address)
    steps = Steps(_taking(anvil, cancel), *[None] * 20, anvil.mine)
    with pytest.raises(TransactionCancelled, match="Nothing was done") as caught:
        await sender_of(anvil, rpc, steps).send(SINK, value=7)
    assert caught.value.nonce == 0
    assert await rpc.balance(SINK) == 0
    assert int(await rpc.call("eth_getTransactionCount", [anvil.accounts[0].address, "pending"]), 16) == 1


@either_way
async def test_who_speeds_it_up_by_his_wallet_pays_once(anvil: Anvil, rpc: Rpc) -> None:
    faster = await _signed(anvil, to=SINK, value=7)
    steps = Steps(_taking(anvil, faster), *[None] * 20, anvil.mine)
    receipt = await sender_of(anvil, rpc, steps).send(SINK, value=7)
    assert receipt.status == 1
    assert await rpc.balance(SINK) == 7
    assert int(await rpc.call("eth_getTransactionCount", [anvil.accounts[0].address, "pending"]), 16) == 1


async def test_what_stands_in_front_is_said(anvil: Anvil, rpc: Rpc) -> None:
    """An older transaction that no block takes: ours waits behind it, and says so."""
    old = await _signed(anvil, to=SINK, value=1)
    anvil.request("eth_sendRawTransaction", old)
    said: list[str] = []
    sender = sender_of(anvil, rpc, Steps(), timeout=30, report=said.append)
    with pytest.raises(TransactionTimeout, match="nonce 0 stands in front of it") as caught:
        await sender.send(SINK, value=7)
    assert (caught.value.nonce, caught.value.ahead) == (1, 0)
    assert f"{caught.value.tx_hash} (nonce 1), behind the account's older one with nonce 0" in said[0]


async def test_a_node_that_lies_about_tips_spends_no_coins(anvil: Anvil) -> None:
    class Greedy(Rpc):
        async def call(self, method: str, params: Any = ()) -> Any:
            if method == "eth_feeHistory":
                return {"baseFeePerGas": ["0x1", "0x1"], "reward": [[hex(10**13)]]}
            return await super().call(method, params)

    async with Greedy([anvil.url]) as rpc:
        receipt = await sender_of(anvil, rpc, Steps(anvil.mine)).send(SINK)
        assert receipt.gas_price <= 102 * 10**9


class Forgetful(Rpc):
    """A node that takes a transaction, says that its nonce is used up, and then answers a question of it as told."""

    def __init__(self, url: str, *answers: object) -> None:
        super().__init__([url])
        self._answers = list(answers)

    async def call(self, method: str, params: Any = (), **options: Any) -> Any:
        if method == "eth_getTransactionByHash" and self._answers:
            answer = self._answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        found = await super().call(method, params, **options)
        if method == "eth_sendRawTransaction":
            raise RpcError(-32_000, "nonce too low")
        return found


@pytest.mark.parametrize("answers", [[None, None], [RpcUnavailable(("it is gone",))]], ids=["behind", "gone"])
async def test_what_may_be_its_own_is_not_sent_again(anvil: Anvil, answers: list[object]) -> None:
    """Another node behind the same address hears of it later, or the node ends just then: sent anew, it pays twice."""
    account = anvil.accounts[3].address
    before = int(anvil.request("eth_getTransactionCount", account, "latest"), 16)
    async with Forgetful(anvil.url, *answers) as rpc:
        await sender_of(anvil, rpc, Steps(*[anvil.mine] * 20), 3).send(anvil.accounts[4].address, b"", 1)
    assert int(anvil.request("eth_getTransactionCount", account, "latest"), 16) == before + 1


class Hoarder(Rpc):
    """A node that keeps what it is sent, denies it, and says that its nonce is another's; it may count so, too."""

    def __init__(self, url: str, words: str, *, counts: bool = False, shows: bool = False) -> None:
        super().__init__([url])
        self._words, self._counts, self._shows = words, counts, shows
        self.nonces: list[int] = []

    async def call(self, method: str, params: Any = (), **options: Any) -> Any:
        if method == "eth_sendRawTransaction":
            self.nonces.append(int(TypedTransaction.from_bytes(HexBytes(params[0])).as_dict()["nonce"]))
            if self._words:
                raise RpcError(-32_000, self._words)
            return "0x" + "00" * 32
        if method == "eth_getTransactionCount" and self._counts:
            return hex(len(self.nonces))
        found = await super().call(method, params, **options)
        if method == "eth_getBlockByNumber" and self._shows and self.nonces:
            rival = {"hash": "0x" + "11" * 32, "from": ACCOUNT, "to": SINK, "value": "0x1", "input": "0x"}
            return {**found, "transactions": [{**rival, "nonce": hex(self.nonces[-1])}]}
        return found


ACCOUNT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"  # the development chain's first
TOO_LOW, UNDERPRICED = "nonce too low", "replacement transaction underpriced"


@pytest.mark.parametrize("words", [TOO_LOW, UNDERPRICED])
async def test_a_nonce_that_is_not_counted_as_taken_is_not_skipped(anvil: Anvil, words: str) -> None:
    """Signed for one nonce after the other, a call is paid as often as its node likes."""
    async with Hoarder(anvil.url, words) as rpc:
        with pytest.raises(TransactionTimeout):
            await sender_of(anvil, rpc, Steps(), timeout=60).send(SINK, value=7)
    assert set(rpc.nonces) == {0}


@pytest.mark.parametrize(
    ("words", "shows"),
    [
        pytest.param(TOO_LOW, False, marks=pytest.mark.slow, id="low"),
        pytest.param(UNDERPRICED, False, id="less"),
        pytest.param("", True, marks=pytest.mark.slow, id="in a block"),
    ],
)
async def test_a_call_is_signed_for_few_nonces_whatever_is_said(
    anvil: Anvil, words: str, shows: bool
) -> None:
    async with Hoarder(anvil.url, words, counts=True, shows=shows) as rpc:
        with pytest.raises(TransactionTimeout):
            await sender_of(anvil, rpc, Steps(), timeout=300).send(SINK, value=7)
    assert 1 < len(set(rpc.nonces)) <= 9


class Fickle(Rpc):
    """A node whose answers to a method are another's, once a transaction is on its way; an error is raised."""

    def __init__(self, node: Any, method: str, answer: object) -> None:
        super().__init__([node])
        self._method, self._answer = method, answer
        self.sent = 0

    async def call(self, method: str, params: Any = (), **options: Any) -> Any:
        if method == self._method and self.sent:
            if isinstance(self._answer, Exception):
                raise self._answer
            return self._answer
        found = await super().call(method, params, **options)
        self.sent += method == "eth_sendRawTransaction"
        return found


@pytest.mark.parametrize(
    "error",
    [UnknownRevert("0x"), RecursionError("too deep"), ZeroDivisionError("a middleware's")],
    ids=["a revert", "nested too deep", "a bug"],
)
async def test_what_was_sent_is_watched_whatever_its_receipt_raises(anvil: Anvil, error: Exception) -> None:
    """Any other error than that it was not mined in time would be read as that nothing was sent."""
    async with Fickle(anvil.url, "eth_getTransactionReceipt", error) as rpc:
        with pytest.raises(TransactionTimeout) as caught:
            await sender_of(anvil, rpc, Steps(), timeout=30).send(SINK, value=7)
    assert caught.value.__cause__ is not None


async def test_a_push_that_fails_in_an_unknown_way_may_have_arrived(anvil: Anvil) -> None:
    class Lost(Rpc):
        async def call(self, method: str, params: Any = (), **options: Any) -> Any:
            found = await super().call(method, params, **options)
            if method == "eth_sendRawTransaction":
                raise ZeroDivisionError("after it was handed over")
            return found

    async with Lost([anvil.url]) as rpc:
        assert (await sender_of(anvil, rpc, Steps(anvil.mine)).send(SINK, value=7)).status == 1
        assert await rpc.balance(SINK) == 7


@pytest.mark.slow
async def test_a_signer_that_fails_to_bump_leaves_it_watched(anvil: Anvil, rpc: Rpc) -> None:
    class Once(RecordingSigner):
        async def sign_transaction(self, transaction: Mapping[str, int | str | bytes]) -> bytes:
            if self.fees:
                self.fees.append(int(transaction["maxFeePerGas"]))
                raise WalletError("The wallet is locked", "unlock it.")
            return await super().sign_transaction(transaction)

    def outprice() -> None:
        anvil.request("anvil_setNextBlockBaseFeePerGas", hex(10**10))
        anvil.mine()

    steps, signer = Steps(outprice, *[None] * 12, anvil.mine), Once(anvil.accounts[0].key)
    sender = Sender(rpc, signer, poll=1, clock=steps.clock, sleep=steps, bump_after=5, timeout=60)
    with pytest.raises(TransactionTimeout) as caught:
        await sender.send(SINK, value=7)
    assert len(signer.fees) > 1
    assert len(set(signer.fees[1:])) < len(signer.fees[1:])  # what nobody signed for is not bumped further
    assert caught.value.tx_hash


@pytest.mark.parametrize("odd", [{"value": 0.5}, {"to": 7}, {"input": "0xz"}])
def test_a_blocks_transaction_is_what_it_is_compared_by(odd: dict[str, object]) -> None:
    hashes = dict.fromkeys(("hash", "parentHash"), "0x" + "11" * 32)
    sound = {
        "hash": "0x" + "22" * 32,
        "from": ACCOUNT,
        "nonce": "0x0",
        "to": None,
        "value": "0x1",
        "input": "0x",
    }
    block = {**hashes, "number": "0x5", "timestamp": "0x1", "transactions": [sound]}
    assert checked("eth_getBlockByNumber", ["0x5", True], block)
    with pytest.raises(Misshapen):
        checked("eth_getBlockByNumber", ["0x5", True], {**block, "transactions": [{**sound, **odd}]})


async def test_an_answer_nested_too_deep_is_none() -> None:
    class Deep(AsyncBaseProvider):
        async def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
            answer: RPCResponse = json.loads("[" * 100_000)
            return answer

    with pytest.raises(RpcUnavailable, match="RecursionError"):
        await Rpc([AsyncWeb3(Deep())], patience=0).call("eth_chainId")


async def test_it_is_signed_for_the_chain_that_was_proven(anvil: Anvil) -> None:
    """A node that proves one chain and then says another number would have it signed for that one."""

    class Turncoat(Rpc):
        async def call(self, method: str, params: Any = (), **options: Any) -> Any:
            found = await super().call(method, params, **options)
            return "0x1" if method == "eth_chainId" else found

    genesis = anvil.request("eth_getBlockByNumber", "0x0", False)["hash"]
    deployment = Deployment(anvil.chain_id, genesis, *[SINK] * 4, 0, "USD", 6)
    async with Turncoat([anvil.url]) as rpc:
        await rpc.check_chain(deployment)
        receipt = await sender_of(anvil, rpc, Steps(anvil.mine), timeout=60).send(SINK, value=7)
    mined = anvil.request("eth_getTransactionByHash", receipt.tx_hash)
    assert int(mined["chainId"], 16) == anvil.chain_id


class Signing(AsyncBaseProvider):
    """A node that signs something else than it is asked for, or what is no signature."""

    def __init__(self, key: str, **other: Any) -> None:
        super().__init__()
        self._account, self._other = Account.from_key(key), other

    async def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        return {"jsonrpc": "2.0", "id": 1, "result": self._answer(params)}

    def _answer(self, params: Any) -> Any:
        if "answer" in self._other:
            return self._other["answer"]
        wish = {name: value for name, value in params[0].items() if name != "from"}
        signed = self._account.sign_transaction({**wish, **self._other})
        return {"raw": "0x" + bytes(signed.raw_transaction).hex(), "tx": {}}


def signing(anvil: Anvil, **other: Any) -> Web3Signer:
    own = AsyncWeb3(Signing(anvil.accounts[0].key, **other))
    own.middleware_onion.clear()
    own.eth.default_account = to_checksum_address(anvil.accounts[0].address)
    return Web3Signer(own)


WISH: dict[str, int | str | bytes] = {
    "type": 2,
    "chainId": 31_337,
    "nonce": 1,
    "to": to_checksum_address(SINK),
    "value": 7,
    "data": "0x01",
    "gas": 60_000,
    "maxFeePerGas": 10**9,
    "maxPriorityFeePerGas": 10**8,
}
LISTED = [{"address": to_checksum_address(SINK), "storageKeys": ["0x" + "00" * 32]}]


@pytest.mark.parametrize(
    "other",
    [
        {"gas": 30_000_000},
        {"maxFeePerGas": 10**18},
        {"maxPriorityFeePerGas": 10**9},
        {"accessList": LISTED},
        {"nonce": 2},
        {"to": ""},
        *({"answer": bad} for bad in ("zz", "0x", "0x02c0", "0x02ff", {"tx": 1}, {"raw": 5})),
    ],
    ids=str,
)
async def test_what_a_node_signs_is_what_it_was_asked_for(anvil: Anvil, other: dict[str, Any]) -> None:
    with pytest.raises(WalletError, match="is not what was to be sent"):
        await signing(anvil, **other).sign_transaction(WISH)
    assert await signing(anvil).sign_transaction(WISH)


WORDS: dict[str, Any] = {
    "types": {
        "EIP712Domain": [{"name": "name", "type": "string"}],
        "Word": [{"name": "it", "type": "string"}],
    },
    "primaryType": "Word",
    "domain": {"name": "words"},
    "message": {"it": "yes"},
}


class Silent(AsyncBaseProvider):
    """A node that has the key and never answers."""

    async def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        return await asyncio.get_running_loop().create_future()


async def test_a_signer_that_never_answers_is_not_waited_for_for_ever(anvil: Anvil) -> None:
    """It is asked while no other send may take a nonce."""
    own = AsyncWeb3(Silent())
    own.eth.default_account = to_checksum_address(anvil.accounts[0].address)
    signer = Web3Signer(own, patience=0)
    with pytest.raises(WalletError, match="Nobody has signed"):
        await signer.sign_transaction(WISH)
    with pytest.raises(WalletError, match="Nobody has signed"):
        await signer.sign_typed_data(WORDS)


async def test_typed_words_are_signed_by_the_account(anvil: Anvil) -> None:
    mine, others = [await LocalSigner(anvil.accounts[n].key).sign_typed_data(WORDS) for n in range(2)]
    assert await signing(anvil, answer="0x" + mine.hex()).sign_typed_data(WORDS) == mine
    for bad in ("0x" + others.hex(), "zz", "0x", 5, None):
        with pytest.raises(WalletError):
            await signing(anvil, answer=bad).sign_typed_data(WORDS)

"""What was decided on one branch of the chain, sent on another: a lease's number may be somebody else's there."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping

import pytest

from devnet.anvil import Anvil
from devnet.patience import patient
from leasehold.chain import Block, BlockHeader, LocalSigner, Rpc, Sender, decided_at
from leasehold.errors import BranchGone, RpcUnavailable, TransactionTimeout

from .sending import SINK, Steps, sender_of


@pytest.fixture
def anvil() -> Iterator[Anvil]:
    """Blocks come when the test says so, and one has."""
    with Anvil(args=["--no-mining"]) as chain:
        chain.mine()
        yield chain


@pytest.fixture
async def rpc(anvil: Anvil) -> AsyncIterator[Rpc]:
    async with Rpc([anvil.url]) as client:
        yield client


class Keeping(LocalSigner):
    """Remembers what it signed, oldest first."""

    def __init__(self, anvil: Anvil) -> None:
        super().__init__(anvil.accounts[0].key)
        self.signed: list[bytes] = []

    async def sign_transaction(self, transaction: Mapping[str, int | str | bytes]) -> bytes:
        self.signed.append(await super().sign_transaction(transaction))
        return self.signed[-1]


def head(anvil: Anvil) -> Block:
    found = anvil.request("eth_getBlockByNumber", "latest", False)
    return Block(int(found["number"], 16), found["hash"], int(found["timestamp"], 16))


async def pay(sender: Sender, value: int, decided: Block | None) -> None:
    with decided_at(decided):
        await sender.send(SINK, value=value)


async def used(anvil: Anvil, rpc: Rpc) -> int:
    """How many nonces of the account are in blocks."""
    return int(await rpc.call("eth_getTransactionCount", [anvil.accounts[0].address, "latest"]), 16)


async def watched() -> None:
    """Until whatever goes on here without anybody who waits for it has ended."""
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)


def offered(anvil: Anvil, raw: bytes) -> None:
    """As a node does that takes what a reorganisation removed into its pool again."""
    anvil.request("eth_sendRawTransaction", "0x" + raw.hex())


def forgotten(anvil: Anvil) -> None:
    """It is mined and, before anybody looks, undone, with the block that it was decided on at."""
    anvil.mine()
    anvil.reorg(2)


def still_waiting(anvil: Anvil) -> None:
    """It waits in the pool, and the block that it was decided on at goes."""
    anvil.reorg(1)


@pytest.mark.parametrize("happens", [forgotten, still_waiting])
async def test_what_is_watched_is_not_sent_on_another_branch(
    anvil: Anvil, rpc: Rpc, happens: Callable[[Anvil], None]
) -> None:
    steps = Steps(lambda: happens(anvil), anvil.mine, anvil.mine)
    with pytest.raises(BranchGone, match="was reorganised"):
        await pay(sender_of(anvil, rpc, steps, timeout=60), 7, head(anvil))
    assert (await rpc.balance(SINK), await used(anvil, rpc)) == (0, 1)


async def test_what_was_decided_before_the_branches_part_is_sent_again(anvil: Anvil, rpc: Rpc) -> None:
    def undo() -> None:
        anvil.mine()
        anvil.reorg(1)

    await pay(sender_of(anvil, rpc, Steps(undo, anvil.mine), timeout=60), 7, head(anvil))
    assert await rpc.balance(SINK) == 7


async def test_nothing_is_sent_where_the_branch_has_gone_before(anvil: Anvil, rpc: Rpc) -> None:
    decided = head(anvil)
    anvil.reorg(1)
    with pytest.raises(BranchGone):
        await pay(sender_of(anvil, rpc, Steps()), 7, decided)
    with pytest.raises(RpcUnavailable):  # the node may be behind
        await pay(sender_of(anvil, rpc, Steps()), 7, Block(decided.number + 1, decided.hash, 0))
    assert (await rpc.call("txpool_status"))["pending"] == "0x0"


async def test_a_node_that_is_a_little_behind_is_waited_for(anvil: Anvil, rpc: Rpc) -> None:
    """The block is known from another one behind the same address, which had it first."""

    class Behind(Rpc):
        asked = 0

        async def header(self, block: int | str = "latest") -> BlockHeader | None:
            self.asked += 1
            return None if self.asked == 1 else await super().header(block)

    async with Behind([anvil.url]) as behind:
        await pay(sender_of(anvil, behind, Steps(None, anvil.mine), timeout=60), 7, head(anvil))
    assert await rpc.balance(SINK) == 7


@pytest.mark.parametrize("taken_back", [False, True], ids=["forgotten", "in the pool again"])
async def test_a_gap_is_filled_with_nothing_where_the_branch_is_gone(
    anvil: Anvil, rpc: Rpc, taken_back: bool
) -> None:
    """Of what was mined there, only what was meant for any branch is sent again."""
    steps, signer = Steps(anvil.mine, anvil.mine), Keeping(anvil)
    sender = sender_of(anvil, rpc, steps, signer=signer, timeout=60)
    await pay(sender, 5, None)
    await pay(sender, 7, head(anvil))

    def undo() -> None:
        anvil.reorg(2)
        for raw in signer.signed[:2] if taken_back else ():
            offered(anvil, raw)

    steps.then(undo, *[anvil.mine] * 4)
    await pay(sender, 11, None)
    assert (await rpc.balance(SINK), await used(anvil, rpc)) == (16, 3)


async def test_a_gap_is_filled_with_what_was_decided_before_the_branches_part(anvil: Anvil, rpc: Rpc) -> None:
    decided, steps = head(anvil), Steps(anvil.mine)
    sender = sender_of(anvil, rpc, steps, timeout=60)
    await pay(sender, 7, decided)
    steps.then(lambda: anvil.reorg(1), *[anvil.mine] * 4)
    await pay(sender, 11, decided)
    assert await rpc.balance(SINK) == 18


async def test_a_gap_that_a_former_process_left_holds_up_no_agent_for_ever(anvil: Anvil, rpc: Rpc) -> None:
    """It was mined for the process before this one, a reorganisation forgot it, and nobody has its bytes any more."""
    decided = head(anvil)
    await pay(sender_of(anvil, rpc, Steps(anvil.mine)), 5, decided)
    steps = Steps(lambda: anvil.reorg(1), *[anvil.mine] * 40)
    await pay(sender_of(anvil, rpc, steps, timeout=60), 7, decided)
    assert (await rpc.balance(SINK), await used(anvil, rpc)) == (7, 2)


@pytest.mark.slow
async def test_what_another_has_waiting_is_nobody_elses_to_cancel(anvil: Anvil, rpc: Rpc) -> None:
    """A gap is filled with nothing only where the node has nothing for it, and only for calls of an agent."""
    decided, signer = head(anvil), Keeping(anvil)
    await pay(sender_of(anvil, rpc, Steps(anvil.mine), signer=signer), 5, None)

    def undo() -> None:
        anvil.reorg(1)
        offered(anvil, signer.signed[0])

    steps = Steps(undo, *[None] * 40, anvil.mine)
    await pay(sender_of(anvil, rpc, steps, timeout=60), 7, decided)
    assert await rpc.balance(SINK) == 12


@pytest.mark.slow
async def test_a_gap_of_a_wallet_is_told_and_not_filled(anvil: Anvil, rpc: Rpc) -> None:
    """Whoever sent what lacks may have it waiting at another node: a wallet's owner decides."""
    await pay(sender_of(anvil, rpc, Steps(anvil.mine)), 5, None)
    steps = Steps(lambda: anvil.reorg(1), *[anvil.mine] * 100)
    with pytest.raises(TransactionTimeout):
        await pay(sender_of(anvil, rpc, steps, timeout=60), 7, None)
    assert (await rpc.balance(SINK), await used(anvil, rpc)) == (0, 0)


async def test_it_is_withdrawn_though_nobody_waits_any_more(anvil: Anvil, rpc: Rpc) -> None:
    """Whoever is cut off while it waits leaves it in the pools: it is watched on, or it is mined on another branch."""
    steps = Steps(lambda: waiting.cancel(), lambda: still_waiting(anvil), anvil.mine, anvil.mine)
    waiting = asyncio.create_task(pay(sender_of(anvil, rpc, steps, timeout=60), 7, head(anvil)))
    with pytest.raises(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(patient(30)):
        await watched()
    assert (await rpc.balance(SINK), await used(anvil, rpc)) == (0, 1)


async def test_what_is_watched_for_nobody_ends_with_the_sender(anvil: Anvil, rpc: Rpc) -> None:
    steps = Steps(lambda: waiting.cancel())
    sender = sender_of(anvil, rpc, steps, timeout=60)
    waiting = asyncio.create_task(pay(sender, 7, head(anvil)))
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert asyncio.all_tasks() != {asyncio.current_task()}
    await sender.aclose()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_who_stops_waiting_before_it_is_signed_has_it_not_sent(anvil: Anvil) -> None:
    class Slow(Rpc):
        """Somebody stops waiting while the node is asked for the nonce."""

        async def call(self, method: str, params: object = (), **options: object) -> object:
            if method == "eth_getTransactionCount":
                waiting.cancel()
                await asyncio.sleep(0)
            return await super().call(method, params, **options)  # type: ignore[arg-type]

    signer = Keeping(anvil)
    async with Slow([anvil.url]) as rpc:
        waiting = asyncio.create_task(pay(sender_of(anvil, rpc, Steps(), signer=signer), 7, head(anvil)))
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await watched()
    assert not signer.signed


async def test_what_is_mined_in_spite_of_it_has_happened(anvil: Anvil, rpc: Rpc) -> None:
    """A block of the new branch took it, before what withdraws it was there."""
    signer = Keeping(anvil)

    def in_spite() -> None:
        anvil.request("anvil_dropAllTransactions")
        offered(anvil, signer.signed[0])
        anvil.mine()

    steps = Steps(lambda: still_waiting(anvil), in_spite)
    await pay(sender_of(anvil, rpc, steps, signer=signer, timeout=60), 7, head(anvil))
    assert (await rpc.balance(SINK), await used(anvil, rpc)) == (7, 1)
    assert len(signer.signed) == 2


async def test_another_programs_cancellation_of_it_is_no_success(anvil: Anvil, rpc: Rpc) -> None:
    """What took the nonce looks like what withdraws it, and has another hash."""

    def cancel() -> None:
        anvil.request("anvil_dropAllTransactions")
        account = anvil.accounts[0].address
        anvil.request(
            "eth_sendTransaction", {"from": account, "to": account, "nonce": "0x0", "gas": "0x6000"}
        )
        anvil.mine()

    steps = Steps(lambda: still_waiting(anvil), cancel)
    with pytest.raises(BranchGone):
        await pay(sender_of(anvil, rpc, steps, timeout=60), 7, head(anvil))
    assert await used(anvil, rpc) == 1

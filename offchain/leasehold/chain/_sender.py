"""Sending transactions, so that what was asked for happens once.

A nonce is chosen under a lock as the greater of what the node counts as pending and what is in flight
here, so that concurrent sends get nonces of their own. From then on the transaction is *watched* until it
is mined:

* It fell out of the pool, or never arrived: the same bytes are broadcast again. They can be mined only once.
* It does not move for `bump_after` seconds: it is replaced, same nonce, higher fees. Whichever is mined
counts.
* Another process with the same key took the nonce: none of ours can be mined any more, so it is sent anew. But
whoever sped it up from his wallet has sent it, and whoever cancelled it there does not want it.
* An older one of the account waits in front of it: `report` is told which, since when, and what can be done.
* It was mined and a reorganisation removed it: watching goes on until it is `confirmations` deep. What is watched no
longer is broadcast again, should a later one wait behind its nonce: a node need not take back what it forgot.
* It was decided on at a block (`decided_at`) that a reorganisation removed: its nonce is taken by a transaction that
does nothing and offers more, and whoever decided is told. What names a lease may name another there. Who stops waiting
for such a one leaves it watched all the same.

Nothing here holds state that a crash could lose: what is in flight lives in the nodes' pools. What is asked of them is
asked through web3.py (`Rpc.w3`), which is imported with the first call or by `prepared`.
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self

from eth_utils.address import is_address, to_checksum_address
from eth_utils.crypto import keccak

from leasehold.chain._branches import decided, is_there
from leasehold.chain._fees import Fees
from leasehold.chain._flights import RIVALS, Bounds, Flight, Intent, Mined
from leasehold.chain._rpc import Rpc
from leasehold.chain._signer import Signer
from leasehold.chain._turn import present_turn
from leasehold.chain._types import Receipt
from leasehold.errors import (
    BranchGone,
    ChainError,
    ContractError,
    GasFundsLow,
    RpcError,
    RpcUnavailable,
    TransactionCancelled,
    TransactionFailed,
    TransactionTimeout,
)

if TYPE_CHECKING:
    from leasehold.chain._eth import Eth
    from leasehold.chain._ordered import Block

# A contract may meet other state when it is mined than when it was estimated (a deadline passed, a slot
# freed).
_GAS_MARGIN_PERCENT = 130
# A second later there may be something to pay out: two balances that were never used, 22,100 each.
_GAS_SPARE = 50_000
# Two processes that send the same call would sign the same bytes for the same nonce, and both would take the one
# transaction for theirs. A little gas more or less tells them apart.
_GAS_SALT = 1 << 12
_ALREADY_THERE = ("already known", "already imported", "known transaction", "alreadyknown")
_NONCE_TAKEN = ("nonce too low", "old nonce")
_OFFERS_LESS = (
    "replacement transaction underpriced",
    "replacement fee too low",
    "could not replace existing tx",
    "replacementnotallowed",
)
_NO_FUNDS = ("insufficient funds",)
_LOOKS = 3  # for what another node of the same address may know a moment later
_QUIET = 3.0  # seconds after which it is said what is waited for
_SEARCHED = 600  # blocks that are looked through for who took a nonce
_MOST_MINED = 256  # transactions whose bytes are kept, for later ones that may come to wait behind them
_MOST_FILLED = 16  # of them that are broadcast again with one look


class _NonceTaken(Exception):
    """The nonce belongs to another transaction of this account. Never leaves this module."""


class _OffersLess(_NonceTaken):
    """What waits under the nonce offers more, or as much, for its gas."""


class Sends(Protocol):
    """What a binding needs of whoever sends its calls: a wallet, or one who acts for another account."""

    @property
    def address(self) -> str:
        """The account that the calls come from."""
        ...

    async def send(self, to: str, data: bytes = b"", value: int = 0) -> Receipt:
        """Sends a call and returns its receipt once it is mined."""
        ...


class Sender:
    """Sends one account's transactions.

    confirmations: blocks a transaction has to be deep, 1 is mined. timeout: seconds until TransactionTimeout.
    bump_after: seconds after which a transaction that is not mined is replaced. max_fee: wei per gas that
    is never exceeded. poll: seconds between looks. lost_after: seconds for which every look must find the
    nonce used up by another before the call is sent anew, which would pay twice if a node were merely
    behind. overtakes: wei that a call may cost at most which takes the place of whatever this account has
    waiting, with the first nonce that is not mined; 0 has it wait behind. report: is told what is waited for.
    clock, sleep and random (an integer below its argument): for tests.
    """

    def __init__(
        self,
        rpc: Rpc,
        signer: Signer,
        *,
        confirmations: int = 1,
        timeout: float = 600.0,
        bump_after: float = 45.0,
        max_fee: int = 10**13,
        poll: float = 0.5,
        lost_after: float = 15.0,
        overtakes: int = 0,
        report: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[int], int] = secrets.randbelow,
    ) -> None:
        self._rpc = rpc
        self._signer = signer
        self._confirmations = confirmations
        self._timeout = timeout
        self._bump_after = bump_after
        self._max_fee = max_fee
        self._poll = poll
        self._lost_after = lost_after
        self._overtakes = overtakes
        self._report = report
        self._clock = clock
        self._sleep = sleep
        self._random = random
        self._lock = asyncio.Lock()
        self._in_flight: set[int] = set()
        self._mined: dict[int, Mined] = {}
        self._gap: tuple[int, float] | None = None  # a nonce of which nobody knows the bytes, and since when
        self._tasks: set[asyncio.Task[Receipt]] = set()
        self._told_chain: int | None = None
        self._opened: Eth | None = None

    @property
    def _eth(self) -> "Eth":
        if self._opened is None:
            from leasehold.chain._eth import Eth

            self._opened = Eth(self._rpc.w3, self.address)
        return self._opened

    def prepared(self) -> Self:
        """This, with all imported that sending needs: for who must not wait for it, or fail, with the first call."""
        self._opened = self._eth
        return self

    @property
    def address(self) -> str:
        """The account that pays."""
        return self._signer.address

    async def send(self, to: str, data: bytes = b"", value: int = 0) -> Receipt:
        """Sends a call and returns its receipt once it is mined.

        Raises the ContractError that it would revert with before anything is sent; GasFundsLow;
        TransactionFailed when it reverts in the block after all; TransactionTimeout; RpcUnavailable when
        no node takes it; in a turn of the account, TurnTaken; BranchGone where the block that it was decided on at is
        gone, and nothing was done.
        """
        if not is_address(to):
            raise ChainError(f"`{to}` is not an address", "it has 40 hex digits after 0x.")
        bounds = Bounds(self._clock() + self._timeout, decided())
        sending = self._send(to_checksum_address(to), data, value, bounds)
        return await (sending if bounds.decided is None else self._seen_through(sending, bounds))

    async def _seen_through(self, sending: Coroutine[Any, Any, Receipt], bounds: Bounds) -> Receipt:
        """What is on its way is watched to its end: left alone, it may be mined on another branch."""
        task = asyncio.create_task(sending)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        try:
            return await asyncio.shield(task)
        finally:
            bounds.left = True

    def _ended(self, task: asyncio.Task[Receipt]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # who waited was told, and nobody else wants to know

    async def aclose(self) -> None:
        """Ends what is still watched though nobody waits for it, as a process's end does."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _send(self, to: str, data: bytes, value: int, bounds: Bounds) -> Receipt:
        await self._caught_up(bounds)
        while True:
            gas = await self._estimate(to, data, value) + self._random(_GAS_SALT)
            intent = Intent(to, data, value, gas)
            flight = await self._launch(intent, bounds)
            try:
                raw = await self._watch(flight, bounds)
            except _NonceTaken:
                continue
            finally:
                self._in_flight.discard(flight.nonce)
            self._remember(flight, bounds.decided)
            if (turn := present_turn()) is not None:
                turn.passed(self.address)
            if bounds.decided is not None and flight.does_nothing(raw["transactionHash"]):
                raise BranchGone(bounds.decided.number, bounds.decided.hash)
            return await self._landed(raw, intent)

    def _remember(self, flight: Flight, decided: "Block | None") -> None:
        self._mined.pop(flight.nonce, None)
        self._mined[flight.nonce] = Mined(flight.last, flight.fees, None if flight.withdrawn else decided)
        for oldest in list(self._mined)[:-_MOST_MINED]:
            del self._mined[oldest]

    # ------------------------------------------------------------------------------------------- before
    # sending

    async def _estimate(self, to: str, data: bytes, value: int) -> int:
        try:
            used = await self._eth.estimate(to, data, value)
        except RpcError as error:
            raise await self._explained(error, 0) from error
        return used * _GAS_MARGIN_PERCENT // 100 + _GAS_SPARE

    async def _launch(self, intent: Intent, bounds: Bounds) -> Flight:
        """Broadcasts for a nonce that is free. One that a node says is taken, and does not count as taken, is watched:
        whoever has the bytes could have them mined after all, and signed for the next nonce they would pay twice.
        """
        fees, taken = (await self._eth.fees()).capped(self._most(intent)), -1
        async with self._lock:
            while True:
                count = await self._eth.transaction_count("latest" if self._overtakes else "pending")
                nonce = max(count, taken + 1, max(self._in_flight, default=-1) + 1)
                if (turn := present_turn()) is not None:
                    turn.check(self.address, nonce)
                flight = Flight(nonce, intent, fees, self._clock(), await self._eth.block_number())
                await self._check_wanted(bounds)
                try:
                    await self._broadcast(flight, fees)
                except _NonceTaken as error:
                    more = fees.doubled().capped(self._most(intent))
                    in_time = self._clock() < bounds.deadline
                    outbids = (
                        self._overtakes and isinstance(error, _OffersLess) and more.max_fee > fees.max_fee
                    )
                    if in_time and outbids:
                        fees = more
                        continue
                    following = await self._following(flight, error)
                    if in_time and following is not None and bounds.rivals:
                        taken, bounds.rivals = following - 1, bounds.rivals - 1
                        continue
                self._in_flight.add(nonce)
                return flight

    async def _caught_up(self, bounds: Bounds) -> None:
        """A node that is a little behind, as one of several behind an address may be, is given time."""
        for _ in range(_LOOKS):
            if bounds.decided is None or await is_there(self._rpc, bounds.decided) is not None:
                return
            await self._sleep(self._poll)

    async def _check_wanted(self, bounds: Bounds) -> None:
        """Right before it is signed. Raises BranchGone, RpcUnavailable, and CancelledError where nobody waits."""
        if bounds.left:
            raise asyncio.CancelledError
        if bounds.decided is None:
            return
        there = await is_there(self._rpc, bounds.decided)
        if there is False:
            raise BranchGone(bounds.decided.number, bounds.decided.hash)
        if there is None:
            raise RpcUnavailable(("the node does not have the block yet that this was decided on at",))

    async def _following(self, flight: Flight, error: _NonceTaken) -> int | None:
        """The account's next nonce, where that shows that the flight's is another's; None where nothing does."""
        try:
            count = await self._eth.transaction_count(
                "pending" if isinstance(error, _OffersLess) else "latest"
            )
        except ChainError:
            return None
        return count if count > flight.nonce else None

    def _most(self, intent: Intent) -> int:
        """Wei per gas that is never exceeded."""
        return min(self._max_fee, self._overtakes // intent.gas) if self._overtakes else self._max_fee

    async def _signed(self, nonce: int, intent: Intent, fees: Fees) -> bytes:
        return await self._signer.sign_transaction(
            {
                "type": 2,
                "chainId": await self._chain_id(),
                "nonce": nonce,
                "to": intent.to,
                "value": intent.value,
                "data": "0x" + intent.data.hex(),
                "gas": intent.gas,
                "maxFeePerGas": fees.max_fee,
                "maxPriorityFeePerGas": fees.tip,
            }
        )

    async def _broadcast(self, flight: Flight, fees: Fees) -> None:
        """Signs and sends. A node that cannot be reached is no failure: watching sends the bytes again."""
        raw = await self._signed(flight.nonce, flight.intent, fees)
        first = not flight.hashes
        flight.last, flight.fees = raw, fees
        flight.hashes.append("0x" + keccak(raw).hex())
        try:
            await self._push(flight)
        except _OffersLess:
            if first:
                raise
        except _NonceTaken:
            # Whoever asks twice, we after an answer that was lost or a balancer, is told so of his own: it is mined.
            if first and not await self._may_be_ours(flight):
                raise
            # One of our own was mined meanwhile, or another process's: watching finds out which.
        except (RpcError, ContractError, GasFundsLow):
            raise  # the node refuses it
        except Exception:  # noqa: BLE001 - whatever went wrong, it may have arrived: watching finds out
            pass

    async def _chain_id(self) -> int:
        """The chain that the nodes have proven to serve; asked for once, where nobody said which it has to be."""
        proven = self._rpc.proven_chain
        if proven is not None:
            return proven
        if self._told_chain is None:
            self._told_chain = await self._eth.chain_id()
        return self._told_chain

    async def _push(self, flight: Flight) -> None:
        intent, fees = flight.intent, flight.fees
        try:
            await self._eth.send(flight.last)
        except RpcError as error:
            message = error.message.lower()
            if any(text in message for text in _ALREADY_THERE):
                return
            if any(text in message for text in _OFFERS_LESS):
                raise _OffersLess from error
            if any(text in message for text in _NONCE_TAKEN):
                raise _NonceTaken from error
            raise await self._explained(error, intent.gas * fees.max_fee + intent.value) from error

    async def _explained(self, error: RpcError, needed: int) -> Exception:
        if any(text in error.message.lower() for text in _NO_FUNDS):
            return GasFundsLow(self.address, await self._eth.balance(), needed)
        return error

    # ------------------------------------------------------------------------------------------- after
    # sending

    async def _watch(self, flight: Flight, bounds: Bounds) -> Mapping[str, Any]:
        """The raw receipt of whichever of the flight's transactions is mined and deep enough.

        Raises _NonceTaken, TransactionCancelled or TransactionTimeout, and nothing else: what was sent may be mined
        whatever fails here, and any other error would read as if nothing had been sent.
        """
        bump_at = self._clock() + self._bump_after
        lost_since: float | None = None
        trouble: Exception | None
        count, trouble = flight.nonce, None
        while True:
            try:
                self._say(flight, count)
                count, raw = await self._look(flight)
                if raw is None and count > flight.nonce:
                    # Nodes behind one address may disagree: believe it when they have said so for a while.
                    lost_since = self._clock() if lost_since is None else lost_since
                    if self._clock() - lost_since >= self._lost_after and not await self._known(flight):
                        return await self._instead(flight, bounds)
                else:
                    lost_since = None
                    if raw is not None:
                        if await self._deep_enough(raw):
                            return raw
                    elif await self._is_meant(flight, bounds):
                        if self._clock() >= bump_at:
                            bump_at = self._clock() + self._bump_after
                            await self._replace(flight)
                        else:
                            await self._fill(range(count, flight.nonce))
                            await self._close_gap(count, flight, bounds)
                            await self._keep_alive(flight)
            except (_NonceTaken, TransactionCancelled):
                raise
            except Exception as error:  # noqa: BLE001 - of a node, a signer, a middleware: keep looking
                trouble = error
            if self._clock() >= bounds.deadline:
                ahead = count if count < flight.nonce else None
                raise TransactionTimeout(flight.hashes[-1], self._timeout, flight.nonce, ahead) from trouble
            await self._sleep(self._poll)

    def _say(self, flight: Flight, count: int) -> None:
        """What is waited for, once anybody would ask."""
        waited = self._clock() - flight.since
        if waited < _QUIET:
            return
        said = f"Waiting for transaction {flight.hashes[-1]} (nonce {flight.nonce})"
        if count < flight.nonce:
            said += (
                f", behind the account's older one with nonce {count}: speed that one up or cancel it in the wallet "
                "that sent it"
            )
        self._report(said)

    async def _instead(self, flight: Flight, bounds: Bounds) -> Mapping[str, Any]:
        """What was mined with the flight's nonce: the receipt, if it is the same call sent at another price.

        Raises _NonceTaken for another program's transaction, TransactionCancelled for one that does nothing.
        """
        other = await self._mined_with(flight)
        if other is None:
            raise RpcUnavailable(("a nonce is used up, and the node does not show by what",))
        intent = flight.intent
        to, data = str(other.get("to") or ""), str(other.get("input") or other.get("data") or "0x")
        if (to.lower(), data, int(other.get("value") or "0x0", 16)) == (
            intent.to.lower(),
            "0x" + intent.data.hex(),
            intent.value,
        ):
            receipt = await self._eth.receipt(other["hash"])
            if receipt is None:
                raise RpcUnavailable(("a transaction is in a block and has no receipt",))
            return receipt
        if to.lower() == self.address.lower() and data == "0x":
            raise TransactionCancelled(flight.hashes[-1], flight.nonce, other["hash"])
        if not bounds.rivals:
            raise RpcUnavailable((f"nonces of {RIVALS + 1} attempts are said to be another's",))
        bounds.rivals -= 1
        raise _NonceTaken

    async def _mined_with(self, flight: Flight) -> Mapping[str, Any] | None:
        """The account's transaction with the flight's nonce, looked for in the blocks since it was sent."""
        head, mine = await self._eth.block_number(), self.address.lower()
        for number in range(head, max(flight.first_block - 1, head - _SEARCHED), -1):
            for transaction in await self._eth.transactions(number):
                if transaction["from"].lower() == mine and int(transaction["nonce"], 16) == flight.nonce:
                    return transaction
        return None

    async def _look(self, flight: Flight) -> tuple[int, Mapping[str, Any] | None]:
        # The count first: if it says that the nonce is used up, a receipt of ours must already be there.
        count = await self._eth.transaction_count("latest")
        receipts = await asyncio.gather(*(self._eth.receipt(tx_hash) for tx_hash in flight.hashes))
        return count, next((receipt for receipt in receipts if receipt is not None), None)

    async def _may_be_ours(self, flight: Flight) -> bool:
        """Whether it may be a transaction of the flight that used up its nonce. Another node behind the same address
        may hear of it a moment later, and where none can be asked watching finds out: to send it anew would pay twice.
        """
        for _ in range(_LOOKS):
            try:
                if await self._known(flight):
                    return True
            except ChainError:
                return True
            await self._sleep(self._poll)
        return False

    async def _known(self, flight: Flight) -> bool:
        """Whether a node still knows a transaction of the flight, mined or waiting."""
        known = await asyncio.gather(*(self._eth.transaction(tx_hash) for tx_hash in flight.hashes))
        return any(transaction is not None for transaction in known)

    async def _deep_enough(self, raw: Mapping[str, Any]) -> bool:
        if self._confirmations <= 1:
            return True
        return await self._eth.block_number() >= int(raw["blockNumber"], 16) + self._confirmations - 1

    async def _is_meant(self, flight: Flight, bounds: Bounds) -> bool:
        """Whether its newest bytes may be mined where the chain stands now. What may not is withdrawn; where the node
        does not have as many blocks, it cannot be told yet.
        """
        if bounds.decided is None or flight.withdrawn:
            return True
        there = await is_there(self._rpc, bounds.decided)
        if there is False:
            await self._withdraw(flight)
        return there is True

    async def _withdraw(self, flight: Flight) -> None:
        """Takes its nonce for a transaction that does nothing, and offers more than what may wait in a pool."""
        intent = await self._nothing()
        fees = flight.fees.bumped(await self._eth.fees()).capped(self._most(intent))
        flight.intent, flight.meant = intent, frozenset(flight.hashes)
        await self._broadcast(flight, fees)

    async def _nothing(self) -> Intent:
        """The account to itself: its nonce is used up, and nothing else happens."""
        return Intent(self.address, b"", 0, await self._estimate(self.address, b"", 0))

    async def _keep_alive(self, flight: Flight) -> None:
        """Broadcasts the newest bytes again if no node knows them any more."""
        if await self._eth.transaction(flight.hashes[-1]) is None:
            with contextlib.suppress(_NonceTaken):  # the next look tells by whom
                await self._push(flight)

    async def _fill(self, nonces: range) -> None:
        """Broadcasts what was mined with these nonces, and is not any more. The same bytes are no second payment."""
        missing = [nonce for nonce in sorted(self._mined) if nonce in nonces and nonce not in self._in_flight]
        for nonce in missing[:_MOST_FILLED]:
            mined = self._mined[nonce]
            there = mined.decided is None or await is_there(self._rpc, mined.decided)
            if there is False:
                mined = self._mined[nonce] = await self._emptied(nonce, mined)
            if there is not None:
                with contextlib.suppress(RpcError):  # it waits there already, or is mined after all
                    await self._eth.send(mined.raw)

    async def _close_gap(self, count: int, flight: Flight, bounds: Bounds) -> None:
        """Takes a nonce for nothing that the flight waits behind, where nobody has its bytes: the process before this
        one sent them, and a node forgot them. Only for who decides on blocks: nobody else has an agent's key.
        """
        if bounds.decided is None or not self._unknown(count, flight):
            return
        if self._gap is None or self._gap[0] != count:
            self._gap = count, self._clock()
        if self._clock() - self._gap[1] < self._lost_after:
            return
        async with self._lock:
            if self._unknown(count, flight) and await self._eth.transaction_count("pending") <= count:
                intent, fees = await self._nothing(), await self._eth.fees()
                fees = fees.capped(self._most(intent))
                self._mined[count] = Mined(await self._signed(count, intent, fees), fees, None)
            self._gap = None

    def _unknown(self, nonce: int, flight: Flight) -> bool:
        return nonce < flight.nonce and nonce not in self._mined and nonce not in self._in_flight

    async def _emptied(self, nonce: int, mined: Mined) -> Mined:
        """What does nothing, in place of what was meant for a branch that is gone: a node may have taken that back."""
        intent = await self._nothing()
        fees = mined.fees.bumped(await self._eth.fees()).capped(self._most(intent))
        return Mined(await self._signed(nonce, intent, fees), fees, None)

    async def _replace(self, flight: Flight) -> None:
        fees = flight.fees.bumped(await self._eth.fees()).capped(self._most(flight.intent))
        if fees.max_fee <= flight.fees.max_fee:
            await self._keep_alive(flight)
            return
        await self._broadcast(flight, fees)

    async def _landed(self, raw: Mapping[str, Any], intent: Intent) -> Receipt:
        receipt = receipt_of(raw)
        if receipt.status == 1:
            return receipt
        try:
            await self._eth.replay(intent.to, intent.data, receipt.block_number)
        except ContractError as error:
            raise error from TransactionFailed(receipt.tx_hash)
        except Exception as error:  # the reason cannot be had
            raise TransactionFailed(receipt.tx_hash) from error
        raise TransactionFailed(receipt.tx_hash)


def receipt_of(raw: Mapping[str, Any]) -> Receipt:
    """A receipt as JSON-RPC gives it."""
    return Receipt(
        tx_hash=raw["transactionHash"],
        block_number=int(raw["blockNumber"], 16),
        block_hash=raw["blockHash"],
        gas_used=int(raw["gasUsed"], 16),
        gas_price=int(raw.get("effectiveGasPrice") or "0x0", 16),
        status=int(raw["status"], 16),
        logs=tuple(raw["logs"]),
    )

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

Nothing here holds state that a crash could lose: what is in flight lives in the nodes' pools. What is asked of them is
asked through web3.py (`Rpc.w3`), which is imported with the first call or by `prepared`.
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

from eth_utils.address import is_address, to_checksum_address
from eth_utils.crypto import keccak

from leasehold.chain._fees import Fees
from leasehold.chain._rpc import Rpc
from leasehold.chain._signer import Signer
from leasehold.chain._turn import present_turn
from leasehold.chain._types import Receipt
from leasehold.errors import (
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
_LOOKS = 3  # for a transaction whose nonce is said to be used up, before it is taken for another's
_QUIET = 3.0  # seconds after which it is said what is waited for
_SEARCHED = 600  # blocks that are looked through for who took a nonce
_MOST_MINED = 256  # transactions whose bytes are kept, for later ones that may come to wait behind them
_MOST_FILLED = 16  # of them that are broadcast again with one look
_RIVALS = 8  # times that another may take a call's nonce: a node that says so for ever would collect payments


class _NonceTaken(Exception):
    """The nonce belongs to another transaction of this account. Never leaves this module."""


class _OffersLess(_NonceTaken):
    """What waits under the nonce offers more, or as much, for its gas."""


@dataclass(slots=True)
class _Flight:
    """One nonce and everything that was signed for it."""

    nonce: int
    fees: Fees
    since: float
    first_block: int
    last: bytes = b""
    hashes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Intent:
    to: str
    data: bytes
    value: int
    gas: int


@dataclass(slots=True)
class _Bounds:
    """How long a call may take, and how often it may yet be signed for another nonce."""

    deadline: float
    rivals: int = _RIVALS


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
        self._mined: dict[int, bytes] = {}
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
        no node takes it; in a turn of the account, TurnTaken.
        """
        if not is_address(to):
            raise ChainError(f"`{to}` is not an address", "it has 40 hex digits after 0x.")
        to = to_checksum_address(to)
        bounds = _Bounds(self._clock() + self._timeout)
        while True:
            gas = await self._estimate(to, data, value) + self._random(_GAS_SALT)
            intent = _Intent(to, data, value, gas)
            flight = await self._launch(intent, bounds)
            try:
                raw = await self._watch(flight, intent, bounds)
            except _NonceTaken:
                continue
            finally:
                self._in_flight.discard(flight.nonce)
            self._remember(flight)
            if (turn := present_turn()) is not None:
                turn.passed(self.address)
            return await self._landed(raw, intent)

    def _remember(self, flight: _Flight) -> None:
        self._mined.pop(flight.nonce, None)
        self._mined[flight.nonce] = flight.last
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

    async def _launch(self, intent: _Intent, bounds: _Bounds) -> _Flight:
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
                flight = _Flight(nonce, fees, self._clock(), await self._eth.block_number())
                try:
                    await self._broadcast(flight, intent, fees)
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

    async def _following(self, flight: _Flight, error: _NonceTaken) -> int | None:
        """The account's next nonce, where that shows that the flight's is another's; None where nothing does."""
        try:
            count = await self._eth.transaction_count(
                "pending" if isinstance(error, _OffersLess) else "latest"
            )
        except ChainError:
            return None
        return count if count > flight.nonce else None

    def _most(self, intent: _Intent) -> int:
        """Wei per gas that is never exceeded."""
        return min(self._max_fee, self._overtakes // intent.gas) if self._overtakes else self._max_fee

    async def _broadcast(self, flight: _Flight, intent: _Intent, fees: Fees) -> None:
        """Signs and sends. A node that cannot be reached is no failure: watching sends the bytes again."""
        raw = await self._signer.sign_transaction(
            {
                "type": 2,
                "chainId": await self._chain_id(),
                "nonce": flight.nonce,
                "to": intent.to,
                "value": intent.value,
                "data": "0x" + intent.data.hex(),
                "gas": intent.gas,
                "maxFeePerGas": fees.max_fee,
                "maxPriorityFeePerGas": fees.tip,
            }
        )
        first = not flight.hashes
        flight.last, flight.fees = raw, fees
        flight.hashes.append("0x" + keccak(raw).hex())
        try:
            await self._push(raw, intent, fees)
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

    async def _push(self, raw: bytes, intent: _Intent, fees: Fees) -> None:
        try:
            await self._eth.send(raw)
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

    async def _watch(self, flight: _Flight, intent: _Intent, bounds: _Bounds) -> Mapping[str, Any]:
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
                        return await self._instead(flight, intent, bounds)
                else:
                    lost_since = None
                    if raw is not None:
                        if await self._deep_enough(raw):
                            return raw
                    elif self._clock() >= bump_at:
                        bump_at = self._clock() + self._bump_after
                        await self._replace(flight, intent)
                    else:
                        await self._fill(range(count, flight.nonce))
                        await self._keep_alive(flight, intent)
            except (_NonceTaken, TransactionCancelled):
                raise
            except Exception as error:  # noqa: BLE001 - of a node, a signer, a middleware: keep looking
                trouble = error
            if self._clock() >= bounds.deadline:
                ahead = count if count < flight.nonce else None
                raise TransactionTimeout(flight.hashes[-1], self._timeout, flight.nonce, ahead) from trouble
            await self._sleep(self._poll)

    def _say(self, flight: _Flight, count: int) -> None:
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

    async def _instead(self, flight: _Flight, intent: _Intent, bounds: _Bounds) -> Mapping[str, Any]:
        """What was mined with the flight's nonce: the receipt, if it is the same call sent at another price.

        Raises _NonceTaken for another program's transaction, TransactionCancelled for one that does nothing.
        """
        other = await self._mined_with(flight)
        if other is None:
            raise RpcUnavailable(("a nonce is used up, and the node does not show by what",))
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
            raise RpcUnavailable((f"nonces of {_RIVALS + 1} attempts are said to be another's",))
        bounds.rivals -= 1
        raise _NonceTaken

    async def _mined_with(self, flight: _Flight) -> Mapping[str, Any] | None:
        """The account's transaction with the flight's nonce, looked for in the blocks since it was sent."""
        head, mine = await self._eth.block_number(), self.address.lower()
        for number in range(head, max(flight.first_block - 1, head - _SEARCHED), -1):
            for transaction in await self._eth.transactions(number):
                if transaction["from"].lower() == mine and int(transaction["nonce"], 16) == flight.nonce:
                    return transaction
        return None

    async def _look(self, flight: _Flight) -> tuple[int, Mapping[str, Any] | None]:
        # The count first: if it says that the nonce is used up, a receipt of ours must already be there.
        count = await self._eth.transaction_count("latest")
        receipts = await asyncio.gather(*(self._eth.receipt(tx_hash) for tx_hash in flight.hashes))
        return count, next((receipt for receipt in receipts if receipt is not None), None)

    async def _may_be_ours(self, flight: _Flight) -> bool:
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

    async def _known(self, flight: _Flight) -> bool:
        """Whether a node still knows a transaction of the flight, mined or waiting."""
        known = await asyncio.gather(*(self._eth.transaction(tx_hash) for tx_hash in flight.hashes))
        return any(transaction is not None for transaction in known)

    async def _deep_enough(self, raw: Mapping[str, Any]) -> bool:
        if self._confirmations <= 1:
            return True
        return await self._eth.block_number() >= int(raw["blockNumber"], 16) + self._confirmations - 1

    async def _keep_alive(self, flight: _Flight, intent: _Intent) -> None:
        """Broadcasts the newest bytes again if no node knows them any more."""
        if await self._eth.transaction(flight.hashes[-1]) is None:
            with contextlib.suppress(_NonceTaken):  # the next look tells by whom
                await self._push(flight.last, intent, flight.fees)

    async def _fill(self, nonces: range) -> None:
        """Broadcasts what was mined with these nonces, and is not any more. The same bytes are no second payment."""
        missing = [nonce for nonce in sorted(self._mined) if nonce in nonces and nonce not in self._in_flight]
        for nonce in missing[:_MOST_FILLED]:
            with contextlib.suppress(RpcError):  # it waits there already, or is mined after all
                await self._eth.send(self._mined[nonce])

    async def _replace(self, flight: _Flight, intent: _Intent) -> None:
        fees = flight.fees.bumped(await self._eth.fees()).capped(self._most(intent))
        if fees.max_fee <= flight.fees.max_fee:
            await self._keep_alive(flight, intent)
            return
        await self._broadcast(flight, intent, fees)

    async def _landed(self, raw: Mapping[str, Any], intent: _Intent) -> Receipt:
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

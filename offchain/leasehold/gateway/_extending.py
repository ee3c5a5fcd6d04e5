"""Extending leases out of their purses, and giving back what is left: by one replica, the one that writes the index.

What is to be done is decided from the chain at each look (`leasehold.client.turn_of_purse`). Another replica that does
the same at the same time pays gas for something that reverts, and nothing else happens twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import structlog
from sqlalchemy.exc import SQLAlchemyError

from leasehold.agreements import accounts_domain
from leasehold.chain import (
    AccountsContract,
    Block,
    BlockHeader,
    LeasePurse,
    Pool,
    Rpc,
    SignedPurse,
    decided_at,
    format_lease,
)
from leasehold.client import PurseDeed, PurseStanding, PurseTurn, standing_of_purse, turn_of_purse
from leasehold.errors import ContractError, LeaseholdError
from leasehold.gateway._elected_keeper import ElectedKeeper
from leasehold.gateway._errors import GatewayRefusal
from leasehold.gateway._gas_costs import GasLosses, GasPricing
from leasehold.gateway._gas_key import GasKey
from leasehold.gateway._held_purses import HeldPurses
from leasehold.market import Money

LOOK_SECONDS: Final = 15.0
LOOK_AGAIN: Final = 60
"""Seconds after which a lease is looked at again that could not be extended."""
LOOK_AT_LEAST: Final = 300
"""Seconds after which each is looked at: its tenant may have closed it."""
UNPAID_SECONDS: Final = 3_600
"""After which one is forgotten that could pay for nothing all the while: it would hold a place for nothing."""
AT_ONCE: Final = 8
_log = structlog.get_logger("leasehold.gateway")


class Extending:
    """pool: read by `rpc`. key: pays the gas. elected: whether this replica is the one that does it."""

    def __init__(
        self,
        rpc: Rpc,
        pool: Pool,
        held: HeldPurses,
        key: GasKey,
        pricing: GasPricing,
        losses: GasLosses,
        *,
        elected: Callable[[], bool] = lambda: True,
    ) -> None:
        self._rpc = rpc
        self._pool = pool
        self._held = held
        self._key = key
        self._pricing = pricing
        self._losses = losses
        self._accounts = AccountsContract(rpc, pool.deployment.accounts)
        self._domain = accounts_domain(pool.deployment)
        self._money = Money.of(pool.deployment)
        self._places = asyncio.Semaphore(AT_ONCE)
        self._next: dict[int, int] = {}
        self._troubles: dict[int, str] = {}
        self._unpaid: dict[int, tuple[str, int]] = {}  # whose key is which, since when
        self._keeper = ElectedKeeper[int]("gateway.purses", LOOK_SECONDS, elected)

    def trouble_of(self, lease: int) -> str | None:
        """Why the lease was not extended when this replica looked at it last, if it was to be."""
        return self._troubles.get(lease)

    def wake(self, lease: int) -> None:
        """Has it looked at with the next look."""
        self._next.pop(lease, None)

    async def keep(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Looks after all of them, for ever."""
        await self._keeper.keep(self.look, sleep)

    async def look(self) -> None:
        """Does what is to be done now, and waits a while for it; what takes longer goes on beside the next look."""
        now = await self._rpc.now()
        await self._keeper.begin(await self._due(now), lambda lease: self._look_at(lease, now))

    async def close(self) -> None:
        """Ends what is under way here. What was broadcast may be mined."""
        await self._keeper.close()

    async def _due(self, now: int) -> Sequence[int]:
        known = await self._held.leases()
        for noted in (self._next, self._troubles, self._unpaid):
            for lease in noted.keys() - set(known):
                del noted[lease]
        return [lease for lease in known if self._next.get(lease, now) <= now]

    async def _look_at(self, lease: int, now: int) -> None:
        async with self._places:
            try:
                self._next[lease] = await self._turn(lease)
            except (LeaseholdError, SQLAlchemyError) as error:
                self._next[lease] = now + LOOK_AGAIN
                self._troubles[lease] = self._told(error)
                _log.warning("gateway.purse", lease=format_lease(lease), error=type(error).__name__)

    def _told(self, error: Exception) -> str:
        """What strangers are told of it: nothing of nodes and databases."""
        if isinstance(error, ContractError | GatewayRefusal):
            return str(error.in_money(self._money))
        return "The chain did not answer, or not in time; it is tried again."

    async def _turn(self, lease: int) -> int:
        """Does what is to be done for one, and says when it is looked at again."""
        signed, header = await self._held.get(lease), await self._rpc.header()
        if signed is None or header is None:
            return 0
        standing = await standing_of_purse(self._pool, self._accounts, signed.purse)
        turn = turn_of_purse(signed.purse, await self._pool.lease_of(lease), standing, header.timestamp)
        if turn.deed is PurseDeed.FORGET or self._never_paid(signed.purse, standing, header.timestamp):
            await self._held.forget(signed)
            return 0
        if turn.deed is PurseDeed.WAIT:
            return self._waited(lease, turn, header.timestamp)
        await self._send(signed, turn, header)
        self._troubles.pop(lease, None)
        _log.info("gateway.purse", lease=format_lease(lease), deed=turn.deed.value)
        return 0

    def _never_paid(self, purse: LeasePurse, standing: PurseStanding, now: int) -> bool:
        """Whether it has had too little for anything that was signed, and for how long."""
        if standing.holds >= purse.left(purse.count - 1):
            self._unpaid.pop(purse.lease, None)
            return False
        key, since = self._unpaid.get(purse.lease, (purse.key, now))
        self._unpaid[purse.lease] = purse.key, since if key == purse.key else now
        return key == purse.key and now - since >= UNPAID_SECONDS

    def _waited(self, lease: int, turn: PurseTurn, now: int) -> int:
        if turn.at > now:
            self._troubles.pop(lease, None)
            return min(turn.at, now + LOOK_AT_LEAST)
        self._troubles[lease] = turn.why
        return now + LOOK_AGAIN

    async def _send(self, signed: SignedPurse, turn: PurseTurn, header: BlockHeader) -> None:
        """On the branch of the chain on which it was decided: on another the lease may be somebody else's."""
        purse, domain, accounts = signed.purse, self._domain, self._accounts.address
        extends = turn.deed is PurseDeed.EXTEND
        data = (signed.extension if extends else signed.going_back)(domain, turn.number)
        await self._key.check_alone()
        price = await self._key.price()
        gas = await self._key.gas_of(accounts, data)
        self._pricing.check_fee(purse.fee, gas, price)
        block = Block(header.number, header.hash, header.timestamp)
        risk = self._key.risk(gas, price)
        with self._losses.risked(risk, purse.tenant, format_lease(purse.lease)) as lost, decided_at(block):
            await self._key.send(accounts, data, purse.fee, lost)

"""Watching leases for accounts that ask, and telling them: by one replica, the one that writes the index.

What there is to tell is the library's own guard's word (`leasehold.guarding`). It is written down before it is sent:
who is killed in between sends it again, with the same id. Where two replicas both think that they are elected, the
database takes what one of them remembers, and the other looks again; an alert comes twice at worst.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import structlog
from sqlalchemy.exc import SQLAlchemyError

from leasehold.chain import Indexer, Lease
from leasehold.errors import LeaseholdError
from leasehold.gateway._elected_keeper import ElectedKeeper
from leasehold.gateway._market import Market
from leasehold.gateway._recipients import HeldRecipient, Recipients
from leasehold.guarding import (
    AgentSilences,
    AlertKind,
    AlertReach,
    AlertWay,
    LeaseFund,
    MailServer,
    PoolSight,
    after_sending,
    next_alert,
    told,
    watched,
)
from leasehold.market import Listing, Money
from leasehold.rates import RateLimit, TokenBuckets

LOOK_SECONDS: Final = 20.0
LOOKED_AT_ONCE: Final = 16
SENT_AT_ONCE: Final = 128
LETTERS_AT_ONCE: Final = 2
"""Each holds a thread, of which others want some, too."""
TURN_ALERTS, TURN_SECONDS = 5, 3.0
"""After so many, or so long, a recipient's turn is over until the next look: one that takes its time takes it alone."""
ASKED_AT_ONCE: Final = 32
ASKED_SECONDS: Final = 20.0
"""In which the machines are asked at each look whether their agents answer; who is not reached is asked at the next."""
ASKING_SECONDS: Final = 10.0
DAILY: Final = RateLimit(200, 86_400)
"""Alerts to one recipient: what is more waits, and of what waits the oldest goes."""
_log = structlog.get_logger("leasehold.gateway")

Asks = Callable[[int], Awaitable[bool | None]]
"""Whether a machine's agent answers; `None`: it was not asked."""
FundOf = Callable[[Lease], Awaitable[LeaseFund | None]]


@dataclass(frozen=True)
class Ways:
    """How alerts go out: whom webhooks and ntfy may be, and the server that takes letters, if there is one."""

    reach: AlertReach
    server: MailServer | None
    letters: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LETTERS_AT_ONCE))


class Watching:
    """market: the machines, at the index's head. asks: an agent. fund_of: what is put aside for a lease, if this
    gateway keeps leases. elected: whether this replica is the one that does it. clock: unix seconds.
    """

    def __init__(
        self,
        index: Indexer,
        market: Market,
        money: Money,
        held: Recipients,
        ways: Ways,
        asks: Asks,
        *,
        fund_of: FundOf | None = None,
        elected: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._index = index
        self._market = market
        self._money = money
        self._held = held
        self._ways = ways
        self._asks = asks
        self._fund_of = fund_of
        self._keeper = ElectedKeeper[str]("gateway.watching", LOOK_SECONDS, elected)
        self._clock = clock
        self._looks = asyncio.Semaphore(LOOKED_AT_ONCE)
        self._sends = asyncio.Semaphore(SENT_AT_ONCE)
        self._sent = TokenBuckets(DAILY, clock, 65_536)
        self._silences = AgentSilences()
        self._machines: dict[str, frozenset[int]] = {}
        self._unasked: list[int] = []
        self._failed: set[str] = set()

    async def keep(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Looks after all of them, for ever."""

        async def swept_look() -> None:
            await self._held.sweep(int(self._clock()))
            await self.look()

        await self._keeper.keep(swept_look, sleep)

    async def look(self) -> None:
        """Tells what there is to tell now, and waits a while for it; who takes longer is told beside the next look."""
        ids = await self._held.confirmed()
        for gone in self._machines.keys() - set(ids):
            del self._machines[gone]
        self._failed &= set(ids)
        if not ids:
            return
        await self._ask_agents()
        sight = await self._pool_sight()
        if sight is None:
            return
        await self._keeper.begin(ids, lambda recipient: self._look_at(recipient, sight))

    async def close(self) -> None:
        """Ends what is under way here."""
        await self._keeper.close()

    # ---------------------------------------------------------------------------------------------- what is known

    async def _pool_sight(self) -> PoolSight | None:
        """`None` while the index is filled: of what it does not know yet nobody should be told that it is over."""
        head, read = await self._index.head(), self._market.head
        if head is None or read is None or head.number < read.number:
            return None
        windows = {rules.version: rules.params.start_window for rules in await self._index.params()}
        down = {placed.listing.id: placed.record.machine.down_since for placed in self._market.board}
        # A chain whose nodes are away moves no clock: what ends soon ends all the same.
        now = max(head.timestamp, int(self._clock()))
        listings = _ByCard(placed.listing for placed in self._market.board)
        return PoolSight(now, head.timestamp, windows, down, self._silences, listings.like, self._fund_of)

    async def _ask_agents(self) -> None:
        machines = set[int]().union(*self._machines.values())
        first = [machine for machine in self._unasked if machine in machines]
        order = [*first, *sorted(machines - set(first))]
        gate, begun, answered = asyncio.Semaphore(ASKED_AT_ONCE), set[int](), dict[int, bool]()

        async def ask(machine: int) -> None:
            async with gate:
                begun.add(machine)
                if (spoke := await self._asks(machine)) is not None:
                    answered[machine] = spoke

        with suppress(TimeoutError):
            async with asyncio.timeout(ASKED_SECONDS):
                await asyncio.gather(*map(ask, order))
        self._unasked = [machine for machine in order if machine not in begun]
        self._silences.heard(machines, answered)

    # ------------------------------------------------------------------------------------------------- each of them

    async def _look_at(self, recipient: str, sight: PoolSight) -> None:
        try:
            async with self._looks:
                await self._note(recipient, sight)
            async with self._sends:
                await self._deliver(recipient)
            self._failed.discard(recipient)
        except (LeaseholdError, SQLAlchemyError) as error:
            _log.warning("gateway.told_nothing", error=type(error).__name__)
        except Exception as error:  # noqa: BLE001  # the outermost place of one recipient: the others are told
            if recipient not in self._failed:
                _log.error("gateway.told_nothing", error=type(error).__name__, trace=_trace(error))
            self._failed.add(recipient)

    async def _note(self, recipient: str, sight: PoolSight) -> None:
        """Writes down what there is to tell. Where another replica was faster, its word stands."""
        held = await self._held.get(recipient)
        if held is None:
            return
        seen = await watched(self._index, held.account, held.remembered, held.wishes, sight)
        outage = AlertKind.OUTAGE in held.wishes.kinds
        running = frozenset(lease.lease.machine for lease in seen.leases if lease.runs)
        self._machines[recipient] = running if outage else frozenset()
        clock = int(self._clock())
        fresh = told(held.remembered, seen, held.wishes, self._money, sight.head, clock=clock)
        if fresh is not held.remembered:
            await self._held.remember(held, fresh)

    async def _deliver(self, recipient: str) -> None:
        """What is due, in turn, until it takes nothing or its turn is over."""
        began = time.monotonic()
        for number in range(TURN_ALERTS):
            held = await self._held.get(recipient)
            if held is None or (number and time.monotonic() - began > TURN_SECONDS):
                return
            entry = next_alert(held.remembered, int(self._clock()))
            if entry is None or self._sent.wait(recipient):
                return
            problem = await sent(self._ways, held, dict(entry.alert))
            clock = int(self._clock())
            fresh = after_sending(held.remembered, entry, clock, taken=problem is None)
            how = {"failing": problem[:300]} if problem is not None else {"failing": "", "sent_at": clock}
            if not await self._held.remember(held, fresh, **how) or problem is not None:
                return


async def sent(ways: Ways, held: HeldRecipient, alert: dict[str, Any]) -> str | None:
    """Why it was not taken, if so; nothing of the address is in it."""
    channel = held.recipient.channel(held.secret, ways.reach, ways.server)
    if channel is None:
        return "This gateway sends no letters any more"
    try:
        async with ways.letters if held.recipient.way is AlertWay.MAIL else nullcontext():
            await channel.send({**alert, **held.stops})
    except LeaseholdError as error:
        return error.problem
    except Exception as error:  # noqa: BLE001  # a stranger named the place: what he found is his alone
        _log.error("gateway.channel_broken", way=held.recipient.way.value, error=type(error).__name__)
        return "This gateway cannot send to that place"
    return None


def _trace(error: Exception) -> str:
    return "".join(traceback.format_exception(error))  # never with the values of variables


class _ByCard:
    """Machines by their cards, put in order when somebody asks for the first time."""

    def __init__(self, listings: Iterable[Listing]) -> None:
        self._listings = listings
        self._cards: dict[tuple[str | None, int | None], list[Listing]] | None = None
        self._of: dict[int, tuple[str | None, int | None]] = {}

    def like(self, machine: int) -> Sequence[Listing]:
        """Those with the same card as the machine, itself included."""
        if self._cards is None:
            self._cards = defaultdict(list)
            for listing in self._listings:
                card = listing.model, listing.gpu_memory
                self._cards[card].append(listing)
                self._of[listing.id] = card
        return self._cards[self._of[machine]] if machine in self._of else ()

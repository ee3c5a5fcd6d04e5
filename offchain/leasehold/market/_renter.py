"""Renting: choose a machine, quote it, hand over the workload, open the lease in one transaction, see it start.

The order is what makes a crash harmless. The sealed workload is with the agent (or on IPFS) before any money
moves; `open` is the only transaction; from then on the lease is on chain, whatever becomes of this process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Literal, Protocol

from leasehold.chain import (
    ZERO_DIGEST,
    Deployment,
    Lease,
    LeaseDeclined,
    LeaseOpened,
    LeaseRequest,
    LeaseState,
    Machine,
    Pool,
    Receipt,
    Rpc,
    Token,
    decode_log,
    logs_since,
)
from leasehold.chain.typed import Offer
from leasehold.errors import AgentError, DatasetError
from leasehold.market._errors import (
    AllowanceTooLow,
    CancelledUnstarted,
    DeclinedUnstarted,
    DocumentUnavailable,
    NoneMatches,
    NoneTakesIt,
    NotStartedInTime,
    RejectedUnstarted,
    StartFailed,
    TooFewMatch,
)
from leasehold.market._explain import ascii_reason
from leasehold.market._listing import Listing, sort
from leasehold.market._money import Money
from leasehold.market._money_errors import LedgerTooLow
from leasehold.market._placing import fits, free_cells, smallest_hole
from leasehold.market._quote import (
    Funds,
    Payment,
    Quote,
    Wish,
    extension,
    extension_cost,
    obstacle,
    quote,
    shortfall,
)
from leasehold.market.wire import AgentUnreachable, NothingOpened

Sleep = Callable[[float], Awaitable[None]]
Clock = Callable[[], Awaitable[int]]


class Blocks(Protocol):
    """An IPFS node, as far as single raw blocks go."""

    async def put_block(self, data: bytes) -> str: ...
    async def get_block(self, cid: str, timeout: float) -> bytes: ...  # noqa: ASYNC109  # the daemon keeps it


class Courier(Protocol):
    """Hands a sealed workload to a machine's agent, and knows that the agent has it when it returns.

    Raises AgentError when the agent cannot be reached, or refuses.
    """

    async def __call__(self, listing: Listing, sealed: bytes) -> None: ...


@dataclass(frozen=True)
class Delivery:
    """Where the sealed workload waits for the agent. `why`: why the agent itself was not given it."""

    digest: bytes
    by: Literal["agent", "ipfs"]
    why: str | None = None


@dataclass(frozen=True)
class Opened:
    """A lease that was opened, and what was promised about it."""

    lease: int
    quote: Quote
    receipt: Receipt


@dataclass(frozen=True)
class SignedOffer:
    """Terms that a provider signed. proof: the provider's, over the offer."""

    offer: Offer
    proof: bytes


@dataclass(frozen=True)
class Opening:
    """One lease of those that are opened together. backup: digest of its standby, or zeros."""

    quote: Quote
    settle: tuple[int, ...] = ()
    reuse: int = 0
    backup: bytes = ZERO_DIGEST
    signed: SignedOffer | None = None

    def request(self, digest: bytes) -> LeaseRequest:
        """What the pool is asked for."""
        return LeaseRequest(
            machine=self.quote.machine,
            revision=self.quote.revision,
            share=self.quote.share,
            duration=self.quote.duration,
            max_price=self.quote.max_price,
            workload=digest,
            spot=self.quote.spot,
            allow_unverified=self.quote.allow_unverified,
            settle=self.settle,
            reuse=self.reuse,
            backup=self.backup,
        )


def choose(listings: Iterable[Listing], wish: Wish, current_params: int, now: int) -> Listing:
    """The cheapest machine that takes the wish; of equals the one with the smallest hole for it, then the one with
    least free space, so that big gaps stay.

    Raises:
        NoMachineMatches: none does; says why of the cheapest. With a single listing, its own obstacle is
        raised.
    """
    return choose_gang(listings, wish, current_params, now, 1)[0]


def choose_gang(
    listings: Iterable[Listing], wish: Wish, current_params: int, now: int, count: int
) -> tuple[Listing, ...]:
    """`count` machines that each take the wish, in the same order of preference. Raises as `choose`."""
    ordered = sort(listings)
    if not ordered:
        raise NoneMatches()
    obstacles = [obstacle(listing.machine, current_params, wish, now, listing.money) for listing in ordered]
    fit = [listing for listing, problem in zip(ordered, obstacles, strict=True) if problem is None]
    if len(fit) >= count:
        fit.sort(
            key=lambda listing: (
                wish.price_on(listing.machine),
                smallest_hole(listing.machine.busy, listing.machine.gpus, wish.share),
                free_cells(listing.machine),
                listing.id,
            )
        )
        return tuple(fit[:count])
    first = next((problem for problem in obstacles if problem is not None), None)
    if fit or first is None:
        raise TooFewMatch(len(fit), count)
    if len(ordered) == 1:
        raise first
    raise NoneTakesIt(len(ordered), first)


def settleable(
    machine: Machine, leases: Sequence[Lease], wish: Wish, now: int
) -> tuple[Machine, tuple[int, ...]]:
    """The machine as it would be once leases past their end are closed, and those leases.

    Only as many are chosen as the wish needs to fit, none where it fits without or not even then.
    """
    busy, chosen = machine.busy, []
    for lease in sorted(leases, key=lambda lease: lease.end):
        if fits(busy, machine.gpus, wish.share):
            break
        if lease.machine == machine.id and lease.state is LeaseState.ACTIVE and lease.end <= now:
            chosen.append(lease.id)
            busy &= ~(cells_of(lease.placement) & ~machine.withheld)
    if not chosen or not fits(busy, machine.gpus, wish.share):
        return machine, ()
    return replace(machine, busy=busy), tuple(chosen)


def cells_of(placement: int) -> int:
    """A placement as a map of the machine's cells, bit `8 × gpu + cell`."""
    gpus, cells = placement >> 8, placement & 0xFF
    return sum(cells << (8 * gpu) for gpu in range(8) if gpus >> gpu & 1)


class Renter:
    """The renter's side of one pool, for one account.

    now: unix seconds at the head of the chain. courier: to the agents. blocks: the renter's own IPFS node.
    ledger_only: somebody else acts for the account, so that nothing can be pulled from its wallet.
    """

    def __init__(
        self,
        pool: Pool,
        token: Token,
        rpc: Rpc,
        account: str,
        *,
        blocks: Blocks,
        courier: Courier,
        now: Clock,
        sleep: Sleep = asyncio.sleep,
        poll: float = 0.5,
        ledger_only: bool = False,
    ) -> None:
        self._pool = pool
        self._token = token
        self._rpc = rpc
        self.account = account
        self._blocks = blocks
        self._courier = courier
        self._now = now
        self._sleep = sleep
        self._poll = poll
        self._ledger_only = ledger_only

    @property
    def deployment(self) -> Deployment:
        return self._pool.deployment

    @property
    def money(self) -> Money:
        return Money.of(self.deployment)

    async def funds(self) -> Funds:
        """What the account can pay with now."""
        funds = await funds_of(self._pool, self._token, self.account)
        return replace(funds, wallet=0, allowance=0) if self._ledger_only else funds

    async def quote(
        self, listing: Listing, wish: Wish, leases: Sequence[Lease] = ()
    ) -> tuple[Quote, tuple[int, ...]]:
        """The quote at the head of the chain, and the leases past their end to settle for it.

        `leases` are the machine's, as the index has them.

        Raises:
            MarketError, ContractError: why the pool would refuse; nothing was sent.
        """
        machine = await self._pool.machine_of(listing.id)
        now = await self._now()
        machine, settle = settleable(machine, leases, wish, now)
        problem = obstacle(machine, await self._pool.params_version(), wish, now, self.money)
        if problem is not None:
            raise problem
        offer = quote(machine, await self._pool.params(machine.params), wish, await self.funds())
        return offer, settle

    async def check_funds(self, offer: Quote | Payment) -> None:
        """Refuse a quote that the account cannot pay at all.

        Raises:
            NotEnoughFunds: with how much is missing.
        """
        if self._ledger_only and offer.pulled:
            raise LedgerTooLow(self.account, offer.pulled).in_money(self.money)
        problem = shortfall(offer, await self.funds(), self.money)
        if problem is not None:
            raise problem

    async def total(self, quotes: Sequence[Quote]) -> Payment:
        """What opening several leases at once takes together."""
        funds, amount = await self.funds(), sum(quote.deposit for quote in quotes)
        pulled = max(0, amount - funds.ledger)
        return Payment(amount, pulled, max(0, pulled - funds.allowance))

    async def extension(self, lease: Lease, seconds: int) -> Payment:
        """What `seconds` more cost. Raises NotEnoughFunds."""
        funds = await self.funds()
        if self._ledger_only:
            amount = extension_cost(lease, seconds)
            more = Payment(amount, max(0, amount - funds.ledger), 0)
            await self.check_funds(more)
            return more
        return extension(lease, seconds, funds, self.money)

    def check_allowance(self, offer: Quote | Payment) -> None:
        """Refuse a quote or an extension for which the pool may not take enough from the wallet.

        Raises:
            AllowanceTooLow: with how much it has to be.
        """
        if offer.approve:
            raise AllowanceTooLow(offer.pulled).in_money(self.money)

    async def approve(self, offer: Quote | Payment) -> Receipt | None:
        """Let the pool take what the quote pulls, no more; `None` if it may already."""
        if not offer.approve:
            return None
        return await self._token.approve(self.deployment.controller, offer.pulled)

    async def deliver(self, listing: Listing, sealed: bytes, *, without_agent: bool = True) -> Delivery:
        """Hand the sealed workload to the agent, or pin it where the agent will find it.

        without_agent: pin it also where the agent cannot be reached, which is then not sure to start anything.

        Raises:
            AgentUnreachable: and it had to be. DocumentUnavailable: neither the agent nor an IPFS node can be reached.
        """
        digest = sha256(sealed).digest()
        try:
            await self._courier(listing, sealed)
        except AgentError as error:
            why = str(error) or type(error).__name__
            if isinstance(error, AgentUnreachable) and not without_agent:
                raise NothingOpened(listing.id, why) from error
        else:
            return Delivery(digest, "agent")
        try:
            await self._blocks.put_block(sealed)
        except DatasetError as error:
            raise DocumentUnavailable(
                f"The workload reached neither the agent ({why}) nor an IPFS node ({error})"
            ) from error
        return Delivery(digest, "ipfs", why)

    async def open(
        self, offer: Quote, digest: bytes, *, settle: tuple[int, ...] = (), reuse: int = 0
    ) -> Opened:
        """Open the lease: the one transaction.

        Raises:
            ContractError: the pool refuses, for instance `RevisionChanged` when the terms changed meanwhile.
        """
        opening = Opening(offer, settle, reuse)
        return (await self.open_all((opening,), digest))[0]

    async def open_all(self, openings: Sequence[Opening], digest: bytes) -> tuple[Opened, ...]:
        """Open all of them with the workload of `digest`, or none: one transaction. Raises as `open`."""
        requests = [opening.request(digest) for opening in openings]
        if len(openings) == 1:
            signed = openings[0].signed
            if signed is None:
                lease, receipt = await self._pool.open(requests[0])
            else:
                lease, receipt = await self._pool.open_with_offer(requests[0], signed.offer, signed.proof)
            return (Opened(lease, openings[0].quote, receipt),)
        receipt = await self._pool.multicall(
            [
                self._pool.encode("open", request)
                if opening.signed is None
                else self._pool.encode("openWithOffer", request, opening.signed.offer, opening.signed.proof)
                for opening, request in zip(openings, requests, strict=True)
            ]
        )
        leases = [event.lease for event in self._pool.events(receipt) if isinstance(event, LeaseOpened)]
        return tuple(
            Opened(lease, opening.quote, receipt) for opening, lease in zip(openings, leases, strict=True)
        )

    async def started(self, opened: Opened, report: Callable[[Lease], Awaitable[None]]) -> Lease:
        """Wait until the lease has started; `report` is awaited at every look.

        Raises:
            StartFailed: it was declined, cancelled or rejected, or its start window passed.
        """
        while True:
            lease = await self._pool.lease_of(opened.lease)
            if lease.state is LeaseState.ACTIVE or lease.state is LeaseState.ENDED:
                return lease
            if lease.state is not LeaseState.OPENED:
                raise (await self._why_not(opened, lease)).in_money(self.money)
            if await self._now() > lease.start + opened.quote.start_window:
                raise NotStartedInTime(lease.id, lease.deposit).in_money(self.money)
            await report(lease)
            await self._sleep(self._poll)

    async def _why_not(self, opened: Opened, lease: Lease) -> StartFailed:
        back = opened.quote.deposit
        if lease.state is LeaseState.REJECTED:
            return RejectedUnstarted(opened.lease)
        for raw in await self._lease_logs(opened):
            event = decode_log(raw)
            if isinstance(event, LeaseDeclined) and event.lease == opened.lease:
                return DeclinedUnstarted(event.machine, opened.lease, back, ascii_reason(event.reason))
        return CancelledUnstarted(opened.lease, back)

    async def _lease_logs(self, opened: Opened) -> list[dict[str, Any]]:
        since, topics = opened.receipt.block_number, [None, f"0x{opened.lease:064x}"]
        return await logs_since(self._rpc, since, address=self._pool.address, topics=topics)


async def funds_of(pool: Pool, token: Token, account: str) -> Funds:
    """What an account can pay with in a pool."""
    ledger, wallet, allowance = await asyncio.gather(
        pool.balance_of(account),
        token.balance(account),
        token.allowance(account, pool.deployment.controller),
    )
    return Funds(ledger, wallet, allowance)

"""Renting: choose a machine, quote it, hand over the workload, open the lease in one transaction, see it start.

The order is what makes a crash harmless. The sealed workload is with the agent (or on IPFS) before any money
moves; `open` is the only transaction; from then on the lease is on chain, whatever becomes of this process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal, Protocol

from leasehold.chain import (
    Deployment,
    Lease,
    LeaseDeclined,
    LeaseRequest,
    LeaseState,
    Machine,
    Pool,
    Receipt,
    Rpc,
    Token,
    decode_log,
    format_lease,
)
from leasehold.errors import AgentError, DatasetError
from leasehold.market._errors import AllowanceMissing, DocumentUnavailable, NoMachineMatches, StartFailed
from leasehold.market._explain import ascii_reason, declined
from leasehold.market._listing import Listing, sort
from leasehold.market._placing import fits
from leasehold.market._quote import Extension, Funds, Money, Quote, Wish, obstacle, quote, shortfall
from leasehold.market._units import format_amount

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


def choose(listings: Iterable[Listing], wish: Wish, current_params: int, now: int) -> Listing:
    """The cheapest machine that takes the wish; of equals the one with least free space, so that big gaps stay.

    Raises:
        NoMachineMatches: none does; says why of the cheapest. With a single listing, its own obstacle is
        raised.
    """
    ordered = sort(listings)
    if not ordered:
        raise NoMachineMatches("No machine matches: widen the search, or see all with `leasehold machines`.")
    obstacles = [obstacle(each.machine, current_params, wish, now, each.money) for each in ordered]
    fit = [each for each, problem in zip(ordered, obstacles, strict=True) if problem is None]
    if fit:
        return min(fit, key=lambda each: (each.machine.terms.price, each.machine.free_cells, each.id))
    first = obstacles[0]
    assert first is not None
    if len(ordered) == 1:
        raise first
    raise NoMachineMatches(
        f"None of the {len(ordered)} machines that match takes this lease. The cheapest: {first}"
    )


def settleable(
    machine: Machine, leases: Sequence[Lease], wish: Wish, now: int
) -> tuple[Machine, tuple[int, ...]]:
    """The machine as it would be once leases past their end are closed, and those leases.

    Only as many are chosen as the wish needs to fit, none where it fits without or not even then.
    """
    busy, chosen = machine.busy, []
    for lease in sorted(leases, key=lambda each: each.end):
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

    @property
    def deployment(self) -> Deployment:
        return self._pool.deployment

    @property
    def money(self) -> Money:
        return Money.of(self.deployment)

    async def funds(self) -> Funds:
        """What the account can pay with now."""
        return await funds_of(self._pool, self._token, self.account)

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

    async def check_funds(self, offer: Quote) -> None:
        """Refuse a quote that the account cannot pay at all.

        Raises:
            NotEnoughFunds: with how much is missing.
        """
        problem = shortfall(offer, await self.funds(), self.money)
        if problem is not None:
            raise problem

    def check_allowance(self, offer: Quote | Extension) -> None:
        """Refuse a quote or an extension for which the pool may not take enough from the wallet.

        Raises:
            AllowanceMissing: with the command that grants it.
        """
        if offer.approve:
            amount = format_amount(offer.pulled, self.money.decimals)
            raise AllowanceMissing(
                f"The pool may not take {self.money.show(offer.pulled)} from the wallet yet: "
                f"run `leasehold wallet approve {amount}`, or pass --approve."
            )

    async def approve(self, offer: Quote | Extension) -> Receipt | None:
        """Let the pool take what the quote pulls, no more; `None` if it may already."""
        if not offer.approve:
            return None
        return await self._token.approve(self.deployment.controller, offer.pulled)

    async def deliver(self, listing: Listing, sealed: bytes) -> Delivery:
        """Hand the sealed workload to the agent, or pin it where the agent will find it.

        Raises:
            DocumentUnavailable: neither the agent nor an IPFS node can be reached.
        """
        digest = sha256(sealed).digest()
        try:
            await self._courier(listing, sealed)
        except AgentError as error:
            why = str(error)
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
        request = LeaseRequest(
            machine=offer.machine,
            revision=offer.revision,
            share=offer.share,
            duration=offer.duration,
            max_price=offer.max_price,
            workload=digest,
            allow_unverified=offer.allow_unverified,
            settle=settle,
            reuse=reuse,
        )
        lease, receipt = await self._pool.open(request)
        return Opened(lease, offer, receipt)

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
                raise StartFailed(await self._why_not(opened, lease))
            if await self._now() > lease.start + opened.quote.start_window:
                shown = format_lease(lease.id)
                raise StartFailed(
                    f"Lease {shown} was not started in time: take {self.money.show(lease.deposit)} back with "
                    f"`leasehold close {shown}`, which refunds all of it."
                )
            await report(lease)
            await self._sleep(self._poll)

    async def _why_not(self, opened: Opened, lease: Lease) -> str:
        shown, back = format_lease(opened.lease), self.money.show(opened.quote.deposit)
        if lease.state is LeaseState.REJECTED:
            return f"Lease {shown} was rejected before it started: see `leasehold show {shown}`."
        for raw in await self._lease_logs(opened):
            event = decode_log(raw)
            if isinstance(event, LeaseDeclined) and event.lease == opened.lease:
                why = declined(ascii_reason(event.reason))
                return f"Machine {event.machine} declined lease {shown} and {back} were refunded: {why}"
        return f"Lease {shown} was cancelled unstarted and {back} were refunded: rent again, best elsewhere."

    async def _lease_logs(self, opened: Opened) -> list[dict[str, object]]:
        query = {
            "address": self._pool.address,
            "fromBlock": hex(opened.receipt.block_number),
            "toBlock": "latest",
            "topics": [None, f"0x{opened.lease:064x}"],
        }
        return list(await self._rpc.call("eth_getLogs", [query]))


async def funds_of(pool: Pool, token: Token, account: str) -> Funds:
    """What an account can pay with in a pool."""
    ledger, wallet, allowance = await asyncio.gather(
        pool.balance_of(account),
        token.balance(account),
        token.allowance(account, pool.deployment.controller),
    )
    return Funds(ledger, wallet, allowance)

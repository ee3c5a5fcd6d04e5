"""A pool as somebody sees it who wants something done there: its machines, leases, money and people."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from leasehold.agreements import LIFETIME, Proposal, propose_calls
from leasehold.chain import (
    AccountsContract,
    Call,
    Deployment,
    Fault,
    FaultState,
    Lease,
    LeaseState,
    MachineRecord,
    MachineStatus,
    Params,
    Pool,
    Rpc,
    Sends,
    Signer,
    Token,
)
from leasehold.chain.typed import Domain, Group, SessionKey
from leasehold.client._errors import (
    CannotAct,
    NoSuchContract,
    PlanUsed,
    WalletNeeded,
)
from leasehold.client._gasless import GaslessSender
from leasehold.client._images import PinnedWorkload, pin, resolver
from leasehold.client._index import SharedIndex
from leasehold.client._lease import TenantLease
from leasehold.client._locked_wallet import LockedWallet
from leasehold.client._observer import Observer
from leasehold.client._on_behalf import Proposed
from leasehold.client._permits import WithPermit
from leasehold.client._plan import Approved, P, Plan, Plannable, R, Request, Step
from leasehold.client._rent import Rent, Rented
from leasehold.client._sessions import own_session, shared_session_of
from leasehold.client._tracks import with_tracks
from leasehold.datasets import Ipfs
from leasehold.errors import UnknownFault, UnknownLease
from leasehold.home import Home
from leasehold.images import ImageResolver
from leasehold.market import (
    AT_HAND,
    TRACKED,
    AgentClient,
    Bill,
    Contact,
    DocumentCache,
    FreshContacts,
    Listing,
    Machines,
    MachineUnavailable,
    Money,
    Provider,
    Renter,
    agent_tunnel,
    bill,
    parse_search,
    sort,
)
from leasehold.market.query import Query
from leasehold.market.wire import AgentUnreachable, SessionWithdrawn
from leasehold.workload import RegistryLogin, Workload, load_workload

if TYPE_CHECKING:
    from web3 import AsyncWeb3
    from web3.contract import AsyncContract

    from leasehold.chain import Indexer


@dataclass(frozen=True)
class ProposalMade(Step):
    """Where a group would have sent something: what its signers are asked to sign instead."""

    proposal: Proposal


@dataclass
class PoolClient:
    """One pool, for one account. Opened by `leasehold.connect`; nothing in it prints, asks or reads the environment.

    signer: the wallet's key, which may ask for its password when it is first used. sender: there when it may send.
    other: the account that the wallet acts for, if that is not its own. group: whose proposals are made, if that
    account is a group's. documents_timeout: seconds to wait for one machine's document.
    docker_config: what `docker login` writes, if that is to be read.
    locked: the wallet, where it is one of the home's. own_w3: the web3.py client that was handed in, where one was.
    """

    home: Home
    deployment: Deployment
    rpc: Rpc
    pool: Pool
    token: Token
    signer: Signer | None
    sender: Sends | None
    stack: AsyncExitStack
    other: str | None = None
    group: Group | None = None
    observer: Observer = field(default_factory=Observer)
    ipfs_address: str = "/ip4/127.0.0.1/tcp/5001"
    documents_timeout: float = 10.0
    docker_config: Path | None = None
    locked: LockedWallet | None = None
    own_w3: AsyncWeb3[Any] | None = field(default=None, repr=False)
    opening: AbstractAsyncContextManager[PoolClient] | None = field(default=None, repr=False)
    _ipfs: Ipfs | None = field(default=None, repr=False)
    _index: SharedIndex | None = field(default=None, repr=False)
    _outdated: bool = field(default=False, repr=False)
    _params: dict[int, Params] = field(default_factory=dict, repr=False)
    _begun: list[Plan[Step]] = field(default_factory=list, repr=False)

    @property
    def money(self) -> Money:
        """The pool's token, as amounts are written in it."""
        return Money.of(self.deployment)

    @property
    def account(self) -> str:
        """The account that is acted for: the wallet's, or a group, or whose delegate it is.

        Raises:
            WalletError: the client was opened without a wallet.
        """
        if self.other is not None:
            return self.other
        return self.wallet.address

    @property
    def ledger_only(self) -> bool:
        """Whether everything is paid from the account's ledger, because somebody else sends for it."""
        return self.other is not None or isinstance(self.sender, GaslessSender)

    @property
    def wallet(self) -> Signer:
        """What signs. Raises WalletError where the client was opened without a wallet."""
        if self.signer is None:
            raise WalletNeeded()
        return self.signer

    @property
    def w3(self) -> AsyncWeb3[Any]:
        """web3.py: the client that was handed in, or one over the same nodes, which fails over and checks answers.

        What is sent through the latter from the account goes the way of everything that is sent here. A group sends
        nothing, and has none of it.
        """
        if self.own_w3 is not None:
            return self.own_w3
        if self.sender is not None and self.group is None:
            from leasehold.chain import send_by

            send_by(self.rpc.w3, self.sender)
        return self.rpc.w3

    async def contract(self, name: str) -> AsyncContract:
        """One of the pool's contracts as web3.py's contract object: `Controller`, `Accounts`, `Faults`, `Committee`,
        `Reputation`, `Directory`, `ControllerFactory`, or `Lens` where the pool has one.

        Raises:
            NoSuchContract: none has that name. ChainError.
        """
        from leasehold.chain import web3_contract

        places = {known: address for address, known in (await self.pool.contracts()).items()}
        places["ControllerFactory"] = self.deployment.factory
        if self.deployment.lens is not None:
            places["Lens"] = self.deployment.lens
        if name not in places:
            raise NoSuchContract(name, tuple(places))
        return web3_contract(self.w3, name, places[name])

    @property
    def accounts(self) -> AccountsContract:
        """Who acts for whom."""
        return AccountsContract(self.rpc, self.deployment.accounts, self.sender)

    @property
    def domain(self) -> Domain:
        """Where offers, sessions and requests to agents count."""
        return Domain(self.deployment.chain_id, self.deployment.controller)

    @property
    def ipfs(self) -> Ipfs:
        """One's own node. Nothing is asked of it before it is needed."""
        if self._ipfs is None:
            self._ipfs = Ipfs(self.ipfs_address)
            self.stack.callback(self._ipfs.close)
        return self._ipfs

    async def index(self, *, again: bool = False) -> Indexer:
        """The pool's index at the head of the chain; the second time as it was, unless it is to look `again`, or a plan
        or a search has begun since.

        Raises:
            ChainError: the nodes cannot be reached, or keep giving what is on no one chain.
        """
        if self._index is None:
            self._index = SharedIndex(self.home, self.deployment, self.rpc, self.observer, self.stack)
        index = await self._index.at_head(again=again or self._outdated)
        self._outdated = False  # not before: a look that failed is none
        return index

    async def now(self) -> int:
        """Unix seconds by which the next block will judge: the head's, or the clock's if that is later."""
        return await self.rpc.now()

    async def close(self) -> None:
        """Ends the connection, for who did not enter it with `async with`. A second time it does nothing."""
        opening, self.opening = self.opening, None
        if opening is not None:
            await opening.__aexit__(None, None, None)

    # ------------------------------------------------------------------------------------------- what is to be done

    async def plan(self, request: Plannable[P]) -> P:
        """What the request would do now, and what it costs. Nothing is sent. Raises LeaseholdError: why it cannot."""
        self._outdated = True
        return await request.plan(self)

    async def steps(self, plan: Plan[Step], *, approve: bool = False) -> AsyncIterator[Step]:
        """Carry the plan out, step by step; the last one is what was asked for. For a group it is a `ProposalMade`.

        approve: let the pool first take from the wallet what the plan needs, and no more.

        Raises:
            AllowanceMissing: the pool may not take it, and was not to be approved. ContractError: the pool refuses.
            PlanUsed: it was carried out, or begun, before. PlanStale: it would do or cost something else now.
        """
        if any(begun is plan for begun in self._begun):
            raise PlanUsed
        try:
            if plan.payment is not None and not approve:
                self.renter().check_allowance(plan.payment)
            self._begun.append(plan)  # before anything is waited for: two tasks may have the same plan
            await plan.check()
            async for step in plan.prepare():
                yield step
            if (approved := await self._approved(plan)) is not None:
                yield approved
            async for step in plan.steps():
                yield step
        except Proposed as proposed:
            yield ProposalMade(await self.propose(proposed.calls))
        finally:
            if isinstance(self.sender, WithPermit):
                self.sender.forget(plan)

    async def _approved(self, plan: Plan[Step]) -> Approved | None:
        """What the plan takes from the wallet may be taken: by a permit that goes along with it, where that is enough,
        else by a transaction of its own.
        """
        if plan.payment is None or not plan.payment.approve:
            return None
        if (
            plan.from_ledger
            and isinstance(self.sender, WithPermit)
            and await self.sender.permit(plan, plan.payment)
        ):
            return None
        receipt = await self.renter().approve(plan.payment)
        return Approved(receipt, plan.payment.pulled) if receipt is not None else None

    async def carry_out(self, wish: Request[R] | Plan[R], *, approve: bool = False) -> R:
        """Carry a request or its plan out, and give what came of it. Raises as `steps`.

        Raises:
            CannotAct: the client makes a group's proposals: see `steps`.
        """
        plan = wish if isinstance(wish, Plan) else await self.plan(wish)
        last: Step | None = None
        async for step in self.steps(plan, approve=approve):
            last = step
        if last is None or (isinstance(last, ProposalMade) and self.group is not None):
            raise CannotAct(
                "A group sends nothing itself: take the proposal that the last of the steps holds."
            )
        return cast("R", last)

    async def propose(self, calls: Sequence[Call]) -> Proposal:
        """The proposal of `calls` for the group that the client acts for, open for a week."""
        assert self.group is not None
        deadline = await self.now() + LIFETIME
        return await propose_calls(self.accounts, self.deployment, self.group, calls, deadline=deadline)

    # ------------------------------------------------------------------------------------------------ as a renter

    async def search(self, query: str = "", *, by: str = "price", retired: bool = False) -> list[Listing]:
        """The machines of which all terms of `query` hold, such as ``gpu:H100 mem>=80 price<2.5``, in order of a field
        (with `-` before it: largest first).

        Raises:
            QueryError: it cannot be understood. ChainError.
        """
        wanted, self._outdated = parse_search(query), True
        records = [
            record
            for record in await (await self.index()).machines()
            if retired or record.machine.status is not MachineStatus.RETIRED
        ]
        with self.observer.working("Fetching the machines' documents"):
            tracked = by.removeprefix("-") in TRACKED
            return sort(await self.listings(records, wanted, tracked=tracked), by)

    async def listings(
        self,
        records: Iterable[MachineRecord],
        wanted: Query[Listing],
        *,
        at_hand: bool = False,
        tracked: bool = False,
    ) -> list[Listing]:
        """The machines of which the search holds, with their documents, in the records' order. at_hand: ask the agents
        what they have at hand now, also where the search does not. tracked: work out what the chain remembers of them,
        too.
        """
        listings = await self.machines().listings(records, wanted.without(*AT_HAND, *TRACKED).matches)
        if tracked or wanted.asks(*TRACKED):
            listings = await with_tracks(self, listings)
        if at_hand or wanted.asks(*AT_HAND):
            listings = await self.contacts().refreshed(listings)
        return [listing for listing in listings if wanted.matches(listing)]

    def workload(self, source: Path | str | Mapping[str, object]) -> Workload:
        """What a lease runs, from a TOML or JSON file or a dictionary, with the keys that this home has: private
        outputs can be read by the wallet, and datasets that were sealed here can be opened.

        Raises:
            WorkloadError: it makes no workload; says all that is wrong.
        """
        recipient = self.home.age_keys.recipient(self.locked.name) if self.locked is not None else None
        return self.home.dataset_keys.given_to(
            load_workload(source, recipients=[recipient] if recipient else ())
        )

    async def pin(self, workload: Workload) -> PinnedWorkload:
        """The workload with its image's digest in place of a tag, as the image's registry has it now. Plans do so
        themselves; whoever plans the same workload several times does it once before.

        Raises:
            ImageError: the registry does not have it, or cannot be asked. LoginStaysHere.
        """
        return await pin(self, workload)

    def images(self, login: RegistryLogin | None = None) -> ImageResolver:
        """Asks registries what an image's name stands for, with the home's logins, or with `login` of a workload."""
        return resolver(self, login)

    async def age_identity(self) -> str | None:
        """What opens the wallet's results, or `None` where the wallet has no such key. Raises WrongPassword."""
        return await self.locked.age_identity() if self.locked is not None else None

    async def rent(self, wish: Rent | Plan[Rented], *, approve: bool = False) -> TenantLease:
        """Rent, and wait until it runs unless the request says otherwise. Of a gang, the first lease: `carry_out` gives
        all. Raises as `carry_out`, and StartFailed: it was declined or did not start in time; the money is back.
        """
        rented = await self.carry_out(wish, approve=approve)
        return TenantLease(self, rented.numbers[0])

    def tenant_lease(self, lease: int) -> TenantLease:
        """A lease of the account, by its id on chain (`parse_lease` reads how people write it)."""
        return TenantLease(self, lease)

    # ------------------------------------------------------------------------------------------------- the chain

    async def lease(self, number: int) -> Lease:
        """A lease at the head of the chain. Raises UnknownLease."""
        lease = await self.pool.lease_of(number)
        if lease.state is LeaseState.NONE:
            raise UnknownLease(number)
        return lease

    async def known_lease(self, number: int) -> Lease:
        """The same; one whose slot serves a later lease by now as the index has it, which is how it ended.

        Raises UnknownLease.
        """
        try:
            return await self.lease(number)
        except UnknownLease:
            if (record := await (await self.index()).lease(number)) is None or record.lease.state.live:
                raise
            return record.lease

    async def newest_in_slot(self, number: int) -> int:
        """The last lease that was opened in the slot of this one, as the index has it: this one where there is none."""
        slot = number >> 16
        return max(
            (r.lease.id for r in await (await self.index()).leases() if r.lease.id >> 16 == slot),
            default=number,
        )

    async def fault(self, number: int) -> Fault:
        """A fault at the head of the chain. Raises UnknownFault."""
        fault = await (await self.pool.faults()).fault_of(number)
        if fault.state is FaultState.NONE:
            raise UnknownFault(number)
        return fault

    async def params(self, version: int) -> Params:
        """The pool's rules of a version, which never change: asked for once."""
        if (known := self._params.get(version)) is not None:
            return known
        params = await self.pool.params(version)
        if params.start_window:  # none has a window of nothing: this version may yet come
            self._params[version] = params
        return params

    async def bill(self, lease: Lease, now: int, *, down_since: int = 0) -> Bill:
        """What closing the lease at `now` takes, by the rules that it was opened under. As `leasehold.market.bill`."""
        return bill(lease, now, await self.params(lease.params), down_since=down_since)

    # --------------------------------------------------------------------------------------------- the two sides

    def machines(self) -> Machines:
        """The machines' documents, as they are fetched and kept."""
        documents = DocumentCache(self.home.documents, self.ipfs, timeout=self.documents_timeout)
        return Machines(documents, self.money)

    def contacts(self) -> FreshContacts:
        """What the machines' agents say of themselves now."""
        return FreshContacts(self.home.contacts, self.domain, timeout=self.documents_timeout)

    def provider(self) -> Provider:
        """The provider's side, for the account."""
        return Provider(
            self.pool,
            self.token,
            self.rpc,
            self.account,
            blocks=self.ipfs,
            now=self.now,
            ledger_only=self.ledger_only,
        )

    def renter(self) -> Renter:
        """The renter's side, for the account."""
        return Renter(
            self.pool,
            self.token,
            self.rpc,
            self.account,
            blocks=self.ipfs,
            courier=self.hand_over,
            now=self.now,
            ledger_only=self.ledger_only,
        )

    # ------------------------------------------------------------------------------------------------ the agents

    @asynccontextmanager
    async def agent(
        self, machine: int, operator: str, contact: Contact, *, shared: SessionKey | None = None
    ) -> AsyncIterator[AgentClient]:
        """The agent of a machine, for this account. The wallet signs one session; later clients go on with it.

        shared: a session that somebody else has shared, to be used in place of one's own.

        Raises:
            CannotAct: the account is not the wallet's, and has no session here.
        """
        key = await own_session(self) if shared is None else shared
        own = shared is None and self.other is None
        former = partial(own_session, self, former=True) if own else None
        tunnel = agent_tunnel(self.ipfs, contact, operator)
        async with AgentClient(
            contact, self.domain, machine, operator, key, former=former, tunnel=tunnel
        ) as client:
            try:
                yield client
            except SessionWithdrawn:
                if own:  # by whoever has got hold of another: the next is signed anew, and withdraws that one
                    self.home.sessions.forget(self.account, self.domain)
                raise

    @asynccontextmanager
    async def agent_of(self, lease: int) -> AsyncIterator[AgentClient]:
        """The same, of a lease's machine; of one that was shared with this home, by that leave. Raises as `reach`."""
        record, contact = await self.reach(lease)
        shared = await shared_session_of(self, lease)
        async with self.agent(record.machine.id, record.machine.operator, contact, shared=shared) as client:
            yield client

    async def reach(self, lease: int) -> tuple[MachineRecord, Contact]:
        """The machine of a lease of this account, or of one that has been, and how to reach it.

        Raises:
            UnknownLease. MarketError: the machine's contact document cannot be had.
        """
        machine = (await self.known_lease(lease)).machine
        record = await (await self.index()).machine(machine)
        if record is None:
            raise MachineUnavailable(f"The index does not know machine {machine}: try again in a moment.")
        return record, await self.machines().contact(record)

    async def hand_over(self, listing: Listing, sealed: bytes) -> None:
        """Gives an agent a sealed workload, in the wallet's own name: anybody may. Raises AgentError."""
        if listing.contact is None:
            raise AgentUnreachable("The machine's contact document is missing; its agent cannot be found.")
        own = replace(self, other=None)
        async with own.agent(listing.id, listing.machine.operator, listing.contact) as client:
            await client.put_workload(sealed)

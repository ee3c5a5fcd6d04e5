"""Where one command's parts are put together, and taken apart again in reverse."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

from leasehold.chain import (
    AccountsContract,
    Deployment,
    Indexer,
    KeyInfo,
    Lease,
    LeaseState,
    MachineRecord,
    Params,
    Pool,
    Rpc,
    Sends,
    Signer,
    Token,
)
from leasehold.chain.typed import Domain
from leasehold.cli._acting import Acting, CannotAct
from leasehold.cli._settings import Settings
from leasehold.datasets import Ipfs
from leasehold.errors import UnknownLease, WalletError
from leasehold.market import (
    AgentClient,
    Bill,
    Contact,
    DocumentCache,
    Listing,
    Machines,
    MachineUnavailable,
    Money,
    Provider,
    Renter,
    SessionCache,
    bill,
)
from leasehold.market.wire import AgentUnreachable


@dataclass
class Session:
    """One command's view of the chain. `sender` exists when the command asked to sign.

    acting, other: whom the command acts for, and that account, if it is not the wallet's.
    """

    settings: Settings
    deployment: Deployment
    rpc: Rpc
    pool: Pool
    token: Token
    wallet: KeyInfo | None
    signer: Signer | None
    sender: Sends | None
    stack: AsyncExitStack
    acting: Acting = field(default_factory=Acting)
    other: str | None = None
    index: Indexer | None = None
    _ipfs: Ipfs | None = field(default=None, repr=False)
    _params: dict[int, Params] = field(default_factory=dict, repr=False)

    @property
    def money(self) -> Money:
        return Money.of(self.deployment)

    @property
    def account(self) -> str:
        """The account that the command acts for: the wallet's, or a group, or whose delegate it is.

        Raises:
            WalletError: the command was started without a wallet.
        """
        if self.other is not None:
            return self.other
        if self.wallet is None:
            raise WalletError("This needs a wallet: make one with `leasehold wallet new NAME`.")
        return self.wallet.address

    @property
    def accounts(self) -> AccountsContract:
        """Who acts for whom, with the session's sender."""
        return AccountsContract(self.rpc, self.deployment.accounts, self.sender)

    @property
    def ipfs(self) -> Ipfs:
        """The node of the settings. Nothing is asked of it before it is needed."""
        if self._ipfs is None:
            self._ipfs = Ipfs(self.settings.ipfs)
            self.stack.callback(self._ipfs.close)
        return self._ipfs

    async def now(self) -> int:
        """Unix seconds by which the next block will judge: the head's, or the clock's if that is later."""
        header = await self.rpc.header()
        return max(int(time.time()), header.timestamp if header else 0)

    async def lease(self, number: int) -> Lease:
        """A lease at the head of the chain. Raises UnknownLease."""
        found = await self.pool.lease_of(number)
        if found.state is LeaseState.NONE:
            raise UnknownLease(number)
        return found

    async def params(self, version: int) -> Params:
        """The pool's rules of a version, which never change: asked for once."""
        if version not in self._params:
            self._params[version] = await self.pool.params(version)
        return self._params[version]

    async def bill(self, lease: Lease, now: int, *, down_since: int = 0) -> Bill:
        """What closing the lease at `now` takes, by the rules that it was opened under. As `leasehold.market.bill`."""
        return bill(lease, now, await self.params(lease.params), down_since=down_since)

    def machines(self) -> Machines:
        documents = DocumentCache(
            self.settings.home / "documents", self.ipfs, timeout=self.settings.documents_timeout
        )
        return Machines(documents, self.money)

    def provider(self) -> Provider:
        return Provider(
            self.pool,
            self.token,
            self.rpc,
            self.account,
            self.sender,
            blocks=self.ipfs,
            now=self.now,
            ledger_only=self.other is not None,
        )

    def renter(self) -> Renter:
        return Renter(
            self.pool,
            self.token,
            self.rpc,
            self.account,
            blocks=self.ipfs,
            courier=self.hand_over,
            now=self.now,
            ledger_only=self.other is not None,
        )

    @asynccontextmanager
    async def agent(self, machine: int, operator: str, contact: Contact) -> AsyncIterator[AgentClient]:
        """The agent of a machine, for this account. The wallet signs one session; later commands go on with it.

        Raises:
            CannotAct: the account is not the wallet's, and has no session here.
        """
        domain, now = Domain(self.deployment.chain_id, self.deployment.controller), int(time.time())
        sessions = SessionCache(self.settings.home / "sessions")
        if self.signer is None:
            raise WalletError("This needs a wallet: make one with `leasehold wallet new NAME`.")
        if self.other is None:
            key = await sessions.session(self.signer, domain, now=now)
        elif (kept := await sessions.kept(self.other, domain, now=now)) is not None:
            key = kept
        else:
            how = f"`leasehold group session {self.acting.group}`" if self.acting.group else "its own wallet"
            raise CannotAct(f"{self.other} has no session with the agents here: get one with {how}.")
        async with AgentClient(contact, domain, machine, operator, key) as client:
            yield client

    @asynccontextmanager
    async def agent_of(self, lease: int) -> AsyncIterator[AgentClient]:
        """The same, of a lease's machine. Raises as `reach`."""
        record, contact = await self.reach(lease)
        async with self.agent(record.machine.id, record.machine.operator, contact) as client:
            yield client

    async def reach(self, lease: int) -> tuple[MachineRecord, Contact]:
        """The machine of a lease of this account, and how to reach it. Needs the index (`indexed`).

        Raises:
            UnknownLease. MarketError: the machine's contact document cannot be had.
        """
        found = await self.lease(lease)
        record = await self.index.machine(found.machine) if self.index else None
        if record is None:
            raise MachineUnavailable(
                f"The index does not know machine {found.machine}: try again in a moment."
            )
        return record, await self.machines().contact(record)

    async def hand_over(self, listing: Listing, sealed: bytes) -> None:
        """Gives an agent a sealed workload, in the wallet's own name: anybody may. Raises AgentError."""
        if listing.contact is None:
            raise AgentUnreachable("The machine's contact document is missing; its agent cannot be found.")
        own = replace(self, other=None)
        async with own.agent(listing.id, listing.machine.operator, listing.contact) as client:
            await client.put_workload(sealed)

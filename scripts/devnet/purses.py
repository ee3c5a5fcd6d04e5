"""A lease that runs, and a purse for it, on a real chain: for the tests of who signs one and of who holds it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from devnet.pool import PoolChain
from leasehold.chain import (
    AccountsContract,
    Lease,
    LeasePurse,
    LeaseRequest,
    LocalSigner,
    SignedPurse,
    Terms,
    cost,
)
from leasehold.chain.typed import Domain

__all__ = ["FEE", "HOUR", "UNIT", "PurseScene"]

UNIT: Final = 10**18
FEE: Final = UNIT // 10
HOUR: Final = 3_600
PROVIDER, RENTER, OPERATOR, PAYEE = 1, 2, 3, 6
_TERMS: Final = Terms(2 * UNIT, 0, 60, 30 * 86_400, 0, 60_000)


@dataclass(frozen=True)
class PurseScene:
    """A tenant's lease of two hours at 2 a GPU-hour, with ledger money; its throw-away key signs for the purse."""

    chain: PoolChain
    lease: int
    key: LocalSigner = LocalSigner("0x" + "6b" * 32)  # noqa: RUF009  # it is not changed

    @classmethod
    async def opened(cls, chain: PoolChain) -> PurseScene:
        for account in (PROVIDER, RENTER):
            await chain.token(account).approve(chain.deployment.controller)
        consent = await chain.consent(PROVIDER, chain.signer(OPERATOR))
        machine, _ = await chain.pool(PROVIDER).register(
            _TERMS, 2, 1, b"h" * 32, b"c" * 32, chain.address(OPERATOR), consent
        )
        wish = LeaseRequest(machine, 1, 8, 2 * HOUR, 2 * UNIT, b"w" * 32, allow_unverified=True)
        lease, _ = await chain.pool(RENTER).open(wish)
        await chain.pool(OPERATOR).start(lease, bytes(32))
        await chain.pool(RENTER).deposit(chain.address(RENTER), 100 * UNIT)
        return cls(chain, lease)

    @property
    def tenant(self) -> str:
        return self.chain.address(RENTER)

    @property
    def domain(self) -> Domain:
        return Domain(self.chain.deployment.chain_id, self.chain.deployment.accounts)

    @property
    def accounts(self) -> AccountsContract:
        return AccountsContract(self.chain.rpc, self.chain.deployment.accounts, self.chain.sender(5))

    async def now(self) -> Lease:
        """The lease by the chain."""
        return await self.chain.pool().lease_of(self.lease)

    async def purse(self, count: int = 3, **fields: object) -> LeasePurse:
        """For so many extensions by an hour."""
        lease = await self.now()
        made = LeasePurse(
            tenant=self.tenant,
            controller=self.chain.deployment.controller,
            lease=self.lease,
            key=self.key.address,
            payee=self.chain.address(PAYEE),
            fee=FEE,
            seconds=HOUR,
            most=cost(lease.price, lease.cells, HOUR, up=True),
            count=count,
            deadline=lease.end + (count + 24) * HOUR,
        )
        return replace(made, **fields)  # type: ignore[arg-type]  # of whichever field

    async def signed(self, purse: LeasePurse | None = None) -> SignedPurse:
        return await (purse or await self.purse()).signed(self.domain, self.key)

    def account(self, purse: LeasePurse) -> str:
        return purse.group.address(self.chain.deployment.accounts)

    async def fund(self, purse: LeasePurse) -> None:
        """As the tenant's one transaction does."""
        await self.chain.pool(RENTER).transfer(self.account(purse), purse.whole)

    async def holds(self, purse: LeasePurse) -> int:
        return await self.chain.pool().balance_of(self.account(purse))

    async def send(self, data: bytes, sender: int = 5) -> None:
        """Anybody may. Raises ContractError."""
        await self.chain.sender(sender).send(self.chain.deployment.accounts, data)

    def near_its_end(self, end: int, before: int = 600) -> None:
        """The chain's time is so many seconds before."""
        self.chain.anvil.set_time(end - before)
        self.chain.anvil.mine()

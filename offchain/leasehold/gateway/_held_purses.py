"""Purses that tenants have brought, one a lease. How far each is, the chain alone says, and nothing here."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from leasehold.agreements import BroughtPurse
from leasehold.chain import SignedPurse
from leasehold.gateway._gateway_tables import purses, put_row


class HeldPurses:
    """controller: the pool's address."""

    def __init__(self, engine: AsyncEngine, controller: str) -> None:
        self._engine = engine
        self._controller = controller

    async def get(self, lease: int) -> SignedPurse | None:
        """The lease's, if there is one."""
        wanted = select(purses.c.tenant, purses.c.document).where(purses.c.lease == lease)
        async with self._engine.connect() as connection:
            row = (await connection.execute(wanted)).one_or_none()
        if row is None:
            return None
        said = BroughtPurse.model_validate_json(row.document)
        return said.to_signed(row.tenant, self._controller, lease)

    async def put(self, signed: SignedPurse) -> None:
        """It, in place of the lease's other one."""
        purse = signed.purse
        document = BroughtPurse.of(signed).model_dump_json()
        row = {"lease": purse.lease, "tenant": purse.tenant, "document": document, "key": purse.key}
        async with self._engine.begin() as connection:
            await put_row(connection, purses, row)

    async def forget(self, signed: SignedPurse) -> None:
        """It, and none that has taken its place."""
        mine = (purses.c.lease == signed.purse.lease) & (purses.c.key == signed.purse.key)
        async with self._engine.begin() as connection:
            await connection.execute(delete(purses).where(mine))

    async def leases(self) -> Sequence[int]:
        """Which leases have one."""
        async with self._engine.connect() as connection:
            return (await connection.execute(select(purses.c.lease))).scalars().all()

    async def count(self) -> int:
        """How many there are."""
        async with self._engine.connect() as connection:
            return int((await connection.execute(select(func.count()).select_from(purses))).scalar_one())

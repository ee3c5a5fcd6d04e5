"""Much in one call, of any pool: `ILens`."""

from collections.abc import Sequence
from dataclasses import dataclass

from leasehold.chain._contract import Contract
from leasehold.chain._types import Companions, Lease, Machine, Params, ProviderAccount
from leasehold.chain._views import lease_of_view, machine_of_view


@dataclass(frozen=True, slots=True)
class ListedMachine:
    """A machine, with its provider's score (0 to 1000) and what that takes off its least stake."""

    machine: Machine
    score: int
    discount_bps: int


@dataclass(frozen=True, slots=True)
class ProviderView:
    """slashed: all that the provider was slashed, halving every 90 days, token units."""

    account: ProviderAccount
    balance: int
    score: int
    discount_bps: int
    slashed: int


@dataclass(frozen=True, slots=True)
class PoolView:
    """Who has which power over a pool, and by what rules.

    proposed: the parameters that come into force at `in_force_at`, or None.
    """

    token: str
    accounts: str
    owner: str
    pending_owner: str
    treasury: str
    companions: Companions
    paused: bool
    gated: bool
    machine_count: int
    slot_count: int
    seat_count: int
    matured_seats: int
    params_version: int
    params: Params
    proposed_version: int
    in_force_at: int
    proposed: Params | None


class Lens(Contract):
    """Reads for programs and people. Its address is the deployment's `lens`."""

    _abi = "Lens"

    async def pool(self, controller: str) -> PoolView:
        """The table of powers."""
        view = await self._read("pool", controller)
        names = ("committee", "faults", "reputation", "directory")
        companions = Companions(**{name: view.pop(name) for name in names})
        params, proposed = Params(**view.pop("params")), Params(**view.pop("proposed"))
        return PoolView(
            companions=companions,
            params=params,
            proposed=proposed if view["proposed_version"] else None,
            **view,
        )

    async def machines(self, controller: str, offset: int, limit: int) -> list[ListedMachine]:
        """Machines `offset + 1` to `offset + limit`, as far as there are any."""
        return [
            ListedMachine(machine_of_view(row["machine"], row["view_"]), row["score"], row["discount_bps"])
            for row in await self._read("machines", controller, offset, limit)
        ]

    async def leases(self, controller: str, slots: Sequence[int]) -> list[Lease]:
        """The newest lease of each slot; LeaseState.NONE for a slot that was never used."""
        rows = await self._read("leases", controller, list(slots))
        return [lease_of_view(row["lease"], row["view_"]) for row in rows]

    async def provider(self, controller: str, account: str) -> ProviderView:
        view = await self._read("provider", controller, account)
        return ProviderView(account=ProviderAccount(**view.pop("account")), **view)

"""A lease's container stopped, started and started anew, while the lease goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.chain import Lease, LeaseState, format_lease
from leasehold.client._plan import Plan, Request, Step
from leasehold.client._tenant_errors import NotTheTenant
from leasehold.market import InvalidInput, Json, Money, format_time
from leasehold.market.wire import LeaseStatus, PowerWish

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


@dataclass(frozen=True)
class SwitchContainer(Request["ContainerSwitched"]):
    """Have a lease's container stand still until it is started (`stop`), run again (`start`), or stopped and started
    (`restart`). Its files, volumes, ports and cards stay the lease's, which is billed all the same until its end.
    """

    lease: int
    wish: PowerWish

    async def plan(self, client: PoolClient) -> SwitchPlan:
        lease = await client.lease(self.lease)
        if lease.tenant != client.account:
            raise NotTheTenant(lease.id, lease.tenant)
        if lease.state is not LeaseState.ACTIVE:
            raise InvalidInput(
                f"Lease {format_lease(lease.id)} is {lease.state.word}", "only one that is billed has this."
            )
        shown, end = format_lease(lease.id), format_time(lease.end)
        billed = f"Lease {shown} goes on being billed until it ends {end}: closing it stops the bill."
        return SwitchPlan(client, lease, self.wish, (billed,) if self.wish == "stop" else ())


@dataclass(frozen=True)
class SwitchPlan(Plan["ContainerSwitched"]):
    """A container that would be stopped, started or both. cautions: that a stop saves nothing."""

    client: PoolClient
    lease: Lease
    wish: PowerWish
    cautions: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        return {"lease": format_lease(self.lease.id), "wish": self.wish}

    async def steps(self) -> AsyncIterator[Step]:
        with self.client.observer.working("Asking the machine's agent"):
            async with self.client.agent_of(self.lease.id) as agent:
                yield ContainerSwitched(await agent.power(self.lease.id, self.wish))


@dataclass(frozen=True)
class ContainerSwitched(Step):
    """The agent has taken it down, and does it now. status: how the lease stood then."""

    status: LeaseStatus

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"phase": self.status.phase}

"""Running something else on a lease that one has."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.chain import Lease, format_lease
from leasehold.client._closing_order import ClosingOrdered, order_closing, wants_closing
from leasehold.client._code import look_over, on_ipfs
from leasehold.client._images import PinnedWorkload
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.client._tenancy import live_lease
from leasehold.client._volume_keys import own_workload
from leasehold.market import Delivery, Json, Listing, Money
from leasehold.workload import CodeContents, CodeFolder, Workload, seal

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


@dataclass(frozen=True)
class SetWorkload(Request["WorkloadChanged"]):
    """Run something else on a lease that one has. Its time and price stay. What was ordered for the end of the workload
    before is over with it.

    close_when_done: order the same for this one; `None`: where it is a batch job. code: a folder that goes in with it,
    by IPFS: the agent knows the new workload only once the transaction is mined, and may not wait for who sent it.
    """

    lease: int
    workload: Workload
    close_when_done: bool | None = None
    code: CodeFolder | None = None

    async def plan(self, client: PoolClient) -> SetWorkloadPlan:
        lease, pinned = await live_lease(client, self.lease), await client.pin(self.workload)
        record, contact = await client.reach(lease.id)
        machine = Listing(record.machine, client.money, contact=contact)
        closes = wants_closing(client, self.close_when_done, self.workload)
        code = None if self.code is None else await look_over(client, self.code)
        return SetWorkloadPlan(client, lease, pinned, machine, closes, pinned.cautions, code)


@dataclass(frozen=True)
class SetWorkloadPlan(Plan["WorkloadChanged"]):
    """A lease on which something else would run: `pinned`. closes: it will be signed that it closes at its end."""

    client: PoolClient
    lease: Lease
    pinned: PinnedWorkload
    machine: Listing
    closes: bool = False
    cautions: tuple[str, ...] = ()
    code: CodeContents | None = None

    def to_json(self) -> dict[str, Json]:
        document = {"lease": format_lease(self.lease.id), **self.pinned.to_json()}
        if self.code is not None:
            document["code_files"], document["code_bytes"] = self.code.tree.files, self.code.tree.size
        return document

    async def steps(self) -> AsyncIterator[Step]:
        assert self.machine.contact is not None
        workload = self.pinned.workload
        if self.code is not None:
            workload = workload.with_code(await on_ipfs(self.client, self.code))
        workload = await own_workload(self.client, workload)
        sealed = seal(workload, self.machine.contact.age_recipient)
        delivery = await self.client.renter().deliver(self.machine, sealed)
        note_workload(self.client, delivery.digest, workload)
        yield Delivered(delivery)
        receipt = await self.client.pool.set_workload(self.lease.id, delivery.digest)
        ordered = None
        if self.closes:
            ordered = await order_closing(self.client, self.lease, delivery.digest)
            yield ordered
        else:
            self.client.home.closing_orders(self.client.deployment).forget(self.lease.id)
        yield WorkloadChanged(receipt, self.lease, delivery, ordered)


@dataclass(frozen=True)
class Delivered(Step):
    """The sealed workload waits for the agent."""

    delivery: Delivery


@dataclass(frozen=True)
class WorkloadChanged(Sent):
    """The lease has another workload. ordered: that it closes when that is done, where it is to."""

    lease: Lease
    delivery: Delivery
    ordered: ClosingOrdered | None = None

    def to_json(self, money: Money) -> dict[str, Json]:
        told: dict[str, Json] = {"delivered_by": self.delivery.by}
        return told if self.ordered is None else told | self.ordered.to_json(money)


def note_workload(client: PoolClient, digest: bytes, workload: Workload) -> None:
    """Remember in the home what was handed over under a digest: its name, the image that it runs, and which outputs it
    asks for.
    """
    client.home.lease_names.keep(digest, workload.name)
    client.home.lease_images.keep(digest, workload.image)
    client.home.lease_outputs.keep(digest, (output.path for output in workload.outputs))

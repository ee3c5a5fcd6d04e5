"""Ordering, for a lease that is open already, that it closes when its job is done; a group by a proposal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.agreements import FileRefused, Proposal
from leasehold.chain import ClosingOrder, Lease, format_lease
from leasehold.client._client import ProposalMade
from leasehold.client._closing_order import ClosingOrdered, hand_order, order_closing, unsigned_order
from leasehold.client._errors import CannotAct
from leasehold.client._plan import Plan, Request, Step
from leasehold.client._proposals import Signatures, check_alive
from leasehold.client._tenancy import live_lease
from leasehold.client._tenant_errors import NotTheTenant
from leasehold.errors import UnknownLease
from leasehold.market import Json

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


@dataclass(frozen=True)
class CloseWhenDone(Request[Step]):
    """Have a lease closed when the command that it runs now has ended by itself: whatever the exit code. Nothing is
    sent; the order is signed, kept here, and handed to the machine's agent. Ends in `ClosingOrdered`, of a group in a
    `ProposalMade` whose signatures `HandOrder` makes one of.
    """

    lease: int

    async def plan(self, client: PoolClient) -> CloseWhenDonePlan:
        lease, record = await live_lease(client, self.lease), await (await client.index()).lease(self.lease)
        if lease.tenant != client.account:
            raise NotTheTenant(lease.id, lease.tenant)
        if client.other is not None and client.group is None:
            raise CannotAct(
                "A delegate signs nothing for an account", "close the lease when its job is done."
            )
        if record is None:
            raise UnknownLease(self.lease)
        return CloseWhenDonePlan(client, lease, record.workload)


@dataclass(frozen=True)
class CloseWhenDonePlan(Plan[Step]):
    """A lease that would close by itself. workload: the digest of what it runs until then."""

    client: PoolClient
    lease: Lease
    workload: bytes

    def to_json(self) -> dict[str, Json]:
        return {"lease": format_lease(self.lease.id)}

    async def steps(self) -> AsyncIterator[Step]:
        client = self.client
        if client.group is None:
            yield await order_closing(client, self.lease, self.workload)
            return
        message = (await unsigned_order(client, self.lease)).message
        yield ProposalMade(Proposal("execute", client.deployment, client.group, (message,)))


@dataclass(frozen=True)
class HandOrder(Request[ClosingOrdered]):
    """Keep a group's proposal, once enough have signed it, as the order that it is, instead of carrying it out now."""

    proposal: Proposal
    signatures: Signatures

    async def plan(self, client: PoolClient) -> HandOrderPlan:
        await check_alive(client, self.proposal)
        execution = self.proposal.execution if self.proposal.kind == "execute" else None
        data = execution.calls[0].data if execution is not None else b""
        number = int.from_bytes(data[4:], "big")
        if execution is None or number >= 1 << 256:
            raise FileRefused("The proposal is no order to close a lease", "carry it out instead.")
        order = ClosingOrder(
            execution.account, client.deployment.controller, number, execution.nonce, execution.deadline
        )
        if order.message != execution or not order.in_its_row:
            raise FileRefused("The proposal is no order to close a lease", "carry it out instead.")
        checked = {
            signer: self.proposal.checked(signer, proofs) for signer, proofs in self.signatures.items()
        }
        (proof,) = self.proposal.prove(checked)
        record = await (await client.index()).lease(number)
        if record is None:
            raise UnknownLease(number)
        signed = ClosingOrder(
            order.account, order.controller, number, order.nonce, order.deadline, bytes(proof)
        )
        return HandOrderPlan(client, signed, record.workload)


@dataclass(frozen=True)
class HandOrderPlan(Plan[ClosingOrdered]):
    """A group's signed order. workload: the digest of what the lease runs until then."""

    client: PoolClient
    order: ClosingOrder
    workload: bytes

    def to_json(self) -> dict[str, Json]:
        return {"lease": format_lease(self.order.lease)}

    async def steps(self) -> AsyncIterator[Step]:
        yield await hand_order(self.client, self.order, self.workload)

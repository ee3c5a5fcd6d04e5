"""A running lease becomes another account's, who has signed that it takes it over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.agreements import LIFETIME, AcceptanceFile, FileRefused
from leasehold.chain import Lease, format_lease
from leasehold.chain.typed import AcceptTransfer
from leasehold.client._address import parse_address
from leasehold.client._agreeing import sign_or_propose
from leasehold.client._client import ProposalMade
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.client._tenant_errors import NotTheTenant
from leasehold.market import Bill, InvalidInput, Json, Money, format_share, format_time

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


@dataclass(frozen=True)
class AcceptLeases(Request["LeasesAccepted"]):
    """Agree to take leases over, with what is left of their escrow. Nothing is sent. seconds: how long that holds."""

    leases: tuple[int, ...]
    seconds: int = LIFETIME

    async def plan(self, client: PoolClient) -> AcceptLeasesPlan:
        if not self.leases:
            raise InvalidInput("No lease is named", "name those that are to be taken over.")
        leases = tuple([await _transferable(client, number) for number in self.leases])
        return AcceptLeasesPlan(client, leases, await client.now() + self.seconds)


def handed_over(lease: Lease, bill: Bill, money: Money) -> str:
    """What a lease is that becomes somebody else's, in a sentence for people."""
    return (
        f"Lease {format_lease(lease.id)}: {format_share(lease.cells)} of machine {lease.machine}, {lease.tenant}'s, "
        f"until {format_time(lease.end)}; {money.show(bill.unused)} of its escrow are unused."
    )


@dataclass(frozen=True)
class AcceptLeasesPlan(Plan["LeasesAccepted"]):
    """Leases to take over, each with its bill now. deadline: unix seconds."""

    client: PoolClient
    leases: tuple[tuple[Lease, Bill], ...]
    deadline: int

    async def steps(self) -> AsyncIterator[Step]:
        account, place = self.client.account, self.client.deployment
        messages = [
            AcceptTransfer(
                account=account, controller=place.controller, lease=lease.id, deadline=self.deadline
            )
            for lease, _ in self.leases
        ]
        proofs, proposal = await sign_or_propose(self.client, messages)
        if proposal is not None:
            yield ProposalMade(proposal)
        else:
            yield LeasesAccepted(AcceptanceFile.of(place, messages, proofs))


@dataclass(frozen=True)
class LeasesAccepted(Step):
    """What their tenant needs to transfer them (`leasehold.agreements.write_file` writes it)."""

    acceptance: AcceptanceFile


@dataclass(frozen=True)
class Transfer(Request["LeaseGiven"]):
    """Give a running lease, with what is left of its escrow, to the account `to` that has accepted it."""

    lease: int
    to: str
    acceptance: AcceptanceFile

    async def plan(self, client: PoolClient) -> TransferPlan:
        lease, bill = await _transferable(client, self.lease)
        to, accepted = parse_address(self.to), self.acceptance
        if lease.tenant != client.account:
            raise NotTheTenant(lease.id, lease.tenant)
        if accepted.account != to:
            raise FileRefused(f"The acceptance is {accepted.account}'s, not {to}'s", f"ask {to} for its own.")
        proof = accepted.proof_of(lease.id, client.deployment)
        if accepted.deadline < await client.now():
            raise FileRefused(
                f"The acceptance worked until {format_time(accepted.deadline)}", "ask for another."
            )
        return TransferPlan(client, lease, bill, to, accepted.deadline, proof)


@dataclass(frozen=True)
class TransferPlan(Plan["LeaseGiven"]):
    """A lease that becomes `to`'s, and its bill now. deadline: of the acceptance, unix seconds."""

    client: PoolClient
    lease: Lease
    bill: Bill
    to: str
    deadline: int
    proof: bytes

    def to_json(self) -> dict[str, Json]:
        return {"lease": format_lease(self.lease.id), "from": self.lease.tenant, "to": self.to}

    async def steps(self) -> AsyncIterator[Step]:
        receipt = await self.client.pool.transfer_lease(self.lease.id, self.to, self.deadline, self.proof)
        yield LeaseGiven(receipt, self.lease.id, self.to)


@dataclass(frozen=True)
class LeaseGiven(Sent):
    """The lease is `to`'s."""

    lease: int
    to: str


async def _transferable(client: PoolClient, number: int) -> tuple[Lease, Bill]:
    """A lease at the head of the chain that can change hands, and its bill."""
    lease = await client.lease(number)
    if not lease.state.live:
        raise InvalidInput(
            f"Lease {format_lease(number)} is {lease.state.word}",
            "only an open or active lease changes hands.",
        )
    machine = await client.pool.machine_of(lease.machine)
    return lease, await client.bill(lease, await client.now(), down_since=machine.down_since)

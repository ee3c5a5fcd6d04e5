"""From a group's proposal to what it proposes: reading it, signing it, carrying it out, proposing it again."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.agreements import (
    LIFETIME,
    AcceptanceFile,
    OfferFile,
    Proposal,
    SignatureFile,
    pool_domain,
    propose_calls,
)
from leasehold.chain import DecodedCall, LeaseOpened, Receipt, decode_calls, decode_log, format_lease
from leasehold.chain.typed import AcceptTransfer, Offer, Session, SessionKey
from leasehold.client._client import ProposalMade
from leasehold.client._errors import CannotAct
from leasehold.client._offers import OfferSigned
from leasehold.client._outflow import Outflow, outflow
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.client._safes import check_safe
from leasehold.client._sharing import LeaseShared, shared_with
from leasehold.client._tenant_errors import OnlyCalls, ProposalExpired, ProposalOvertaken
from leasehold.client._transfer import LeasesAccepted
from leasehold.errors import ContractError
from leasehold.market import Json, MarketError, Money

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

Signatures = Mapping[str, Sequence[bytes]]
"""By signer, a proof of each of the proposal's messages."""


@dataclass(frozen=True)
class ProposedCalls:
    """What the calls of a proposal are. ledger: what the account's holds, token units. ahead: proposals before it."""

    calls: tuple[DecodedCall, ...]
    leaves: Outflow
    ledger: int
    ahead: int


async def calls_of(client: PoolClient, proposal: Proposal) -> tuple[DecodedCall, ...]:
    """Every call of an `execute`; none of another kind. Raises ChainError: what cannot be read."""
    calls = proposal.execution.calls if proposal.kind == "execute" else ()
    return tuple(decode_calls(calls, await client.pool.contracts()))


async def read_calls(client: PoolClient, proposal: Proposal) -> ProposedCalls:
    """Every call of an `execute`, and what can leave the ledger by it. Raises ChainError: what cannot be read."""
    execution, calls = proposal.execution, await calls_of(client, proposal)
    leaves = Outflow(0)
    for call in calls:
        leaves += await outflow(client, call)
    nonce = await client.accounts.nonce_of(proposal.account, execution.nonce >> 64)
    ledger = await client.pool.balance_of(proposal.account)
    return ProposedCalls(calls, leaves, ledger, execution.nonce - nonce)


async def refusal_of(client: PoolClient, proposal: Proposal) -> ContractError | None:
    """Why a proposal would be refused as things stand. Only a single call of the pool can be tried alone."""
    calls = proposal.execution.calls if proposal.kind == "execute" else ()
    if len(calls) != 1 or calls[0].target == client.deployment.accounts:
        return None
    try:
        await client.rpc.eth_call(calls[0].target, calls[0].data, sender=proposal.account)
    except ContractError as error:
        return error.in_money(client.money)
    return None


async def check_alive(client: PoolClient, proposal: Proposal) -> None:
    """Refuse a proposal that can never be executed any more.

    Raises:
        ProposalExpired, ProposalOvertaken.
    """
    if proposal.deadline < await client.now():
        raise ProposalExpired(proposal.deadline)
    if proposal.kind == "execute":
        nonce = proposal.execution.nonce
        if nonce < await client.accounts.nonce_of(proposal.account, nonce >> 64):
            raise ProposalOvertaken()


# ------------------------------------------------------------------------------------------------------------- sign


@dataclass(frozen=True)
class SignProposal(Request["ProposalSigned"]):
    """Sign a proposal as one of its group. Nothing is sent. What its calls can take: `read_calls`."""

    proposal: Proposal

    async def plan(self, client: PoolClient) -> SignProposalPlan:
        await check_alive(client, self.proposal)
        await check_safe(client, self.proposal.group)
        calls = await calls_of(client, self.proposal)  # nobody signs what cannot be read
        return SignProposalPlan(client, self.proposal, calls, await refusal_of(client, self.proposal))


@dataclass(frozen=True)
class SignProposalPlan(Plan["ProposalSigned"]):
    """A proposal to be signed. calls: what an `execute` does. refusal: why it would be refused as things stand."""

    client: PoolClient
    proposal: Proposal
    calls: tuple[DecodedCall, ...]
    refusal: ContractError | None

    @property
    def is_signer(self) -> bool:
        """Whether the wallet is one of the group's."""
        return self.client.wallet.address in self.proposal.group.signers

    async def steps(self) -> AsyncIterator[Step]:
        signer = self.client.wallet
        proofs = await self.proposal.sign(signer)
        file = SignatureFile(
            digests=tuple("0x" + digest.hex() for digest in self.proposal.digests),
            signer=signer.address,
            proofs=tuple("0x" + proof.hex() for proof in proofs),
        )
        yield ProposalSigned(signer.address, proofs, file)


@dataclass(frozen=True)
class ProposalSigned(Step):
    """The signature, and the file in which it travels (`leasehold.agreements.write_file`)."""

    signer: str
    proofs: tuple[bytes, ...]
    file: SignatureFile

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"signer": self.signer}


# ---------------------------------------------------------------------------------------------------------- execute


@dataclass(frozen=True)
class ExecuteProposal(Request[Step]):
    """Carry out a proposal that enough signers have approved. Anybody may; calls are sent, and he pays their gas.

    It ends in `ProposalExecuted`, `LeasesAccepted`, `OfferSigned` or `SessionKept`, by the proposal's kind.
    """

    proposal: Proposal
    signatures: Signatures

    async def plan(self, client: PoolClient) -> ExecuteProposalPlan:
        if self.proposal.kind == "execute" and client.other is not None:
            raise CannotAct("Who executes a proposal pays its gas", "do it with a wallet of one's own.")
        await check_alive(client, self.proposal)
        await check_safe(client, self.proposal.group)
        checked = {
            signer: self.proposal.checked(signer, proofs) for signer, proofs in self.signatures.items()
        }
        return ExecuteProposalPlan(client, self.proposal, tuple(self.proposal.prove(checked)))


@dataclass(frozen=True)
class ExecuteProposalPlan(Plan[Step]):
    """A proposal with the group's proof of each message."""

    client: PoolClient
    proposal: Proposal
    proofs: tuple[bytes, ...]

    async def steps(self) -> AsyncIterator[Step]:
        place, messages = self.client.deployment, self.proposal.messages
        first = messages[0]
        if self.proposal.kind == "execute":
            async for step in self._execute():
                yield step
        elif isinstance(first, Offer):
            yield OfferSigned(OfferFile.of(place, self.proposal.account, first, self.proofs[0]))
        elif isinstance(first, Session):
            yield await self._keep(first)
        else:
            accepted = [message for message in messages if isinstance(message, AcceptTransfer)]
            yield LeasesAccepted(AcceptanceFile.of(place, accepted, self.proofs))

    async def _execute(self) -> AsyncIterator[Step]:
        client, execution = self.client, self.proposal.execution
        calls = await calls_of(client, self.proposal)
        async for step in _bring_workloads(client, calls):
            yield step
        with client.observer.working("Waiting for the transaction"):
            receipt = await client.accounts.execute(
                execution.account, execution.calls, execution.nonce, execution.deadline, self.proofs[0]
            )
        yield ProposalExecuted(receipt, _opened(receipt))

    async def _keep(self, session: Session) -> SessionKept | LeaseShared:
        home = self.client.home
        if session.leases and not home.pending_sessions.has(session.key):
            return await shared_with(self.client, session, self.proofs[0])  # somebody else's key
        key = SessionKey(session, self.proofs[0], home.pending_sessions.key(session.key))
        await home.sessions.keep(key, pool_domain(self.client.deployment))
        home.pending_sessions.forget(session.key)
        return SessionKept(session.account, session.expires_at)


@dataclass(frozen=True)
class WorkloadNotBrought(Step):
    """A machine that is rented may not have its workload. The proposal is executed all the same."""

    machine: int
    why: MarketError


@dataclass(frozen=True)
class ProposalExecuted(Sent):
    """The calls were made. leases: those that they opened."""

    leases: tuple[int, ...]

    def to_json(self, money: Money) -> dict[str, Json]:
        return {
            "leases": [format_lease(lease) for lease in self.leases],
            "numbers": [str(lease) for lease in self.leases],
        }


@dataclass(frozen=True)
class SessionKept(Step):
    """The home has a key that may talk to the agents of the account's leases. expires_at: unix seconds."""

    account: str
    expires_at: int

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"expires_at": self.expires_at}


async def _bring_workloads(client: PoolClient, calls: Iterable[DecodedCall]) -> AsyncIterator[Step]:
    """Hand over again what was sealed on this computer: signing takes days, and a machine waits for an hour."""
    for call in calls:
        async for step in _bring_workloads(client, call.inner):
            yield step
        request = call.arguments.get("request")
        if call.function not in ("open", "openWithOffer") or not isinstance(request, Mapping):
            continue
        sealed = client.home.sealed_workloads.get(bytes(request["workload"]))
        record = await (await client.index()).machine(int(request["machine"]))
        if sealed is None or record is None:
            continue
        try:
            (listing,) = await client.machines().listings([record])
            await client.renter().deliver(listing, sealed)
        except MarketError as error:
            yield WorkloadNotBrought(record.machine.id, error)


def _opened(receipt: Receipt) -> tuple[int, ...]:
    """The leases that a transaction opened."""
    events = (decode_log(log) for log in receipt.logs)
    return tuple(event.lease for event in events if isinstance(event, LeaseOpened))


# ------------------------------------------------------------------------------------------------------------ renew


@dataclass(frozen=True)
class ProposalPlan(Plan[ProposalMade]):
    """What a group's signers would be asked to sign."""

    client: PoolClient
    proposal: Proposal

    async def steps(self) -> AsyncIterator[Step]:
        yield ProposalMade(self.proposal)


@dataclass(frozen=True)
class RenewProposal(Request[ProposalMade]):
    """Propose the same calls again, with the group's next nonce and a new deadline. It has to be signed anew.

    seconds: how long it waits for signatures. unordered: a nonce of its own, so that it waits for no other proposal.
    """

    proposal: Proposal
    seconds: int = LIFETIME
    unordered: bool = False

    async def plan(self, client: PoolClient) -> ProposalPlan:
        if self.proposal.kind != "execute":
            raise OnlyCalls()
        key = secrets.randbits(64) if self.unordered else 0
        made = await propose_calls(
            client.accounts,
            client.deployment,
            self.proposal.group,
            self.proposal.execution.calls,
            deadline=await client.now() + self.seconds,
            key=key,
        )
        return ProposalPlan(client, made)

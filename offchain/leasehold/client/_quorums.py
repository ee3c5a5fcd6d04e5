"""A quorum's word that a machine was down: signed, sent, rewarded, or fined if it was taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from leasehold.chain import (
    AccountsContract,
    Fault,
    FaultKind,
    FaultRecord,
    MachineStatus,
    SeatRecord,
    SeatSigner,
)
from leasehold.chain.typed import Outage, sign
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.client._seats import MATURITY
from leasehold.client._validator_errors import BadOutage, NoLogs, NotAttested
from leasehold.client._votes import FaultOpened
from leasehold.errors import NoQuorum, NothingForQuorum, UnknownMachine
from leasehold.market import QUORUM_VALIDATORS, InvalidInput, Json, quorum_of

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

REACH = 120 * 3_600 + 1  # seconds: so far back a late word is filed, which is where the scale ends


class Attestation(BaseModel):
    """A validator's signed word, as it travels. to: 0 while the machine is still down."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    version: Annotated[int, Field(ge=1, le=1)] = 1
    chain_id: Annotated[int, Field(ge=1)]
    controller: Annotated[str, StringConstraints(pattern=r"^0x[0-9a-fA-F]{40}$")]
    machine: Annotated[int, Field(ge=1, lt=1 << 32)]
    from_: Annotated[int, Field(ge=0, lt=1 << 64, alias="from")]
    to: Annotated[int, Field(ge=0, lt=1 << 64)]
    validator: Annotated[str, StringConstraints(pattern=r"^0x[0-9a-fA-F]{40}$")]
    proof: Annotated[str, StringConstraints(pattern=r"^0x([0-9a-fA-F]{2}){2,16384}$")]

    @classmethod
    def load(cls, path: Path) -> Attestation:
        """Raises InvalidInput for a file that cannot be read or has another form."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            first = str(error).splitlines()[0]
            raise InvalidInput(f"{path} is no signature file ({first}): leave it out.") from error

    @property
    def outage(self) -> Outage:
        """What is signed."""
        return Outage(account=self.validator, machine=self.machine, from_=self.from_, to=self.to)

    @property
    def times(self) -> tuple[int, int, int]:
        """What is the same for all who sign."""
        return self.machine, self.from_, self.to


@dataclass(frozen=True)
class Gap:
    """The longest part of an outage that no other one has yet. next: the outage right after it, 0 for none."""

    next: int
    begin: int
    end: int

    @classmethod
    def of(cls, outage: Outage, known: Sequence[FaultRecord]) -> Gap:
        """known: the machine's faults, in any order. `Faults` files one gap a call."""
        begin = outage.from_
        gaps = []
        outages = (fault for fault in known if fault.kind is not FaultKind.FALSE_HARDWARE)
        for fault in sorted(outages, key=lambda fault: fault.from_):
            gaps.append(cls(fault.fault, begin, min(outage.to, fault.from_)))
            begin = max(begin, fault.to or outage.to)
        gaps.append(cls(0, begin, outage.to))
        within = [replace(gap, begin=max(gap.begin, gap.end - REACH)) for gap in reversed(gaps)]
        return max(within, key=lambda gap: gap.end - gap.begin)


async def _rules_of(client: PoolClient, outage: Outage) -> int:
    """The version of the parameters whose seats may attest it: an outage that runs keeps its own."""
    begin = outage.from_
    if outage.to:
        index = await client.index(again=True)
        begin = Gap.of(outage, await index.faults(machine=outage.machine)).begin
    else:
        faults = await client.pool.faults()
        if running := await faults.running_fault(outage.machine):
            return (await faults.fault_of(running)).rules
    return await client.pool.accepted_at(outage.machine, begin)


async def _seats_of(client: PoolClient, version: int, validator: str) -> tuple[SeatRecord, ...]:
    """The validator's seats whose word counts by these rules: matured, as dear as they ask, not weak, not leaving."""
    index, now = await client.index(again=True), await client.now()
    least = (await client.params(version)).seat_stake
    return tuple(
        seat
        for seat in await index.seats()
        if seat.validator.lower() == validator.lower()
        and not seat.exited
        and not seat.leaves_at
        and seat.joined_at + MATURITY <= now
        and seat.stake >= seat.level >= least
    )


# ------------------------------------------------------------------------------------------------------------- sign


@dataclass(frozen=True)
class SignOutage(Request["OutageSigned"]):
    """Sign that a machine was down, as a validator who saw it. Nothing is sent: whoever collects signatures does that.

    All have to sign the same times, to the second. begin, end: unix seconds; an end of 0 is a machine that still is
    down.
    """

    machine: int
    begin: int
    end: int = 0

    async def plan(self, client: PoolClient) -> SignOutagePlan:
        """Raises BadOutage, UnknownMachine, InvalidInput: the account's word counts nothing here."""
        now, account = await client.now(), client.account
        if self.begin > now or self.end > now or (self.end and self.end <= self.begin):
            raise BadOutage()
        if (await client.pool.machine_of(self.machine)).status is MachineStatus.NONE:
            raise UnknownMachine(self.machine)
        outage = Outage(account=account, machine=self.machine, from_=self.begin, to=self.end)
        seats = await _seats_of(client, await _rules_of(client, outage), account)
        if not seats:
            raise InvalidInput(
                f"{account} has no matured seat that judges machine {self.machine}, so its word counts nothing here."
            )
        return SignOutagePlan(client, outage, seats)


@dataclass(frozen=True)
class SignOutagePlan(Plan["OutageSigned"]):
    """A word that would be signed. seats: whose it is."""

    client: PoolClient
    outage: Outage
    seats: tuple[SeatRecord, ...]

    async def steps(self) -> AsyncIterator[Step]:
        proof = await sign(self.outage, self.client.domain, self.client.wallet)
        signed = Attestation(
            chain_id=self.client.deployment.chain_id,
            controller=self.client.deployment.controller,
            machine=self.outage.machine,
            from_=self.outage.from_,
            to=self.outage.to,
            validator=self.outage.account,
            proof="0x" + proof.hex(),
        )
        yield OutageSigned(signed)


@dataclass(frozen=True)
class OutageSigned(Step):
    """A validator's word, for whoever puts a quorum's together."""

    attestation: Attestation


# ------------------------------------------------------------------------------------------------------------- send


@dataclass(frozen=True)
class Attest(Request["FaultOpened"]):
    """Put validators' words together, say whether they are a quorum, and send them. Anyone may."""

    attestations: Sequence[Attestation]

    async def plan(self, client: PoolClient) -> AttestPlan:
        """Checks each signature, and finds its seats.

        Raises:
            InvalidInput: they are of different outages, or of another pool.
        """
        first, deployment = self.attestations[0], client.deployment
        version, gap = await _rules_of(client, first.outage), Gap(0, first.from_, 0)
        if first.to:
            gap = Gap.of(first.outage, await (await client.index()).faults(machine=first.machine))
        proofs: dict[int, tuple[str, bytes]] = {}
        cautions: list[str] = []
        for signed in self.attestations:
            if (signed.chain_id, signed.controller.lower()) != (
                deployment.chain_id,
                deployment.controller.lower(),
            ):
                raise InvalidInput(f"What {signed.validator} signed is of another pool", "leave it out.")
            if signed.times != first.times:
                raise InvalidInput(
                    f"What {signed.validator} signed is of another outage than what {first.validator} did",
                    "send them apart.",
                )
            seats, caution = await _heard(client, signed, version)
            cautions.extend(caution)
            proofs |= {seat.seat: (seat.validator, bytes.fromhex(signed.proof[2:])) for seat in seats}
        matured = await (await client.pool.committee()).matured_seats(version)
        return AttestPlan(client, first.outage, gap, dict(sorted(proofs.items())), matured, tuple(cautions))


async def _heard(
    client: PoolClient, signed: Attestation, version: int
) -> tuple[tuple[SeatRecord, ...], tuple[str, ...]]:
    """The seats for which the word counts, or why it counts for none."""
    accounts = AccountsContract(client.rpc, client.deployment.accounts)
    digest, proof = signed.outage.digest(client.domain), bytes.fromhex(signed.proof[2:])
    if not await accounts.is_authorized(signed.validator, digest, proof):
        return (), (f"A word is not signed by {signed.validator}, whose it is to be: it is left out.",)
    if seats := await _seats_of(client, version, signed.validator):
        return seats, ()
    return (), (f"{signed.validator} has no matured seat that judges this machine: it is left out.",)


@dataclass(frozen=True)
class AttestPlan(Plan["FaultOpened"]):
    """What the words come to. gap: where of the outage is filed. proofs: by seat, ascending, with its validator.
    matured: how many seats there are that may sign.
    """

    client: PoolClient
    outage: Outage
    gap: Gap
    proofs: dict[int, tuple[str, bytes]]
    matured: int
    cautions: tuple[str, ...] = ()

    @property
    def validators(self) -> tuple[str, ...]:
        """Whose words count."""
        return tuple(dict.fromkeys(validator for validator, _ in self.proofs.values()))

    @property
    def enough(self) -> bool:
        """Whether the pool takes it for a quorum."""
        return len(self.proofs) >= quorum_of(self.matured) and len(self.validators) >= QUORUM_VALIDATORS

    def said(self) -> str:
        """How many have signed and how many it takes, in a sentence for people."""
        return (
            f"{len(self.proofs)} of {self.matured} matured seats have signed, of {len(self.validators)} validators; it "
            f"takes {quorum_of(self.matured)} seats, of at least {QUORUM_VALIDATORS} validators."
        )

    def to_json(self) -> dict[str, Json]:
        return {
            "machine": self.outage.machine,
            "from": self.outage.from_,
            "to": self.outage.to or None,
            "seats": list(self.proofs),
            "validators": list(self.validators),
            "matured_seats": self.matured,
            "needed_seats": quorum_of(self.matured),
            "needed_validators": QUORUM_VALIDATORS,
            "enough": self.enough,
        }

    async def check(self) -> None:
        """Raises NoQuorum."""
        if not self.enough:
            raise NoQuorum

    async def steps(self) -> AsyncIterator[Step]:
        faults, outage = await self.client.pool.faults(), self.outage
        proofs = tuple(proof for _, proof in self.proofs.values())
        fault, receipt = await faults.attest(
            outage.machine, outage.from_, outage.to, tuple(self.proofs), proofs, next_=self.gap.next
        )
        yield FaultOpened(receipt, fault)


# -------------------------------------------------------------------------------------------------- what comes of it


@dataclass(frozen=True)
class CollectReward(Request["QuorumSettled"]):
    """Credit those who attested a fault with the tenth of it that is theirs, by what their seats cost.

    Once it was executed, and for all of them at once. Anyone may send it.
    """

    fault: int

    async def plan(self, client: PoolClient) -> CollectRewardPlan:
        """Raises UnknownFault, NotAttested, NothingForQuorum, NoLogs."""
        quorum = (await _attested(client, self.fault)).reporter
        due = await (await client.pool.committee()).due_of(quorum)
        if not due:
            raise NothingForQuorum(quorum)
        return CollectRewardPlan(client, self.fault, due, await _signers(client, quorum))


@dataclass(frozen=True)
class CollectRewardPlan(Plan["QuorumSettled"]):
    """What would go into the signers' ledgers together. due: token units."""

    client: PoolClient
    fault: int
    due: int
    signers: tuple[SeatSigner, ...]

    def to_json(self) -> dict[str, Json]:
        money = self.client.money
        return {
            "fault": self.fault,
            "seats": [signer.seat for signer in self.signers],
            "amount": money.exact(self.due),
            "token": money.symbol,
        }

    async def steps(self) -> AsyncIterator[Step]:
        yield QuorumSettled(await (await self.client.pool.committee()).pay_quorum(self.signers))


@dataclass(frozen=True)
class FineQuorum(Request["QuorumSettled"]):
    """Fine those who attested a fault that its arbiter took back: a tenth of each seat's price, which is burnt.

    A seat is fined once in seven days at most. Anyone may send it, once.
    """

    fault: int

    async def plan(self, client: PoolClient) -> FineQuorumPlan:
        """Raises UnknownFault, NotAttested, NothingForQuorum, NoLogs."""
        attested = await _attested(client, self.fault)
        arbiter = (await client.params(attested.rules)).arbiter
        if not await (await client.pool.committee()).disowned_at(attested.reporter, arbiter):
            raise NothingForQuorum(attested.reporter)
        return FineQuorumPlan(client, self.fault, arbiter, await _signers(client, attested.reporter))


@dataclass(frozen=True)
class FineQuorumPlan(Plan["QuorumSettled"]):
    """Seats that would be fined, where they joined under that arbiter."""

    client: PoolClient
    fault: int
    arbiter: str
    signers: tuple[SeatSigner, ...]

    def to_json(self) -> dict[str, Json]:
        return {"fault": self.fault, "seats": [signer.seat for signer in self.signers]}

    async def steps(self) -> AsyncIterator[Step]:
        yield QuorumSettled(
            await (await self.client.pool.committee()).fine_quorum(self.signers, self.arbiter)
        )


@dataclass(frozen=True)
class QuorumSettled(Sent):
    """A quorum has what its word brought it."""


async def _attested(client: PoolClient, number: int) -> Fault:
    """A fault that stands on a quorum's word. Raises UnknownFault, NotAttested."""
    fault = await client.fault(number)
    if fault.kind is not FaultKind.ATTESTED:
        raise NotAttested(number)
    return fault


async def _signers(client: PoolClient, quorum: bytes) -> tuple[SeatSigner, ...]:
    signers = await (await client.pool.committee()).signers(quorum, client.deployment.block)
    if signers is None:
        raise NoLogs()
    return signers

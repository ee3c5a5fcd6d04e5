"""`leasehold validator attest`: a quorum's word that a machine was down. Signatures travel as files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from leasehold.chain import AccountsContract, FaultKind, FaultRecord, MachineStatus, SeatRecord
from leasehold.chain.typed import Domain, Outage, sign
from leasehold.cli._doing import Done, carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import MachineId
from leasehold.cli._output import Json
from leasehold.cli._shared import SENDS, SIGNS, shared
from leasehold.cli._shown import utc
from leasehold.cli._when import parse_when
from leasehold.cli.validator.seats import MATURITY
from leasehold.client import QUORUM_VALIDATORS, PoolClient, quorum_of
from leasehold.errors import NoQuorum, UnknownMachine, WalletError
from leasehold.files import write_whole
from leasehold.market import InvalidInput

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Sign that a machine was down, and send a quorum's signatures.",
)

REACH = 120 * 3_600 + 1  # seconds: so far back a late word is filed, which is where the scale ends
Files = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="What `attest sign` wrote, of each validator.")
]


class Attestation(BaseModel):
    """A validator's signature file. to: 0 while the machine is still down."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    version: Annotated[int, Field(ge=1, le=1)] = 1
    chain_id: Annotated[int, Field(ge=1)]
    controller: Annotated[str, StringConstraints(pattern=r"^0x[0-9a-fA-F]{40}$")]
    machine: Annotated[int, Field(ge=1, lt=1 << 32)]
    from_: Annotated[int, Field(ge=0, lt=1 << 64, alias="from")]
    to: Annotated[int, Field(ge=0, lt=1 << 64)]
    validator: Annotated[str, StringConstraints(pattern=r"^0x[0-9a-fA-F]{40}$")]
    proof: Annotated[str, StringConstraints(pattern=r"^0x([0-9a-fA-F]{2}){2,16384}$")]

    @property
    def outage(self) -> Outage:
        """What is signed."""
        return Outage(account=self.validator, machine=self.machine, from_=self.from_, to=self.to)

    @property
    def times(self) -> tuple[int, int, int]:
        """What is the same for all who sign."""
        return self.machine, self.from_, self.to

    @classmethod
    def load(cls, path: Path) -> Attestation:
        """Raises InvalidInput for a file that cannot be read or has another form."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise InvalidInput(
                f"{path} is no signature file ({str(error).splitlines()[0]}): leave it out."
            ) from error


@app.command("sign")
@shared(SIGNS)
async def sign_outage(
    call: Invocation,
    machine: MachineId,
    from_: Annotated[
        str, typer.Option("--from", metavar="TIME", help="2026-11-21T15:00:00Z, '2h ago', unix seconds.")
    ],
    to: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Its end; by default it is still down.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where the signature goes; by default a new file here."),
    ] = None,
) -> None:
    """Sign that a machine was down, as a validator who saw it. Writes a file for whoever collects signatures.

    All have to sign the same times, to the second.
    """
    async with open_session(call) as session:
        now = await session.now()
        begin, end = parse_when(from_, now), parse_when(to, now) if to is not None else 0
        if begin > now or end > now or (end and end <= begin):
            raise InvalidInput(
                "An outage lies in the past and begins before it ends: correct --from and --to."
            )
        found = await session.pool.machine_of(machine)
        if found.status is MachineStatus.NONE:
            raise UnknownMachine(machine)
        outage = Outage(account=session.account, machine=machine, from_=begin, to=end)
        version = await _rules_of(call, session, outage)
        mine = await _seats_of(call, session, version, session.account)
        if not mine:
            raise InvalidInput(
                f"{session.account} has no matured seat that judges machine {machine}, so its word counts nothing here."
            )
        if session.signer is None:
            raise WalletError("This needs a wallet: make one with `leasehold wallet new NAME`.")
        lasted = f"from {utc(begin)} to {utc(end)}" if end else f"since {utc(begin)}, and still is"
        target = out or Path(f"outage-{machine}-{begin}-{end}-{session.account[2:10]}.json")
        call.out.confirm(f"Sign that machine {machine} was down {lasted}?")
        domain = Domain(session.deployment.chain_id, session.deployment.controller)
        proof = await sign(outage, domain, session.signer)
        written: dict[str, Json] = {
            "version": 1,
            "chain_id": session.deployment.chain_id,
            "controller": session.deployment.controller,
            "machine": machine,
            "from": begin,
            "to": end,
            "validator": session.account,
            "proof": "0x" + proof.hex(),
        }
        write_whole(target, json.dumps(written, indent=2) + "\n")
        call.out.answer({**written, "seats": [each.seat for each in mine], "file": str(target)})
        call.out.say(f"{target} is your word: give it to whoever runs `leasehold validator attest send`.")


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
        outages = (each for each in known if each.kind is not FaultKind.FALSE_HARDWARE)
        for each in sorted(outages, key=lambda each: each.from_):
            gaps.append(cls(each.fault, begin, min(outage.to, each.from_)))
            begin = max(begin, each.to or outage.to)
        gaps.append(cls(0, begin, outage.to))
        within = [replace(gap, begin=max(gap.begin, gap.end - REACH)) for gap in reversed(gaps)]
        return max(within, key=lambda gap: gap.end - gap.begin)


@dataclass(frozen=True)
class Collected:
    """What the files come to. seats, proofs: ascending by seat, one proof each. gap: where of it is filed."""

    outage: Outage
    gap: Gap
    seats: tuple[int, ...]
    proofs: tuple[bytes, ...]
    validators: tuple[str, ...]
    matured: int

    @property
    def enough(self) -> bool:
        """Whether the pool takes it for a quorum."""
        return len(self.seats) >= quorum_of(self.matured) and len(self.validators) >= QUORUM_VALIDATORS

    @property
    def said(self) -> str:
        return (
            f"{len(self.seats)} of {self.matured} matured seats have signed, of {len(self.validators)} validators; it "
            f"takes {quorum_of(self.matured)} seats, of at least {QUORUM_VALIDATORS} validators."
        )


@app.command("send")
@shared(SENDS)
async def send_attestation(
    call: Invocation,
    files: Files,
) -> None:
    """Put validators' signatures together, say whether they are a quorum, and send them. Anyone may."""
    attestations = [Attestation.load(path) for path in files]
    async with open_session(call, signs=True) as session:
        collected = await _collect(call, session, files, attestations)
        call.out.say(collected.said)
        document: dict[str, Json] = {
            "machine": collected.outage.machine,
            "from": collected.outage.from_,
            "to": collected.outage.to or None,
            "seats": list(collected.seats),
            "validators": list(collected.validators),
            "matured_seats": collected.matured,
            "needed_seats": quorum_of(collected.matured),
            "needed_validators": QUORUM_VALIDATORS,
            "enough": collected.enough,
        }
        if not collected.enough and not call.dry_run:
            raise NoQuorum

        async def send() -> Done:
            faults, outage = await session.pool.faults(), collected.outage
            fault, receipt = await faults.attest(
                outage.machine,
                outage.from_,
                outage.to,
                collected.seats,
                collected.proofs,
                next_=collected.gap.next,
            )
            return Done(
                receipt, f"It stands as fault {fault}: see `leasehold fault {fault}`.", {"fault": fault}
            )

        question = f"Attest the outage of machine {collected.outage.machine}?"
        await carry_out(call, question, document, send)


async def _collect(
    call: Invocation, session: PoolClient, files: Sequence[Path], attestations: Sequence[Attestation]
) -> Collected:
    """Checks each signature, and finds its seats.

    Raises:
        InvalidInput: the files are of different outages, or of another pool.
    """
    first, deployment = attestations[0], session.deployment
    domain = Domain(deployment.chain_id, deployment.controller)
    accounts = AccountsContract(session.rpc, deployment.accounts)
    version, gap = await _rules_of(call, session, first.outage), Gap(0, first.from_, 0)
    if first.to:
        index = await session.index()
        gap = Gap.of(first.outage, await index.faults(machine=first.machine))
    proofs: dict[int, tuple[str, bytes]] = {}
    for path, each in zip(files, attestations, strict=True):
        if (each.chain_id, each.controller.lower()) != (deployment.chain_id, deployment.controller.lower()):
            raise InvalidInput(f"{path} is of another pool: leave it out.")
        if each.times != first.times:
            raise InvalidInput(f"{path} is of another outage than {files[0]}: send them apart.")
        proof = bytes.fromhex(each.proof[2:])
        if not await accounts.is_authorized(each.validator, each.outage.digest(domain), proof):
            call.out.warn(f"{path} is not signed by {each.validator}: left out.")
            continue
        seats = await _seats_of(call, session, version, each.validator)
        if not seats:
            call.out.warn(f"{path}: {each.validator} has no matured seat that judges this machine: left out.")
        for seat in seats:
            proofs[seat.seat] = (seat.validator, proof)
    matured = await (await session.pool.committee()).matured_seats(version)
    order = sorted(proofs)
    return Collected(
        first.outage,
        gap,
        tuple(order),
        tuple(proofs[seat][1] for seat in order),
        tuple(dict.fromkeys(proofs[seat][0] for seat in order)),
        matured,
    )


async def _rules_of(call: Invocation, session: PoolClient, outage: Outage) -> int:
    """The version of the parameters whose seats may attest it: an outage that runs keeps its own."""
    begin = outage.from_
    if outage.to:
        index = await session.index()
        begin = Gap.of(outage, await index.faults(machine=outage.machine)).begin
    else:
        faults = await session.pool.faults()
        if running := await faults.running_fault(outage.machine):
            return (await faults.fault_of(running)).rules
    return await session.pool.accepted_at(outage.machine, begin)


async def _seats_of(call: Invocation, session: PoolClient, version: int, validator: str) -> list[SeatRecord]:
    """The validator's seats whose word counts by these rules: matured, as dear as they ask, not weak, not leaving."""
    index, now = await session.index(), await session.now()
    least = (await session.pool.params(version)).seat_stake
    return [
        each
        for each in await index.seats()
        if each.validator.lower() == validator.lower()
        and not each.exited
        and not each.leaves_at
        and each.joined_at + MATURITY <= now
        and each.stake >= each.level >= least
    ]

"""`leasehold validator collect`, `fine`: what a quorum's word has earned, and what it costs if it was taken back."""

from __future__ import annotations

import typer

from leasehold.chain import Fault, FaultKind, SeatSigner
from leasehold.cli._doing import Done, carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import FaultId
from leasehold.cli._output import Json
from leasehold.cli._shared import SENDS, shared
from leasehold.client import PoolClient
from leasehold.errors import NothingForQuorum
from leasehold.market import InvalidInput, format_amount


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    for command in (collect, fine):
        app.command()(command)


@shared(SENDS)
async def collect(call: Invocation, fault: FaultId) -> None:
    """Credit those who attested a fault with the tenth of it that is theirs, by what their seats cost.

    Once it was executed, and for all of them at once. Anyone may send it.
    """
    async with open_session(call, signs=True) as session:
        committee, money = await session.pool.committee(), session.money
        quorum = (await _attested(session, fault)).reporter
        due = await committee.due_of(quorum)
        if not due:
            raise NothingForQuorum(quorum)
        signers = await _signers(session, quorum)

        async def send() -> Done:
            receipt = await committee.pay_quorum(signers)
            return Done(receipt, f"{money.show(due, places=6)} went into the ledgers of {_said(signers)}.")

        amount = format_amount(due, money.decimals)
        document: dict[str, Json] = {**_json(fault, signers), "amount": amount, "token": money.symbol}
        question = f"Credit {_said(signers)} with {money.show(due, places=6)} together?"
        await carry_out(call, question, document, send)


@shared(SENDS)
async def fine(call: Invocation, fault: FaultId) -> None:
    """Fine those who attested a fault that its arbiter took back: a tenth of each seat's price, which is burnt.

    A seat is fined once in seven days at most. Anyone may send it, once.
    """
    async with open_session(call, signs=True) as session:
        committee = await session.pool.committee()
        attested = await _attested(session, fault)
        quorum, arbiter = attested.reporter, (await session.pool.params(attested.rules)).arbiter
        if not await committee.disowned_at(quorum, arbiter):
            raise NothingForQuorum(quorum)
        signers = await _signers(session, quorum)

        async def send() -> Done:
            receipt = await committee.fine_quorum(signers, arbiter)
            said = f"Of {_said(signers)}, those are fined that were not within seven days and joined under that arbiter"
            return Done(receipt, f"{said}: `leasehold validator list` shows what each has left.")

        await carry_out(call, f"Fine {_said(signers)}?", _json(fault, signers), send)


async def _attested(session: PoolClient, fault: int) -> Fault:
    """A fault that stands on a quorum's word. Raises InvalidInput for one that no quorum attested."""
    found = await session.fault(fault)
    if found.kind is not FaultKind.ATTESTED:
        raise InvalidInput(f"No quorum attested fault {fault}: see `leasehold fault {fault}`.")
    return found


async def _signers(session: PoolClient, quorum: bytes) -> tuple[SeatSigner, ...]:
    """The chain keeps their digest only; who they are stands in the log of their attestation."""
    committee = await session.pool.committee()
    signers = await committee.signers(quorum, session.deployment.block)
    if signers is None:
        raise InvalidInput("This node has no logs of that attestation: name another one with --rpc.")
    return signers


def _json(fault: int, signers: tuple[SeatSigner, ...]) -> dict[str, Json]:
    return {"fault": fault, "seats": [each.seat for each in signers]}


def _said(signers: tuple[SeatSigner, ...]) -> str:
    return f"seats {', '.join(str(each.seat) for each in signers)}"

"""The one path of every command that sends: show, dry run, allowance, confirmation, progress, answer.

What a group would send becomes a proposal file, and what to do with that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar, cast

from leasehold.agreements import Proposal, write_file
from leasehold.cli._hints import said as said_of
from leasehold.cli._invocation import Invocation
from leasehold.client import Plan, PoolClient, ProposalMade, Sent, Step, proposal_json, refusal_of
from leasehold.errors import ContractError
from leasehold.market import Json, format_time

S = TypeVar("S", bound=Step)


async def carry_out(
    call: Invocation,
    plan: Plan[S],
    question: str | None,
    said: Callable[[S], str | None] = lambda outcome: None,
    *,
    also: Callable[[S], Mapping[str, Json]] = lambda outcome: {},
    document: Mapping[str, Json] | None = None,
    approve: bool = False,
    waiting: str | None = "Waiting for the transaction",
    on_step: Callable[[Step], None] = lambda step: None,
) -> S | None:
    """Carry a plan out once somebody has said yes; `None` if it was for show only.

    question: what is asked; `None` where the steps ask. said: what the outcome is for people. document: the plan for
    programs, a dry run's whole answer; by default what the plan tells. also: what only the command knows of the
    outcome, such as the file that it wrote. approve: the pool may be approved. on_step: told each step as it is made.
    waiting: `None` where the steps say themselves what is being waited for.
    A group's plan ends in a proposal, which is written.

    Raises:
        NotConfirmed: the answer was no. AllowanceMissing: the pool may not take what the plan needs.
    """
    client, document = plan.client, plan.to_json() if document is None else document
    for caution in plan.cautions:
        call.out.warn(caution)
    if call.dry_run:
        call.out.answer({**document, "dry_run": True})
        return None
    if plan.payment is not None and plan.payment.approve and not approve:
        approve = call.out.ask(f"Let the pool take {client.money.show(plan.payment.pulled)} from the wallet?")
    if plan.payment is not None and not approve:
        client.renter().check_allowance(plan.payment)
    if question is not None:
        call.out.confirm(question)
    last: Step | None = None
    with call.out.working(waiting) if waiting else nullcontext():
        async for last in client.steps(plan, approve=approve):
            on_step(last)
    if isinstance(last, ProposalMade):
        warn_of_refusal(call, await refusal_of(client, last.proposal))
        await write_proposal(call, client, last.proposal)
        return None
    outcome = cast("S", last)
    transaction = outcome.transaction() if isinstance(outcome, Sent) else {}
    call.out.answer({**document, **outcome.to_json(client.money), **also(outcome), **transaction})
    if sentence := said(outcome):
        call.out.say(sentence)
    return outcome


async def write_proposal(
    call: Invocation, client: PoolClient, proposal: Proposal, path: Path | None = None
) -> Path:
    """Write it to `path`, else where the command was told to, or into a new file here; say what comes next."""
    path = path or call.proposal or Path(f"{call.name}-{proposal.digests[0].hex()[:8]}.json")
    write_file(path, proposal.file())
    call.out.answer({"proposal": str(path), **await proposal_json(client, proposal)})
    need, of = proposal.group.threshold, len(proposal.group.signers)
    call.out.say(f"Proposed in {path}, until {format_time(proposal.deadline)}: nothing was sent.")
    call.out.say(
        f"{need} of the {of} signers: leasehold group approve {path}; then anybody: leasehold group execute {path} "
        "SIGNATURE..."
    )
    return path


def warn_of_refusal(call: Invocation, refusal: ContractError | None) -> None:
    """Say if the pool would refuse a proposal as things stand."""
    if refusal is not None:
        call.out.warn(f"As things stand it would be refused: {said_of(refusal)}")

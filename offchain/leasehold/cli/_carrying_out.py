"""The one path of every command that sends: show, dry run, allowance, confirmation, progress, answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import TypeVar, cast

from leasehold.cli._invocation import Invocation
from leasehold.cli._output import Json
from leasehold.cli._proposing import present_proposal
from leasehold.cli._shown import transaction
from leasehold.client import Plan, PoolClient, ProposalMade, Sent, Step

S = TypeVar("S", bound=Step)


async def carry_out(
    call: Invocation,
    client: PoolClient,
    plan: Plan[S],
    *,
    question: str | None,
    document: Mapping[str, Json],
    said: Callable[[S], str | None] = lambda outcome: None,
    answer: Callable[[S], Mapping[str, Json]] | None = None,
    approve: bool = False,
    waiting: str | None = "Waiting for the transaction",
    on_step: Callable[[Step], None] = lambda step: None,
) -> S | None:
    """Carry a plan out once somebody has said yes; `None` if it was for show only.

    question: what is asked; `None` where the steps ask. document: the plan for programs; a dry run's whole answer.
    answer: what the outcome is for programs, in place of the document. said: what the outcome is for people. approve:
    the pool may be approved. on_step: told each step as it is made. waiting: `None` where the steps say themselves what
    is being waited for.
    A group's plan ends in a proposal, which is written.

    Raises:
        NotConfirmed: the answer was no. AllowanceMissing: the pool may not take what the plan needs.
    """
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
        await present_proposal(call, client, last.proposal)
        return None
    outcome = cast("S", last)
    made = {**document} if answer is None else {**answer(outcome)}
    call.out.answer({**made, **(transaction(outcome.receipt) if isinstance(outcome, Sent) else {})})
    if sentence := said(outcome):
        call.out.say(sentence)
    return outcome

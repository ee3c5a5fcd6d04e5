"""One thing done with one lease or with several: one question, one password, and a sentence for each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar, cast

from leasehold.cli._carrying_out import carry_out, open_session
from leasehold.cli._choosing import meant, shown_all
from leasehold.cli._command import Invocation
from leasehold.cli._options import Several
from leasehold.client import OnePlan, Plannable, Sent, Together, TogetherDone, TogetherPlan, Which

S = TypeVar("S", bound=Sent)


@asynccontextmanager
async def together(
    call: Invocation,
    leases: Sequence[str] | None,
    several: Several,
    request: Callable[[int], Plannable[OnePlan[S]]],
    which: Which = Which.LIVE,
) -> AsyncIterator[tuple[TogetherPlan[OnePlan[S]], str]]:
    """The same asked of each of the leases that are meant, and said of each; and how the leases are called together."""
    async with open_session(call, signs=True) as client:
        chosen = await meant(client, leases, several, which)
        plan = await client.plan(Together([request(lease) for lease in chosen]))
        for one in plan.plans:
            call.out.say(one.said())
        yield plan, shown_all(chosen)


async def carry_out_all(
    call: Invocation,
    plan: TogetherPlan[OnePlan[S]],
    question: str,
    said: Callable[[S], str | None],
    *,
    approve: bool = False,
) -> None:
    """As `carry_out`. said: what the outcome of one lease is for people."""

    def told(done: TogetherDone) -> str | None:
        sentences = (said(cast("S", outcome)) for outcome in done.done)
        return "\n".join(sentence for sentence in sentences if sentence) or None

    await carry_out(call, plan, question, told, approve=approve)

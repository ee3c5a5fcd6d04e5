"""One thing done with one lease or with several: one question, one password, and a sentence for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from leasehold.cli._carrying_out import carry_out
from leasehold.cli._command import Invocation
from leasehold.client import OnePlan, Sent, TogetherDone, TogetherPlan

S = TypeVar("S", bound=Sent)


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

"""What is said of a lease that closes when its job is done: as it is ordered, and when the job has ended."""

from __future__ import annotations

from leasehold import format_lease
from leasehold.cli._command import Invocation
from leasehold.cli._hints import said
from leasehold.cli._output import Output
from leasehold.client import ClosingOrdered, Finish, Step


def say_ordered(out: Output, step: Step) -> None:
    """Of an order to close a lease: that there is one, or what is to be done where its agent does not have it."""
    if not isinstance(step, ClosingOrdered):
        return
    shown = format_lease(step.lease)
    if step.order is None:
        why = said(step.problem) if step.problem else ""
        out.warn(
            f"Lease {shown} does not close by itself, since the wallet did not sign that it should ({why}): close it "
            f"when its job is done, or sign with `leasehold close {shown} --when-done`."
        )
    elif step.problem is not None:
        out.warn(
            f"The machine's agent does not have the order to close lease {shown} when its job is done: "
            f"{said(step.problem)} It is kept here: `leasehold logs -f {shown}` and `leasehold results` give it again."
        )
    else:
        out.say(f"Lease {shown} closes when its job is done: the rest of its escrow comes back then.")


def say_finish(call: Invocation, finish: Finish) -> int:
    """How a job has ended, beside its log; its exit code, which is the command's own."""
    shown, code = format_lease(finish.lease.id), finish.exit_code
    if code is None:
        return 0
    text = f"Lease {shown} has finished: its command ended with {code}."
    if not finish.lease.state.live:
        call.out.report(f"{text} The lease is {finish.lease.state.word}.")
    elif finish.status is not None and finish.status.closes_when_done:
        call.out.report(f"{text} Its machine's agent closes it now.")
    else:
        call.out.report(f"{text} It is billed until it is closed: `leasehold close {shown}`.")
    return code

"""What is said of a run: its bounds before it begins, what it does, and how it ends; and what Ctrl-C means."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from leasehold import format_lease
from leasehold.cli._asking import Interrupted, NobodyThere, ask_word
from leasehold.cli._command import Invocation
from leasehold.cli._hints import why_declined
from leasehold.cli._workload import show_quotes
from leasehold.cli.entering import Harmless
from leasehold.client import CodeHandedIn, Ended, Extended, HandedOver, LeasesOpened, Step
from leasehold.market import format_duration, format_size, format_time
from leasehold.runs import Do, RunActed, RunControl, RunFetched, RunFinished, RunLog, RunPlan, Word

CODES = {"done": 1, "closed": 130, "time": 124, "left": 0}
"""With which a run is left whose command's own exit code nobody knows."""


def show_plan(call: Invocation, plan: RunPlan) -> None:
    """The first machine's quote, and what bounds the run; or where it goes on."""
    out, money, rules = call.out, plan.client.money, plan.rules
    if plan.known is not None and plan.known.tries:
        out.say(f"Run {plan.request.name} goes on as it was left.")
    if plan.first is None:
        return
    name = plan.request.name
    show_quotes(out, plan.first, lambda number, model: f"Run {name}: first on machine {number}, {model}")
    bounds = [f"it lasts {format_duration(rules.at_most)} at most, for {money.show(plan.most)} there"]
    if rules.price:
        bounds.append(f"another machine may ask {money.show(rules.price)} an hour for as much")
    if rules.budget:
        bounds.append(f"all tries together hold and spend {money.show(rules.budget)} at most")
    out.say(f"Another machine is tried where this one fails; {', '.join(bounds)}.")


class RunTeller:
    """Says each step as it is made. The log goes to standard output, with `--json` to standard error."""

    def __init__(self, call: Invocation, plan: RunPlan) -> None:
        self._call, self._plan = call, plan
        self._to = sys.stderr if call.out.as_json else sys.stdout
        self._harmless = Harmless() if self._to.isatty() else None

    def __call__(self, step: Step) -> None:
        out, money = self._call.out, self._plan.client.money
        if isinstance(step, RunLog):
            data = self._harmless.feed(step.data) if self._harmless else step.data
            self._to.buffer.write(data)
            self._to.buffer.flush()
        elif isinstance(step, HandedOver) and step.delivery.by == "ipfs":
            out.warn(
                f"The workload waits on your IPFS node, since the agent did not take it: {step.delivery.why}"
            )
        elif isinstance(step, LeasesOpened):
            opened = step.opened[0]
            out.say(f"Lease {format_lease(opened.lease)} is open on machine {opened.quote.machine}.")
        elif isinstance(step, CodeHandedIn):
            out.say(f"{step.files} files ({format_size(step.size)}) are in.")
        elif isinstance(step, Extended):
            out.say(f"Lease {format_lease(step.lease.id)} is paid until {format_time(step.lease.end)}.")
        elif isinstance(step, Ended) and (sentence := step.said(money)):
            out.say(sentence)
        elif isinstance(step, RunFetched):
            out.say(f"The results are in {step.folder}.")
            for path in step.missing:
                out.warn(f"The workload never made {path}.")
        elif isinstance(step, RunActed):
            self._acted(step)

    def _acted(self, step: RunActed) -> None:
        act = step.act
        if act.do is Do.GIVE_UP and act.why != "it is kept":
            tried = step.tried
            assert tried.lease is not None
            shown = (
                f"Lease {format_lease(tried.lease)} on machine {tried.machine} is wanted no more: {act.why}."
            )
            self._call.out.warn(shown)
        elif act.do is Do.END and not step.tried.done and act.given_up is None:
            why = f": {why_declined(act.why)}" if act.why else ", and everything came back."
            self._call.out.warn(f"Machine {step.tried.machine} did not run it{why}")
        elif act.do is Do.OPEN and step.record.tries and not (last := step.record.tries[-1]).workload:
            self._call.out.warn(f"Machine {last.machine} cannot be rented: {last.why}")


def say_end(call: Invocation, finished: RunFinished, plan: RunPlan) -> int:
    """How a run has ended and what it cost; its exit code, which is the command's own where there is one."""
    out, money, name = call.out, plan.client.money, finished.record.name
    code = finished.exit_code
    ended = {
        "done": f"has ended with {code}" if code is not None else "has ended; its exit code is not known",
        "closed": "was ended",
        "time": "lasted as long as it may, and was ended",
        "left": f"goes on without you: `leasehold run --attach {name}` shows it",
    }[finished.outcome]
    if finished.outcome == "done" and any(tried.why == "idle" for tried in finished.record.tries):
        ended, code = "was idle, and was ended", 0
    out.say(f"Run {name} {ended}. It cost {money.show(finished.cost)} so far." if finished.outcome == "left"
             else f"Run {name} {ended}. It cost {money.show(finished.cost)} in all.")  # fmt: skip
    for tried in finished.waiting if finished.outcome != "left" else ():
        assert tried.lease is not None
        out.warn(
            f"Lease {format_lease(tried.lease)} on machine {tried.machine} was not started: its escrow comes back "
            f"once its start window has passed, with the next `leasehold run` or `leasehold run --attach {name}`."
        )
    if finished.outcome == "left" or code is None:
        return CODES[finished.outcome]
    return code


@contextmanager
def interruptible(call: Invocation, control: RunControl, name: str) -> Iterator[None]:
    """Ctrl-C asks what it should mean where somebody sits at a terminal; elsewhere the run is left to go on alone."""
    loop = asyncio.get_running_loop()

    def pressed() -> None:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            call.out.say(
                f"Interrupted: run {name} is left to go on. `leasehold run --attach {name}` shows it."
            )
            control.say(Word.LEAVE)
            return
        try:
            answer = ask_word(f"Run {name} goes on: [d]etach, [c]lose, or [g]o on", ("d", "c", "g"), "g")
        except (Interrupted, NobodyThere):
            answer = "d"
        control.say({"d": Word.LEAVE, "c": Word.CLOSE, "g": Word.GO_ON}[answer])

    loop.add_signal_handler(signal.SIGINT, pressed)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)

"""How a command ended, said to its tenant: exit code, memory that ran out, signals, and how often."""

from __future__ import annotations

import contextlib
import signal

from leasehold_agent.engine._containers import ContainerFacts

_BY_SIGNAL = 128


def how_it_ended(container: ContainerFacts) -> str:
    """ "with 3", "with 139 (SIGSEGV)", "with 137: it used more memory than its lease has"."""
    code = container.exit_code
    if container.out_of_memory:
        return f"with {code}: it used more memory than its lease has"
    with contextlib.suppress(ValueError):
        if code > _BY_SIGNAL:
            return f"with {code} ({signal.Signals(code - _BY_SIGNAL).name})"
    return f"with {code}"


def ended_for_good(container: ContainerFacts, crashes: int, *, crashed: bool) -> str:
    """Of a command that is not started again. crashed: since it kept ending within seconds, so often in a row."""
    if not crashed:
        return f"The command has ended {how_it_ended(container)}."
    return (
        f"The command has ended {crashes} times in a row within seconds, the last time {how_it_ended(container)}; it "
        "is not started again before another workload is set."
    )


def ended_again(container: ContainerFacts, ends: int, pause: float) -> str:
    """Of a command that is started again: how often it ended, how the last time, and when it runs next."""
    times = "once" if ends <= 1 else f"{ends} times"
    when = f"in {pause:.0f} s" if pause >= 1 else "now"
    return (
        f"The command has ended {times}, the last time {how_it_ended(container)}; it is started again {when}."
    )

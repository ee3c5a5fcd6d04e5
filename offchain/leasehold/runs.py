"""More of a run than `leasehold.Run`: going on with one, hearing what it does, steering it; and what renting needs.

    from leasehold.runs import AttachRun, RunLog

    plan = await pool.plan(AttachRun("train"))
    async for step in pool.steps(plan):
        if isinstance(step, RunLog):
            print(step.data.decode(), end="")

`plan.control.say(Word.LEAVE)` leaves it to go on alone, `Word.CLOSE` ends it.
"""

from leasehold.client import (
    AttachRun,
    CloseWhen,
    Diagnosis,
    Do,
    NothingRan,
    RunActed,
    RunControl,
    RunFetched,
    RunLog,
    RunRules,
    Setup,
    Word,
    examine,
    run_named,
    settle_runs,
)

__all__ = [
    "AttachRun",
    "CloseWhen",
    "Diagnosis",
    "Do",
    "NothingRan",
    "RunActed",
    "RunControl",
    "RunFetched",
    "RunLog",
    "RunRules",
    "Setup",
    "Word",
    "examine",
    "run_named",
    "settle_runs",
]

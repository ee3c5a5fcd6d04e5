"""Runs: one command on one machine at a time, whichever of those that fit does it, from its code to its results.

    from leasehold.runs import AttachRun, RunLog

    plan = await pool.plan(AttachRun("train"))
    async for step in pool.steps(plan):
        if isinstance(step, RunLog):
            print(step.data.decode(), end="")

`plan.control.say(Word.LEAVE)` leaves it to go on alone, `Word.CLOSE` ends it. A new one is `leasehold.Run`.

Its files, in order: `_errors`, `_deciding` (what is next: a pure function), `_looking` (how it stands), `_acting` (what
is next, done), `_following` (acts and log in one stream), `_recipe` (what a guard needs to go on with it), `_run` (what
is asked for, and its plan), `_project` (`leasehold.toml`).
"""

from typing import TYPE_CHECKING

from leasehold._faces import face

if TYPE_CHECKING:
    from leasehold.runs._acting import UNKEPT_SECONDS, Acting, RunActed, RunFetched
    from leasehold.runs._deciding import Act, CloseWhen, Do, RunRules, Word
    from leasehold.runs._errors import (
        BudgetMissing,
        BudgetTooSmall,
        NoSuchRun,
        NotForARun,
        NothingRan,
        ResultsInTheWay,
        RunIsAnother,
    )
    from leasehold.runs._following import RunControl, RunFinished, RunLog
    from leasehold.runs._looking import Memory, worked_lately
    from leasehold.runs._project import (
        PROJECT_FILE,
        Project,
        begin_project,
        job_of,
        load_project,
        project_name,
    )
    from leasehold.runs._recipe import recipe_workload
    from leasehold.runs._run import (
        AttachRun,
        Run,
        RunPlan,
        carrying,
        rules_of,
        run_named,
        settle_runs,
    )

__all__ = [
    "PROJECT_FILE",
    "UNKEPT_SECONDS",
    "Act",
    "Acting",
    "AttachRun",
    "BudgetMissing",
    "BudgetTooSmall",
    "CloseWhen",
    "Do",
    "Memory",
    "NoSuchRun",
    "NotForARun",
    "NothingRan",
    "Project",
    "ResultsInTheWay",
    "Run",
    "RunActed",
    "RunControl",
    "RunFetched",
    "RunFinished",
    "RunIsAnother",
    "RunLog",
    "RunPlan",
    "RunRules",
    "Word",
    "begin_project",
    "carrying",
    "job_of",
    "load_project",
    "project_name",
    "recipe_workload",
    "rules_of",
    "run_named",
    "settle_runs",
    "worked_lately",
]

_PARTS = {
    "_acting": ("UNKEPT_SECONDS", "Acting", "RunActed", "RunFetched"),
    "_deciding": ("Act", "CloseWhen", "Do", "RunRules", "Word"),
    "_errors": (
        "BudgetMissing", "BudgetTooSmall", "NoSuchRun", "NotForARun", "NothingRan", "ResultsInTheWay",
        "RunIsAnother",
    ),
    "_following": ("RunControl", "RunFinished", "RunLog"),
    "_looking": ("Memory", "worked_lately"),
    "_project": ("PROJECT_FILE", "Project", "begin_project", "job_of", "load_project", "project_name"),
    "_recipe": ("recipe_workload",),
    "_run": ("AttachRun", "Run", "RunPlan", "carrying", "rules_of", "run_named", "settle_runs"),
}  # fmt: skip
if not TYPE_CHECKING:
    __getattr__ = face(__name__, _PARTS)

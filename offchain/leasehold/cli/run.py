"""`leasehold run`: from code on this computer to its results, on whichever machine does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

from typer.core import TyperCommand

from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import SENDS, Invocation, shared
from leasehold.cli._options import (
    AllowUnverified,
    Approve,
    MaxPrice,
    Search,
    Seconds,
    Spot,
    WishedShare,
    argument,
    option,
)
from leasehold.cli._run_words import RunTeller, interruptible, say_end, show_plan
from leasehold.cli._workload import WorkloadFlags, build_workload
from leasehold.market import InvalidInput
from leasehold.runs import PROJECT_FILE, AttachRun, Project, Run, job_of, load_project
from leasehold.workload import Workload

_BEHIND: Final = "\0--"
"""Stands where `--` did, which Click forgets: what is before it is a folder, what is behind it a command."""


class FolderThenCommand(TyperCommand):
    """`[FOLDER] -- COMMAND...`"""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What was typed behind the command's name."""
        if "--" in args:
            at = args.index("--")
            args = [*args[: at + 1], _BEHIND, *args[at + 1 :]]
        return super().parse_args(ctx, args)


@dataclass(frozen=True)
class RunOptions:
    """How it is run: what the project's file may say as well, under the same names."""

    gpu: Annotated[str | None, option("--gpu MODEL", "Such as h100; by default any machine.")] = None
    search: Search = None
    share: WishedShare = None
    spot: Spot = False
    recover: Annotated[
        bool, option("--recover", "Let your guard go on with it on other machines, within --budget.")
    ] = False
    max_price: MaxPrice = None
    budget: Annotated[
        str | None, option("--budget AMOUNT", "Most whole tokens that all tries hold and spend.")
    ] = None
    at_most: Annotated[Seconds, option("--at-most DURATION", "How long it may last, by default 12h.")] = None
    step: Annotated[
        Seconds, option("--for DURATION", "What is paid for at a time while you watch, by default 1h.")
    ] = None
    start_within: Annotated[
        Seconds, option("--start-within DURATION", "How long a machine has to start it, by default 5m.")
    ] = None
    gone_after: Annotated[
        Seconds, option("--gone-after DURATION", "How long a machine may be silent or down, by default 5m.")
    ] = None
    close_when: Annotated[
        str | None, option("--close-when done|idle 10m|never", "When the bill stops, by default `done`.")
    ] = None
    results: Annotated[
        Path | None, option("--results DIR", "A new folder, by default results-NAME here.")
    ] = None
    allow_unverified: AllowUnverified = False


@shared(SENDS, kind=FolderThenCommand)
async def run(
    call: Invocation,
    *,
    words: Annotated[
        list[str] | None, argument("[FOLDER] [-- COMMAND...]", "The code that goes in, and what to run.")
    ] = None,
    attach: Annotated[str | None, option("--attach NAME", "Go on with a run that was begun here.")] = None,
    detach: Annotated[bool, option("--detach", "Leave it alone once it has started.")] = False,
    machine: Annotated[
        list[int] | None, option("--machine -m MACHINE", "This machine, or one of these.", min=1)
    ] = None,
    options: RunOptions,
    flags: WorkloadFlags,
    approve: Approve = False,
) -> int:
    """Run code on a machine that fits, fetch its results, and pay for what was used.

    Where a machine declines, does not start it in time or is gone, the next that fits is tried, within the price. The
    same line again goes on with a run that was cut off. What `leasehold.toml` says beside the code need not be typed.
    """
    if attach is not None:
        return await _carry_on(call, AttachRun(attach), approve)
    folder, command = _split(words or ())
    typed = Project(name=flags.name, code=folder, command=command, **vars(options))
    project = typed.over(load_project(_place(folder)))
    if project.name is not None:
        call.home.runs(call.deployment).get(
            project.name
        )  # before all else, it says whether a run can be called so
    job = _job(call, flags, project)
    request = project.run(job, machines=tuple(machine or ()), detach=detach, approves=approve)
    return await _carry_on(call, request, approve)


async def _carry_on(call: Invocation, request: Run | AttachRun, approve: bool) -> int:
    call.out.aside()
    async with planned(call, request) as plan:
        show_plan(call, plan)
        money, payment = plan.client.money, plan.payment
        question = f"Pay {money.show(payment.amount)} into escrow and run?" if payment is not None else None
        with interruptible(call, plan.control, request.name):
            finished = await carry_out(
                call, plan, question, approve=approve, waiting=None, on_step=RunTeller(call, plan)
            )
        return say_end(call, finished, plan) if finished is not None else 0


def _split(words: Sequence[str]) -> tuple[Path | None, tuple[str, ...] | None]:
    """The folder and the command. Raises InvalidInput."""
    at = words.index(_BEHIND) if _BEHIND in words else len(words)
    before, command = words[:at], tuple(words[at + 1 :])
    if len(before) > 1:
        raise InvalidInput(
            "One folder goes in, and a command stands behind `--`", "write it so: ./train -- python train.py."
        )
    if before and not Path(before[0]).is_dir():
        raise InvalidInput(f"{before[0]} is no folder", "name one, and write the command behind `--`.")
    return Path(before[0]) if before else None, command or None


def _place(folder: Path | None) -> Path:
    """Where the project's file is: beside the code, else here."""
    return folder if folder is not None and (folder / PROJECT_FILE).exists() else Path()


def _job(call: Invocation, flags: WorkloadFlags, project: Project) -> Workload:
    """What is typed, and what the project's file says where no workload is."""
    table: dict[str, object] | None = None
    if isinstance(project.workload, Path):
        flags = flags if flags.names_a_workload else replace(flags, file=project.workload)
    elif project.workload is not None:
        table = {"kind": "batch", **project.workload}
    workload = build_workload(call, flags, project.command, table)
    return job_of(workload, recipient=call.home.age_keys.recipient(call.chosen().name), public=flags.public)

"""`leasehold run`: from code on this computer to its results, on whichever machine does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

from typer.core import TyperCommand

from leasehold import parse_duration
from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import SENDS, Invocation, shared
from leasehold.cli._options import (
    SECONDS,
    SHARE,
    AllowUnverified,
    Approve,
    MaxPrice,
    argument,
    option,
)
from leasehold.cli._project import FILE, Project, load_project
from leasehold.cli._run_words import RunTeller, interruptible, say_end, show_plan
from leasehold.cli._workload import WorkloadFlags, build_workload
from leasehold.client import Rent
from leasehold.market import InvalidInput
from leasehold.runs import AttachRun, CloseWhen, Run, run_named
from leasehold.workload import CodeFolder, Workload, load_workload

_OUTPUTS: Final = "/outputs"
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


@shared(SENDS, kind=FolderThenCommand)
async def run(
    call: Invocation,
    *,
    words: Annotated[
        list[str] | None, argument("[FOLDER] [-- COMMAND...]", "The code that goes in, and what to run.")
    ] = None,
    attach: Annotated[str | None, option("--attach NAME", "Go on with a run that was begun here.")] = None,
    detach: Annotated[bool, option("--detach", "Leave it alone once it has started.")] = False,
    gpu: Annotated[str | None, option("--gpu MODEL", "Such as h100; by default any machine.")] = None,
    search: Annotated[
        str | None, option("--search -s SEARCH", "Which machines, as `leasehold machines` does.")
    ] = None,
    machine: Annotated[
        list[int] | None, option("--machine -m MACHINE", "This machine, or one of these.", min=1)
    ] = None,
    share: Annotated[
        int | None,
        option("--share SHARE", "1/8, 1/4 or 1/2 of a GPU, or 1 to 8 whole ones, by default 1."),
        SHARE,
    ] = None,
    spot: Annotated[
        bool, option("--spot", "At the lower price for leases that may be ended with notice.")
    ] = False,
    recover: Annotated[
        bool, option("--recover", "Let your guard go on with it on other machines, within `--budget`.")
    ] = False,
    max_price: MaxPrice = None,
    budget: Annotated[
        str | None, option("--budget AMOUNT", "Most whole tokens that all tries hold and spend.")
    ] = None,
    at_most: Annotated[
        int | None, option("--at-most DURATION", "How long it may last, by default 12h."), SECONDS
    ] = None,
    seconds: Annotated[
        int | None,
        option("--for DURATION", "What is paid for at a time while you watch, by default 1h."),
        SECONDS,
    ] = None,
    start_within: Annotated[
        int | None,
        option("--start-within DURATION", "How long a machine has to start it, by default 5m."),
        SECONDS,
    ] = None,
    gone_after: Annotated[
        int | None,
        option("--gone-after DURATION", "How long a machine may be silent or down, by default 5m."),
        SECONDS,
    ] = None,
    close_when: Annotated[
        str | None, option("--close-when done|idle 10m|never", "When the bill stops, by default `done`.")
    ] = None,
    results: Annotated[
        Path | None, option("--results DIR", "A new folder, by default results-NAME here.")
    ] = None,
    allow_unverified: AllowUnverified = False,
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
    project = load_project(_place(folder))
    folder, command = folder or project.code, command or list(project.command or ()) or None
    mode, idle = _closing(close_when or project.close_when or "done")
    if (name := flags.name or project.name) is not None:
        call.home.runs(call.deployment).get(name)  # before all else, it says whether a run can be called so
    workload = _workload(call, flags, command, project)
    name = name or run_named(workload, folder)
    request = Run(
        rent=Rent(
            workload,
            seconds=_first(seconds, project.step, 3_600),
            share=share or project.share,
            max_price=max_price or project.max_price,
            search=_search(search or project.search, gpu or project.gpu),
            machines=tuple(machine or ()),
            spot=spot or bool(project.spot),
            allow_unverified=allow_unverified or bool(project.allow_unverified),
            code=None if folder is None else CodeFolder(folder),
        ),
        name=name,
        results=results or project.results or Path(f"results-{name}"),
        at_most=_first(at_most, project.at_most, 43_200),
        budget=budget or project.budget,
        start_within=_first(start_within, project.start_within, 300),
        gone_after=_first(gone_after, project.gone_after, 300),
        close_when=mode,
        idle=idle,
        detach=detach,
        approves=approve,
        recover=recover,
    )
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


def _split(words: Sequence[str]) -> tuple[Path | None, list[str] | None]:
    """The folder and the command. Raises InvalidInput."""
    at = words.index(_BEHIND) if _BEHIND in words else len(words)
    before, command = words[:at], list(words[at + 1 :])
    if len(before) > 1:
        raise InvalidInput(
            "One folder goes in, and a command stands behind `--`", "write it so: ./train -- python train.py."
        )
    if before and not Path(before[0]).is_dir():
        raise InvalidInput(f"{before[0]} is no folder", "name one, and write the command behind `--`.")
    return Path(before[0]) if before else None, command or None


def _place(folder: Path | None) -> Path:
    """Where the project's file is: beside the code, else here."""
    return folder if folder is not None and (folder / FILE).exists() else Path()


def _first(typed: int | None, written: int | None, usual: int) -> int:
    """What was typed, else what the project's file says, else what is usual."""
    return next((value for value in (typed, written) if value is not None), usual)


def _closing(text: str) -> tuple[CloseWhen, int]:
    """Raises InvalidInput."""
    word, _, span = text.strip().replace(":", " ").partition(" ")
    if word not in list(CloseWhen) or (span and word != CloseWhen.IDLE):
        raise InvalidInput(f"'{text}' is no time to close", "say done, idle 10m or never.")
    return CloseWhen(word), parse_duration(span.strip()) if span else 600


def _search(search: str | None, gpu: str | None) -> str:
    model = f'gpu:"{gpu}"' if gpu is not None and " " in gpu else f"gpu:{gpu}" if gpu is not None else None
    return " ".join(filter(None, (search, model)))


def _workload(
    call: Invocation, flags: WorkloadFlags, command: list[str] | None, project: Project
) -> Workload:
    """A batch job that leaves what is in /outputs, unless it says otherwise."""
    table = None
    if not flags.names_a_workload and isinstance(project.workload, Path):
        flags = replace(flags, file=project.workload)
    elif not isinstance(project.workload, Path) and project.workload is not None:
        table = {"kind": "batch", **project.workload}
    workload = build_workload(call, flags, command, table)
    said, more = workload.model_fields_set, dict[str, object]()
    if not said & {"kind", "restart"}:
        more["kind"] = "batch"
    recipient = call.home.age_keys.recipient(call.chosen().name)
    if not workload.outputs and (recipient or flags.public):
        more["outputs"] = [{"path": _OUTPUTS, "public": flags.public}]
    whole = workload.model_dump(mode="json", exclude_unset=True, exclude_none=True) | more
    return load_workload(whole, recipients=[recipient] if recipient else ())

"""`leasehold pool params`, `propose`, `cancel`: a pool's rules, and their next version."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leasehold.cli._carrying_out import carry_out
from leasehold.cli._completion import known_params
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, PROPOSES, SENDS, shared
from leasehold.cli._shown import utc
from leasehold.cli.pool._powers import diff_json, diff_rows, params_json, params_rows, proposal_said
from leasehold.client import CancelRules, ProposeRules, powers_of
from leasehold.market import TIMELOCK, InvalidInput, Money, format_duration

if TYPE_CHECKING:
    from leasehold.chain import PoolView

Values = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME=VALUE]...",
        help="Such as fee_bps=2.5% unstake_delay=21d bond=10.",
        autocompletion=known_params,
    ),
]
ParamsFile = Annotated[
    Path | None,
    typer.Option("--params", metavar="FILE", help="Parameters in JSON, as scripts/pool.json has them."),
]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    for command in (params, propose, cancel):
        app.command()(command)


def given_values(file: Path | None, values: Sequence[str]) -> dict[str, str]:
    """What a file and the command line name, the latter winning. Raises InvalidInput: it cannot be read."""
    named: dict[str, str] = {}
    if file is not None:
        try:
            raw = json.loads(file.read_text())
        except (OSError, ValueError) as error:
            raise InvalidInput(f"{file} cannot be read as JSON ({error}): correct it.") from error
        if not isinstance(raw, dict):
            raise InvalidInput(f"{file} holds no object: write names and values.")
        named.update({str(name): str(value) for name, value in raw.items()})
    for assignment in values:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise InvalidInput(f"'{assignment}' sets nothing: write NAME=VALUE.")
        named[name.strip()] = value
    return named


@shared(ANSWERS)
async def params(
    call: Invocation,
    version: Annotated[
        int | None, typer.Argument(metavar="[VERSION]", min=1, help="By default the one in force.")
    ] = None,
) -> None:
    """Show the pool's parameters in force and those proposed, with the time when they come into force."""
    async with open_session(call, account=False) as client:
        view, money = await powers_of(client), client.money
        chosen = view.params if version is None else await client.pool.params(version)
        number = version or view.params_version
        if not chosen.unstake_delay:  # the bounds keep it above zero in every version that there is
            raise InvalidInput(f"There is no version {number}: the newest is {view.params_version}.")
        call.out.answer(
            {"version": number, "params": params_json(chosen, money), "proposed": _proposed(view, money)}
        )
        if call.out.as_json:
            return
        call.out.pairs(f"Parameters, version {number}", params_rows(chosen, money))
        call.out.say(proposal_said(view))
        if view.proposed is not None:
            rows = diff_rows(view.params, view.proposed, money)
            call.out.table(("parameter", "in force", "proposed"), rows, empty="It changes nothing.")


def _proposed(view: PoolView, money: Money) -> Json:
    if view.proposed is None:
        return None
    return {
        "version": view.proposed_version,
        "in_force_at": view.in_force_at,
        "changes": diff_json(view.params, view.proposed, money),
    }


@shared(SENDS | PROPOSES)
async def propose(call: Invocation, values: Values = None, file: ParamsFile = None) -> None:
    """As the owner, propose the pool's next parameters. What is not named stays as it is.

    They come into force in two days, for no lease that is open and for no machine before its provider's next
    `provider terms`.
    """
    request = ProposeRules(given_values(file, values or ()))
    async with open_session(call, signs=True) as client:
        plan, money = await request.plan(client), client.money
        rows = diff_rows(plan.view.params, plan.rules, money)
        call.out.table(("parameter", "in force", "proposed"), rows, empty="")
        call.out.say(f"In force {format_duration(TIMELOCK)} from now, about {utc(plan.when)}.")
        document: dict[str, Json] = {"changes": diff_json(plan.view.params, plan.rules, money)}
        await carry_out(
            call,
            client,
            plan,
            question="Propose these?",
            document=document,
            answer=lambda done: {
                **document,
                "version": done.proposed.version,
                "in_force_at": done.proposed.in_force_at,
            },
            said=lambda done: (
                f"Version {done.proposed.version} comes into force {utc(done.proposed.in_force_at)}."
            ),
        )


@shared(SENDS | PROPOSES)
async def cancel(call: Invocation) -> None:
    """As the owner, take a proposal back before it is in force."""
    async with open_session(call, signs=True) as client:
        plan = await CancelRules().plan(client)
        await carry_out(
            call,
            client,
            plan,
            question=f"Take version {plan.version} back?",
            document={"version": plan.version},
            said=lambda done: f"Version {plan.version} will not come into force.",
        )

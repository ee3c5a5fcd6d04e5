"""`leasehold pool params`, `propose`, `cancel`: a pool's rules, and their next version."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from leasehold.chain import Params, PoolView
from leasehold.cli._completion import known_params
from leasehold.cli._doing import Done, carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, PROPOSES, SENDS, shared
from leasehold.cli._shown import utc
from leasehold.cli.pool._powers import diff_json, diff_rows, params_json, params_rows, proposal_said
from leasehold.client import powers_of
from leasehold.errors import NoProposal, ProposalPending
from leasehold.market import TIMELOCK, InvalidInput, Money, changed_params, check_params, format_duration

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


def given_params(base: Params, file: Path | None, values: Sequence[str], money: Money) -> Params:
    """`base` with what a file and the command line say, the latter winning, inside the bounds.

    Raises:
        InvalidInput: something cannot be read, or is out of its bounds.
    """
    named: dict[str, str] = {}
    if file is not None:
        try:
            raw = json.loads(file.read_text())
        except (OSError, ValueError) as error:
            raise InvalidInput(f"{file} cannot be read as JSON ({error}): correct it.") from error
        if not isinstance(raw, dict):
            raise InvalidInput(f"{file} holds no object: write names and values.")
        named.update({str(name): str(value) for name, value in raw.items()})
    for each in values:
        name, equals, value = each.partition("=")
        if not equals:
            raise InvalidInput(f"'{each}' sets nothing: write NAME=VALUE.")
        named[name.strip()] = value
    wanted = changed_params(base, named, money)
    check_params(wanted, money)
    return wanted


@shared(ANSWERS)
async def params(
    call: Invocation,
    version: Annotated[
        int | None, typer.Argument(metavar="[VERSION]", min=1, help="By default the one in force.")
    ] = None,
) -> None:
    """Show the pool's parameters in force and those proposed, with the time when they come into force."""
    async with open_session(call, account=False) as session:
        view, money = await powers_of(session), session.money
        chosen = view.params if version is None else await session.pool.params(version)
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
    async with open_session(call, signs=True) as session:
        view, money = await powers_of(session), session.money
        wanted = given_params(view.params, file, values or (), money)
        if wanted == view.params:
            raise InvalidInput("That changes nothing: name parameters as NAME=VALUE.")
        if view.proposed is not None and await session.now() < view.in_force_at:
            raise ProposalPending(in_force_at=view.in_force_at)
        when = await session.now() + TIMELOCK
        rows = diff_rows(view.params, wanted, money)
        call.out.table(("parameter", "in force", "proposed"), rows, empty="")
        call.out.say(f"In force {format_duration(TIMELOCK)} from now, about {utc(when)}.")

        async def send() -> Done:
            receipt = await session.pool.propose_params(wanted)
            made = await session.pool.proposed_params()
            said = f"Version {made.version} comes into force {utc(made.in_force_at)}."
            return Done(receipt, said, {"version": made.version, "in_force_at": made.in_force_at})

        document: dict[str, Json] = {"changes": diff_json(view.params, wanted, money)}
        await carry_out(call, "Propose these?", document, send)


@shared(SENDS | PROPOSES)
async def cancel(call: Invocation) -> None:
    """As the owner, take a proposal back before it is in force."""
    async with open_session(call, signs=True) as session:
        made = await session.pool.proposed_params()
        if not made.version:
            raise NoProposal

        async def send() -> Done:
            return Done(
                await session.pool.cancel_params(), f"Version {made.version} will not come into force."
            )

        question = f"Take version {made.version} back?"
        await carry_out(call, question, {"version": made.version}, send)

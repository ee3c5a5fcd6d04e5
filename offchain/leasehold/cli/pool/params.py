"""`leasehold pool params`, `propose`, `cancel`: a pool's rules, and their next version."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from leasehold.cli._carrying_out import carry_out, open_session, planned
from leasehold.cli._command import ANSWERS, PROPOSES, SENDS, Invocation, shared
from leasehold.cli._completion import known_params
from leasehold.cli._options import argument, option
from leasehold.client import CancelRules, ProposeRules, RulesProposed, powers_of
from leasehold.market import (
    TIMELOCK,
    InvalidInput,
    Json,
    Money,
    format_duration,
    format_time,
    load_values,
    params_json,
    params_rows,
    proposed_json,
)
from leasehold.tables import changes_table

if TYPE_CHECKING:
    from leasehold.chain import PoolView

Values = Annotated[
    list[str] | None,
    argument(
        "[NAME=VALUE]...", "Such as fee_bps=2.5% unstake_delay=21d bond=10.", autocompletion=known_params
    ),
]
ParamsFile = Annotated[
    Path | None, option("--params FILE", "Parameters in JSON, as scripts/pool.json has them.")
]


def given_values(file: Path | None, values: Sequence[str]) -> dict[str, str]:
    """What a file and the command line name, the latter winning. Raises InvalidInput: it cannot be read."""
    named = {} if file is None else load_values(file)
    for assignment in values:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise InvalidInput(f"'{assignment}' sets nothing: write NAME=VALUE.")
        named[name.strip()] = value
    return named


@shared(ANSWERS)
async def params(
    call: Invocation,
    version: Annotated[int | None, argument("[VERSION]", "By default the one in force.", min=1)] = None,
) -> None:
    """Show the pool's parameters in force and those proposed, with the time when they come into force."""
    async with open_session(call, account=False) as client:
        view, money = await powers_of(client), client.money
        chosen = view.params if version is None else await client.pool.params(version)
        number = version or view.params_version
        if not chosen.unstake_delay:  # the bounds keep it above zero in every version that there is
            raise InvalidInput(f"There is no version {number}: the newest is {view.params_version}.")
        document: dict[str, Json] = {
            "version": number,
            "params": params_json(chosen, money),
            "proposed": proposed_json(view, money),
        }
        call.out.sheet(document, f"Parameters, version {number}", params_rows(chosen, money))
        if not call.out.as_json:
            say_proposal(call, view, money)


def say_proposal(call: Invocation, view: PoolView, money: Money) -> None:
    """Whether something is proposed, and what that changes."""
    if view.proposed is None:
        call.out.say("Nothing is proposed.")
        return
    when = format_time(view.in_force_at)
    call.out.say(f"Proposed as version {view.proposed_version}, in force {when}:")
    call.out.table(*changes_table(view.params, view.proposed, money), empty="It changes nothing.")


@shared(SENDS | PROPOSES)
async def propose(call: Invocation, values: Values = None, file: ParamsFile = None) -> None:
    """As the owner, propose the pool's next parameters. What is not named stays as it is.

    They come into force in two days, for no lease that is open and for no machine before its provider's next
    `provider terms`.
    """
    async with planned(call, ProposeRules(given_values(file, values or ()))) as plan:
        call.out.table(*changes_table(plan.view.params, plan.rules, plan.client.money), empty="")
        call.out.say(f"In force {format_duration(TIMELOCK)} from now, about {format_time(plan.when)}.")

        def said(made: RulesProposed) -> str:
            return (
                f"Version {made.proposed.version} comes into force {format_time(made.proposed.in_force_at)}."
            )

        await carry_out(call, plan, "Propose these?", said)


@shared(SENDS | PROPOSES)
async def cancel(call: Invocation) -> None:
    """As the owner, take a proposal back before it is in force."""
    async with planned(call, CancelRules()) as plan:
        said = f"Version {plan.version} will not come into force."
        await carry_out(call, plan, f"Take version {plan.version} back?", said)

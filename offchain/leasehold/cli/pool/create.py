"""`leasehold pool create`: a pool of one's own, with its companions, in one transaction."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._shared import SENDS, shared
from leasehold.cli.pool._powers import params_json, params_rows
from leasehold.cli.pool.params import ParamsFile, Values, given_values
from leasehold.client import CreatePool, PoolMade, Step
from leasehold.files import write_whole
from leasehold.market import InvalidInput

if TYPE_CHECKING:
    from leasehold.chain import Deployment


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(create)


@shared(SENDS)
async def create(
    call: Invocation,
    values: Values = None,
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="ADDRESS", help="By default the token of the pool at hand."),
    ] = None,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="ADDRESS", help="By default your wallet.")
    ] = None,
    treasury: Annotated[
        str | None,
        typer.Option("--treasury", metavar="ADDRESS", help="Who has the fees; by default the owner."),
    ] = None,
    file: ParamsFile = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where its deployment file goes; by default here."),
    ] = None,
) -> None:
    """Make a pool, with the factory and the parameters of the pool at hand where nothing else is named.

    Writes and prints its deployment file, which everybody who uses the pool needs.
    """
    request = CreatePool(given_values(file, values or ()), token, owner, treasury)
    async with open_session(call, signs=True) as client:
        plan = await request.plan(client)
        money = plan.money
        target = out or Path(f"{client.deployment.chain_id}-{money.symbol}-{plan.owner[2:10]}.json")
        if target.exists():
            raise InvalidInput(f"{target} exists already: name another file with --out.")
        call.out.pairs(
            f"A pool on {money.symbol} ({plan.token})",
            (("owner", plan.owner), ("treasury", plan.treasury), *params_rows(plan.rules, money)),
        )
        document: dict[str, Json] = {
            "token": plan.token,
            "owner": plan.owner,
            "treasury": plan.treasury,
            "params": params_json(plan.rules, money),
        }
        await carry_out(
            call,
            client,
            plan,
            question="Make this pool?",
            document=document,
            on_step=lambda step: _keep(step, target),
            answer=lambda made: {
                **document,
                "controller": made.deployment.controller,
                "deployment": _known(made.deployment),
                "file": str(target),
            },
            said=lambda made: (
                f"{_text(made.deployment)}\nPool {made.deployment.controller} is made, and {target} says where: pass "
                "it with --deployment."
            ),
        )


def _keep(step: Step, target: Path) -> None:
    """Where the pool is has to be written before anything else can go wrong."""
    if isinstance(step, PoolMade):
        write_whole(target, _text(step.deployment) + "\n")


def _text(deployment: Deployment) -> str:
    return json.dumps(_known(deployment), indent=2)


def _known(deployment: Deployment) -> dict[str, Json]:
    return {name: value for name, value in asdict(deployment).items() if value is not None}

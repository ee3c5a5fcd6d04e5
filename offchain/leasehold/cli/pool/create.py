"""`leasehold pool create`: a pool of one's own, with its companions, in one transaction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import SENDS, Invocation, shared
from leasehold.cli._options import option
from leasehold.cli.pool.params import ParamsFile, Values, given_values
from leasehold.client import CreatePool, PoolMade, Step
from leasehold.files import write_whole
from leasehold.market import InvalidInput, params_rows


@shared(SENDS)
async def create(
    call: Invocation,
    values: Values = None,
    token: Annotated[
        str | None, option("--token ADDRESS", "By default the token of the pool at hand.")
    ] = None,
    owner: Annotated[str | None, option("--owner ADDRESS", "By default your wallet.")] = None,
    treasury: Annotated[
        str | None, option("--treasury ADDRESS", "Who has the fees; by default the owner.")
    ] = None,
    file: ParamsFile = None,
    out: Annotated[
        Path | None, option("--out FILE", "Where its deployment file goes; by default here.")
    ] = None,
) -> None:
    """Make a pool, with the factory and the parameters of the pool at hand where nothing else is named.

    Writes and prints its deployment file, which everybody who uses the pool needs.
    """
    async with planned(call, CreatePool(given_values(file, values or ()), token, owner, treasury)) as plan:
        money, chain = plan.money, plan.client.deployment.chain_id
        target = out or Path(f"{chain}-{money.symbol}-{plan.owner[2:10]}.json")
        if target.exists():
            raise InvalidInput(f"{target} exists already: name another file with --out.")
        owners = (("owner", plan.owner), ("treasury", plan.treasury))
        call.out.pairs(f"A pool on {money.symbol} ({plan.token})", (*owners, *params_rows(plan.rules, money)))

        def keep(step: Step) -> None:  # where the pool is has to be written before anything else can go wrong
            if isinstance(step, PoolMade):
                write_whole(target, json.dumps(step.file(), indent=2) + "\n")

        await carry_out(
            call,
            plan,
            "Make this pool?",
            lambda made: (
                f"{json.dumps(made.file(), indent=2)}\nPool {made.deployment.controller} is made, and {target} says "
                "where: pass it with --deployment."
            ),
            also=lambda made: {"file": str(target)},
            on_step=keep,
        )

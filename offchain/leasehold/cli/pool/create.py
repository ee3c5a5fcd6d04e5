"""`leasehold pool create`: a pool of one's own, with its companions, in one transaction."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from leasehold.chain import FactoryContract, Token
from leasehold.cli._doing import Done, carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._shared import SENDS, shared
from leasehold.cli.pool._powers import params_json, params_rows
from leasehold.cli.pool.params import ParamsFile, Values, given_params
from leasehold.client import parse_address
from leasehold.errors import TokenDecimals
from leasehold.files import write_whole
from leasehold.market import InvalidInput, Money


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
    async with open_session(call, signs=True) as session:
        at = parse_address(token) if token else session.deployment.token
        coin = Token(session.rpc, at)
        decimals, symbol = await coin.decimals(), await coin.symbol()
        if not 6 <= decimals <= 18:
            raise TokenDecimals(decimals=decimals)
        money = Money(symbol, decimals)
        base = await session.pool.params(await session.pool.params_version())
        if decimals != session.money.decimals and file is None:
            raise InvalidInput(
                f"{symbol} has {decimals} decimals and {session.money.symbol} {session.money.decimals}, so amounts "
                "cannot be taken over: name all parameters with --params."
            )
        rules = given_params(base, file, values or (), money)
        head = parse_address(owner) if owner else session.account
        fees = parse_address(treasury) if treasury else head
        target = out or Path(f"{session.deployment.chain_id}-{symbol}-{head[2:10]}.json")
        if target.exists():
            raise InvalidInput(f"{target} exists already: name another file with --out.")
        call.out.pairs(
            f"A pool on {symbol} ({at})",
            (("owner", head), ("treasury", fees), *params_rows(rules, money)),
        )

        async def send() -> Done:
            factory = FactoryContract(session.rpc, session.deployment.factory, session.sender)
            controller, receipt = await factory.create_pool(at, head, fees, rules)
            made = replace(
                session.deployment, controller=controller, token=at, block=receipt.block_number,
                token_symbol=symbol, token_decimals=decimals,
            )  # fmt: skip
            known: dict[str, Json] = {
                name: value for name, value in asdict(made).items() if value is not None
            }
            text = json.dumps(known, indent=2)
            write_whole(target, text + "\n")
            said = f"{text}\nPool {controller} is made, and {target} says where: pass it with --deployment."
            return Done(receipt, said, {"controller": controller, "deployment": known, "file": str(target)})

        document: dict[str, Json] = {
            "token": at, "owner": head, "treasury": fees, "params": params_json(rules, money),
        }  # fmt: skip
        await carry_out(call, "Make this pool?", document, send)

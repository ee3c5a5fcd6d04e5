"""`leasehold provider join`: stake and register a machine that its agent has described."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from leasehold.chain import Terms
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import Approve
from leasehold.cli._output import Json
from leasehold.cli._shared import PROPOSES, SENDS, shared
from leasehold.cli._shown import transaction
from leasehold.cli.provider._terms import AskedTerms, changed_terms, default_terms, terms_rows
from leasehold.client import PoolClient
from leasehold.market import (
    InvalidInput,
    JoinQuote,
    MachineFile,
    Money,
    format_amount,
    format_duration,
    parse_amount,
)

MachineJson = Annotated[
    Path, typer.Argument(metavar="MACHINE.JSON", help="What `leasehold-agent describe` wrote on the host.")
]
Gpus = Annotated[
    int | None,
    typer.Option(
        "--gpus", metavar="N", min=1, max=8, help="GPUs (or CPU units) to offer; by default what it suggests."
    ),
]
SmallestShare = Annotated[
    int | None,
    typer.Option(
        "--smallest-share",
        metavar="CELLS",
        help="The least that it leases: 1, 2, 4 or 8 cells; by default, and at least, what its host can keep apart.",
    ),
]
OperatorGas = Annotated[
    str | None,
    typer.Option(
        "--operator-gas",
        metavar="AMOUNT",
        help="Coins for the agent's gas; by default enough for some 200 leases.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(join)


@shared(SENDS | PROPOSES)
async def join(
    call: Invocation,
    described: MachineJson,
    *,
    gpus: Gpus = None,
    smallest_share: SmallestShare = None,
    asked: AskedTerms,
    operator_gas: OperatorGas = None,
    approve: Approve = False,
) -> None:
    """Stake and register a machine, after showing what it takes, earns and can lose.

    The machine's two documents are pinned on your IPFS node, the stake is taken from your ledger and wallet,
    and the agent's operator key is sent gas money. Your own key never has to be on the host.
    """
    machine = MachineFile.load(described)
    if asked.price is None:
        raise InvalidInput("A machine needs a price: pass --price with whole tokens per GPU-hour.")
    async with open_session(call, signs=True) as session:
        terms = changed_terms(default_terms(await session.now()), session.money, asked)
        size = Size(gpus or machine.suggested.gpus, _smallest(machine, smallest_share))
        await _join(call, session, machine, size, terms, operator_gas, approve)


@dataclass(frozen=True)
class Size:
    """How many GPUs (or CPU units) to offer, and the least of them that is leased, in cells."""

    gpus: int
    smallest_share: int


def _smallest(machine: MachineFile, wished: int | None) -> int:
    least = machine.suggested.smallest_share
    if wished is None:
        return least
    if wished not in (1, 2, 4, 8):
        raise InvalidInput(f"The smallest share is 1, 2, 4 or 8 cells, not {wished}: choose one of these.")
    if wished < least:
        raise InvalidInput(
            f"Its host cannot keep shares of less than {_cells(least)} apart: pass --smallest-share {least} or more."
        )
    return wished


def _cells(share: int) -> str:
    return "1 cell" if share == 1 else f"{share} cells"


async def _join(
    call: Invocation,
    session: PoolClient,
    machine: MachineFile,
    size: Size,
    terms: Terms,
    operator_gas: str | None,
    approve: bool,
) -> None:
    money, provider = session.money, session.provider()
    index = await session.index()
    known = [record.machine for record in await index.machines()]
    gpus = size.gpus
    offer = await provider.quote(machine, gpus, terms, known)
    wanted = (
        await provider.operator_gas(machine.operator)
        if operator_gas is None
        else parse_amount(operator_gas, 18)
    )
    unit = "GPU" if machine.hardware.get("gpus") else "CPU unit"
    call.out.pairs(
        f"Joining with {gpus} {unit}{'s' if gpus > 1 else ''}, operator {machine.operator}",
        (*_rows(offer, terms, money, wanted), ("smallest share", _cells(size.smallest_share))),
    )
    document: dict[str, Json] = {
        "stake": format_amount(offer.stake, money.decimals),
        "from_ledger": format_amount(offer.from_ledger, money.decimals),
        "from_wallet": format_amount(offer.pulled, money.decimals),
        "earns_hourly": format_amount(offer.hourly, money.decimals),
        "earns_daily": format_amount(offer.daily, money.decimals),
        "lost_at_most": format_amount(offer.lost_at_most, money.decimals),
        "operator_gas": format_amount(wanted, 18),
        "smallest_share": size.smallest_share,
        "token": money.symbol,
    }
    if call.dry_run:
        call.out.answer({**document, "dry_run": True})
        return
    if offer.approve and not approve:
        approve = call.out.ask(f"Let the pool take {money.show(offer.pulled)} from the wallet?")
    if not approve:
        provider.check_allowance(offer.pulled, offer.approve)
    call.out.confirm(f"Stake {money.show(offer.stake)} and register the machine?")
    if session.other is not None and wanted:
        gas = format_amount(wanted, 18, places=6)
        call.out.warn(
            f"Send {gas} of the chain's own coin to {machine.operator} yourself, for the agent's gas."
        )
    with call.out.working("Pinning the documents, staking, registering"):
        if offer.approve:
            await provider.approve(offer.pulled)
        joined = await provider.join(machine, gpus, size.smallest_share, terms, gas=wanted)
    call.out.answer({**document, "machine": joined.machine, **transaction(joined.receipt)})
    call.out.say(f"Machine {joined.machine} is registered. Its agent can be started: `leasehold-agent run`.")


def _rows(offer: JoinQuote, terms: Terms, money: Money, gas: int) -> tuple[tuple[str, str], ...]:
    percent = f"{offer.max_slash_bps / 100:g} %"
    return (
        *terms_rows(terms, money),
        ("stake", f"{money.show(offer.stake)}: {money.show(offer.from_ledger)} from the ledger, "
                  f"{money.show(offer.pulled)} from the wallet"),
        ("comes back", f"{format_duration(offer.unstake_delay)} after the machine retires"),
        ("earns, wholly leased", f"{money.show(offer.hourly, places=6)} an hour; {money.show(offer.daily, places=6)} "
                                 f"a day less the pool's {offer.fee_bps / 100:g} %"),
        ("earns, half leased", f"{money.show(offer.daily // 2, places=6)} a day"),
        ("can be lost", f"at most {money.show(offer.lost_at_most)} ({percent} of the stake) in seven days, for proven "
                        "faults only, and you may appeal"),
        ("ending a lease early", f"costs up to {money.show(offer.notice_penalty, places=6)}, paid to its tenant"),
        ("gas for the operator", f"{format_amount(gas, 18, places=6)} of the chain's own coin"),
    )  # fmt: skip

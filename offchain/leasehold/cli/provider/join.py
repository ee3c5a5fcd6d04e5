"""`leasehold provider join`: stake and register a machine that its agent has described."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import Approve
from leasehold.cli._output import Json
from leasehold.cli._shared import PROPOSES, SENDS, shared
from leasehold.cli.provider._terms import TermsOptions, terms_rows
from leasehold.client import Join, JoinPlan
from leasehold.market import MachineFile, format_amount, format_duration, parse_amount

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
    asked: TermsOptions,
    operator_gas: OperatorGas = None,
    approve: Approve = False,
) -> None:
    """Stake and register a machine, after showing what it takes, earns and can lose.

    The machine's two documents are pinned on your IPFS node, the stake is taken from your ledger and wallet,
    and the agent's operator key is sent gas money. Your own key never has to be on the host.
    """
    request = Join(MachineFile.load(described), asked.read(), gpus, smallest_share, gas_of(operator_gas))
    async with open_session(call, signs=True) as client:
        plan, money = await request.plan(client), client.money
        _show(call, plan)
        document: dict[str, Json] = {
            "stake": format_amount(plan.quote.stake, money.decimals),
            "from_ledger": format_amount(plan.quote.from_ledger, money.decimals),
            "from_wallet": format_amount(plan.quote.pulled, money.decimals),
            "earns_hourly": format_amount(plan.quote.hourly, money.decimals),
            "earns_daily": format_amount(plan.quote.daily, money.decimals),
            "lost_at_most": format_amount(plan.quote.lost_at_most, money.decimals),
            "operator_gas": format_amount(plan.gas, 18),
            "smallest_share": plan.smallest_share,
            "token": money.symbol,
        }
        await carry_out(
            call,
            client,
            plan,
            question=f"Stake {money.show(plan.quote.stake)} and register the machine?",
            document=document,
            answer=lambda joined: {**document, "machine": joined.machine},
            said=lambda joined: (
                f"Machine {joined.machine} is registered. Its agent can be started: `leasehold-agent run`."
            ),
            approve=approve,
            waiting="Pinning the documents, staking, registering",
        )


def gas_of(amount: str | None) -> int | None:
    """Wei, of coins as they are typed; `None` leaves it to the library."""
    return None if amount is None else parse_amount(amount, 18)


def _show(call: Invocation, plan: JoinPlan) -> None:
    quote, money, share = plan.quote, plan.client.money, plan.smallest_share
    hourly, daily = money.show(quote.hourly, places=6), money.show(quote.daily, places=6)
    slashed = f"{money.show(quote.lost_at_most)} ({quote.max_slash_bps / 100:g} % of the stake)"
    unit = "GPU" if plan.described.hardware.get("gpus") else "CPU unit"
    call.out.pairs(
        f"Joining with {quote.gpus} {unit}{'s' if quote.gpus > 1 else ''}, operator {plan.described.operator}",
        (
            *terms_rows(plan.terms, money),
            ("stake", f"{money.show(quote.stake)}: {money.show(quote.from_ledger)} from the ledger, "
                      f"{money.show(quote.pulled)} from the wallet"),
            ("comes back", f"{format_duration(quote.unstake_delay)} after the machine retires"),
            ("earns, wholly leased", f"{hourly} an hour; {daily} a day less the pool's {quote.fee_bps / 100:g} %"),
            ("earns, half leased", f"{money.show(quote.daily // 2, places=6)} a day"),
            ("can be lost", f"at most {slashed} in seven days, for proven faults only, and you may appeal"),
            ("ending a lease early", f"costs up to {money.show(quote.notice_penalty, places=6)}, paid to its tenant"),
            ("gas for the operator", f"{format_amount(plan.gas, 18, places=6)} of the chain's own coin"),
            ("smallest share", "1 cell" if share == 1 else f"{share} cells"),
        ),
    )  # fmt: skip

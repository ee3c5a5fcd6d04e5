"""`leasehold provider join`: stake and register a machine that its agent has described."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated

from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import PROPOSES, SENDS, Invocation, shared
from leasehold.cli._options import DAY, Approve, Read, Seconds, argument, option
from leasehold.client import AskedTerms, Join, find_reach
from leasehold.market import MachineFile, parse_amount

MachineJson = Annotated[Path, argument("MACHINE.JSON", "What `leasehold-agent describe` wrote on the host.")]
OperatorGas = Annotated[
    int | None,
    option("--operator-gas AMOUNT", "Coins for the agent's gas; by default enough for some 200 leases."),
    Read(lambda text: parse_amount(text, 18)),
]


@dataclass(frozen=True)
class TermsOptions:
    """A machine's terms as options; `None` leaves them as they are."""

    price: Annotated[
        str | None, option("--price AMOUNT", "Whole tokens for a GPU (or CPU unit) an hour.")
    ] = None
    spot_price: Annotated[
        str | None, option("--spot-price AMOUNT", "For leases that you may end with notice; 0 sells none.")
    ] = None
    shortest: Annotated[Seconds, option("--min DURATION", "Shortest lease.")] = None
    longest: Annotated[Seconds, option("--max DURATION", "Longest lease.")] = None
    trial: Annotated[
        Seconds, option("--trial DURATION", "How long a started lease may be rejected, to 15m.")
    ] = None
    until: Annotated[
        date | None, option("--until YYYY-MM-DD", "Last day (UTC) by whose end every lease ends."), DAY
    ] = None

    def asked(self) -> AskedTerms:
        return AskedTerms(**vars(self))


@shared(SENDS | PROPOSES)
async def join(
    call: Invocation,
    described: MachineJson,
    *,
    gpus: Annotated[
        int | None,
        option("--gpus N", "GPUs (or CPU units) to offer; by default what it suggests.", min=1, max=8),
    ] = None,
    smallest_share: Annotated[
        int | None,
        option(
            "--smallest-share CELLS",
            "The least that it leases: 1, 2, 4 or 8 cells; by default, and at least, what its host can keep apart.",
        ),
    ] = None,
    terms: TermsOptions,
    operator_gas: OperatorGas = None,
    approve: Approve = False,
) -> None:
    """Stake and register a machine, after showing what it takes, earns and can lose.

    The machine's two documents are pinned on your IPFS node, the stake is taken from your ledger and wallet,
    and the agent's operator key is sent gas money. Your own key never has to be on the host.
    """
    request = Join(MachineFile.load(described), terms.asked(), gpus, smallest_share, operator_gas)
    async with planned(call, request) as plan:
        unit = "GPU" if plan.described.hardware.get("gpus") else "CPU unit"
        reach = await find_reach(plan.client, plan.described)
        many = f"{plan.quote.gpus} {unit}{'s' if plan.quote.gpus > 1 else ''}"
        rows = (*plan.rows(), ("renters reach it", reach.sentence))
        call.out.pairs(f"Joining with {many}, operator {plan.described.operator}", rows)
        await carry_out(
            call,
            plan,
            f"Stake {plan.client.money.show(plan.quote.stake)} and register the machine?",
            lambda joined: (
                f"Machine {joined.machine} is registered. Its agent can be started: `leasehold-agent run`."
            ),
            also=lambda _: {"reach": reach.to_json()},
            approve=approve,
            waiting="Pinning the documents, staking, registering",
        )

"""`leasehold provider join`: stake and register a machine that its agent has described."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import planned
from leasehold.cli._options import Approve
from leasehold.cli._shared import PROPOSES, SENDS, shared
from leasehold.cli._spelling import Read, argument, option
from leasehold.cli.provider._terms import TermsOptions
from leasehold.client import Join
from leasehold.market import MachineFile, parse_amount

MachineJson = Annotated[Path, argument("MACHINE.JSON", "What `leasehold-agent describe` wrote on the host.")]
OperatorGas = Annotated[
    int | None,
    option("--operator-gas AMOUNT", "Coins for the agent's gas; by default enough for some 200 leases."),
    Read(lambda text: parse_amount(text, 18)),
]


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
        many = f"{plan.quote.gpus} {unit}{'s' if plan.quote.gpus > 1 else ''}"
        call.out.pairs(f"Joining with {many}, operator {plan.described.operator}", plan.rows())
        await carry_out(
            call,
            plan,
            f"Stake {plan.client.money.show(plan.quote.stake)} and register the machine?",
            lambda joined: (
                f"Machine {joined.machine} is registered. Its agent can be started: `leasehold-agent run`."
            ),
            approve=approve,
            waiting="Pinning the documents, staking, registering",
        )

"""`leasehold validator collect`, `fine`: what a quorum's word has earned, and what it costs if it was taken back."""

from __future__ import annotations

from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import SENDS, Invocation, shared
from leasehold.cli._options import FaultId
from leasehold.client import CollectReward, CollectRewardPlan, FineQuorum, FineQuorumPlan


@shared(SENDS)
async def collect(call: Invocation, fault: FaultId) -> None:
    """Credit those who attested a fault with the tenth of it that is theirs, by what their seats cost.

    Once it was executed, and for all of them at once. Anyone may send it.
    """
    async with planned(call, CollectReward(fault)) as plan:
        seats, due = _seats(plan), plan.client.money.show(plan.due)
        said = f"{due} went into the ledgers of {seats}."
        await carry_out(call, plan, f"Credit {seats} with {due} together?", said)


@shared(SENDS)
async def fine(call: Invocation, fault: FaultId) -> None:
    """Fine those who attested a fault that its arbiter took back: a tenth of each seat's price, which is burnt.

    A seat is fined once in seven days at most. Anyone may send it, once.
    """
    async with planned(call, FineQuorum(fault)) as plan:
        seats = _seats(plan)
        said = (
            f"Of {seats}, those are fined that were not within seven days and joined under that arbiter: "
            "`leasehold validator list` shows what each has left."
        )
        await carry_out(call, plan, f"Fine {seats}?", said)


def _seats(plan: CollectRewardPlan | FineQuorumPlan) -> str:
    return f"seats {', '.join(str(signer.seat) for signer in plan.signers)}"

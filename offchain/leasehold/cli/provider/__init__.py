"""`leasehold provider`: offer a machine, keep it, answer for it, collect, leave."""

import typer

from leasehold.cli._lazy import MARKUP, lazy

VERBS = {
    "join": {
        "join": "Stake and register a machine, after showing what it takes, earns and can lose.",
    },
    "machines": {
        "machines": "List your machines.",
        "terms": (
            "Change what a machine asks for; what is not given stays. Open leases keep the terms they have."
        ),
        "withhold": (
            "Take exactly these cells out of sale, and put the others back. What is leased stays leased."
        ),
        "delist": "Take a machine out of sale. Its leases run on and cannot be extended; `relist` undoes it.",
        "relist": "Put a machine back on sale.",
        "retire": (
            "Take a machine out of the market for good, which starts the delay after which its stake leaves."
        ),
        "unstake": "Move a retired machine's stake into your ledger, once its delay has passed.",
    },
    "host": {
        "operator": "Give a machine the operator key of another host, or of its own made anew, at once.",
        "update": "Publish a machine's documents again, where they have changed: hardware, contact.",
    },
    "money": {
        "stake": "Add to a machine's stake, for instance after the minimum was raised.",
        "terminate": "Give a tenant notice: the lease ends early, and you pay the penalty from your ledger.",
        "claim": (
            "Collect what your machines have earned, and close the leases whose end has passed, in one "
            "transaction."
        ),
        "withdraw": "Pay earnings out of the pool's ledger, as `leasehold wallet withdraw` does.",
    },
    "status": {
        "status": "Show your machines, their leases, what they have earned and what can be collected.",
    },
    "duties": {
        "report": (
            "As the operator, say that a machine is down from now on: half as dear as when others prove it."
        ),
        "answer": (
            "Answer a tenant's challenge with the operator's key, as the machine's agent does by itself."
        ),
        "recover": (
            "Say that a machine works again: ends its outage, or the stall after a lease that was not "
            "started."
        ),
        "appeal": (
            "Appeal against a fault, with a bond. Its arbiter rules; silence lets it stand and gives the "
            "bond back."
        ),
    },
}

app = typer.Typer(
    cls=lazy("leasehold.cli.provider", VERBS),
    no_args_is_help=True,
    rich_markup_mode=MARKUP,
    help="Offer machines: join, set terms, collect, leave.",
)

__all__ = ["app"]

"""`leasehold group`: several people who are one account, without a contract."""

from __future__ import annotations

import typer

from leasehold.cli._lazy import MARKUP, lazy

VERBS = {
    "book": {
        "create": "Remember a group: so many of these signers are one account. Nothing is sent or deployed.",
        "list": "List the groups that this computer knows.",
        "show": (
            "Show a group: its signers, its ledger, its leases, and tokens that were sent to its address by "
            "mistake."
        ),
    },
    "signing": {
        "approve": "Read a proposal (every call, its cost, the digest as computed here) and sign it.",
        "execute": "Carry out a proposal that enough signers have approved. Anybody may, and pays the gas.",
        "renew": (
            "Propose the same calls again: with the group's next nonce and a new deadline. It has to be "
            "signed anew."
        ),
    },
    "changing": {
        "rotate": (
            "Give all that a group has to another group: how a signer is replaced, or the threshold changed."
        ),
        "session": (
            "Propose a throw-away key of this computer, which may talk to the agents of the group's leases."
        ),
        "rescue": (
            "Propose to send on what somebody sent to the group's address itself instead of to its ledger."
        ),
    },
}

app = typer.Typer(
    cls=lazy("leasehold.cli.group", VERBS),
    no_args_is_help=True,
    rich_markup_mode=MARKUP,
    help="Rent as a group: so many of its signers must agree. Proposals and signatures travel as files.",
)

__all__ = ["app"]

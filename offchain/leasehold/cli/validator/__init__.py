"""`leasehold validator`: stake a seat, measure machines, attest outages."""

import typer

from leasehold.cli._lazy import MARKUP, lazy

VERBS = {
    "seats": {
        "stake": "Stake a validator's seat out of your ledger; what that lacks comes from the wallet first.",
        "top-up": (
            "Add to a seat's stake after it lost some. One that is fined again, a week later, leaves by "
            "itself."
        ),
        "list": "List the pool's seats, and how many of them make a quorum.",
        "leave": (
            "Begin to leave a seat. It signs no more, and reveals where it was drawn; `exit` brings its "
            "stake in 3 weeks."
        ),
        "exit": "Move the stake of a seat that has left into its validator's ledger. Anyone may send it.",
    },
    "status": {
        "status": "Show your seats, and what they have to do now: draw, commit, reveal, finalize.",
    },
    "rounds": {
        "request": (
            "Ask for a machine to be measured, as it describes itself now, by a committee of validators. "
            "Anyone may."
        ),
        "rounds": "List verifications, what their committees found, and what is next.",
        "draw": (
            "Draw a verification's committee, for a twentieth of its fee, more after each miss. Anyone may."
        ),
        "finalize": "Count a verification's votes, once reveals are over. Anyone may.",
    },
    "votes": {
        "commit": "Commit to what you found, for all your seats on the committee, without showing it yet.",
        "reveal": (
            "Show what your seats committed to. Whoever does not, loses a tenth of a stake if the others "
            "agree."
        ),
        "false-hardware": (
            "File a fault for a machine on which a committee found other hardware than was declared. Anyone "
            "may, once."
        ),
    },
    "quorums": {
        "collect": (
            "Credit those who attested a fault with the tenth of it that is theirs, by what their seats cost."
        ),
        "fine": (
            "Fine those who attested a fault that its arbiter took back: a tenth of each seat's price, which "
            "is burnt."
        ),
    },
}
GROUPS = {
    "attest": "Sign that a machine was down, and send a quorum's signatures.",
}

app = typer.Typer(
    cls=lazy("leasehold.cli.validator", VERBS, GROUPS),
    no_args_is_help=True,
    rich_markup_mode=MARKUP,
    help="Stake a seat, measure machines as one of a committee, attest outages.",
)

__all__ = ["app"]

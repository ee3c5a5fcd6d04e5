"""`leasehold validator`: stake a seat, measure machines, attest outages."""

import typer

from leasehold.cli.validator import attest, quorums, rounds, seats, votes

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Stake a seat, measure machines as one of a committee, attest outages.",
)
for part in (seats, rounds, votes, quorums):
    part.register(app)
app.add_typer(attest.app, name="attest")

__all__ = ["app"]

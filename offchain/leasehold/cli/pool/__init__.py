"""`leasehold pool`: make a pool, own one, and see who has which power over it."""

import typer

from leasehold.cli.pool import create, fees, owner, params, rulings, trust

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="See who has which power over a pool; make one, and own it.",
)
for part in (trust, params, create, owner, rulings, fees):
    part.register(app)

__all__ = ["app"]

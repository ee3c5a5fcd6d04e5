"""`leasehold provider`: offer a machine, keep it, answer for it, collect, leave."""

import typer

from leasehold.cli.provider import duties, host, join, machines, money

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="markdown", help="Offer machines: join, set terms, collect, leave."
)
for part in (join, machines, host, money, duties):
    part.register(app)

__all__ = ["app"]

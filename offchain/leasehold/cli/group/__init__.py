"""`leasehold group`: several people who are one account, without a contract."""

from __future__ import annotations

import typer

from leasehold.cli.group import book, changing, signing

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Rent as a group: so many of its signers must agree. Proposals and signatures travel as files.",
)
for part in (book, signing, changing):
    part.register(app)

__all__ = ["app"]

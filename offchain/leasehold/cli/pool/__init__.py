"""`leasehold pool`: make a pool, own one, and see who has which power over it."""

import typer

from leasehold.cli._lazy import MARKUP, lazy

VERBS = {
    "trust": {
        "trust": (
            "Show the table of powers, read from the chain: who can take at most what, how fast, and how to "
            "leave first."
        ),
        "show": "Show a pool: its token, its size, its rules.",
    },
    "params": {
        "params": (
            "Show the pool's parameters in force and those proposed, with the time when they come into force."
        ),
        "propose": "As the owner, propose the pool's next parameters. What is not named stays as it is.",
        "cancel": "As the owner, take a proposal back before it is in force.",
    },
    "create": {
        "create": (
            "Make a pool, with the factory and the parameters of the pool at hand where nothing else is "
            "named."
        ),
    },
    "owner": {
        "pause": "Stop opening leases and registering machines. Every way out stays open.",
        "resume": "Allow opening leases and registering machines again.",
        "gate": "Say whether registering a machine takes a licence. Machines that are in stay in.",
        "treasury": "As the owner, say whose ledger fees go to from now on.",
        "hand-over": (
            "As the owner, offer the pool to another account, which becomes its owner with `pool accept`."
        ),
        "accept": "Become the owner of a pool that its owner has offered to you.",
    },
    "licences": {
        "licence": "As the owner, grant an account a licence, change it, or take it back.",
        "licences": "List the licences that the pool's owner has issued.",
    },
    "rulings": {
        "rule": "As its arbiter, rule on a fault that was appealed against.",
        "execute": (
            "Carry out a fault whose time has come: tenants and reporters have their parts. Anyone may."
        ),
    },
    "fees": {
        "collect": "Move the fees that providers' claims have left to the treasury's ledger. Anyone may.",
    },
}

app = typer.Typer(
    cls=lazy("leasehold.cli.pool", VERBS),
    no_args_is_help=True,
    rich_markup_mode=MARKUP,
    help="See who has which power over a pool; make one, and own it.",
)

__all__ = ["app"]

"""`leasehold name` and `label`: what you call things, on this computer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from leasehold.cli._carrying_out import open_session
from leasehold.cli._choosing import read_labels
from leasehold.cli._command import ANSWERS, OF_GROUP, WALLET, Invocation, shared
from leasehold.cli._completion import known_leases
from leasehold.cli._options import argument, option
from leasehold.client import NamedThing, label_things, name_things, named_things
from leasehold.tables import names_table

_THING = "A lease, `machine:7`, a dataset's CID or an address; without one, all are listed."
Thing = Annotated[str | None, argument("[THING]", _THING, autocompletion=known_leases)]


@shared(ANSWERS | WALLET | OF_GROUP)
async def name(
    call: Invocation,
    thing: Thing = None,
    called: Annotated[str | None, argument("[NAME]", "What it is called from now on.")] = None,
    remove: Annotated[bool, option("--remove", "It is called nothing any more.")] = False,
) -> None:
    """Call a lease, a machine, a dataset or an account by a name, which then stands for it in every command.

    Several leases may have one name: it means those that run, or where none does, those that had it last. The chain
    and the machine's agent are told nothing.
    """
    async with open_session(call) as client:
        if thing is None or (called is None and not remove):
            _show(call, await named_things(client), thing)
        else:
            _show(call, await name_things(client, thing, None if remove else called))


@shared(ANSWERS | WALLET | OF_GROUP)
async def label(
    call: Invocation,
    thing: Thing = None,
    labels: Annotated[list[str] | None, argument("[WORD=VALUE]...", "Labels to put on it.")] = None,
    remove: Annotated[list[str] | None, option("--remove WORD", "A label to take off it.")] = None,
) -> None:
    """Put labels on a lease, a machine, a dataset or an account, such as project=vision: `--label` chooses by them."""
    changes: dict[str, str | None] = {**read_labels(labels or ()), **dict.fromkeys(remove or ())}
    async with open_session(call) as client:
        if thing is None or not changes:
            _show(call, await named_things(client), thing)
        else:
            _show(call, await label_things(client, thing, changes))


def _show(call: Invocation, things: Sequence[NamedThing], only: str | None = None) -> None:
    shown = [thing for thing in things if only in (None, *thing.words)]
    empty = "Nothing has a name here yet: `leasehold name THING NAME` gives one."
    if only:
        empty = "It is called nothing here: `leasehold name THING NAME` names it."
    call.out.listing([thing.to_json() for thing in shown], *names_table(shown), empty=empty)

"""`leasehold machines`: search the pool."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._command import ANSWERS, Invocation, shared
from leasehold.cli._options import argument, option
from leasehold.client import search_at_a_glance
from leasehold.market import MACHINES, Listing, Money, format_size, machine_json, parse_search, sort
from leasehold.tables import image_table, machines_table


# A term may begin with `-`, which negates it and is no option: not even where an `h` comes in it.
@shared(ANSWERS, ignore_unknown_options=True, help_option_names=["--help"])
async def machines(
    call: Invocation,
    search: Annotated[
        list[str] | None, argument("[SEARCH]...", "Such as: gpu:H100 'mem>=80' 'price<2.5' -country:US")
    ] = None,
    by: Annotated[
        str | None, option("--sort FIELD", "A field, by default price; `-` before it: largest first.")
    ] = None,
    image: Annotated[
        str | None,
        option(
            "--image IMAGE", "For this image: who has it, and how long others fetch; `--sort cold-start`."
        ),
    ] = None,
    everything: Annotated[bool, option("--all", "Retired machines too.")] = False,
) -> None:
    """Search the pool's machines. All terms must hold; docs/reference/query.md describes the language.

    Fields: FIELDS.
    """
    query = " ".join(search or ())
    parse_search(query)
    if image is not None:
        await _for_image(call, image, query, by, everything)
        return
    by = by or "price"
    sort((), by)
    listings = await _search(call, query, by, everything)
    call.out.listing(
        [machine_json(listing) for listing in listings],
        *machines_table(listings),
        empty="No machine matches: widen the search."
        if query and not listings and await _search(call, "", by, everything)
        else "The pool has no machine yet: look again later.",
    )
    call.out.warn_of(*listings)
    if listings and not call.out.as_json:
        symbol = Money.of(call.deployment).symbol
        call.out.say(f"Prices are in {symbol} an hour for a whole GPU (or CPU unit).")


async def _for_image(call: Invocation, image: str, query: str, by: str | None, retired: bool) -> None:
    """The machines that can run it, and how soon each would."""
    from leasehold.cli._carrying_out import open_session
    from leasehold.client import COLD_START, search_for_image  # here: a plain search asks no registry

    by = by or COLD_START
    if by.removeprefix("-") != COLD_START:
        sort((), by)
    async with open_session(call, account=False) as client:
        rows = await search_for_image(client, image, query, by=by, retired=retired)
    call.out.listing(
        [
            {**machine_json(row.listing), "image_at_hand": row.at_hand, "cold_start": row.whole_seconds}
            for row in rows
        ],
        *image_table(rows),
        empty="No machine matches: widen the search.",
    )
    if rows and not call.out.as_json:
        told, size = rows[0].image, format_size(rows[0].image.download)
        call.out.say(f"{image} is {told.digest} now, {size} for {told.platform}. Cold starts are estimates.")


async def _search(call: Invocation, query: str, by: str, retired: bool) -> list[Listing]:
    """At a glance if all is there; else by a session, which catches up with the chain and fetches what is missing."""
    node, *_ = call.settings.rpc
    listings = await search_at_a_glance(call.home, call.deployment, node, query, by=by, retired=retired)
    if listings is None:
        from leasehold.cli._carrying_out import open_session

        async with open_session(call, account=False) as client:
            listings = await client.search(query, by=by, retired=retired)
    return listings


machines.__doc__ = (machines.__doc__ or "").replace("FIELDS", ", ".join(sorted(MACHINES.fields)))

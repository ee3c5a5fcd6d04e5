"""`leasehold services`: what is offered to the pool beside machines."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._carrying_out import carry_out, open_session, planned
from leasehold.cli._command import ANSWERS, PROPOSES, SENDS, Invocation, shared
from leasehold.cli._options import argument, option
from leasehold.client import AnnounceService, EndService, meet_service, services_of
from leasehold.market import format_time, service_document

Kind = Annotated[str, argument("KIND", "access, scheduler, gateway, ipfs or seed.")]


@shared(ANSWERS, "list")
async def list_services(
    call: Invocation,
    kind: Annotated[str | None, option("--kind KIND", "Only these.")] = None,
) -> None:
    """List what is announced in the pool's Directory. Anybody announces anything, and nothing of it is used by itself.

    A gateway's address is for your browser, an IPFS node is met with `leasehold services connect ADDRESS`.
    """
    async with open_session(call, account=False) as client:
        with call.out.working("Fetching the services' documents"):
            offered = await services_of(client, kind)
    call.out.listing(
        [seen.to_json() for seen in offered],
        ("kind", "account", "since", "at", "note"),
        [
            (
                seen.record.kind,
                seen.record.account,
                format_time(seen.record.at),
                ", ".join(seen.document.endpoints) if seen.document else "?",
                seen.document.note if seen.document else seen.missing,
            )
            for seen in offered
        ],
        empty="Nothing is announced.",
    )


@shared(SENDS | PROPOSES)
async def announce(
    call: Invocation,
    kind: Kind,
    at: Annotated[
        list[str], option("--at ADDRESS", "Where it is: https://…, or a node's multiaddr; once for each.")
    ],
    peer: Annotated[
        str | None, option("--peer ID", "Of an IPFS node: its peer, as `ipfs id` shows it.")
    ] = None,
    note: Annotated[str, option("--note TEXT", "A line on what it is, for everybody.")] = "",
) -> None:
    """Announce that you serve the pool; again to change it. What is announced stays on your IPFS node."""
    request = AnnounceService(service_document(kind, tuple(at), peer_id=peer, note=note))
    async with planned(call, request) as plan:
        await carry_out(
            call, plan, f"Announce this {kind} to everybody?", lambda done: f"The {kind} is announced."
        )


@shared(SENDS | PROPOSES)
async def end(call: Invocation, kind: Kind) -> None:
    """Say that a service of yours is over."""
    async with planned(call, EndService(kind)) as plan:
        await carry_out(call, plan, f"End the {kind}?", lambda done: f"The {kind} is announced no more.")


@shared(ANSWERS)
async def connect(
    call: Invocation,
    account: Annotated[str, argument("ADDRESS", "Whose it is, as the list shows it.")],
    kind: Annotated[str, option("--kind KIND", "ipfs or seed.")] = "ipfs",
) -> None:
    """Bring your IPFS node next to one that somebody has announced, so that what it has comes at once.

    It is trusted with nothing: what comes from it is hashed as from everybody.
    """
    async with open_session(call, account=False) as client:
        with call.out.working("Calling the node"):
            place = await meet_service(client, account, kind)
    call.out.answer({"connected": place})
    if not call.out.as_json:
        call.out.say(f"Your node is next to {place}.")

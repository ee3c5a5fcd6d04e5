"""`leasehold audit`: who did what on a lease."""

from __future__ import annotations

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, OF_GROUP, PASSWORD_FILE, WALLET, Invocation, shared
from leasehold.cli._options import AnyLease
from leasehold.client import audit_of, choose_lease
from leasehold.tables import audit_table, beside_audit


@shared(ANSWERS | WALLET | PASSWORD_FILE | OF_GROUP)
async def audit(call: Invocation, lease: AnyLease) -> None:
    """Show who asked what of a lease, by which key, when, and whether it was let in; and how many were turned away.

    It is the machine's own record: what its owner does on the host is not in it.
    """
    async with open_session(call) as client:
        await client.index()
        told = await audit_of(client, await choose_lease(client, lease))
    empty = "Nobody has asked anything of this lease yet."
    call.out.listing(told.model_dump(mode="json"), *audit_table(told), empty=empty)
    for sentence in beside_audit(told):
        call.out.warn(sentence)

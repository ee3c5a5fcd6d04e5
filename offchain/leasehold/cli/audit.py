"""`leasehold audit`: who did what on a lease."""

from __future__ import annotations

from collections.abc import Iterator

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, OF_GROUP, PASSWORD_FILE, WALLET, Invocation, shared
from leasehold.cli._options import AnyLease
from leasehold.client import audit_of, choose_lease
from leasehold.market import format_time
from leasehold.market.wire import AuditedAct, LeaseAudit

_COLUMNS = ("from", "until", "what", ">times", "outcome", "by")


@shared(ANSWERS | WALLET | PASSWORD_FILE | OF_GROUP)
async def audit(call: Invocation, lease: AnyLease) -> None:
    """Show who asked what of a lease, by which key, when, and whether it was let in; and how many were turned away.

    It is the machine's own record: what its owner does on the host is not in it.
    """
    async with open_session(call) as client:
        await client.index()
        told = await audit_of(client, await choose_lease(client, lease))
    call.out.answer(told.model_dump(mode="json"))
    call.out.table(_COLUMNS, list(map(_row, told.acts)), empty="Nobody has asked anything of this lease yet.")
    for sentence in _beside(told):
        call.out.warn(sentence)


def _row(act: AuditedAct) -> tuple[str, ...]:
    until = format_time(act.last) if act.last != act.first else ""
    by = act.session or act.account
    return format_time(act.first), until, act.op.removeprefix("lease."), str(act.times), act.outcome, by


def _beside(told: LeaseAudit) -> Iterator[str]:
    """What the entries do not say."""
    for tries in told.refused:
        when = format_time(tries.last)
        yield f"Turned away {tries.times} times, last at {when}, with nothing to show for it: {tries.reason}."
    if told.dropped:
        yield f"{told.dropped} older entries made room."
    if told.lost:
        yield f"The host's disk did not take {told.lost} entries since its agent began."

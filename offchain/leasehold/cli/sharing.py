"""`leasehold access`: a colleague sees a lease, and no more than that."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from leasehold import format_lease
from leasehold.agreements import AccessFile, read_file, write_file
from leasehold.cli._carrying_out import carry_out, open_session
from leasehold.cli._command import ANSWERS, OF_GROUP, PROPOSES, SIGNS, Invocation, shared
from leasehold.cli._options import AnyLease, argument, option
from leasehold.client import (
    AcceptAccess,
    LeaseShared,
    RevokeAccess,
    ShareLease,
    access_json,
    choose_lease,
    make_access_key,
)
from leasehold.market import InvalidInput, Json, format_time, parse_duration
from leasehold.market.wire import LOG_OPS, READ_OPS
from leasehold.tables import access_table, access_word, shared_leases


@shared(ANSWERS, "key")
async def make_key(call: Invocation) -> None:
    """Make a key that somebody can share a lease with. Its address may be told to anybody; the key stays here."""
    async with open_session(call, account=False) as client:
        address = make_access_key(client)
    call.out.answer({"key": address})
    if not call.out.as_json:
        call.out.say(address)
        call.out.warn(
            f"Whoever shares a lease with you runs: leasehold access share LEASE --to {address} --read"
        )


@shared(SIGNS | PROPOSES)
async def share(
    call: Invocation,
    lease: AnyLease,
    to: Annotated[str, option("--to KEY", "What `leasehold access key` printed for them.")],
    read: Annotated[bool, option("--read", "They see how it is: show, logs, metrics, results.")] = False,
    only_logs: Annotated[bool, option("--logs", "They see its log, and nothing else.")] = False,
    duration: Annotated[str, option("--for DURATION", "How long it works, 90d at most.")] = "2h",
    output: Annotated[Path | None, option("--output -o FILE", "What you hand them.")] = None,
) -> None:
    """Let a colleague's key see a lease, for a while. Nothing is sent: you sign a file, which opens nothing without
    that key.

    Private results stay sealed to you, and nothing can be run, stopped, copied or changed with it.
    """
    if read == only_logs:
        raise InvalidInput("Say what they may see", "pass --read or --logs.")
    operations, seconds = READ_OPS if read else LOG_OPS, parse_duration(duration)
    async with open_session(call) as client:
        plan = await client.plan(ShareLease(await choose_lease(client, lease), to, operations, seconds))
        path = output or Path(f"access-{format_lease(plan.lease.id)}-{plan.key[2:10]}.json")

        def written(made: LeaseShared) -> dict[str, Json]:
            write_file(path, made.access)
            return {"access": str(path)}

        what, until = "how it is" if read else "its log", format_time(plan.expires_at)
        said = f"It is in {path}: whoever has the key runs `leasehold access accept {path}`."
        await carry_out(
            call, plan, f"Let {plan.key} see {what} until {until}?", said, also=written, waiting=None
        )


@shared(ANSWERS)
async def accept(call: Invocation, file: Annotated[Path, argument("FILE", "What you were handed.")]) -> None:
    """Use what was shared with a key of yours: `show`, `logs`, `metrics` and `results` then take that lease by number.

    No wallet is needed.
    """
    access = read_file(file, AccessFile)
    async with open_session(call, account=False) as client:
        plan = await client.plan(AcceptAccess(access))
        until, leases = format_time(access.expires_at), shared_leases(access)
        said = f"Kept until {until}: lease {leases} ({access_word(access)})."
        await carry_out(call, plan, None, said, waiting=None)


@shared(ANSWERS, "list")
async def list_access(call: Invocation) -> None:
    """List what you share from here, and what is shared with you. What has ended is not told."""
    async with open_session(call, account=False) as client:
        book, now = client.home.shared_access(client.deployment), await client.now()
        given, received = book.given(now), book.received(now)
    directed = [("given", access) for access in given] + [("received", access) for access in received]
    told = [{"direction": direction, **access_json(access)} for direction, access in directed]
    empty = "Nothing is shared: show a lease to a colleague with `leasehold access share LEASE --to KEY`."
    call.out.listing(told, *access_table(directed), empty=empty)


@shared(SIGNS | OF_GROUP)
async def revoke(
    call: Invocation,
    lease: AnyLease,
    key: Annotated[
        str | None, argument("[KEY]", "Of one colleague; by default of all that this computer knows of.")
    ] = None,
) -> None:
    """Have the lease's machine listen to a colleague's key no more, now and for good. Nothing is sent to the chain.

    It may be the key of any session of yours, as `leasehold audit` shows it: of a lost laptop, too.
    """
    async with open_session(call) as client:
        plan = await client.plan(RevokeAccess(await choose_lease(client, lease), key))
        shown = ", ".join(plan.keys)
        await carry_out(
            call,
            plan,
            f"Shut {shown} out of lease {format_lease(plan.lease.id)}?",
            lambda done: f"Lease {format_lease(done.lease)} is closed to {shown}.",
            waiting=None,
        )

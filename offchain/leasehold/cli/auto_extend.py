"""`leasehold auto-extend`: keeps a lease going, as its tenant or as a delegate with a cap, up to a bound.

Each look decides from the chain alone: a lease that is paid for long enough needs nothing, so a second run, or one that
was cut off, changes nothing. Runs on one computer wait for one another, and for what the wallet has sent. (`extend`
adds to the end as it is, so the wallets of two delegates could both extend; what each can spend is its cap.)
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from leasehold.chain import Lease, LeaseState, format_lease, parse_lease
from leasehold.cli._hints import said
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import LeaseId
from leasehold.cli._output import Json
from leasehold.cli._shared import FOR_ACCOUNT, SENDS, shared
from leasehold.cli._shown import transaction, utc
from leasehold.client import PoolClient, alone
from leasehold.errors import CapExceeded, DelegationExpired, LeaseholdError, RpcUnavailable
from leasehold.market import InvalidInput, extension_cost, format_amount, format_duration, parse_duration

SHORTEST = 60  # seconds between looks at least


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command("auto-extend")(auto_extend)


@dataclass(frozen=True)
class Keeping:
    """How a lease is kept: `before` its end, by `step`, and never past `until`. Seconds and unix seconds."""

    before: int
    step: int
    until: int


@dataclass(frozen=True)
class Next:
    """What a look at a lease says: extend by `seconds` (0: nothing now), look again `at` (0: never), and why."""

    seconds: int
    at: int
    why: str


def decide(lease: Lease, keeping: Keeping, now: int) -> Next:
    """What to do now. Pure: the same lease at the same time gets the same answer."""
    shown = format_lease(lease.id)
    if lease.state is LeaseState.OPENED:
        return Next(0, now + keeping.before, f"Lease {shown} has not started yet.")
    if lease.state is not LeaseState.ACTIVE:
        return Next(0, 0, f"Lease {shown} is {lease.state.word}.")
    if lease.noticed:
        return Next(0, 0, f"Lease {shown} is under notice and ends {utc(lease.end)}.")
    if now >= lease.end:
        return Next(0, 0, f"Lease {shown} ended {utc(lease.end)}.")
    if lease.end >= keeping.until:
        return Next(0, 0, f"Lease {shown} is paid until {utc(lease.end)}, as long as it was to be kept.")
    if lease.end - now > keeping.before:
        return Next(
            0, lease.end - keeping.before, f"Lease {shown} is paid until {utc(lease.end)}: nothing to do yet."
        )
    seconds = min(keeping.step, keeping.until - lease.end)
    return Next(seconds, lease.end + seconds - keeping.before, f"Lease {shown} ends {utc(lease.end)}.")


@shared(SENDS | FOR_ACCOUNT)
async def auto_extend(
    call: Invocation,
    lease: LeaseId,
    by: Annotated[str, typer.Option("--by", metavar="DURATION", help="How much more at a time.")],
    longest: Annotated[
        str,
        typer.Option(
            "--at-most", metavar="DURATION", help="Of its life since the start, all extensions included."
        ),
    ],
    before: Annotated[
        str, typer.Option("--before", metavar="DURATION", help="How long before its end.")
    ] = "15m",
    once: Annotated[bool, typer.Option("--once", help="One look and no more, as from cron.")] = False,
) -> None:
    """Extend a lease again and again before it ends, until it has lived as long as `--at-most`.

    Paid from the ledger (with an allowance, from the wallet, too). With `--for-account` as a delegate, whose cap the
    contract keeps. It asks once, before the first extension. Let one wallet do this for a lease: two may both extend.
    """
    number, step = parse_lease(lease), parse_duration(by)
    margin, lifetime = parse_duration(before), parse_duration(longest)
    if step <= 0 or margin <= 0:
        raise InvalidInput("Nothing is kept by steps of nothing: set --by and --before above zero.")
    async with open_session(call, signs=True) as session:
        found = await session.lease(number)
        if found.state is LeaseState.OPENED:
            raise InvalidInput(f"Lease {format_lease(number)} has not started: try again when it has.")
        keeping = Keeping(margin, step, found.start + lifetime)
        await _keep(call, session, number, keeping, once=once)


async def _keep(call: Invocation, session: PoolClient, number: int, keeping: Keeping, *, once: bool) -> None:
    agreed = False
    while True:
        shown = format_lease(number)
        async with alone(
            _lock(session, number), session.observer, f"Waiting for another `auto-extend` of lease {shown}"
        ):
            try:
                lease, now = await session.lease(number), await session.now()
            except RpcUnavailable as error:  # nothing was sent: in the loop there is another time
                if once or call.dry_run:
                    raise
                call.out.warn(said(error))
                await asyncio.sleep(SHORTEST)
                continue
            call.out.if_interrupted = (
                f"Interrupted: nothing extends lease {shown} any more, and it ends {utc(lease.end)}."
            )
            step = decide(lease, keeping, now)
            call.out.say(step.why)
            answer: dict[str, Json] = {"lease": format_lease(number), "end": lease.end, "extended": 0}
            if step.seconds and await _under_way(session):
                call.out.say(
                    "A transaction of this wallet is still under way, which may be the last extension: waiting."
                )
                step = Next(0, now + SHORTEST, step.why)
            if step.seconds:
                amount = extension_cost(lease, step.seconds)
                answer["cost"] = format_amount(amount, session.money.decimals)
                what = f"{format_duration(step.seconds)} for {session.money.show(amount)}"
                if call.dry_run:
                    answer |= {"would_extend": step.seconds, "dry_run": True}
                    call.out.say(f"Would extend it by {what}.")
                else:
                    if not agreed:
                        call.out.confirm(f"Extend by {what} now, and so on until {utc(keeping.until)}?")
                    agreed = True
                    answer |= await _extend(call, session, number, step.seconds)
        if once or call.dry_run or not step.at:
            call.out.answer(answer)
            return
        await asyncio.sleep(max(SHORTEST, step.at - now))


async def _under_way(session: PoolClient) -> bool:
    """Whether the wallet has sent something that is not mined: an earlier run may have been cut off."""
    if session.signer is None:
        return False
    asked = [("eth_getTransactionCount", (session.signer.address, tag)) for tag in ("latest", "pending")]
    mined, sent = await session.rpc.batch(asked)
    return int(sent, 16) > int(mined, 16)


async def _extend(call: Invocation, session: PoolClient, number: int, seconds: int) -> dict[str, Json]:
    """Send it. What it says in the end is what the chain says."""
    renter = session.renter()
    more = await renter.extension(await session.lease(number), seconds)
    renter.check_allowance(more)
    try:
        with call.out.working("Waiting for the transaction"):
            receipt = await session.pool.extend(number, seconds)
    except (CapExceeded, DelegationExpired) as error:
        raise KeptNoLonger(
            f"{said(error.in_money(session.money))} Lease {format_lease(number)} is not extended any more: its tenant "
            "can extend it, or raise the cap with `leasehold delegate set`."
        ) from error
    after = await session.lease(number)
    call.out.say(f"Lease {format_lease(number)} is paid until {utc(after.end)}.")
    return {"end": after.end, "extended": seconds, **transaction(receipt)}


class KeptNoLonger(LeaseholdError):
    """The delegate's leave does not cover another extension."""

    exit_code = 4


def _lock(session: PoolClient, number: int) -> Path:
    """Held while one run of this computer decides about the lease."""
    pool = f"{session.deployment.chain_id}-{session.deployment.controller.lower()}"
    return session.home.locks / f"extend-{pool}-{number}"

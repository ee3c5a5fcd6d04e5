"""`leasehold auto-extend`: keeps a lease going, up to a bound."""

from __future__ import annotations

from typing import Annotated

from leasehold import format_lease
from leasehold.cli._carrying_out import carry_out, open_session
from leasehold.cli._command import FOR_ACCOUNT, SENDS, Invocation, shared
from leasehold.cli._hints import said
from leasehold.cli._options import SECONDS, RunningLease, option
from leasehold.client import Extended, KeepGoing, LeaseLook, Looked, LookFailed, Step, Which, choose_lease
from leasehold.market import Json, format_duration, format_time, parse_duration


@shared(SENDS | FOR_ACCOUNT)
async def auto_extend(
    call: Invocation,
    lease: RunningLease,
    by: Annotated[int, option("--by DURATION", "How much more at a time."), SECONDS],
    longest: Annotated[
        int, option("--at-most DURATION", "Of its life since the start, all extensions included."), SECONDS
    ],
    before: Annotated[str, option("--before DURATION", "How long before its end.")] = "15m",
    once: Annotated[bool, option("--once", "One look and no more, as from cron.")] = False,
) -> None:
    """Extend a lease again and again before it ends, until it has lived as long as `--at-most`.

    Paid from the ledger (with an allowance, from the wallet, too). With `--for-account` as a delegate, whose cap the
    contract keeps. It asks once, before the first extension. Let one wallet do this for a lease: two may both extend.
    """
    earlier = parse_duration(before)
    async with open_session(call, signs=True) as client:
        number = await choose_lease(client, lease, Which.LIVE)
        plan = await client.plan(KeepGoing(number, by, longest, earlier, once))
        shown, money, agreed = format_lease(number), client.money, False

        def tell(look: LeaseLook) -> str:
            call.out.say(look.next.why)
            if look.waits:
                call.out.say(
                    "A transaction of this wallet is still under way, which may be the last extension: waiting."
                )
            return f"{format_duration(look.next.seconds)} for {money.show(look.cost)}"

        def follow(step: Step) -> None:
            nonlocal agreed
            if isinstance(step, Looked):
                end, until = format_time(step.look.lease.end), format_time(plan.keeping.until)
                call.out.if_interrupted = (
                    f"Interrupted: nothing extends lease {shown} any more, and it ends {end}."
                )
                what = tell(step.look)
                if step.look.next.seconds and not agreed:
                    call.out.confirm(f"Extend by {what} now, and so on until {until}?")
                    agreed = True
            elif isinstance(step, LookFailed):
                call.out.warn(said(step.error))
            elif isinstance(step, Extended):
                call.out.say(f"Lease {shown} is paid until {format_time(step.lease.end)}.")

        would: dict[str, Json] | None = None
        if call.dry_run:
            would, what, seconds = plan.look.to_json(money), tell(plan.look), plan.look.next.seconds
            if seconds:
                would["would_extend"] = seconds
                call.out.say(f"Would extend it by {what}.")
        await carry_out(call, plan, None, document=would, waiting=None, on_step=follow)

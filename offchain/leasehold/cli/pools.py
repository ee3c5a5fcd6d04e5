"""`leasehold pools`: what else the factory has made."""

from __future__ import annotations

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, Invocation, shared
from leasehold.client import PoolLook, pools_of


@shared(ANSWERS)
async def pools(call: Invocation) -> None:
    """List the pools that this pool's factory has made. Anybody makes one there: look at `leasehold pool trust`."""
    async with open_session(call, account=False) as client:
        with call.out.working("Looking at the factory's pools"):
            looks = await pools_of(client)
        symbol, own = client.deployment.token_symbol, client.deployment.token.lower()
    call.out.listing(
        [look.to_json() for look in looks],
        ("pool", "token", "owner", ">machines", ">slots", "state"),
        [
            (
                look.controller,
                symbol if look.token.lower() == own else look.token,
                look.owner,
                str(look.machines),
                str(look.slots),
                _state(look),
            )
            for look in looks
        ],
        empty="The factory has made no pool yet.",
    )


def _state(look: PoolLook) -> str:
    words = [
        "at hand" if look.own else "",
        "gated" if look.gated else "open",
        "paused" if look.paused else "",
    ]
    return ", ".join(word for word in words if word)

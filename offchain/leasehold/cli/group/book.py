"""`leasehold group create`, `list` and `show`: who the groups are that this computer knows."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Annotated

import typer

from leasehold.cli._completion import known_groups
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, shared
from leasehold.client import make_group, standing_of
from leasehold.market import InvalidInput, format_amount

if TYPE_CHECKING:
    from leasehold.chain import Deployment
    from leasehold.chain.typed import Group

GroupName = Annotated[
    str,
    typer.Argument(metavar="NAME", help="As `leasehold group list` shows it.", autocompletion=known_groups),
]
Threshold = Annotated[
    int, typer.Option("--threshold", "-t", metavar="N", min=1, max=16, help="How many must sign.")
]
Signers = Annotated[
    list[str],
    typer.Option("--signer", "-s", metavar="ADDRESS", help="Who may sign; once for each, up to 16."),
]
Salt = Annotated[
    str | None,
    typer.Option(
        "--salt",
        metavar="HEX",
        help="32 bytes, best made of what every signer gave, or the word `random`, for another group of the same "
        "signers; by default zeros.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(create)
    app.command("list")(list_groups)
    app.command()(show)


def parse_salt(text: str | None) -> bytes:
    """The salt that is meant; zeros where none is said. Raises InvalidInput."""
    if not text:
        return bytes(32)
    try:
        salt = secrets.token_bytes(32) if text == "random" else bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        salt = b""
    if len(salt) != 32:
        raise InvalidInput(f"'{text}' is no salt: it has 64 hex digits, or is the word random.")
    return salt


def group_json(name: str, group: Group, deployment: Deployment) -> dict[str, Json]:
    """A group in JSON."""
    return {
        "name": name,
        "address": group.address(deployment.accounts),
        "threshold": group.threshold,
        "signers": list(group.signers),
        "salt": "0x" + group.salt.hex(),
    }


@shared(ANSWERS)
async def create(
    call: Invocation,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What you call it; nobody else sees that.")],
    signers: Signers,
    threshold: Threshold,
    salt: Salt = None,
) -> None:
    """Remember a group: so many of these signers are one account. Nothing is sent or deployed.

    Its address follows from signers, threshold and salt: every signer should make the group alone and compare.
    """
    deployment, group = call.deployment, make_group(threshold, signers, parse_salt(salt))
    call.groups.add(name, group)
    call.out.answer(group_json(name, group, deployment))
    call.out.pairs(
        f"Group {name}",
        (
            ("address", group.address(deployment.accounts)),
            ("signers", f"{group.threshold} of {len(group.signers)}"),
            *((f"  {place}", signer) for place, signer in enumerate(group.signers, 1)),
            ("salt", "0x" + group.salt.hex()),
        ),
    )
    if not call.out.as_json:
        call.out.say(
            f"Fill its ledger: leasehold wallet deposit AMOUNT --to {group.address(deployment.accounts)}"
        )


@shared(ANSWERS)
async def list_groups(call: Invocation) -> None:
    """List the groups that this computer knows."""
    deployment, groups = call.deployment, call.groups.all()
    call.out.answer([group_json(name, group, deployment) for name, group in groups.items()])
    call.out.table(
        ("name", "signers", "address"),
        [
            (name, f"{group.threshold} of {len(group.signers)}", group.address(deployment.accounts))
            for name, group in groups.items()
        ],
        empty="No group is known here: make one with `leasehold group create NAME`.",
    )


@shared(ANSWERS)
async def show(call: Invocation, name: GroupName) -> None:
    """Show a group: its signers, its ledger, its leases, and tokens that were sent to its address by mistake."""
    group = call.groups.get(name)
    async with open_session(call, account=False) as client:
        standing, money = await standing_of(client, group), client.money
        call.out.answer(
            {
                **group_json(name, group, client.deployment),
                "ledger": format_amount(standing.ledger, money.decimals),
                "strayed": format_amount(standing.strayed, money.decimals),
                "token": money.symbol,
                "leases": len(standing.leases),
                "nonce": str(standing.nonce),
                "deployed": standing.deployed,
            }
        )
        if call.out.as_json:
            return
        stray = [("sent to its address", f"{money.show(standing.strayed)}: see `leasehold group rescue`")]
        call.out.pairs(
            f"Group {name}",
            (
                ("address", standing.account),
                ("signers", f"{group.threshold} of {len(group.signers)}"),
                *((f"  {place}", signer) for place, signer in enumerate(group.signers, 1)),
                ("salt", "0x" + group.salt.hex()),
                ("in the ledger", money.show(standing.ledger)),
                ("running leases", str(len(standing.leases))),
                *(stray if standing.strayed else []),
            ),
        )

"""`leasehold group create`, `list` and `show`: who the groups are that this computer knows."""

from __future__ import annotations

import asyncio
import secrets
from typing import Annotated

import typer

from leasehold.chain import Deployment
from leasehold.chain.typed import Group
from leasehold.cli._completion import known_groups
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, shared
from leasehold.client import parse_address
from leasehold.errors import InvalidSigners, InvalidThreshold, SettingsError
from leasehold.market import InvalidInput, format_amount

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


def make_group(threshold: int, signers: list[str], salt: str | None) -> Group:
    """The group that options mean. Without a salt it is the one whose salt is zeros.

    Raises:
        InvalidInput: no such group can be.
    """
    addresses = {parse_address(each) for each in signers}
    if len(addresses) < len(signers):
        raise InvalidInput("A signer is named twice: each counts once, so name each once.")
    try:
        chosen = (
            secrets.token_bytes(32) if salt == "random" else bytes.fromhex((salt or "").removeprefix("0x"))
        )
    except ValueError:
        raise InvalidInput(f"'{salt}' is no salt: it has 64 hex digits, or is the word random.") from None
    if salt and len(chosen) != 32:
        raise InvalidInput(f"'{salt}' is no salt: it has 64 hex digits, or is the word random.")
    try:
        return Group.of(threshold, addresses, chosen or bytes(32))
    except (InvalidThreshold, InvalidSigners) as error:
        raise InvalidInput(str(error)) from error


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
    deployment = _deployment(call)
    group = make_group(threshold, signers, salt)
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
    deployment, groups = _deployment(call), call.groups.all()
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
    async with open_session(call, account=False) as session:
        account = group.address(session.deployment.accounts)
        money, index = session.money, await session.index()
        ledger, strayed, nonce, code = await asyncio.gather(
            session.pool.balance_of(account),
            session.token.balance(account),
            session.accounts.nonce_of(account),
            session.rpc.call("eth_getCode", [account, "latest"]),
        )
        leases = await index.leases(tenant=account, live=True)
        call.out.answer(
            {
                **group_json(name, group, session.deployment),
                "ledger": format_amount(ledger, money.decimals),
                "strayed": format_amount(strayed, money.decimals),
                "token": money.symbol,
                "leases": len(leases),
                "nonce": str(nonce),
                "deployed": code != "0x",
            }
        )
        if call.out.as_json:
            return
        stray = [("sent to its address", f"{money.show(strayed)}: see `leasehold group rescue`")]
        call.out.pairs(
            f"Group {name}",
            (
                ("address", account),
                ("signers", f"{group.threshold} of {len(group.signers)}"),
                *((f"  {place}", signer) for place, signer in enumerate(group.signers, 1)),
                ("salt", "0x" + group.salt.hex()),
                ("in the ledger", money.show(ledger)),
                ("running leases", str(len(leases))),
                *(stray if strayed else []),
            ),
        )


def _deployment(call: Invocation) -> Deployment:
    """The pool's file, without asking its chain anything. Raises SettingsError."""
    if call.settings.deployment is None:
        raise SettingsError(
            "No pool is named, and a group's address depends on it: pass --deployment FILE before the command, or set "
            "LEASEHOLD_DEPLOYMENT."
        )
    return Deployment.load(call.settings.deployment)

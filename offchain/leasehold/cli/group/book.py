"""`leasehold group create`, `list` and `show`: who the groups are that this computer knows."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Annotated

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, Invocation, shared
from leasehold.cli._completion import known_groups
from leasehold.cli._options import Read, argument, option
from leasehold.client import make_group, standing_of
from leasehold.market import InvalidInput, Json

if TYPE_CHECKING:
    from leasehold.chain import Deployment
    from leasehold.chain.typed import Group


def parse_salt(text: str) -> bytes:
    """The salt that is meant. Raises InvalidInput."""
    try:
        salt = secrets.token_bytes(32) if text == "random" else bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        salt = b""
    if len(salt) != 32:
        raise InvalidInput(f"'{text}' is no salt: it has 64 hex digits, or is the word random.")
    return salt


GroupName = Annotated[
    str, argument("NAME", "As `leasehold group list` shows it.", autocompletion=known_groups)
]
Salt = Annotated[
    bytes | None,
    option(
        "--salt HEX",
        "32 bytes, best made of what every signer gave, or the word `random`, for another group of the same "
        "signers; by default zeros.",
    ),
    Read(parse_salt),
]


def _rows(group: Group, address: str) -> list[tuple[str, str]]:
    return [
        ("address", address),
        ("signers", f"{group.threshold} of {len(group.signers)}"),
        *((f"  {place}", signer) for place, signer in enumerate(group.signers, 1)),
        ("salt", "0x" + group.salt.hex()),
    ]


def _group_json(name: str, group: Group, deployment: Deployment) -> dict[str, Json]:
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
    name: Annotated[str, argument("NAME", "What you call it; nobody else sees that.")],
    signers: Annotated[list[str], option("--signer -s ADDRESS", "Who may sign; once for each, up to 16.")],
    threshold: Annotated[int, option("--threshold -t N", "How many must sign.", min=1, max=16)],
    salt: Salt = None,
) -> None:
    """Remember a group: so many of these signers are one account. Nothing is sent or deployed.

    Its address follows from signers, threshold and salt: every signer should make the group alone and compare.
    """
    deployment, group = call.deployment, make_group(threshold, signers, salt or bytes(32))
    call.home.groups.add(name, group)
    account = group.address(deployment.accounts)
    call.out.answer(_group_json(name, group, deployment))
    call.out.pairs(f"Group {name}", _rows(group, account))
    if not call.out.as_json:
        call.out.say(f"Fill its ledger: leasehold wallet deposit AMOUNT --to {account}")


@shared(ANSWERS, "list")
async def list_groups(call: Invocation) -> None:
    """List the groups that this computer knows."""
    deployment, groups = call.deployment, call.home.groups.all()
    call.out.listing(
        [_group_json(name, group, deployment) for name, group in groups.items()],
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
    group = call.home.groups.get(name)
    async with open_session(call, account=False) as client:
        standing, money = await standing_of(client, group), client.money
        rows = [
            *_rows(group, standing.account),
            ("in the ledger", money.show(standing.ledger)),
            ("running leases", str(len(standing.leases))),
        ]
        if standing.strayed:
            rows.append(
                ("sent to its address", f"{money.show(standing.strayed)}: see `leasehold group rescue`")
            )
        document = _group_json(name, group, client.deployment)
        call.out.sheet({**document, **standing.to_json(money)}, f"Group {name}", rows)

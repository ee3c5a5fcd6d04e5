"""`leasehold group create`, `safe`, `list` and `show`: who the groups are that this computer knows."""

from __future__ import annotations

from typing import Annotated

from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, Invocation, shared
from leasehold.cli._completion import known_groups
from leasehold.cli._options import Read, argument, option
from leasehold.client import group_json, group_rows, make_group, read_salt, safe_at, standing_of

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
    Read(read_salt),
]


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
    group = make_group(threshold, signers, salt or bytes(32))
    account = group.address(call.deployment.accounts)
    call.home.groups.add(name, group)
    call.out.answer(group_json(name, group, account))
    call.out.pairs(f"Group {name}", group_rows(group, account))
    if not call.out.as_json:
        call.out.say(f"Fill its ledger: leasehold wallet deposit AMOUNT --to {account}")


@shared(ANSWERS)
async def safe(
    call: Invocation,
    name: Annotated[str, argument("NAME", "What you call it; nobody else sees that.")],
    address: Annotated[str, argument("ADDRESS", "The Safe's, version 1.3 or later.")],
) -> None:
    """Remember a Safe as a group: its owners approve what it does as tenant or provider. Nothing is sent.

    Owners sign by their own wallets, the Safe itself says whether that is enough, and no transaction of it is needed.
    After its owners have changed, remember it again.
    """
    async with open_session(call, account=False) as client:
        group = await safe_at(client, address)
    call.home.groups.add(name, group)
    call.out.answer(group_json(name, group, group.at))
    call.out.pairs(f"Safe {name}", group_rows(group, group.at))
    if not call.out.as_json:
        call.out.say(f"Fill its ledger: leasehold wallet deposit AMOUNT --to {group.at}")


@shared(ANSWERS, "list")
async def list_groups(call: Invocation) -> None:
    """List the groups that this computer knows."""
    groups, accounts = call.home.groups.all(), call.deployment.accounts
    known = [(name, group, group.address(accounts)) for name, group in groups.items()]
    call.out.listing(
        [group_json(name, group, account) for name, group, account in known],
        ("name", "signers", "address"),
        [(name, f"{group.threshold} of {len(group.signers)}", account) for name, group, account in known],
        empty="No group is known here: make one with `leasehold group create NAME`.",
    )


@shared(ANSWERS)
async def show(call: Invocation, name: GroupName) -> None:
    """Show a group: its signers, its ledger, its leases, and tokens that were sent to its address by mistake."""
    group = call.home.groups.get(name)
    async with open_session(call, account=False) as client:
        standing, money = await standing_of(client, group), client.money
        rows = [
            *group_rows(group, standing.account),
            ("in the ledger", money.show(standing.ledger)),
            ("running leases", str(len(standing.leases))),
        ]
        if standing.strayed:
            rows.append(
                ("sent to its address", f"{money.show(standing.strayed)}: see `leasehold group rescue`")
            )
        document = {**group_json(name, group, standing.account), **standing.to_json(money)}
        call.out.sheet(document, f"Group {name}", rows)

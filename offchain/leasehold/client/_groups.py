"""Several people who are one account: how such a group is made, changed, and stands."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.chain import LeaseRecord
from leasehold.chain.typed import Group, Safe
from leasehold.client._address import parse_address
from leasehold.errors import InvalidSigners, InvalidThreshold
from leasehold.market import InvalidInput, Json, Money

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

NO_SALT = bytes(32)


def read_salt(text: str) -> bytes:
    """A salt in hex, or for the word `random` a new one. Raises InvalidInput."""
    try:
        salt = secrets.token_bytes(32) if text == "random" else bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        salt = b""
    if len(salt) != 32:
        raise InvalidInput(f"'{text}' is no salt: it has 64 hex digits, or is the word random.")
    return salt


def make_group(threshold: int, signers: Sequence[str], salt: bytes = NO_SALT) -> Group:
    """The group of these addresses, `threshold` of whom must sign. salt: 32 bytes, for another group of the same.

    Raises:
        InvalidInput: no such group can be.
    """
    addresses = {parse_address(signer) for signer in signers}
    if len(addresses) < len(signers):
        raise InvalidInput("A signer is named twice", "each counts once, so name each once.")
    try:
        return Group.of(threshold, addresses, salt)
    except (InvalidThreshold, InvalidSigners) as error:
        raise InvalidInput(str(error)) from error


def successor(
    old: Group,
    *,
    replaced: Mapping[str, str] | None = None,
    signers: Sequence[str] = (),
    threshold: int | None = None,
    salt: bytes = NO_SALT,
) -> Group:
    """The group that takes over. replaced: who comes in whose place; or all `signers`. threshold: else as before.

    Raises:
        InvalidInput: it is the same group, or no such group can be.
    """
    names = list(signers or old.signers)
    for gone, comes in (replaced or {}).items():
        address = parse_address(gone)
        if address not in names:
            raise InvalidInput(f"{address} signs nothing there", f"replace one of {', '.join(names)}.")
        names[names.index(address)] = parse_address(comes)
    group = make_group(threshold or old.threshold, names, salt)
    if group == old:
        raise InvalidInput("That is the same group", "change a signer, the threshold or the salt.")
    return group


@dataclass(frozen=True)
class GroupStanding:
    """A group in a pool. ledger: token units there; strayed: at its address itself, where nobody's key reaches; of a
    Safe none are.

    leases: those that run. deployed: whether its account has code, which only a rescue needs.
    """

    account: str
    ledger: int
    strayed: int
    nonce: int
    deployed: bool
    leases: tuple[LeaseRecord, ...]

    def to_json(self, money: Money) -> dict[str, Json]:
        """How it stands, for a program."""
        return {
            "ledger": money.exact(self.ledger),
            "strayed": money.exact(self.strayed),
            "token": money.symbol,
            "leases": len(self.leases),
            "nonce": str(self.nonce),
            "deployed": self.deployed,
        }


async def standing_of(client: PoolClient, group: Group) -> GroupStanding:
    """How a group stands at the head of the chain."""
    account, index = group.address(client.deployment.accounts), await client.index()
    ledger, strayed, nonce, code = await asyncio.gather(
        client.pool.balance_of(account),
        client.token.balance(account),
        client.accounts.nonce_of(account),
        client.rpc.call("eth_getCode", [account, "latest"]),
    )
    leases = tuple(await index.leases(tenant=account, live=True))
    strayed = 0 if isinstance(group, Safe) else strayed
    return GroupStanding(account, ledger, strayed, nonce, code != "0x", leases)


def group_json(name: str, group: Group, account: str) -> dict[str, Json]:
    """A group by its name here, for a program. account: its address."""
    return {
        "name": name,
        "address": account,
        "threshold": group.threshold,
        "signers": list(group.signers),
        "salt": None if isinstance(group, Safe) else "0x" + group.salt.hex(),
        "safe": isinstance(group, Safe),
    }


def group_rows(group: Group, account: str) -> tuple[tuple[str, str], ...]:
    """The same for people."""
    return (
        ("address", account),
        ("signers", f"{group.threshold} of {len(group.signers)}"),
        *((f"  {place}", signer) for place, signer in enumerate(group.signers, 1)),
        ("is", "a Safe, by its owners as the chain had them")
        if isinstance(group, Safe)
        else ("salt", "0x" + group.salt.hex()),
    )

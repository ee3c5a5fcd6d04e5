"""Signing what somebody else will use: by the wallet at once, or as a proposal to a group's signers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from leasehold.agreements import Proposal, accounts_domain
from leasehold.chain.typed import AcceptTransfer, Offer, Session, Struct, sign
from leasehold.client._errors import CannotAct

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

_KINDS: Mapping[type[Struct], Literal["acceptance", "offer", "session"]] = {
    AcceptTransfer: "acceptance",
    Offer: "offer",
    Session: "session",
}


async def sign_or_propose(
    client: PoolClient, messages: Sequence[AcceptTransfer] | Sequence[Offer] | Sequence[Session]
) -> tuple[tuple[bytes, ...], Proposal | None]:
    """The account's proof of each message; or none, and what a group's signers are asked to sign.

    Raises:
        CannotAct: the wallet is somebody's delegate, whose word binds only itself.
    """
    if client.group is not None:
        return (), Proposal(_KINDS[type(messages[0])], client.deployment, client.group, tuple(messages))
    if client.other is not None:
        raise CannotAct(f"A delegate signs nothing for {client.other}", "ask that account to sign it.")
    domain = accounts_domain(client.deployment) if isinstance(messages[0], AcceptTransfer) else client.domain
    return tuple([await sign(message, domain, client.wallet) for message in messages]), None

"""By whose leave a lease's agent is asked: the account's own session, or one that the lease's tenant has shared."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from leasehold.chain import Lease
from leasehold.chain.typed import SessionKey
from leasehold.client._errors import NoGroupSession, NoSession
from leasehold.market.wire import FORMER_OPS, OPS

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient


async def own_session(client: PoolClient, *, former: bool = False) -> SessionKey:
    """A session of the client's account. former: one that an agent of before understands.

    Raises:
        CannotAct: the account is not the wallet's, and has no session here. WalletError.
    """
    now, home = int(time.time()), client.home
    if client.other is None:
        cache, ops = (home.former_sessions, FORMER_OPS) if former else (home.sessions, OPS)
        return await cache.session(client.wallet, client.domain, now=now, ops=ops)
    kept = await home.sessions.kept(client.other, client.domain, now=now, ops=FORMER_OPS)
    if kept is not None:
        return kept
    name = client.home.groups.name_of(client.group) if client.group else None
    raise NoGroupSession(client.other, name) if name else NoSession(client.other)


def shared_session(client: PoolClient, lease: Lease) -> SessionKey | None:
    """What the lease's tenant has shared with whoever has this home; None for one's own lease. Raises FileRefused."""
    if client.signer is not None and lease.tenant.lower() == client.account.lower():
        return None
    key = client.home.shared_access(client.deployment).key(lease.id, int(time.time()))
    return key if key is not None and key.session.account.lower() == lease.tenant.lower() else None


async def shared_session_of(client: PoolClient, number: int) -> SessionKey | None:
    """The same by the lease's number. Where nothing was shared, nothing is asked. Raises UnknownLease."""
    if client.home.shared_access(client.deployment).key(number, int(time.time())) is None:
        return None
    return shared_session(client, await client.known_lease(number))


def asker(client: PoolClient, lease: Lease) -> str:
    """The account in whose name a lease's agent is asked from here. Raises WalletError: there is none."""
    key = shared_session(client, lease)
    return client.account if key is None else key.session.account

"""What a lease leaves behind: waited for, fetched, opened, and kept on one's own node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.chain import LeaseRecord, cid_from_bytes, format_lease
from leasehold.client._sessions import asker
from leasehold.errors import DatasetError, error_type
from leasehold.market import MarketError, dialled
from leasehold.workload import Manifest, fetch_results

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

PATIENCE = 120.0  # seconds
LOOK_EVERY = 1.0  # seconds between looks at the chain while the results are being packed

Progress = Callable[[int, int | None], None]


class NoResultsYet(MarketError):
    """Nothing was published for the lease so far."""

    code = "no-results-yet"


@error_type(
    "results-not-in-time",
    problem="Lease {lease:lease} has published no results within {seconds:duration}",
    advice="they come when the job is done or the lease closed; wait longer.",
)
class ResultsNotInTime(NoResultsYet):
    """They did not come while they were waited for."""

    lease: int
    seconds: int


class NoResultsAnyMore(MarketError):
    """The lease was transferred away before it published anything."""

    code = "no-results-any-more"


@dataclass(frozen=True)
class PublishedResults:
    """Where a lease's results are. author: whose workload made them. tenant: whose the lease is since it was
    transferred, or `None` where it still is the account's. outputs: the paths that its workloads asked for; `None`
    where one of them was not handed over from here.
    """

    cid: str
    author: str
    tenant: str | None = None
    outputs: tuple[str, ...] | None = None


@dataclass(frozen=True)
class LeaseResults:
    """What was fetched. unpinned: why one's own node does not keep a copy; `None` where it does."""

    cid: str
    folder: Path
    manifest: Manifest
    unpinned: str | None = None


async def published_results(
    client: PoolClient, lease: int, *, patience: float = PATIENCE
) -> PublishedResults:
    """The results that the chain has of a lease, waited for while its agent packs them. patience: seconds.

    Raises:
        UnknownLease, NoResultsYet, NoResultsAnyMore.
    """
    shown, account = format_lease(lease), asker(client, await client.known_lease(lease))
    index = await client.index()
    history = await index.lease_history(lease)
    try:
        with client.observer.working(f"Waiting for the results of lease {shown}"):
            async with asyncio.timeout(max(patience, 0.001)):
                while (record := meant(account, history)) is None:
                    await asyncio.sleep(LOOK_EVERY)
                    await client.index(again=True)
                    history = await index.lease_history(lease)
    except TimeoutError:
        raise ResultsNotInTime(lease, int(patience)) from None
    gone = gave_away(account, history)
    return PublishedResults(
        cid_from_bytes(record.result),
        record.author,
        history[-1].lease.tenant if gone else None,
        _asked_for(client, record.author, history),
    )


async def fetch_lease_results(
    client: PoolClient,
    lease: int,
    published: PublishedResults,
    folder: Path,
    identity: str | None,
    progress: Progress | None = None,
    *,
    only: Sequence[str] = (),
    force: bool = False,
) -> LeaseResults:
    """Fetch them into a new folder, check them, open them, and keep a copy on one's own IPFS node. No other outputs
    come than the workload asked for, where that is known.

    identity: the age key of private outputs; `None` where there are none. progress: told bytes done, and of how many.
    only: what is wanted of them, by paths or names as a shell has them; then no copy is kept, and nothing is noted as
    fetched. force: into a folder that has something, where files of the same names are replaced.

    Raises:
        DestinationExists, ResultsInvalid, ResultsUnasked, ResultInGit, NoSuchResult, WrongIdentity, SealBroken,
        DatasetError.
    """
    await _bring_near(client, lease)
    shown = format_lease(lease)
    fetched = await fetch_results(
        published.cid,
        identity,
        folder,
        client.ipfs,
        progress,
        lease=shown,
        asked=published.outputs,
        only=only,
        force=force,
    )
    if only:
        return LeaseResults(published.cid, folder, fetched.manifest)
    client.home.fetched_results(client.deployment).note(lease, published.cid)
    unpinned = await _kept(client, published.cid, fetched.unread)
    return LeaseResults(published.cid, folder, fetched.manifest, unpinned)


async def _kept(client: PoolClient, cid: str, unread: Sequence[str]) -> str | None:
    """Why our node does not keep it: what was not fetched may be of any size."""
    if unread:
        return f"it holds what its list does not name ({unread[0]})"
    try:
        await client.ipfs.pin(cid)
    except DatasetError as error:
        return str(error)
    return None


def _asked_for(client: PoolClient, author: str, history: Sequence[LeaseRecord]) -> tuple[str, ...] | None:
    """Of all that the author had the lease run: what one workload left may be published when the next is set."""
    digests = {record.workload for record in history if record.author == author}
    return client.home.lease_outputs.of(digest for digest in digests if any(digest))


def gave_away(account: str, history: Sequence[LeaseRecord]) -> bool:
    """Whether the account was the lease's tenant and is not any more."""
    tenants = [record.lease.tenant for record in history]
    return account in tenants and tenants[-1] != account


def meant(account: str, history: Sequence[LeaseRecord]) -> LeaseRecord | None:
    """The lease as it was when it published the results that `account` asks for; `None` while they may come.

    They are the newest. A former tenant's are the newest of his own workload: later ones are sealed to somebody
    else, unless they are public.

    Raises:
        NoResultsAnyMore: he has none, and will have none.
    """
    published = [after for before, after in pairwise(history) if after.result != before.result]
    if not gave_away(account, history):
        return published[-1] if published else None
    if not published:
        now = history[-1].lease
        raise NoResultsAnyMore(
            f"Lease {format_lease(now.id)} is {now.tenant}'s since it was transferred, and it published nothing "
            "before: what comes now is theirs, so ask them for what you need."
        )
    return next((record for record in reversed(published) if record.author == account), published[-1])


async def _bring_near(client: PoolClient, lease: int) -> None:
    """Bring our node next to the machine's, which surely has the data. Others may have it as well."""
    try:
        _, contact = await client.reach(lease)
        for address in dialled(contact):
            try:
                await client.ipfs.swarm_connect(address)
                return
            except DatasetError:
                continue
    except MarketError:
        return

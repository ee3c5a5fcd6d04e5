"""`leasehold results`: what a lease leaves behind."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from leasehold.chain import LeaseRecord, cid_from_bytes, format_lease, parse_lease
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import LeaseId
from leasehold.cli._shared import ANSWERS, OF_GROUP, PASSWORD_FILE, WALLET, shared
from leasehold.client import PoolClient
from leasehold.errors import DatasetError, WalletError
from leasehold.market import Contact, MarketError, format_duration, format_size, parse_duration
from leasehold.workload import fetch_results

MOST_ADDRESSES = 8
_ADDRESS = re.compile(
    r"/(ip4|ip6|dns|dns4|dns6)/[A-Za-z0-9.:_-]{1,253}/(tcp|udp)/[0-9]{1,5}(/quic|/quic-v1|/ws|/wss)?"
)
LOOK_EVERY = 1.0  # seconds between looks at the chain while the results are being packed


class NoResultsYet(MarketError):
    """Nothing was published for the lease so far."""


class NoResultsAnyMore(MarketError):
    """The lease was transferred away before it published anything."""


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(results)


@shared(ANSWERS | WALLET | PASSWORD_FILE | OF_GROUP)
async def results(
    call: Invocation,
    lease: LeaseId,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.")],
    identity: Annotated[
        Path | None,
        typer.Option("--identity", metavar="FILE", help="The age key, if it is not the wallet's own."),
    ] = None,
    wait: Annotated[
        str, typer.Option("--wait", metavar="DURATION", help="How long to wait for them.")
    ] = "2m",
) -> None:
    """Fetch a lease's results, check them, open them, and keep a copy on your IPFS node."""
    number, patience = parse_lease(lease), parse_duration(wait)
    async with open_session(call) as session:
        cid = await _published(call, session, number, patience)
        await _connect(session, number)
        key = await _key(call, identity)
        with call.out.transferring(f"Fetching the results of lease {format_lease(number)}") as progress:
            fetched = await fetch_results(
                cid, key, folder, session.ipfs, progress, lease=format_lease(number)
            )
        session.home.fetched_results(session.deployment).note(number, cid)
        try:
            await session.ipfs.pin(cid)
        except DatasetError as error:
            call.out.warn(f"The results are in {folder}, and could not be pinned on your node: {error}")
        outputs = fetched.manifest.outputs
        call.out.answer(
            {
                "cid": cid,
                "folder": str(folder),
                "outputs": [
                    {
                        "path": each.path,
                        "size": each.size,
                        "missing": each.missing,
                        "skipped": each.skipped,
                    }
                    for each in outputs
                ],
            }
        )
        call.out.table(
            ("output", ">size", ""),
            [(each.path, format_size(each.size), _note(each.missing, each.skipped)) for each in outputs],
            empty="The workload declared no outputs.",
        )
        call.out.say(f"Fetched {cid} into {folder}.")


async def _published(call: Invocation, session: PoolClient, number: int, patience: int) -> str:
    """The CID on chain, waited for while the agent packs. Says so if the lease is another's since."""
    await session.lease(number)
    shown, account = format_lease(number), session.account
    index = await session.index()
    history = await index.lease_history(number)
    try:
        with call.out.working(f"Waiting for the results of lease {shown}"):
            async with asyncio.timeout(max(patience, 0.001)):
                while (found := meant(account, history)) is None:
                    await asyncio.sleep(LOOK_EVERY)
                    await session.index(again=True)
                    history = await index.lease_history(number)
    except TimeoutError:
        raise NoResultsYet(
            f"Lease {shown} has published no results within {format_duration(patience)}: they come when the "
            "job is "
            f"done or the lease closed; see `leasehold show {shown}`, or wait longer with --wait."
        ) from None
    if gave_away(account, history):
        whose = (
            "the last that were published for you"
            if found.author == account
            else f"published for {found.author}"
        )
        call.out.warn(
            f"Lease {shown} is {history[-1].lease.tenant}'s since it was transferred: these results are {whose}."
        )
    return cid_from_bytes(found.result)


def gave_away(account: str, history: Sequence[LeaseRecord]) -> bool:
    """Whether the account was the lease's tenant and is not any more."""
    tenants = [each.lease.tenant for each in history]
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
    return next((each for each in reversed(published) if each.author == account), published[-1])


def dialled(contact: Contact) -> tuple[str, ...]:
    """Where our node may look for the machine's: addresses of that peer alone, and no more than a few.

    The document is a stranger's. What it names otherwise (another peer, a relay, a path of the computer) is left alone.
    """
    peer = contact.peer_id
    if peer is None or not re.fullmatch(r"[A-Za-z0-9]{20,100}", peer):
        return ()
    plain = (each.removesuffix(f"/p2p/{peer}") for each in contact.ipfs)
    return tuple(f"{each}/p2p/{peer}" for each in plain if _ADDRESS.fullmatch(each))[:MOST_ADDRESSES]


async def _connect(session: PoolClient, number: int) -> None:
    """Bring our node next to the machine's, which surely has the data. Others may have it as well."""
    try:
        _, contact = await session.reach(number)
        for address in dialled(contact):
            try:
                await session.ipfs.swarm_connect(address)
                return
            except DatasetError:
                continue
    except MarketError:
        return


async def _key(call: Invocation, identity: Path | None) -> str | None:
    if identity is not None:
        try:
            lines = (await asyncio.to_thread(identity.read_text)).splitlines()
        except OSError as error:
            raise WalletError(
                f"{identity}: {error.strerror}; name another age key with --identity."
            ) from error
        return next((line.strip() for line in lines if line.startswith("AGE-SECRET-KEY-")), None)
    name = call.chosen().name
    if call.age_keys.recipient(name) is None:
        return None
    return await call.age_keys.identity(name, call.password(name))


def _note(missing: bool, skipped: int) -> str:
    if missing:
        return "the workload never made it"
    return f"{skipped} entries could not travel" if skipped else ""

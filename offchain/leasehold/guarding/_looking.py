"""A look at everything: the chain, the machines' agents, the runs noted here, and what other machines ask.

Agents are asked a few at a time and each for seconds only; one that is silent, or says what nobody can read, holds
nothing up. Since when one is silent is measured by this process's own clock, which no setting of the time moves.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from leasehold.chain import Lease, LeaseRecord, LeaseState, MachineRecord, free_nonce
from leasehold.client import SettleFaults, forget_standbys, restorable, tag_of
from leasehold.errors import ChainError, LeaseholdError
from leasehold.guarding._settings import GuardSettings, KeepSettings
from leasehold.guarding._sights import JobSight, LeaseSight, OwnSight, PastSight, Snapshot
from leasehold.home import Kind, NotedSilence, Remembered, Tag
from leasehold.market import Listing
from leasehold.market.wire import LeaseReading, LeaseStatus
from leasehold.runs import Memory, rules_of, worked_lately

if TYPE_CHECKING:
    from leasehold.client import PoolClient

ASKING_SECONDS = 10.0
AT_ONCE = 8
SEARCH_EVERY = 900.0
"""Seconds between looks at what other machines ask, and at what can be settled."""
SILENT_LOOKS = 3
"""Looks in a row that find an agent silent before it is called so, however long they are apart."""
USUAL_INTERVAL = 600
"""Seconds between checkpoints where a workload does not say."""
_LOOP_SECONDS, _LOOP_STARTS = 900, 3
_EVER = 2**63


@dataclass
class Recollection:
    """What one process remembers between looks, and the next finds out anew. Clocks are monotonic seconds.

    silent: since when an agent is, and in how many looks. cheaper: by lease. runs: what is remembered of each. turns:
    held by whoever sends something for the wallet. unkept: checkpoints that could not be had, and until when they are
    left.
    """

    silent: dict[int, tuple[float, int]] = field(default_factory=dict)
    cheaper: dict[int, tuple[int, int]] = field(default_factory=dict)
    searched: float = float("-inf")
    settled: float = float("-inf")
    settleable: bool = False
    runs: dict[str, Memory] = field(default_factory=dict)
    turns: asyncio.Lock = field(default_factory=asyncio.Lock)
    unkept: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Heard:
    """What an agent says of one lease."""

    status: LeaseStatus
    readings: tuple[LeaseReading, ...] = ()


async def look(
    client: PoolClient, settings: GuardSettings, remembered: Remembered, recollection: Recollection
) -> Snapshot:
    """Everything as it stands now. Raises ChainError: the chain cannot be read; nothing is known then."""
    own = await _own(client)
    index, now = await client.index(again=True), await client.now()
    records = await index.leases(tenant=client.account)
    live = [record for record in records if record.lease.state.live]
    machines = {record.machine.id: record for record in await index.machines()}
    words = await _ask(client, live, machines)
    _hear(recollection, live, words, remembered.silent, now, settings.silent_after // 2)
    forget_standbys(client, records)
    if settings.cheaper_by:
        await _search(client, settings, live, machines, recollection)
    if settings.settle:
        await _settle(client, recollection)
    tags = client.home.names(client.deployment).all(Kind.LEASE)
    handed, jobs = client.home.lease_names.all(), _jobs(client)
    job_of = {lease: name for name, (_, leases) in jobs.items() for lease in leases}
    before = {record.backup_lease: record for record in records if record.backup_lease}
    sights = []
    for record in live:
        tag, word = tag_of(record, tags, handed), words.get(record.lease.id)
        sights.append(
            await _sight(
                client,
                record,
                before.get(record.lease.id),
                tag,
                word,
                now,
                settings,
                recollection,
                job_of.get(record.lease.id),
            )
        )
    past = tuple(
        _past(record, tag_of(record, tags, handed)) for record in records if _is_news(record, remembered)
    )
    known = tuple(job for job, _ in jobs.values())
    return Snapshot(now, own, tuple(sights), past, known, recollection.settleable)


def restarts(readings: Sequence[LeaseReading], now: int) -> int:
    """How often a container has been started anew of late: what it has used of processors begins at nought then."""
    lately = [
        reading
        for reading in readings
        if reading.at > now - _LOOP_SECONDS and reading.cpu_seconds is not None
    ]
    return sum((later.cpu_seconds or 0) < (earlier.cpu_seconds or 0) for earlier, later in pairwise(lately))


async def spendable(client: PoolClient) -> int:
    """Token units that may go into escrow without anybody: as a delegate, within the cap."""
    funds = await client.renter().funds()
    own = funds.ledger + min(funds.wallet, funds.allowance)
    if client.other is None or client.signer is None:
        return own
    leave = await client.accounts.delegation_of(client.account, client.pool.address, client.signer.address)
    now = await client.now()
    if now > leave.expiry:
        return 0
    fresh = bool(leave.period) and now >= leave.since + leave.period
    return min(own, leave.cap - (0 if fresh else leave.spent))


# ------------------------------------------------------------------------------------------------------ the parts


async def _own(client: PoolClient) -> OwnSight:
    if client.signer is None:
        return OwnSight(_EVER, left=await spendable(client))
    wallet = client.signer.address
    waiting = await free_nonce(client.rpc, wallet) is None
    expiry = 0
    if client.other is not None:
        expiry = (await client.accounts.delegation_of(client.account, client.pool.address, wallet)).expiry
    return OwnSight(await client.rpc.balance(wallet), waiting, await spendable(client), expiry)


def _jobs(client: PoolClient) -> dict[str, tuple[JobSight, set[int]]]:
    """The runs that are to be recovered and have something left to do, with the leases of each."""
    runs, jobs = client.home.runs(client.deployment), client.home.jobs(client.deployment)
    known: dict[str, tuple[JobSight, set[int]]] = {}
    for name in runs.names():
        try:
            record, kept = runs.get(name), jobs.get(name)
        except LeaseholdError:
            known[name] = JobSight(name), set()  # what is damaged is told when it is gone on with
            continue
        if record is None or record.account != client.account or (record.ended and not record.owed):
            continue
        if kept is not None and rules_of(record).recover:
            leases = {tried.lease for tried in record.tries if tried.lease is not None}
            known[name] = JobSight(name, _interval(kept)), leases
    return known


def _interval(kept: Mapping[str, Any]) -> int:
    """How often a run's workload makes a checkpoint, as its note has it; 0: never, or nobody can read that."""
    workload = kept.get("workload")
    checkpoint = workload.get("checkpoint") if isinstance(workload, dict) else None
    interval = checkpoint.get("interval", USUAL_INTERVAL) if isinstance(checkpoint, dict) else 0
    return interval if isinstance(interval, int) and interval > 0 else 0


async def _ask(
    client: PoolClient, records: Iterable[LeaseRecord], machines: dict[int, MachineRecord]
) -> dict[int, Heard]:
    """What the agents say, by lease."""
    words: dict[int, Heard] = {}
    gate = asyncio.Semaphore(AT_ONCE)

    async def ask(record: LeaseRecord) -> None:
        lease = record.lease.id
        try:
            async with gate, asyncio.timeout(ASKING_SECONDS), client.agent_of(lease) as agent:
                status = await agent.status(lease)
                words[lease] = Heard(status)
                words[lease] = Heard(status, tuple((await agent.metrics(lease)).readings))
        except (LeaseholdError, TimeoutError, OSError):
            return

    running = [record for record in records if record.lease.state is LeaseState.ACTIVE]
    first, rest = running[:1], running[1:]
    for record in first:  # alone: the wallet signs one session
        await ask(record)
    await asyncio.gather(*map(ask, rest))
    return words


def _hear(
    recollection: Recollection,
    records: Iterable[LeaseRecord],
    words: dict[int, Heard],
    noted: Mapping[int, NotedSilence],
    now: int,
    most: int,
) -> None:
    """Remember since when agents are silent. noted: what the guard before this one knew of it, who looked last at a
    time of which no more than `most` seconds are counted: nobody knows how it was in between.
    """
    clock, silent = time.monotonic(), dict[int, tuple[float, int]]()
    for record in records:
        lease = record.lease.id
        if record.lease.state is LeaseState.ACTIVE and lease not in words:
            since, looks = clock, 0
            if (before := noted.get(lease)) is not None:
                since, looks = clock - before.seconds - min(max(0, now - before.at), most), before.looks
            since, looks = recollection.silent.get(lease, (since, looks))
            silent[lease] = since, looks + 1
    recollection.silent = silent


def silences(recollection: Recollection, now: int) -> dict[int, NotedSilence]:
    """What the guard after this one is to know of who is silent. now: by the chain."""
    clock = time.monotonic()
    return {
        lease: NotedSilence(int(clock - since), looks, now)
        for lease, (since, looks) in recollection.silent.items()
    }


async def _sight(
    client: PoolClient,
    record: LeaseRecord,
    before: LeaseRecord | None,
    tag: Tag,
    word: Heard | None,
    now: int,
    settings: GuardSettings,
    recollection: Recollection,
    job: str | None,
) -> LeaseSight:
    lease = await client.known_lease(record.lease.id)
    machine = await client.pool.machine_of(lease.machine)
    since, looks = recollection.silent.get(lease.id, (0.0, 0))
    silent = int(time.monotonic() - since) if looks >= SILENT_LOOKS else 0
    readings = word.readings if word is not None else ()
    idle = None
    if word is not None and settings.idle_after:
        idle = not worked_lately(readings, now, settings.idle_after)
    return LeaseSight(
        lease,
        tag.name or "",
        answers=word is not None,
        silent=silent,
        down=machine.down_since,
        exit_code=word.status.exit_code if word is not None else None,
        looping=restarts(readings, now) >= _LOOP_STARTS,
        idle=idle,
        job=job,
        labels=frozenset(f"{name}={value}" for name, value in tag.labels.items()),
        cheaper=recollection.cheaper.get(lease.id),
        answer_by=await _answer_by(client, lease.machine),
        window=(await client.params(lease.params)).start_window,
        checkpoint=_unkept(client, lease.id, word, recollection),
        begins=before is not None and restorable(client, record, before, now) is not None,
        kept=_kept(client, lease),
    )


def _unkept(client: PoolClient, lease: int, word: Heard | None, recollection: Recollection) -> str:
    """The checkpoint that its agent names, unless it is here, or could not be had a moment ago."""
    cid = "" if word is None else word.status.checkpoint or ""
    if not cid or client.home.checkpoints(client.deployment).get(lease) == cid:
        return ""
    return "" if time.monotonic() < recollection.unkept.get(cid, 0.0) else cid


def _kept(client: PoolClient, lease: Lease) -> KeepSettings | None:
    kept = client.home.kept_leases(client.deployment).get(lease.id, lease.machine)
    if kept is None:
        return None
    return KeepSettings(by=kept.by, at_most=kept.at_most, budget=client.money.exact(kept.budget))


async def _answer_by(client: PoolClient, machine: int) -> int:
    challenge = await (await client.pool.faults()).challenge_of(machine)
    return await client.pool.answer_until(machine, challenge.at) if challenge.at else 0


def _is_news(record: LeaseRecord, remembered: Remembered) -> bool:
    """Whether a lease is over since the last look. The first look of all knows of none."""
    if record.lease.state.live or not remembered.looked:
        return False
    return record.lease.id in remembered.watched or record.opened_at > remembered.looked


def _past(record: LeaseRecord, tag: Tag) -> PastSight:
    return PastSight(record.lease, tag.name or "", record.reason, record.lease.noticed)


async def _search(
    client: PoolClient,
    settings: GuardSettings,
    records: Sequence[LeaseRecord],
    machines: dict[int, MachineRecord],
    recollection: Recollection,
) -> None:
    """What machines with the same cards ask now. A search that fails says nothing, and is no trouble."""
    clock = time.monotonic()
    if clock - recollection.searched < SEARCH_EVERY or not records:
        return
    recollection.searched = clock
    try:
        async with asyncio.timeout(6 * ASKING_SECONDS):
            listings = await client.machines().listings(list(machines.values()))
    except (LeaseholdError, TimeoutError):
        return
    recollection.cheaper = {
        record.lease.id: best
        for record in records
        if (best := cheaper_than(record, listings, settings.cheaper_by)) is not None
    }


def cheaper_than(record: LeaseRecord, listings: Sequence[Listing], percent: int) -> tuple[int, int] | None:
    """The machine with the lease's cards and room for its share that asks least, and its price in token units per
    GPU-hour; `None` where none is cheaper by so many percent. A spot lease is compared with spot prices.
    """
    lease = record.lease
    own = next((listing for listing in listings if listing.id == lease.machine), None)
    if own is None or own.model is None:
        return None
    offers = []
    for listing in listings:
        machine = listing.machine
        price = machine.terms.spot_price if lease.spot else machine.terms.price
        free = machine.gpus * 8 - machine.busy.bit_count()
        same = (listing.model, listing.gpu_memory) == (own.model, own.gpu_memory)
        if listing.id != own.id and same and price and free >= lease.cells and machine.open_for_leases:
            offers.append((price, listing.id))
    if not offers:
        return None
    price, machine_id = min(offers)
    return (machine_id, price) if price * 100 <= lease.price * (100 - percent) else None


async def _settle(client: PoolClient, recollection: Recollection) -> None:
    """Whether something can be settled of faults of the account's machines."""
    clock = time.monotonic()
    if clock - recollection.settled < SEARCH_EVERY:
        return
    recollection.settled = clock
    try:
        recollection.settleable = bool((await SettleFaults().plan(client)).first)
    except ChainError:
        raise
    except LeaseholdError:
        recollection.settleable = False

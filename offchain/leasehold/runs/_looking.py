"""How a run stands: what is noted of it, what the chain has of its leases, and what their agents say."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from leasehold.chain import Lease, LeaseRecord, LeaseState, closing_key
from leasehold.client import agents_word, under_way
from leasehold.errors import LeaseholdError, UnknownLease
from leasehold.home import RunRecord, Try
from leasehold.market.wire import LeaseReading, LeaseStatus
from leasehold.runs._deciding import CloseWhen, RunLook, RunRules, TryLook, Word
from leasehold.workload import Checkpoint

if TYPE_CHECKING:
    from leasehold.client import PoolClient

ASKING_SECONDS = 10.0
"""For an agent's word at each look: a silent one holds nothing up."""
_BUSY_CORES, _BUSY_CARD = 0.05, 5.0


@dataclass
class Memory:
    """What one process remembers of a run, and the next finds out anew. By lease; clocks are monotonic seconds.

    handed: whose code is in. seen: since when it waits for the start. ordered: whose order was tried. extends: whether
    more time can be had. others: whether more machines can be tried. code: there is a folder of code.
    unkept: checkpoints that were not to be had, and until when they are left. keeps: this process fetches them; else
    somebody beside it does. checkpoint: what the workload says of them, with the key.
    """

    handed: set[int] = field(default_factory=set)
    ordered: set[int] = field(default_factory=set)
    seen: dict[int, float] = field(default_factory=dict)
    silent: dict[int, float] = field(default_factory=dict)
    ended: dict[int, float] = field(default_factory=dict)
    extends: bool = True
    others: bool = True
    code: bool = False
    unkept: dict[str, float] = field(default_factory=dict)
    keeps: bool = True
    checkpoint: Checkpoint | None = None


async def look_at_run(
    client: PoolClient, record: RunRecord, rules: RunRules, memory: Memory, word: Word
) -> RunLook:
    """The run as it stands now. Raises ChainError."""
    sending = await _unsure(client, record)
    seen = [await _seen(client, record, tried, rules, memory) for tried in record.tries]
    now = await client.now()
    return RunLook(record, rules, tuple(seen), now, sending, word, memory.others, memory.extends)


def worked_lately(readings: Iterable[LeaseReading], now: int, span: int) -> bool:
    """Whether a lease has used a processor or a card within the last `span` seconds, or nobody knows."""
    since = now - span
    before = [reading for reading in readings if reading.at <= since]
    known = [*before[-1:], *(reading for reading in readings if reading.at > since)]
    if not before or known[-1].at < now - max(180, span // 4) or len(known) < 2:
        return True
    for earlier, later in pairwise(known):
        if earlier.cpu_seconds is None or later.cpu_seconds is None:
            return True
        if later.cpu_seconds - earlier.cpu_seconds > _BUSY_CORES * (later.at - earlier.at):
            return True
        if later.cpu_seconds < earlier.cpu_seconds or (later.card_busy or 0.0) > _BUSY_CARD:
            return True
    return False


async def _unsure(client: PoolClient, record: RunRecord) -> bool:
    """Whether an opening that is noted may yet come to be: asked before the chain is read for it, so that what is mined
    meanwhile is found.
    """
    if all(tried.lease is not None or tried.over for tried in record.tries):
        return False
    return await under_way(client)


async def _seen(
    client: PoolClient, record: RunRecord, tried: Try, rules: RunRules, memory: Memory
) -> TryLook:
    if tried.lease is None and tried.workload:
        opened = await _opened(client, record, tried)
        return TryLook(lease=opened.lease if opened is not None else None)
    if tried.over or tried.lease is None:
        return TryLook()
    lease = await _noted(client, tried.lease)
    ours = lease is not None and lease.tenant.lower() == record.account.lower()
    if lease is None or not ours or lease.machine != tried.machine:
        again = await _opened(client, record, tried)
        if lease is None or (again is not None and again.lease.id != tried.lease):
            return TryLook(again.lease if again is not None else None, lost=True)
    window = (await client.params(lease.params)).start_window
    seen = TryLook(lease, ours, window)
    if not ours or not lease.state.live:
        return await _past(client, tried, seen)
    if lease.state is LeaseState.OPENED:
        ordered = lease.id in memory.ordered or _kept(client, lease.id)
        waited = time.monotonic() - memory.seen.setdefault(lease.id, time.monotonic())
        handed = not memory.code or lease.id in memory.handed
        return replace(seen, handed=handed, ordered=ordered, waited=int(waited))
    return await _present(client, tried, seen, rules, memory)


async def _noted(client: PoolClient, number: int) -> Lease | None:
    """The lease that was noted; `None` where a reorganisation has taken it back."""
    try:
        return await client.known_lease(number)
    except UnknownLease:
        return None


async def _opened(client: PoolClient, record: RunRecord, tried: Try) -> LeaseRecord | None:
    """The lease that was opened with what was sealed for the try."""
    index = await client.index(again=True)
    leases = await index.leases(tenant=record.account)
    return next((known for known in leases if known.workload.hex() == tried.workload), None)


async def _past(client: PoolClient, tried: Try, seen: TryLook) -> TryLook:
    """Of a lease that is over, or somebody else's: what it cost, and whether its job was done."""
    assert seen.lease is not None
    number = seen.lease.id
    record = await (await client.index(again=True)).lease(number)
    cost, reason = (record.paid + record.fee, record.reason) if record is not None else (0, "")
    seen = replace(seen, cost=cost, reason=reason)
    if not seen.ours or tried.done or seen.state is not LeaseState.ENDED:
        return seen
    status = await _word(client, seen)
    order = client.home.closing_orders(client.deployment).get(number)
    used = False
    if order is not None:
        key = closing_key(client.deployment.controller, number)
        used = await client.accounts.nonce_of(client.account, key) > order[0].nonce
    return replace(seen, exit_code=status.exit_code if status is not None else None, order_used=used)


async def _present(client: PoolClient, tried: Try, seen: TryLook, rules: RunRules, memory: Memory) -> TryLook:
    """Of a lease that runs: what its agent says, and since when it says nothing."""
    lease, clock = seen.lease, time.monotonic()
    assert lease is not None
    status = await _word(client, seen)
    down = (await client.pool.machine_of(lease.machine)).down_since
    if status is not None and not down:
        memory.silent.pop(lease.id, None)
    else:
        memory.silent.setdefault(lease.id, clock)
    code = status.exit_code if status is not None else None
    if code is not None or tried.done:
        memory.ended.setdefault(lease.id, clock)
    idle = rules.close_when is CloseWhen.IDLE and status is not None and await _idle(client, seen, rules)
    given = status is None or status.closes_when_done
    return replace(
        seen,
        exit_code=code,
        ordered=lease.id in memory.ordered or (_kept(client, lease.id) and given),
        published=status is None or not status.outputs or status.result_cid is not None,
        unusable=int(clock - memory.silent.get(lease.id, clock)),
        ended_for=int(clock - memory.ended.get(lease.id, clock)),
        idle=idle,
        checkpoint=_to_keep(client, lease.id, status, memory, clock),
    )


def _to_keep(client: PoolClient, lease: int, status: LeaseStatus | None, memory: Memory, clock: float) -> str:
    """The newest checkpoint, unless it could not be had a moment ago; where others fetch them, the newest that they
    have.
    """
    if not memory.keeps:
        return client.home.checkpoints(client.deployment).get(lease) or ""
    cid = "" if status is None else status.checkpoint or ""
    return "" if clock < memory.unkept.get(cid, clock) else cid


def _kept(client: PoolClient, lease: int) -> bool:
    return client.home.closing_orders(client.deployment).get(lease) is not None


async def _word(client: PoolClient, seen: TryLook) -> LeaseStatus | None:
    assert seen.lease is not None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(ASKING_SECONDS):
            return (await agents_word(client, seen.lease))[0]
    return None


async def _idle(client: PoolClient, seen: TryLook, rules: RunRules) -> bool:
    assert seen.lease is not None
    with contextlib.suppress(LeaseholdError, TimeoutError):
        async with asyncio.timeout(ASKING_SECONDS), client.agent_of(seen.lease.id) as agent:
            readings = (await agent.metrics(seen.lease.id)).readings
            return not worked_lately(readings, await client.now(), rules.idle)
    return False

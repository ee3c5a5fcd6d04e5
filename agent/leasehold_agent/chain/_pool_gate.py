"""`ChainGate` over the SDK: the index for what should run, the node itself before anything that cannot be undone."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from dataclasses import replace

import structlog

from leasehold.chain import (
    AccountsContract,
    Applied,
    Block,
    ClosingOrder,
    Deployment,
    EventWatcher,
    FaultKind,
    FaultState,
    IndexBroken,
    Indexer,
    Lease,
    LeaseRecord,
    LeaseState,
    Machine,
    Params,
    Pool,
    RolledBack,
    Rpc,
    decided_at,
)
from leasehold.chain.typed import Domain
from leasehold.errors import (
    ChainError,
    InvalidSigners,
    InvalidThreshold,
    NothingToApply,
    ProofError,
    TypedDataError,
    UnknownLease,
)
from leasehold.market import Money, TenantRecord, applicable, tenant_record
from leasehold_agent._errors import ClosingTooDear, DeclineReason, GasKept, OrderVoid
from leasehold_agent.chain._desired import BEHIND, ChainSnapshot, Desired, RunningOutage, StandingChallenge
from leasehold_agent.chain._gas import ALARM_BELOW, GAS_PER_LEASE, GasState, closing_gas
from leasehold_agent.chain._standbys import standby_digests
from leasehold_agent.chain._withholding import Withholdings, send_withheld
from leasehold_agent.chain._witnesses import Witnesses
from leasehold_agent.host import DISK_TROUBLE

_log = structlog.get_logger("leasehold_agent")
_RETRY_SECONDS = 2.0
_AHEAD_SECONDS = 15  # more than a block may be ahead of the clocks of those who take it
_MOST_OUTAGES = 4  # that are taken off a bill for its tenant: each is a transaction
_FAILURES = 5  # of no known kind and without a commit between, after which an index is built anew


class PoolGate:
    """One pool, as the operator of some of its machines sees it.

    owner: the provider whose machines are served. One that names this key and is another's is nobody's
    business here. witnesses: who is asked, beside the node that was heard, before anything that cannot be
    undone. clock: monotonic seconds. wall: unix seconds.
    """

    def __init__(
        self,
        rpc: Rpc,
        pool: Pool,
        index: Indexer,
        operator: str,
        owner: str,
        *,
        witnesses: Witnesses | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._rpc = rpc
        self._pool = pool
        self._index = index
        self._operator = operator
        self._owner = owner.lower()
        self._strangers: frozenset[int] = frozenset()
        self._witnesses = witnesses
        self._clock = clock
        self._versions: dict[int, Params] = {}
        self._last = ChainSnapshot(current=False)
        self._read: tuple[Block, str, frozenset[int]] | None = None  # what `_last` was read for
        self._seen_at = 0.0
        self._seen_time = 0
        self._wall, self._ahead = wall, 0
        self._problem: str | None = None
        self._under_way = 0

    async def snapshot(self, known: Collection[int]) -> ChainSnapshot:
        """What the index says, at the chain's time. While no node answers, the last of it, the time going on."""
        try:
            indexed = await self._index.head()
            if indexed is None:
                return self._as_of_before()
            # The second shows that the first is of the branch that was indexed: another chain's time is not ours.
            head, same = await self._rpc.headers(["latest", indexed.number])
            if head is None or (same is not None and same.hash != indexed.hash):
                return self._as_of_before()
            read = (indexed, head.hash, frozenset(known))
            if read == self._read:  # nothing can be otherwise but the time
                self._tell_problem(None)
                self._last = replace(self._last, now=self._now())
                return self._last
            records = await self._index.machines()
            named = {r.machine.id: r.machine for r in records if r.machine.operator == self._operator}
            machines = {number: machine for number, machine in named.items() if self._owned(machine)}
            self._tell_strangers(named.keys() - machines.keys())
            hardware = {
                record.machine.id: record.hardware for record in records if record.machine.id in machines
            }
            leases = await self._leases(machines, known, hardware)
            asked, outages = await self._asked(machines), await self._outages(machines.values())
            self._read = read if await self._index.head() == indexed else None
        except (ChainError, *DISK_TROUBLE) as error:
            self._tell_problem(str(error))
            return self._as_of_before()
        self._tell_problem(None)
        if head.timestamp > self._seen_time:
            self._tell_ahead(head.timestamp)
            self._seen_at, self._seen_time = self._clock(), head.timestamp
        self._last = ChainSnapshot(
            current=abs(head.number - indexed.number) <= BEHIND,
            block=head.number,
            block_hash=head.hash,
            now=self._now(),
            machines=machines,
            leases=leases,
            asked=asked,
            outages=outages,
            strangers=tuple(sorted(self._strangers)),
            hardware=hardware,
        )
        return self._last

    def _owned(self, machine: Machine) -> bool:
        return machine.provider.lower() == self._owner

    def _tell_strangers(self, strangers: Set[int]) -> None:
        for number in sorted(strangers - self._strangers):
            _log.warning(
                "stranger", machine=number, problem="its provider is not this host's owner: not served"
            )
        self._strangers = frozenset(strangers)

    def _tell_problem(self, problem: str | None) -> None:
        """That nothing is known of the chain, and that something is again; each once."""
        if (problem is None) != (self._problem is None):
            (_log.warning if problem else _log.info)("chain", problem=problem)
        self._problem = problem

    def _tell_ahead(self, timestamp: int) -> None:
        """No block is of the future: this host's clock is behind, by which what tenants sign is judged."""
        ahead = max(0, timestamp - int(self._wall()))
        if abs(ahead - self._ahead) >= _AHEAD_SECONDS:
            _log.warning(
                "clock", ahead=ahead, problem="The newest block is ahead of this host's clock." * (ahead > 0)
            )
            self._ahead = ahead

    async def is_live(self, lease: int) -> bool:
        since = self._seen_time  # of the newest block, which may be long ago on a chain that rests
        if self._witnesses is None or not self._witnesses.enough:
            with contextlib.suppress(UnknownLease):
                current = await self._pool.lease_of(lease)
                window_ends = await self._window_end(current)
                head = await self._rpc.header("latest")
                return _record(current, window_ends).live_at(max(self._now(), head.timestamp if head else 0))
            return False
        passed = self._now() - since
        return not await self._witnesses.agree(
            lease, lambda look: not _record(look.lease, look.window_ends).live_at(look.now + passed), since
        )

    async def is_tenant(self, lease: int, tenant: str) -> bool:
        if self._witnesses is None or not self._witnesses.enough:
            with contextlib.suppress(UnknownLease):
                return (await self._pool.lease_of(lease)).tenant == tenant
            return False
        return await self._witnesses.agree(lease, lambda look: look.lease.tenant == tenant, self._seen_time)

    async def has_workload(self, lease: int, workload: bytes) -> bool:
        since = await self._index.workload_since(lease)
        if self._witnesses is None or not self._witnesses.enough:
            return since is not None and await self._pool.workload_of(lease, since) == workload
        return since is not None and await self._witnesses.agree_on_workload(
            lease, workload, since, self._seen_time
        )

    async def start(self, lease: Desired, endpoint: bytes) -> None:
        if await self._waits(lease):
            async with self._sparing():
                with decided_at(lease.seen):
                    await self._pool.start(lease.lease, endpoint)

    async def decline(self, lease: Desired, reason: DeclineReason) -> None:
        if await self._waits(lease):
            async with self._sparing():
                with decided_at(lease.seen):
                    await self._pool.decline(lease.lease, reason)

    async def publish(self, lease: Desired, cid: bytes) -> int:
        current = await self._lease(lease.lease)
        if current is None or current.state not in (LeaseState.ACTIVE, LeaseState.ENDED):
            return 0
        async with self._sparing():
            with decided_at(lease.seen):
                return (await self._pool.publish_result(lease.lease, cid)).block_number

    async def stands(self, order: ClosingOrder) -> bool:
        with contextlib.suppress(UnknownLease):
            lease = await self._pool.lease_of(order.lease)
            return lease.state.live and await self._is_good(order, lease)
        return False

    async def close(self, order: ClosingOrder, most: int, seen: Block | None = None) -> bool:
        lease = await self._pool.lease_of(order.lease)
        if lease.state is not LeaseState.ACTIVE:
            return True  # the index will tell
        if await self._is_past(order, lease):
            return False
        if not await self._is_good(order, lease):  # a node that is behind, or a contract that says no for now
            raise OrderVoid("The order does not pass now.")
        gas, burns = await self.gas(), closing_gas(order.proof)
        if gas.spare < (self._under_way + burns + ALARM_BELOW * GAS_PER_LEASE) * gas.gas_price:
            raise GasKept("What gas the operator has left is for leases that begin, and for signs of life.")
        if burns * gas.gas_price > most:
            raise ClosingTooDear(f"Closing the lease may cost more than {most} wei (`close_cost`): it waits.")
        with self._counted(burns):
            await self._take_off(lease)
            with decided_at(seen):
                await self._pool.acting.execute(
                    order.account, order.calls, order.nonce, order.deadline, order.proof
                )
        return True

    async def _is_past(self, order: ClosingOrder, lease: Lease) -> bool:
        """Whether it will never pass again: it is late, used, taken back, or of another lease or tenant."""
        if not order.in_its_row:
            return True
        spent = await self._pool.acting.nonce_of(order.account, order.nonce >> 64) > order.nonce
        return spent or lease.tenant != order.account or order.deadline < self._now()

    async def _is_good(self, order: ClosingOrder, lease: Lease) -> bool:
        """Whether its tenant has signed it, and it is neither used nor taken back nor past its time."""
        accounts = self._pool.acting
        if lease.tenant != order.account or not order.in_its_row or order.deadline < self._now():
            return False
        domain = Domain(self._pool.deployment.chain_id, accounts.address)
        try:
            await order.verify(domain, accounts.is_authorized)
            closing_gas(order.proof)
        except (ProofError, TypedDataError, InvalidSigners, InvalidThreshold):
            return False
        return await accounts.nonce_of(order.account, order.nonce >> 64) == order.nonce

    async def _take_off(self, lease: Lease) -> None:
        """The outages that have ended: what is paid at the end is paid. One that still runs stops the bill itself."""
        faults, touching = await self._pool.faults(), list[int]()
        for record in await self._index.faults(machine=lease.machine):
            losses = await self._index.losses(fault=record.fault, lease=lease.id)
            if applicable(record, [lease], [loss.lease for loss in losses]):
                touching.append(record.fault)
        for fault in touching[:_MOST_OUTAGES]:
            with contextlib.suppress(NothingToApply):
                await faults.apply_outage(fault, [lease.id])

    async def recover(self, machine: int) -> None:
        if (await self._pool.machine_of(machine)).stalled:
            async with self._sparing():
                await self._pool.recover(machine)

    async def withhold(self, kept: Withholdings, machine: int, confirmations: int) -> None:
        """Have the chain withhold what is kept, and nothing where it does. Raises ChainError, GasKept, OSError."""
        await send_withheld(self._pool, kept, machine, self._last.block, confirmations, spare=self._spare)

    async def answer(self, asked: StandingChallenge) -> None:
        faults = await self._pool.faults()
        if (await faults.challenge_of(asked.machine)).id == asked.challenge:
            await faults.answer(asked.machine)

    async def end_outage(self, outage: RunningOutage) -> None:
        faults = await self._pool.faults()
        if await faults.running_fault(outage.machine) == outage.fault:
            await faults.recover(outage.machine)

    async def record_of(self, tenant: str) -> TenantRecord:
        own = {record.machine.id for record in await self._index.machines(provider=tenant)}
        leases, money = await self._index.leases(tenant=tenant), Money.of(self._pool.deployment)
        return tenant_record(tenant, leases, own, int(self._wall()), money)

    async def standbys(self, digests: Collection[bytes]) -> Collection[bytes]:
        try:
            machines = self._last.machines.values()
            named = {record.lease.backup for record in await self._index.leases(live=True)}
        except (ChainError, *DISK_TROUBLE):
            return digests
        if not self._last.current:
            return digests
        return [
            digest
            for digest in digests
            if any(not named.isdisjoint(standby_digests(m.id, m.revision, m.gpus, digest)) for m in machines)
        ]

    async def gas(self) -> GasState:
        """What the operator has left. Raises ChainError."""
        balance = int(await self._rpc.call("eth_getBalance", [self._operator, "latest"]), 16)
        price = int(await self._rpc.call("eth_gasPrice", []), 16)
        return GasState(self._operator, balance, price, len(self._last.machines))

    async def _spare(self) -> None:
        """Raises GasKept where what is left is kept for answers: nothing that a tenant brings about may spend that."""
        gas = await self.gas()
        if gas.spare < (self._under_way + GAS_PER_LEASE) * gas.gas_price:
            raise GasKept(gas.warning or "What gas the operator has left is spent by what is under way.")

    @contextlib.asynccontextmanager
    async def _sparing(self) -> AsyncIterator[None]:
        """Around a transaction that a tenant brings about. Raises GasKept."""
        await self._spare()
        with self._counted(GAS_PER_LEASE):
            yield

    @contextlib.contextmanager
    def _counted(self, gas: int) -> Iterator[None]:
        """Gas that is about to be spent: many who ask at once would each find the same balance."""
        self._under_way += gas
        try:
            yield
        finally:
            self._under_way -= gas

    async def _waits(self, lease: Desired) -> bool:
        """Whether it waits for its start, and is the lease that was seen: its number may be another's by now."""
        current = await self._lease(lease.lease)
        if current is None or current.state is not LeaseState.OPENED:
            return False
        return (current.tenant, current.start) == (lease.tenant, lease.start)

    async def _lease(self, lease: int) -> Lease | None:
        with contextlib.suppress(UnknownLease):
            return await self._pool.lease_of(lease)
        return None

    async def _leases(
        self, machines: Mapping[int, Machine], known: Collection[int], hardware: Mapping[int, bytes]
    ) -> dict[int, Desired]:
        records = [r for machine in machines for r in await self._index.leases(machine=machine, live=True)]
        live = {record.lease.id for record in records}
        for lease in set(known) - live:
            if (record := await self._index.lease(lease)) is not None:
                records.append(record)
        leases = {
            record.lease.id: replace(
                await self._desired(record), hardware=await self._sold(record.lease, machines, hardware)
            )
            for record in records
        }
        seen = await self._index.head()  # after they were read: they are of no later block
        return {number: replace(desired, seen=seen) for number, desired in leases.items()}

    async def _sold(
        self, lease: Lease, machines: Mapping[int, Machine], hardware: Mapping[int, bytes]
    ) -> bytes:
        """The digest of what the machine was described as when the lease was sold: it may be another by now."""
        machine = machines.get(lease.machine)
        if machine is not None and machine.revision == lease.revision:
            return hardware[lease.machine]
        return await self._index.hardware_of(lease.machine, lease.revision) or b""

    async def _asked(self, machines: Iterable[int]) -> dict[int, StandingChallenge]:
        return {
            record.machine: StandingChallenge(
                record.challenge, record.machine, await self._pool.answer_until(record.machine, record.at)
            )
            for machine in machines
            for record in await self._index.challenges(machine=machine)
            if record.open
        }

    async def _outages(self, machines: Iterable[Machine]) -> dict[int, RunningOutage]:
        return {
            record.machine: RunningOutage(
                record.fault, record.machine, record.from_, record.kind is FaultKind.SELF_REPORTED
            )
            for machine in machines
            if machine.down
            for record in await self._index.faults(machine=machine.id)
            if record.state is FaultState.RUNNING
        }

    async def _desired(self, record: LeaseRecord) -> Desired:
        lease = record.lease
        return Desired(
            lease=lease.id,
            machine=lease.machine,
            tenant=lease.tenant,
            state=lease.state,
            placement=lease.placement,
            workload=record.workload,
            start=lease.start,
            end=lease.end,
            window_ends=await self._window_end(lease),
            author=record.author,
            spot=lease.spot,
            noticed=lease.noticed,
            result=record.result or None,
        )

    async def _window_end(self, lease: Lease) -> int:
        return lease.start + (await self._params(lease.params)).start_window

    async def _params(self, version: int) -> Params:
        """A version of the parameters never changes, so it is asked for once."""
        if version not in self._versions:
            self._versions[version] = await self._pool.params(version)
        return self._versions[version]

    def _now(self) -> int:
        """The chain's time: the newest block's, and what has passed since it was seen."""
        return self._seen_time + int(self._clock() - self._seen_at) if self._seen_time else 0

    def _as_of_before(self) -> ChainSnapshot:
        self._read = None  # an index that is away may be built anew, up to the same block
        return replace(self._last, current=False, now=self._now())


def _record(lease: Lease, window_ends: int) -> Desired:
    """A lease as its own node tells it: what was set with it stands in events only."""
    return Desired(
        lease=lease.id,
        machine=lease.machine,
        tenant=lease.tenant,
        state=lease.state,
        placement=lease.placement,
        workload=b"",
        start=lease.start,
        end=lease.end,
        window_ends=window_ends,
        author=lease.tenant,
    )


async def follow(
    rpc: Rpc,
    ws: str | None,
    deployment: Deployment,
    index: Indexer,
    wake: Callable[[], None],
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Keep the index at the head for ever, and wake the loop with each commit."""
    failures = 0

    async def committed(batch: Sequence[Applied | RolledBack]) -> None:
        nonlocal failures
        failures = 0
        if undone := [item.block.number for item in batch if isinstance(item, RolledBack)]:
            _log.warning("reorganisation", block=min(undone))
        wake()

    while True:
        try:
            sources = await Pool(rpc, deployment).event_sources()
            async with EventWatcher(rpc, ws, sources, deployment.block) as watcher:
                await index.run(watcher, committed)
        except IndexBroken as error:  # a node kept something back, or made it up; the chain has it all
            await _build_anew(index, str(error))
            await sleep(_RETRY_SECONDS)
        except (ChainError, *DISK_TROUBLE) as error:
            _log.warning("index", problem=str(error))
            await sleep(_RETRY_SECONDS)
        except Exception:  # noqa: BLE001 - nothing that a node says may end the agent, and its sentinel with it
            _log.exception("index")
            failures += 1
            if failures % _FAILURES == 0:  # what it fails at may be what it holds
                await _build_anew(index, "it fails at the same block again and again")
            await sleep(_RETRY_SECONDS)


async def _build_anew(index: Indexer, problem: str) -> None:
    _log.warning("index", problem=problem, next="it is built anew")
    with contextlib.suppress(*DISK_TROUBLE):  # else the next time
        await index.clear()


def authorizer(rpc: Rpc, deployment: Deployment) -> Callable[[str, bytes, bytes], Awaitable[bool]]:
    """`isAuthorized` of the pool's `Accounts`."""
    return AccountsContract(rpc, deployment.accounts).is_authorized

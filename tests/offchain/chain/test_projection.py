"""What the companions' events make of the index: a story, told event by event, and taken back to any point."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from leasehold.chain import (
    Answered,
    Appealed,
    Applied,
    Block,
    Challenged,
    Charged,
    Committed,
    CommitteeDrawn,
    Compensated,
    DelegateSet,
    DelegateSpent,
    Deployment,
    Deposited,
    DrawMissed,
    Event,
    FailedOver,
    FaultExecuted,
    FaultFiled,
    FaultKind,
    FaultState,
    GatedSet,
    GroupDeployed,
    HardwareSet,
    IndexBroken,
    IndexConflict,
    Indexer,
    LeaseClosed,
    LeaseOpened,
    LeasePaused,
    LeaseResized,
    LeaseStarted,
    LeaseTransferred,
    LicenceIssued,
    LogMeta,
    MachineCameUp,
    MachineHeld,
    MachineRegistered,
    MachineStatus,
    MachineStatusSet,
    MachineWentDown,
    OffersCancelled,
    OfferTaken,
    OutageApplied,
    OutageAttested,
    OutageOpened,
    PendingSlashesSet,
    Rated,
    Revealed,
    RolledBack,
    RoundFinalized,
    RoundState,
    Ruled,
    SeatExited,
    SeatFined,
    SeatJoined,
    SeatLeaving,
    SeatToppedUp,
    ServiceAnnounced,
    Terms,
    TermsSet,
    Transferred,
    VerificationRequested,
    WorkloadSet,
)

from .conftest import NewDatabase
from .indexing import dump, url_of

UNIT = 10**18
FACTORY, ACCOUNTS, CONTROLLER, TOKEN, FAULTS, COMMITTEE = ("0x" + f"{n}" * 40 for n in range(1, 7))
PROVIDER, TENANT, OTHER, VALIDATOR, ARBITER, OPERATOR = ("0x" + "0" * 38 + f"{n}{n}" for n in range(1, 7))
DEPLOYMENT = Deployment(31337, "0x" + "ab" * 32, FACTORY, ACCOUNTS, CONTROLLER, TOKEN, 1, "T", 18)
LEASE, BACKUP = 1 << 16, 2 << 16
TERMS = Terms(2 * UNIT, UNIT, 60, 86_400, 300, 60_000)
GENESIS_TIME = 1_000_000
MINUTE = 60


class Story:
    """Events, each in a block of its own a minute after the one before."""

    def __init__(self) -> None:
        self.blocks: list[Applied] = []

    @property
    def now(self) -> int:
        """The time of the next block."""
        return GENESIS_TIME + MINUTE * (len(self.blocks) + 1)

    def tell(self, kind: type[Event], /, **values: Any) -> int:
        """Adds an event; returns its block's time."""
        number, time = len(self.blocks) + 1, self.now
        block = Block(number, f"0x{number:064x}", time)
        where = LogMeta(number, block.hash, f"0x{number:064x}", 0, CONTROLLER, time)
        self.blocks.append(Applied(block, (kind(where, **values),)))
        return time


def a_machine_and_a_lease(story: Story) -> None:
    story.tell(
        MachineRegistered,
        machine=1,
        provider=PROVIDER,
        operator=OPERATOR,
        gpus=2,
        smallest_share=1,
        stake=200 * UNIT,
        pulled=200 * UNIT,
    )
    story.tell(TermsSet, machine=1, revision=1, params=1, terms=TERMS)
    for account in (TENANT, OTHER, PROVIDER, VALIDATOR):
        story.tell(Deposited, account=account, from_=account, amount=1_000 * UNIT, balance=1_000 * UNIT)
    opened(story, LEASE, TENANT, 20 * UNIT, backup=b"b" * 32)
    story.tell(
        LeaseStarted, lease=LEASE, machine=1, start=story.now, end=story.now + 36_000, endpoint=bytes(32)
    )


def opened(story: Story, lease: int, tenant: str, deposit: int, backup: bytes = bytes(32)) -> int:
    return story.tell(
        LeaseOpened,
        lease=lease,
        machine=1,
        tenant=tenant,
        placement=0x01FF,
        revision=1,
        params=1,
        price=2 * UNIT,
        duration=36_000,
        deposit=deposit,
        pulled=0,
        workload=b"w" * 32,
        flags=1,
        backup=backup,
    )


def an_outage(story: Story) -> None:
    story.tell(Charged, from_=TENANT, companion=FAULTS, amount=5 * UNIT, balance=0)
    story.tell(Challenged, machine=1, challenge=1, challenger=TENANT, lease=LEASE, bond=5 * UNIT)
    story.tell(Answered, machine=1, challenge=1)
    story.tell(Challenged, machine=1, challenge=2, challenger=TENANT, lease=LEASE, bond=10 * UNIT)
    since = story.tell(
        OutageOpened,
        fault=1,
        machine=1,
        kind=FaultKind.CHALLENGED,
        from_=story.now,
        rules=1,
        reporter=bytes(32),
    )
    story.tell(MachineWentDown, machine=1, from_=since)
    story.tell(PendingSlashesSet, machine=1, count=1)
    story.tell(OutageAttested, fault=1, machine=1, from_=since - MINUTE, reporter=bytes(32))
    story.tell(MachineCameUp, machine=1, since=story.now)
    story.tell(MachineHeld, machine=1, from_=since, to=story.now, until=story.now + 10)
    filed = {"machine": 1, "kind": FaultKind.ATTESTED, "from_": since - MINUTE, "to": story.now}
    story.tell(FaultFiled, fault=1, **filed, bps=800, amount=16 * UNIT)
    story.tell(OutageApplied, fault=1, lease=LEASE, tenant=TENANT, part=6 * UNIT)
    story.tell(LeasePaused, lease=LEASE, machine=1, paused=100)
    story.tell(OutageApplied, fault=1, lease=BACKUP, tenant=OTHER, part=2 * UNIT)
    story.tell(Appealed, fault=1, machine=1, deadline=story.now + 1_000)
    story.tell(Ruled, fault=1, stands=True)
    shares = {"pot": 8 * UNIT, "reported": UNIT, "rest": 7 * UNIT, "sink": OTHER}
    story.tell(FaultExecuted, fault=1, machine=1, amount=16 * UNIT, **shares)
    story.tell(Compensated, fault=1, lease=LEASE, tenant=TENANT, amount=6 * UNIT)
    story.tell(Transferred, from_=FAULTS, to=TENANT, amount=5 * UNIT)
    false_hardware = {"machine": 1, "kind": FaultKind.FALSE_HARDWARE, "from_": 5, "to": 6, "bps": 0}
    story.tell(FaultFiled, fault=2, **false_hardware, amount=0)


def a_committee(story: Story) -> None:
    for seat in (1, 2):
        story.tell(SeatJoined, seat=seat, validator=VALIDATOR, level=500 * UNIT, stake=550 * UNIT)
    asked = {"machine": 1, "revision": 1, "requester": PROVIDER, "fee": 5 * UNIT}
    story.tell(VerificationRequested, round=1, **asked, block_=40)
    story.tell(DrawMissed, round=1, block_=80)
    story.tell(CommitteeDrawn, round=1, seats=(2, 1), commit_until=500, reveal_until=900)
    for seat in (1, 2):
        story.tell(Committed, round=1, seat=seat, commitment=bytes([seat]) * 32)
    story.tell(Revealed, round=1, seat=2, pass_=True, spec=b"s" * 32, score=900)
    story.tell(SeatFined, seat=1, amount=50 * UNIT, stake=500 * UNIT)
    verified = {"status": 2, "delisted": False, "under_staked": False, "stalled": False}
    story.tell(MachineStatusSet, machine=1, **verified)
    ended = {"state": RoundState.PASSED, "spec": b"s" * 32, "score": 900, "agreed": 1}
    story.tell(RoundFinalized, round=1, machine=1, **ended)
    story.tell(VerificationRequested, round=2, **asked, block_=140)
    story.tell(RoundFinalized, round=2, machine=1, **ended)
    story.tell(SeatToppedUp, seat=1, stake=500 * UNIT)
    story.tell(SeatLeaving, seat=2, leaves_at=7_000)
    story.tell(SeatExited, seat=2, validator=VALIDATOR, stake=500 * UNIT)


def everything_else(story: Story) -> None:
    story.tell(Rated, provider=PROVIDER, lease=LEASE, tenant=TENANT, stars=4, comment=bytes(32), fee=UNIT)
    for kind, endpoint in ((b"gateway", b"e" * 32), (b"ipfs", b"f" * 32), (b"ipfs", bytes(32))):
        kind = kind.ljust(32, b"\0")
        story.tell(ServiceAnnounced, account=OTHER, kind=kind, endpoint=endpoint, peer_id=b"peer")
    provider = b"provider".ljust(32, b"\0")
    story.tell(LicenceIssued, account=PROVIDER, kind=provider, seats=0, expires_at=9_000)
    story.tell(GatedSet, gated=True)
    granted = {"account": TENANT, "delegate": OTHER}
    story.tell(DelegateSet, **granted, pool=CONTROLLER, cap=50, period=100, expiry=10**10)
    story.tell(DelegateSet, **granted, pool=TOKEN, cap=99, period=1, expiry=1)
    story.tell(DelegateSpent, **granted, pool=CONTROLLER, amount=30, spent=30)
    story.tell(DelegateSpent, **granted, pool=CONTROLLER, amount=20, spent=20)
    story.tell(DelegateSpent, **granted, pool=TOKEN, amount=20, spent=99)
    story.tell(DelegateSet, account=TENANT, delegate=ARBITER, pool=CONTROLLER, cap=1, period=0, expiry=9)
    story.tell(DelegateSet, account=TENANT, delegate=ARBITER, pool=CONTROLLER, cap=0, period=0, expiry=0)
    story.tell(GroupDeployed, account=ARBITER, threshold=1, signers=(TENANT, OTHER), salt=b"s" * 32)
    story.tell(OfferTaken, provider=PROVIDER, nonce=1 << 8 | 3, lease=LEASE)
    story.tell(OffersCancelled, provider=PROVIDER, word=1, mask=0b1011)
    story.tell(OffersCancelled, provider=PROVIDER, word=2**200, mask=1)


def moves(story: Story) -> None:
    """The lease grows, shrinks, is transferred, and fails over."""
    grown = {"lease": LEASE, "machine": 1, "paid": 2 * UNIT, "fee": UNIT, "settled": 3 * UNIT}
    story.tell(LeaseResized, **grown, placement=0x03FF, deposit=30 * UNIT, pulled=4 * UNIT, refunded=0)
    shrunk = {**grown, "paid": 4 * UNIT, "settled": 5 * UNIT}
    story.tell(LeaseResized, **shrunk, placement=0x020F, deposit=25 * UNIT, pulled=0, refunded=5 * UNIT)
    story.tell(LeaseTransferred, lease=LEASE, from_=TENANT, to=OTHER)
    story.tell(WorkloadSet, lease=LEASE, machine=1, workload=b"x" * 32)
    closed = {"paid": 5 * UNIT, "fee": UNIT, "refunded": 19 * UNIT}
    story.tell(LeaseClosed, lease=LEASE, machine=1, end=story.now, **closed)
    opened(story, BACKUP, OTHER, 19 * UNIT)
    story.tell(FailedOver, lease=LEASE, backup=BACKUP)


def whole_story() -> Story:
    story = Story()
    for chapter in (a_machine_and_a_lease, an_outage, a_committee, everything_else, moves):
        chapter(story)
    return story


def index_at(path: Path) -> Indexer:
    return Indexer(url_of(path), DEPLOYMENT)


async def told(database: Path | str, blocks: Sequence[Applied], at_once: int = 1) -> Indexer:
    """An index of these blocks. database: a file, or a URL."""
    index = Indexer(url_of(database) if isinstance(database, Path) else database, DEPLOYMENT)
    await index.open()
    for at in range(0, len(blocks), at_once):
        await index.apply(blocks[at : at + at_once])
    return index


async def test_an_outage_from_challenge_to_compensation(new_database: NewDatabase) -> None:
    story = Story()
    a_machine_and_a_lease(story)
    an_outage(story)
    index = await told(new_database(), story.blocks)
    first, second = await index.faults(machine=1)
    assert await index.fault(1) == first
    assert (first.kind, first.state) == (FaultKind.ATTESTED, FaultState.EXECUTED)
    assert first.state.settled
    assert first.from_ == first.opened_at - MINUTE
    assert (first.bps, first.amount, first.pot, first.compensated) == (800, 16 * UNIT, 8 * UNIT, 6 * UNIT)
    assert first.pot + first.reported + first.rest == first.amount
    assert (first.rules, first.sink) == (1, OTHER)
    assert (second.kind, second.state) == (FaultKind.FALSE_HARDWARE, FaultState.FILED)
    assert await index.faults(machine=2) == []
    assert await index.fault(9) is None
    mine, others = await index.losses(fault=1)
    assert (mine.tenant, mine.part, mine.amount) == (TENANT, 6 * UNIT, 6 * UNIT)
    assert await index.losses(tenant=OTHER) == [others]
    assert await index.losses(lease=LEASE) == [mine]
    answered, proven = await index.challenges(machine=1)
    assert answered.answered_at
    assert (proven.fault, proven.answered_at, proven.ended_at > 0) == (1, 0, True)
    assert not answered.open
    assert not proven.open
    assert await index.challenges(machine=2) == []
    record = await index.machine(1)
    assert record is not None
    assert not record.machine.down
    assert (record.machine.pending_slashes, record.machine.held_until > 0) == (1, True)
    lease = await index.lease(LEASE)
    assert lease is not None
    assert lease.lease.paused == 100
    assert lease.lease.segment_start == lease.lease.start
    (charge, *_) = [e for e in (await index.ledger(FAULTS)).entries if e.kind == "charge"]
    assert (charge.amount, charge.counterparty) == (5 * UNIT, TENANT)
    assert (await index.balances())[FAULTS] == 0
    await index.aclose()


async def test_a_verification(new_database: NewDatabase) -> None:
    story = Story()
    a_machine_and_a_lease(story)
    a_committee(story)
    index = await told(new_database(), story.blocks)
    first, second = await index.rounds(machine=1)
    assert await index.round(1) == first
    assert await index.round(7) is None
    assert (first.state, first.seats, first.misses, first.block) == (RoundState.PASSED, (2, 1), 1, 80)
    assert first.state.over
    assert (first.requester, first.fee, first.score, first.agreed) == (PROVIDER, 5 * UNIT, 900, 1)
    silent, vote = await index.votes(1)
    assert not silent.revealed
    assert (vote.seat, vote.passed, vote.score, vote.spec) == (2, True, 900, b"s" * 32)
    record = await index.machine(1)
    assert record is not None
    assert record.machine.status is MachineStatus.VERIFIED
    assert record.machine.last_verified > second.requested_at, "the second time counts too"
    staying, gone = await index.seats(validator=VALIDATOR)
    assert (staying.stake, staying.exited) == (500 * UNIT, False)
    assert (gone.stake, gone.exited, gone.leaves_at) == (0, True, 7_000)
    assert await index.seats(validator=OTHER) == []
    story.tell(HardwareSet, machine=1, revision=2, digest=b"H" * 32)
    await index.apply(story.blocks[-1:])
    record = await index.machine(1)
    assert record is not None
    assert record.machine.status is MachineStatus.UNVERIFIED
    await index.aclose()


async def test_reputation_directory_delegates_offers(new_database: NewDatabase) -> None:
    story = Story()
    everything_else(story)
    index = await told(new_database(), story.blocks)
    (rating,) = await index.ratings(provider=PROVIDER)
    assert (rating.lease, rating.stars, rating.tenant, rating.fee) == (LEASE, 4, TENANT, UNIT)
    assert await index.ratings(provider=OTHER) == []
    (service,) = await index.services()
    assert (service.kind, service.account, service.peer_id) == ("gateway", OTHER, b"peer")
    assert await index.services(kind="gateway") == [service]
    assert await index.services(kind="ipfs") == [], "it was ended"
    (licence,) = await index.licences(account=PROVIDER)
    assert (licence.kind, licence.expires_at) == ("provider", 9_000)
    (delegate,) = await index.delegates(account=TENANT)
    assert (delegate.delegate, delegate.cap, delegate.spent) == (OTHER, 50, 20), "no other pool's"
    assert delegate.since % 100 == GENESIS_TIME % 100 or delegate.since > GENESIS_TIME
    assert delegate.spent_at(delegate.since + 99) == 20
    assert delegate.spent_at(delegate.since + 100) == 0
    used, far = await index.offers(PROVIDER)
    assert (used.word, used.mask, far.word) == (1, 0b1011, 2**200)
    assert used.spoiled(1 << 8 | 3)
    assert not used.spoiled(1 << 8 | 2)
    assert not used.spoiled(3)
    pool = await index.pool()
    assert pool is not None
    assert pool.gated
    await index.aclose()


async def test_a_lease_that_is_resized_transferred_and_fails_over(new_database: NewDatabase) -> None:
    story = Story()
    a_machine_and_a_lease(story)
    moves(story)
    index = await told(new_database(), story.blocks)
    old, new = await index.lease(LEASE), await index.lease(BACKUP)
    assert old is not None
    assert new is not None
    assert (old.lease.tenant, old.author, old.backup_lease) == (OTHER, OTHER, BACKUP)
    assert old.lease.backup == bytes(32), "the standby went with the tenant who chose it"
    assert (old.lease.segment_settled, old.lease.cells) == (5 * UNIT, 4)
    assert old.lease.segment_start > old.lease.start
    assert old.paid + old.fee + old.refunded == old.lease.deposit
    assert new.author == OTHER
    history = await index.lease_history(LEASE)
    assert [each.lease.deposit // UNIT for each in history] == [20, 20, 30, 25, 25, 25, 25, 25]
    assert [each.lease.tenant for each in history] == [TENANT] * 4 + [OTHER] * 4
    assert (history[-4].author, history[-1]) == (TENANT, old)
    assert await index.lease_history(99) == []
    ledger = await index.ledger(TENANT)
    kinds = [(e.kind, e.amount // UNIT) for e in ledger.entries if e.lease == LEASE]
    assert kinds == [("open", -20), ("resize", -6), ("refund", 5)]
    earned = [e.amount // UNIT for e in (await index.ledger(PROVIDER)).entries if e.kind == "earn"]
    assert earned == [2, 2, 1]
    for account in (TENANT, OTHER, PROVIDER):
        ledger = await index.ledger(account)
        assert (await index.balances())[account] == ledger.balance == sum(e.amount for e in ledger.entries)
    record = await index.machine(1)
    assert record is not None
    assert record.machine.leased == 0xFF, "the backup's, and nothing is left of the old lease"
    await index.aclose()


@pytest.mark.parametrize(
    "at_once", [1, *(pytest.param(number, marks=pytest.mark.slow) for number in (7, 1_000))]
)
async def test_taken_back_to_any_point_it_is_the_index_of_that_point(
    new_database: NewDatabase, at_once: int
) -> None:
    blocks = whole_story().blocks
    followed = new_database()
    index = await told(followed, blocks, at_once)
    whole = dump(followed)
    for keep in (len(blocks) - 1, 60, 41, 23, 9, 2):
        undone = [RolledBack(applied.block) for applied in reversed(blocks[keep:])]
        await index.apply(undone)
        fresh = new_database()
        await (await told(fresh, blocks[:keep], at_once)).aclose()
        assert dump(followed) == dump(fresh)
        await index.apply(blocks[keep:])
        assert dump(followed) == whole
    await index.aclose()


@pytest.mark.parametrize(
    ("kind", "values", "says"),
    [
        (Answered, {"machine": 1, "challenge": 1}, "chain_challenges for machine 1"),
        (Ruled, {"fault": 3, "stands": True}, "chain_faults for fault 3"),
        (SeatLeaving, {"seat": 4, "leaves_at": 1}, "chain_seats for seat 4"),
        (DrawMissed, {"round": 5, "block_": 1}, "chain_rounds for round 5"),
        (
            Revealed,
            {"round": 5, "seat": 1, "pass_": True, "spec": b"", "score": 1},
            "chain_votes for round 5, seat 1",
        ),
        (
            Compensated,
            {"fault": 3, "lease": 1, "tenant": TENANT, "amount": 1},
            "chain_losses for fault 3, lease 1",
        ),
    ],
)
async def test_what_never_began_is_no_part_of_a_history(
    tmp_path: Path, kind: type[Event], values: dict[str, Any], says: str
) -> None:
    story = Story()
    story.tell(kind, **values)
    async with index_at(tmp_path / "index.db") as index:
        with pytest.raises(IndexBroken, match=says):
            await index.apply(story.blocks)
        assert await index.head() is None


async def test_tables_that_another_program_made_anew_are_not_taken_for_the_pool_s(tmp_path: Path) -> None:
    """In them the pool's key is another's."""
    story = Story()
    a_machine_and_a_lease(story)
    path = tmp_path / "index.db"
    index = await told(path, story.blocks)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE chain_version SET version_num = 'older'")
    with pytest.raises(IndexConflict):
        await index.machines()
    another = Indexer(url_of(path), replace(DEPLOYMENT, chain_id=DEPLOYMENT.chain_id + 1))
    await another.open()
    for work in (index.machines, index.known_blocks, index.clear, partial(index.apply, [])):
        with pytest.raises(IndexConflict):
            await work()
    assert await another.machines() == []
    await another.aclose()
    await index.aclose()
    async with index_at(path) as again:
        await again.apply(story.blocks)
        assert len(await again.machines()) == 1

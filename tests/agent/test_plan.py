"""The plan as tables: what is so on the chain and here, and the one action that follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leasehold.chain import LeaseState, cid_of_digest, cid_to_bytes
from leasehold.workload import Restart
from leasehold_agent.chain import ChainSnapshot, Desired
from leasehold_agent.engine import ContainerFacts
from leasehold_agent.reconciling._plan import (
    MOST_CRASHES,
    WORKLOAD_LABEL,
    WORTH_CLOSING,
    Action,
    Actual,
    BringUp,
    CloseForTenant,
    Decline,
    Delete,
    DiskRoom,
    FitContainer,
    HandOver,
    Publish,
    Replace,
    Rules,
    SendStart,
    Stop,
    Tell,
    gives_way,
    plan,
)
from leasehold_agent.store import EarlyEnd, Notes

LEASE = 3 << 16
TENANT = "0x00000000000000000000000000000000000000A1"
DIGEST = bytes(range(32))
NOW = 1_000_000
RULES = Rules(
    boot="b1", confirmations=12, start_margin=20, retention_min=86_400, retention_max=864_000, close_after=5
)

OPENED = Desired(
    lease=LEASE,
    machine=1,
    tenant=TENANT,
    state=LeaseState.OPENED,
    placement=0x01FF,
    workload=DIGEST,
    start=NOW - 10,
    end=NOW + 3_590,
    window_ends=NOW + 590,
    author=TENANT,
)
ACTIVE = replace(OPENED, state=LeaseState.ACTIVE)
ENDED = replace(ACTIVE, state=LeaseState.ENDED, end=NOW - 5)
CANCELLED = replace(OPENED, state=LeaseState.CANCELLED)

OTHER = "0x00000000000000000000000000000000000000B2"
RESIZED = replace(ACTIVE, placement=0x010F)
NOTICED = replace(ACTIVE, noticed=True, spot=True)
TOLD = EarlyEnd(NOTICED.end, "spot")

TAKEN = Notes(tenant=TENANT, machine=1, workload=DIGEST.hex())
LAUNCHED = replace(TAKEN, launched=True, boot="b1")
PLACED = replace(LAUNCHED, placement=0x01FF)
OVER = replace(LAUNCHED, stopped=True, gone_at=NOW - 10, gone_block=90, billed=3_600)


def container(state: str, exit_code: int = 0, workload: bytes = DIGEST) -> ContainerFacts:
    return ContainerFacts("c1", "n", {WORKLOAD_LABEL: workload.hex()}, state, exit_code, 0, None, ())


def the_plan(desired: Desired | None, actual: Actual | None, **chain: object) -> list[Action]:
    facts: dict[str, object] = {"current": True, "block": 100, "now": NOW} | chain
    leases = {} if desired is None else {desired.lease: desired}
    here = {} if actual is None else {LEASE: actual}
    return plan(ChainSnapshot(leases=leases, **facts), here, RULES)  # type: ignore[arg-type]  # facts by name


WHILE_LIVE = {
    "nothing is here yet": (OPENED, None, BringUp(LEASE)),
    "taken on, no container": (OPENED, Actual(TAKEN), BringUp(LEASE)),
    "created, never started": (OPENED, Actual(TAKEN, container("created")), BringUp(LEASE)),
    "running, not ready": (OPENED, Actual(LAUNCHED, container("running")), BringUp(LEASE)),
    "running and ready": (OPENED, Actual(LAUNCHED, container("running"), ready=True), SendStart(LEASE)),
    "ready, then ended well": (OPENED, Actual(LAUNCHED, container("exited")), SendStart(LEASE)),
    "ended badly before start": (
        OPENED,
        Actual(LAUNCHED, container("exited", 1), ready=True),
        Decline(LEASE, "start-failed"),
    ),
    "cannot run here": (
        OPENED,
        Actual(replace(TAKEN, failure="image-unknown")),
        Decline(LEASE, "image-unknown"),
    ),
    "billed, running": (ACTIVE, Actual(LAUNCHED, container("running"), ready=True), None),
    "billed, after the agent's restart": (ACTIVE, Actual(LAUNCHED, container("running")), None),
    "billed, notes lost": (ACTIVE, Actual(Notes(), container("running")), BringUp(LEASE)),
    "billed, state folder lost and no container": (ACTIVE, None, BringUp(LEASE)),
    "billed, cannot be helped": (ACTIVE, Actual(replace(TAKEN, failure="workload-invalid")), None),
    "job finished": (ACTIVE, Actual(LAUNCHED, container("exited")), Publish(LEASE)),
    "job failed": (ACTIVE, Actual(LAUNCHED, container("exited", 2)), Publish(LEASE)),
    "job finished and published": (
        ACTIVE,
        Actual(replace(LAUNCHED, published=True), container("exited")),
        None,
    ),
    "host rebooted": (ACTIVE, Actual(replace(LAUNCHED, boot="b0"), container("exited", 255)), BringUp(LEASE)),
    "came back after a reorganisation": (ACTIVE, Actual(OVER, container("exited", 137)), BringUp(LEASE)),
    "being stopped when it came back": (ACTIVE, Actual(OVER, container("running")), BringUp(LEASE)),
    "another workload was set": (
        replace(ACTIVE, workload=bytes(32)),
        Actual(LAUNCHED, container("running"), ready=True),
        Replace(LEASE),
    ),
    "another workload was set, notes lost": (
        ACTIVE,
        Actual(Notes(), container("running", workload=bytes(32))),
        Replace(LEASE),
    ),
    "another workload was set after a failure": (
        replace(OPENED, workload=bytes(32)),
        Actual(replace(TAKEN, failure="image-unknown")),
        Replace(LEASE),
    ),
    "the id is somebody else's now": (
        replace(OPENED, tenant=OTHER, author=OTHER),
        Actual(OVER, container("exited")),
        Replace(LEASE),
    ),
    "transferred": (
        replace(ACTIVE, tenant=OTHER),
        Actual(replace(LAUNCHED, author=TENANT), container("running")),
        HandOver(LEASE),
    ),
    "transferred and noted": (
        replace(ACTIVE, tenant=OTHER),
        Actual(replace(LAUNCHED, author=TENANT, tenant=OTHER), container("running")),
        None,
    ),
    "transferred, and another workload set": (
        replace(ACTIVE, tenant=OTHER, author=OTHER, workload=bytes(32)),
        Actual(replace(LAUNCHED, author=TENANT, tenant=OTHER), container("running")),
        Replace(LEASE),
    ),
    "resized": (RESIZED, Actual(PLACED, container("running")), FitContainer(LEASE)),
    "resized, being made anew": (
        RESIZED,
        Actual(replace(PLACED, stopped=True), container("exited")),
        BringUp(LEASE),
    ),
    "resized after its job was done": (
        RESIZED,
        Actual(replace(PLACED, published=True), container("exited")),
        None,
    ),
    "given notice": (NOTICED, Actual(LAUNCHED, container("running")), Tell(LEASE)),
    "a card is ill": (ACTIVE, Actual(LAUNCHED, container("running"), ailing=True), Tell(LEASE)),
    "a card is ill, and nothing runs": (
        ACTIVE,
        Actual(LAUNCHED, container("paused"), ailing=True),
        BringUp(LEASE),
    ),
    "given notice and told": (NOTICED, Actual(LAUNCHED, container("running"), told=TOLD), None),
    "told of another end": (
        NOTICED,
        Actual(LAUNCHED, container("running"), told=replace(TOLD, ends_at=NOW)),
        Tell(LEASE),
    ),
    "the notice was reorganised away": (
        ACTIVE,
        Actual(LAUNCHED, container("running"), told=TOLD),
        Tell(LEASE),
    ),
}


@pytest.mark.parametrize(("desired", "actual", "expected"), WHILE_LIVE.values(), ids=WHILE_LIVE.keys())
def test_while_a_lease_is_live(desired: Desired, actual: Actual | None, expected: Action | None) -> None:
    wanted = [expected] if expected else []
    assert the_plan(desired, actual) == wanted
    # Being behind the chain changes nothing for what is live.
    assert the_plan(desired, actual, current=False) == wanted


RUNNING = Actual(LAUNCHED, container("running"), ready=True)
WHEN_OVER = {
    "an old lease of the machine": (ENDED, None, None),
    "declined before anything was made": (CANCELLED, Actual(Notes()), None),
    "closed": (ENDED, RUNNING, Stop(LEASE, "ended")),
    "rejected": (replace(ENDED, state=LeaseState.REJECTED), RUNNING, Stop(LEASE, "cancelled")),
    "past its end, not closed yet": (replace(ACTIVE, end=NOW), RUNNING, Stop(LEASE, "ended")),
    "start window passed": (replace(OPENED, window_ends=NOW - 1), RUNNING, Stop(LEASE, "unstarted")),
    "reorganised away": (None, RUNNING, Stop(LEASE, "gone")),
    "a container without notes": (None, Actual(Notes(), container("running")), Stop(LEASE, "gone")),
    "a stopped container without notes": (None, Actual(Notes(), container("exited")), Stop(LEASE, "gone")),
    "noted, not stopped: the agent was killed between": (
        ENDED,
        Actual(OVER, container("running")),
        Stop(LEASE, "ended"),
    ),
    "stopped, outputs owed": (ENDED, Actual(OVER, container("exited", 143)), Publish(LEASE)),
    "stopped, published": (ENDED, Actual(replace(OVER, published=True), container("exited")), None),
    "rejected leases publish nothing": (
        replace(ENDED, state=LeaseState.REJECTED),
        Actual(OVER, container("exited")),
        None,
    ),
    "never ran: deleted once final": (
        CANCELLED,
        Actual(replace(TAKEN, gone_at=NOW - 10, gone_block=88)),
        Delete(LEASE),
    ),
    "never ran, not final yet": (CANCELLED, Actual(replace(TAKEN, gone_at=NOW - 10, gone_block=89)), None),
    "retention over": (
        ENDED,
        Actual(replace(OVER, published=True, gone_at=NOW - 86_400, gone_block=50), container("exited")),
        Delete(LEASE),
    ),
    "retention over, but its result may still be undone": (
        ENDED,
        Actual(
            replace(OVER, published=True, published_at=89, gone_at=NOW - 86_400, gone_block=50),
            container("exited"),
        ),
        None,
    ),
    "retention over, outputs could never be published": (
        ENDED,
        Actual(replace(OVER, gone_at=NOW - 86_400, gone_block=50), container("exited")),
        Delete(LEASE),
    ),
    "retention as long as it was billed": (
        ENDED,
        Actual(replace(OVER, published=True, gone_at=NOW - 86_400, gone_block=50, billed=90_000)),
        None,
    ),
    "retention has a limit": (
        ENDED,
        Actual(replace(OVER, published=True, gone_at=NOW - 864_000, gone_block=50, billed=10**7)),
        Delete(LEASE),
    ),
    "stopped, its network is still here": (
        ENDED,
        Actual(replace(OVER, published=True), container("exited"), networked=True),
        Stop(LEASE, "ended"),
    ),
    "reorganised away: kept in case it comes back": (None, Actual(OVER, container("exited")), None),
}


@pytest.mark.parametrize(("desired", "actual", "expected"), WHEN_OVER.values(), ids=WHEN_OVER.keys())
def test_when_a_lease_is_over(
    desired: Desired | None, actual: Actual | None, expected: Action | None
) -> None:
    assert the_plan(desired, actual) == ([expected] if expected else [])
    # Nothing is torn down, published or deleted while the chain may be behind.
    assert the_plan(desired, actual, current=False) == []


@pytest.mark.parametrize("waiting", ["workload-missing", "image-unknown", "dataset-missing", "not-ready"])
def test_what_is_not_ready_is_declined_before_the_window_closes(waiting: str) -> None:
    late = replace(OPENED, window_ends=NOW + 20, start=NOW - 580)
    actual = Actual(TAKEN, waiting=waiting)  # type: ignore[arg-type]  # one of the reasons
    assert the_plan(late, actual) == [Decline(LEASE, waiting)]  # type: ignore[arg-type]
    assert the_plan(replace(late, window_ends=NOW + 21), actual) == [BringUp(LEASE)]


def test_a_short_window_keeps_three_quarters_for_getting_ready() -> None:
    short = replace(OPENED, start=NOW - 29, window_ends=NOW + 11)  # 40 seconds: the margin is 10, not 20
    assert the_plan(short, Actual(TAKEN)) == [BringUp(LEASE)]
    assert the_plan(short, Actual(TAKEN), now=NOW + 1) == [Decline(LEASE, "not-ready")]


UNDONE = replace(OVER, published=True, result="bafk", published_at=97)


@pytest.mark.parametrize("notes", [UNDONE, replace(UNDONE, gone_at=None, gone_block=None, stopped=False)])
def test_a_result_that_the_chain_forgot_is_published_again(notes: Notes) -> None:
    """Once the index would have it: an index that is behind is no reorganisation."""
    desired = ENDED if notes.gone_at else ACTIVE
    actual = Actual(notes, container("exited"))
    assert the_plan(desired, actual) == [Publish(LEASE)]
    assert the_plan(desired, actual, block=99) == []
    assert the_plan(desired, actual, current=False) == []
    assert the_plan(replace(desired, result=b"cid"), actual) == []


def test_a_result_that_a_former_one_stands_for_again_is_published_again() -> None:
    """A workload was replaced, and the chain forgot what the second had left: that of the first stands there."""
    first, second = (cid_of_digest(bytes([n]) * 32) for n in (1, 2))
    actual = Actual(replace(UNDONE, results=(first, second), result=second), container("exited"))
    assert the_plan(replace(ENDED, result=cid_to_bytes(first)), actual) == [Publish(LEASE)]
    assert the_plan(replace(ENDED, result=cid_to_bytes(first)), actual, block=99) == []
    assert the_plan(replace(ENDED, result=cid_to_bytes(second)), actual) == []


def test_outputs_that_found_no_room_are_not_deleted_at_once() -> None:
    """A disk may be full for a moment, on a host that keeps nothing longer than it must."""
    notes = replace(OVER, published=True, lacked=0, billed=600, gone_at=NOW - 3_599, gone_block=50)
    rules = replace(RULES, retention_min=0, retention_max=0)
    here = {LEASE: Actual(notes, container("exited"))}
    chain = ChainSnapshot(current=True, block=100, now=NOW, leases={LEASE: ENDED})
    assert plan(chain, here, rules) == []
    assert plan(replace(chain, now=NOW + 1), here, rules) == [Delete(LEASE)]
    assert plan(chain, {LEASE: Actual(replace(notes, lacked=None), container("exited"))}, rules) == [
        Delete(LEASE)
    ]


def test_ready_beats_late() -> None:
    late = replace(OPENED, window_ends=NOW + 1)
    assert the_plan(late, RUNNING) == [SendStart(LEASE)]


def test_what_frees_comes_before_what_takes() -> None:
    other = replace(OPENED, lease=1 << 16)
    chain = ChainSnapshot(current=True, block=100, now=NOW, leases={LEASE: ENDED, other.lease: other})
    assert plan(chain, {LEASE: RUNNING}, RULES) == [Stop(LEASE, "ended"), BringUp(other.lease)]


DEAF = Actual(LAUNCHED, container("exited", 137))


@pytest.mark.parametrize(
    ("actual", "action"),
    [
        (replace(DEAF, killed=True), BringUp(LEASE)),
        (replace(DEAF, killed=True, resting=True), None),
        (replace(DEAF, notes=replace(LAUNCHED, boot="b1/another run of the engine")), BringUp(LEASE)),
        (replace(DEAF, notes=replace(LAUNCHED, started_before=0.0)), BringUp(LEASE)),
        (replace(DEAF, notes=replace(LAUNCHED, boot="b0", ended=True)), Publish(LEASE)),
        (replace(DEAF, restart=Restart.ALWAYS), BringUp(LEASE)),
        (replace(DEAF, restart=Restart.ALWAYS, resting=True), None),
        (replace(DEAF, restart=Restart.ON_FAILURE), BringUp(LEASE)),
        (Actual(LAUNCHED, container("exited"), restart=Restart.ON_FAILURE), Publish(LEASE)),
        (Actual(LAUNCHED, container("exited"), restart=Restart.ALWAYS), BringUp(LEASE)),
        (Actual(LAUNCHED, container("paused")), BringUp(LEASE)),
    ],
    ids=[
        "killed from outside",
        "killed again and again",
        "the engine took it along",
        "the engine went away as it was to be started again",
        "its own end, before the engine was restarted",
        "always",
        "always, too soon",
        "on failure",
        "done",
        "done, and wanted again",
        "paused",
    ],
)
def test_whose_end_it_was(actual: Actual, action: Action | None) -> None:
    assert the_plan(ACTIVE, actual) == ([] if action is None else [action])


DONE = Actual(replace(LAUNCHED, published=True), container("exited", 3), ordered=True)
OWING = replace(DONE, notes=LAUNCHED)
LOOPING = replace(LAUNCHED, crashes=MOST_CRASHES)


@pytest.mark.parametrize(
    ("desired", "actual", "action"),
    [
        (ACTIVE, DONE, CloseForTenant(LEASE)),
        (ACTIVE, replace(DONE, ordered=False), None),
        (ACTIVE, OWING, Publish(LEASE)),
        (ACTIVE, replace(OWING, overdue=True), CloseForTenant(LEASE)),
        (ACTIVE, replace(DONE, roomier=True), Publish(LEASE)),
        (ACTIVE, replace(DONE, container=container("running")), None),
        (ACTIVE, replace(DONE, killed=True), BringUp(LEASE)),
        (ACTIVE, replace(DONE, restart=Restart.ALWAYS), BringUp(LEASE)),
        (replace(ACTIVE, end=NOW + WORTH_CLOSING), DONE, CloseForTenant(LEASE)),
        (replace(ACTIVE, end=NOW + WORTH_CLOSING - 1), DONE, None),
        (replace(ACTIVE, start=NOW - RULES.close_after), DONE, CloseForTenant(LEASE)),
        (replace(ACTIVE, start=NOW - RULES.close_after + 1), DONE, None),
        (OPENED, replace(OWING, container=container("exited")), SendStart(LEASE)),
        (replace(ACTIVE, workload=bytes(32)), DONE, Replace(LEASE)),
        (replace(ACTIVE, tenant=OTHER), DONE, HandOver(LEASE)),
        (ACTIVE, replace(DEAF, notes=LOOPING, restart=Restart.ALWAYS), Publish(LEASE)),
        (ACTIVE, replace(DONE, notes=replace(LOOPING, published=True), restart=Restart.ON_FAILURE),
         CloseForTenant(LEASE)),
    ],
    ids=[
        "ordered",
        "not ordered",
        "results first",
        "results had their time",
        "results that fit by now first",
        "it runs",
        "it was killed on the host",
        "it is wanted again",
        "a minute is left",
        "less than a minute is left",
        "its rent has paid for the gas",
        "its rent has not paid for the gas",
        "not begun: it is billed as one that was ready",
        "another workload was set",
        "it has another tenant",
        "it only crashes",
        "it only crashes, and that ends the bill",
    ],
)  # fmt: skip
def test_when_a_bill_ends(desired: Desired, actual: Actual, action: Action | None) -> None:
    assert the_plan(desired, actual) == ([] if action is None else [action])
    # While the index may be behind, the lease may have a workload that was set since.
    assert CloseForTenant(LEASE) not in the_plan(desired, actual, current=False)


def test_a_container_that_is_paused_when_its_lease_is_over_is_stopped() -> None:
    assert the_plan(ENDED, Actual(OVER, container("paused"))) == [Stop(LEASE, "ended")]


HOUR = 3_600
OTHERS = {number: replace(ENDED, lease=number << 16) for number in range(1, 6)}


def kept(billed: int, ago: int, *, published: bool = True) -> Actual:
    notes = replace(OVER, billed=billed, gone_at=NOW - ago, gone_block=50, published=published)
    return Actual(notes, container("exited"))


def order(room: DiskRoom, *here: Actual) -> list[int]:
    """Which of several leases that are over make room, by their places."""
    numbered = {number << 16: each for number, each in enumerate(here, 1)}
    chain = ChainSnapshot(
        current=True, block=100, now=NOW, leases={each.lease: each for each in OTHERS.values()}
    )
    found = gives_way(chain, numbered, RULES, room)
    planned = [action for action in plan(chain, numbered, replace(RULES, room=room)) if action.lease in found]
    assert planned[:1] == [Delete(each) for each in found[:1]]
    return [lease >> 16 for lease in found]


def test_a_minute_of_a_lease_buys_no_day_of_the_disk() -> None:
    """A thief fills the disk, closes, rents again: what he left goes before anything that was paid for."""
    thief, honest = kept(60, 2 * 60), kept(20 * HOUR, 2 * HOUR)
    assert order(DiskRoom.WANTED, honest, thief, kept(60, 5 * 60)) == [3, 2]
    assert order(DiskRoom.SHORT, honest, thief, kept(60, 5 * 60)) == [3, 2, 1]
    assert the_plan(ENDED, thief) == []  # nobody needs the room


def test_results_that_are_not_published_go_last_and_not_at_once() -> None:
    owed, young = kept(2 * HOUR, 3 * HOUR, published=False), kept(2 * HOUR, HOUR // 2, published=False)
    assert order(DiskRoom.SHORT, owed, young, kept(HOUR, 2 * HOUR)) == [3, 1]
    assert order(DiskRoom.SHORT, kept(60, 59, published=False), kept(60, 61, published=False)) == [2]


def test_nothing_makes_way_that_may_come_back() -> None:
    fresh = replace(kept(60, 600), notes=replace(kept(60, 600).notes, gone_block=99))
    assert order(DiskRoom.SHORT, fresh) == []
    chain = ChainSnapshot(current=False, block=100, now=NOW, leases=OTHERS)
    assert gives_way(chain, {1 << 16: kept(60, 600)}, RULES, DiskRoom.SHORT) == []
    dying = replace(kept(60, 600), container=container("running"))
    assert order(DiskRoom.SHORT, dying) == [], "it has its grace"
    alive = ChainSnapshot(current=True, block=100, now=NOW, leases={LEASE: ACTIVE})
    assert gives_way(alive, {LEASE: kept(60, 600)}, RULES, DiskRoom.SHORT) == []

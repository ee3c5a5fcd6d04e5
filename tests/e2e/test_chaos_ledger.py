"""What judges a run of chaos, over worlds in memory that have one fault each: whatever it holds a host to, it sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from devnet.site import Site
from devnet.tenant import Tenant
from leasehold.chain import (
    Event,
    Lease,
    LeaseClosed,
    LeaseOpened,
    LeaseResized,
    LeaseStarted,
    LeaseState,
    LogMeta,
    ResultPublished,
    cost,
)

from .chaos_leases import PRICE, Crowd, Wanted
from .chaos_ledger import Told, fold
from .chaos_sight import SeenContainer, Sight

CARDS = ("GPU-a", "GPU-b")
TENANT = "0x00000000000000000000000000000000000000aA"
LEASE, JOB = 1, 2
SERVICE_WORK, JOB_WORK = b"\1" * 32, b"\2" * 32
OPENED_AT, STARTED_AT, CLOSED_AT, END = 100, 110, 710, 7_310
CELLS = 0x0101
"""The first cell of the first card."""
WANTED = {
    SERVICE_WORK: Wanted("service", b"", job=False, ordered=False),
    JOB_WORK: Wanted("job", b"", job=True, ordered=True),
}


class Seen(Sight):
    """What there is to see, as a test has put it."""

    def __init__(self) -> None:
        super().__init__(cast("Site", None))
        self.events = [*events_of(LEASE, SERVICE_WORK), *events_of(JOB, JOB_WORK), *closed(JOB)]
        self.here = [
            SeenContainer("service's", LEASE, SERVICE_WORK.hex(), running=True),
            SeenContainer("job's", JOB, JOB_WORK.hex(), running=False),
        ]
        self.ids = {"service's": "its id"}
        self.on = {"service's": ["GPU-a"], "job's": ["GPU-a"]}
        self.left = {"network bridge"}
        self.paused = 0
        self.time = STARTED_AT + 60

    @property
    def now(self) -> int:
        return self.time

    def told(self) -> dict[int, Told]:
        return fold(self.events)

    def containers(self) -> list[SeenContainer]:
        return self.here

    def written(self, container: str) -> str:
        return self.ids[container]

    def cards(self, container: str) -> list[str]:
        return self.on[container]

    def remains(self) -> set[str]:
        return self.left

    def lease(self, number: int) -> Lease:
        state = LeaseState.ENDED if self.told()[number].over else LeaseState.ACTIVE
        return Lease(
            number,
            TENANT,
            1,
            CELLS,
            state,
            False,
            False,
            STARTED_AT,
            END,
            0,
            PRICE,
            1,
            1,
            0,
            b"",
            self.paused,
        )


def at(timestamp: int) -> LogMeta:
    return LogMeta(timestamp, "0x", "0x", 0, "0x", timestamp)


def events_of(lease: int, workload: bytes) -> list[Event]:
    """It is opened and started."""
    opened = LeaseOpened(at(OPENED_AT), lease, 1, TENANT, CELLS, 1, 1, PRICE, 7_200, 0, 0, workload, 0, b"")
    return [opened, LeaseStarted(at(STARTED_AT), lease, 1, STARTED_AT, END, bytes(32))]


def closed(lease: int, *, more: int = 0, result: bytes = b"job's") -> list[Event]:
    """It has a result, and is closed. more: token units that are billed beyond its seconds."""
    bill = cost(PRICE, 1, CLOSED_AT - STARTED_AT) + more
    published = [ResultPublished(at(CLOSED_AT), lease, 1, result)] if result else []
    return [*published, LeaseClosed(at(CLOSED_AT), lease, 1, CLOSED_AT, bill - 1, 1, 0)]


@dataclass
class Judged:
    """A crowd that has found all as it should be, once, and what it looks at."""

    seen: Seen
    crowd: Crowd

    def trouble(self) -> str:
        """What it finds now."""
        return "" if self.crowd.whole() else self.crowd.trouble


@pytest.fixture
def judged() -> Judged:
    seen = Seen()
    tenant = cast("Tenant", type("Account", (), {"address": TENANT}))
    crowd = Crowd(cast("Site", None), [tenant], 2, cards=CARDS, wanted=dict(WANTED), given={"job"})
    crowd.sight = seen
    crowd.results = {
        b"job's": {"token": "job", "id": "of the job"},
        b"service's": {"token": "service", "id": "its id"},
    }
    made = Judged(seen, crowd)
    assert made.trouble() == ""
    return made


def over(judged: Judged, **fields: Any) -> None:
    """The service's lease ends, too."""
    judged.seen.events += closed(LEASE, **{"result": b"service's"} | fields)
    judged.seen.time = CLOSED_AT + 1


# ------------------------------------------------------------------------------------------------ while leases run


def lost(seen: Seen) -> None:
    del seen.here[0]


def ended(seen: Seen) -> None:
    seen.here[0] = replace(seen.here[0], running=False)


def unstarted(seen: Seen) -> None:
    seen.events = [event for event in seen.events if not isinstance(event, LeaseStarted)]


def another_workload(seen: Seen) -> None:
    seen.here[0] = replace(seen.here[0], workload=JOB_WORK.hex())


def doubled(seen: Seen) -> None:
    seen.here.append(replace(seen.here[0], id="its twin"))


def orphaned(seen: Seen) -> None:
    seen.here.append(SeenContainer("nobody's", 7, SERVICE_WORK.hex(), running=True))


def another_card(seen: Seen) -> None:
    seen.here[0], seen.on["anew"], seen.ids["anew"] = replace(seen.here[0], id="anew"), ["GPU-b"], "its id"


def no_card(seen: Seen) -> None:
    another_card(seen)
    seen.on["anew"] = []


def bill_runs_on(seen: Seen) -> None:
    """The job's lease is not closed, as its tenant had ordered."""
    seen.events = [event for event in seen.events if not isinstance(event, LeaseClosed)]


def no_result(seen: Seen) -> None:
    seen.events = [event for event in seen.events if not isinstance(event, LeaseClosed | ResultPublished)]


@pytest.mark.parametrize(
    ("happens", "named"),
    [
        (lost, "{1} have no container"),
        (ended, "1: it does not run"),
        (unstarted, "1: it is not started"),
        (another_workload, "1: it runs another workload"),
        (doubled, "{1} have two containers"),
        (orphaned, "7 runs, and nobody pays for it"),
        (another_card, "1: it is on ['GPU-b'], and has bought ['GPU-a']"),
        (no_card, "1: it is on [], and has bought ['GPU-a']"),
        (bill_runs_on, "2: its job is done, and its bill runs on"),
        (no_result, "2: its job has no result"),
    ],
)
def test_what_is_wrong_of_a_lease_that_runs(
    judged: Judged, happens: Callable[[Seen], None], named: str
) -> None:
    happens(judged.seen)
    assert judged.trouble() == named


def test_data_that_is_lost(judged: Judged) -> None:
    """The container is another and begins with nothing; or it has what was there, and nobody had it made anew."""
    judged.seen.here[0] = replace(judged.seen.here[0], id="anew")
    judged.seen.on["anew"], judged.seen.ids["anew"] = ["GPU-a"], "another id"
    with pytest.raises(AssertionError, match="lost its data"):
        judged.trouble()
    judged.seen.ids["anew"] = "its id"
    with pytest.raises(AssertionError, match="made anew"):
        judged.trouble()


# ---------------------------------------------------------------------------------------------------- at the end


def test_what_has_ended_well(judged: Judged) -> None:
    over(judged)
    assert judged.crowd.published()
    assert judged.crowd.check_results() == 2
    assert judged.crowd.check_bills() == sum(told.paid for told in judged.seen.told().values())
    assert judged.crowd.spent() == 2 * cost(PRICE, 1, CLOSED_AT - STARTED_AT)
    assert judged.crowd.gone({"network bridge"})


@pytest.mark.parametrize("more", [0, 1])
def test_the_bill_of_a_lease_that_was_resized(judged: Judged, more: int) -> None:
    """Each part of its time by the cells that it had; what the end tells was paid holds what the change told."""
    resized_at, twice = STARTED_AT + 100, 0x0103
    first = cost(PRICE, 1, resized_at - STARTED_AT)
    bill = first + cost(PRICE, 2, CLOSED_AT - resized_at) + more
    judged.seen.events += [
        LeaseResized(at(resized_at), LEASE, 1, twice, first, first - 1, 1, 0, 0, 0),
        ResultPublished(at(CLOSED_AT), LEASE, 1, b"service's"),
        LeaseClosed(at(CLOSED_AT), LEASE, 1, CLOSED_AT, bill - 1, 1, 0),
    ]
    if more:
        with pytest.raises(AssertionError):
            judged.crowd.check_bills()
    else:
        assert judged.crowd.check_bills() == bill - 1 + judged.seen.told()[JOB].paid


@pytest.mark.parametrize("more", [1, -1])
def test_a_bill_that_is_off_by_a_unit(judged: Judged, more: int) -> None:
    over(judged, more=more)
    with pytest.raises(AssertionError):
        judged.crowd.check_bills()


def test_a_lease_that_was_lost_and_proven_to_be(judged: Judged) -> None:
    """Time was taken off its bill: somebody has shown that its machine was down."""
    over(judged)
    judged.seen.paused = 1
    with pytest.raises(AssertionError):
        judged.crowd.check_bills()


def test_a_lease_that_never_ends(judged: Judged) -> None:
    with pytest.raises(AssertionError):
        judged.crowd.check_bills()


@pytest.mark.parametrize("result", [b"", b"job's", b"empty"], ids=["none", "another's", "empty"])
def test_a_result_that_is_missing(judged: Judged, result: bytes) -> None:
    judged.crowd.results[b"empty"] = {}
    over(judged, result=result)
    assert not judged.crowd.published()
    assert "not published: [Told(lease=1," in judged.crowd.trouble


def test_a_workload_that_made_way_before_it_began_has_an_empty_result(judged: Judged) -> None:
    judged.crowd.results[b"empty"] = {}
    judged.seen.events.append(ResultPublished(at(STARTED_AT), LEASE, 1, b"empty"))
    over(judged)
    assert judged.crowd.published()
    assert judged.crowd.check_results() == 2


def test_a_result_that_is_there_twice(judged: Judged) -> None:
    over(judged)
    judged.seen.events.append(ResultPublished(at(CLOSED_AT), LEASE, 1, b"once more"))
    judged.crowd.results[b"once more"] = judged.crowd.results[b"service's"]
    with pytest.raises(AssertionError, match="more than once"):
        judged.crowd.check_results()


def test_a_result_of_other_data(judged: Judged) -> None:
    over(judged)
    judged.crowd.results[b"service's"] = {"token": "service", "id": "another id"}
    with pytest.raises(AssertionError):
        judged.crowd.check_results()


@pytest.mark.parametrize("kind", ["container", "network", "image", "volume", "link", "pin", "folder"])
def test_what_is_left_behind(judged: Judged, kind: str) -> None:
    over(judged)
    judged.seen.left = {*judged.seen.left, f"{kind} of a lease"}
    assert not judged.crowd.gone({"network bridge"})
    assert judged.crowd.trouble == f"['{kind} of a lease'] are left"

"""Each cause once, told anew when it was over, and tried again where a channel is away."""

from __future__ import annotations

from collections.abc import Sequence

from leasehold.guarding._alerts import Alert, AlertKind
from leasehold.guarding._telling import (
    FIRST_RETRY,
    GIVEN_UP_AFTER,
    LAST_RETRY,
    REARM_SECONDS,
    due,
    failed,
    failing,
    queued,
    tell,
)
from leasehold.home import Pending, ToldCause

NOTICE, IDLE = Alert(AlertKind.NOTICE, "1", "Notice."), Alert(AlertKind.IDLE, "1", "Idle.")


class Listener:
    """What is told over many looks."""

    def __init__(self) -> None:
        self.told: dict[str, ToldCause] = {}
        self.heard: list[str] = []

    def look(self, now: int, *alerts: Alert, unsure: Sequence[str] = ()) -> None:
        telling = tell(self.told, alerts, unsure, now)
        self.told = dict(telling.told)
        self.heard += [alert.cause for alert in telling.new]


def test_a_cause_is_told_once_while_it_stands() -> None:
    listener = Listener()
    for now in range(100, 10_000, 60):
        listener.look(now, NOTICE)
    assert listener.heard == [NOTICE.cause]


def test_a_cause_that_was_over_is_told_again() -> None:
    listener = Listener()
    listener.look(100, NOTICE)
    listener.look(160)
    listener.look(160 + REARM_SECONDS)
    listener.look(220 + REARM_SECONDS, NOTICE)
    assert listener.heard == [NOTICE.cause] * 2


def test_what_flickers_is_told_once() -> None:
    listener = Listener()
    for now in range(100, 50_000, 60):
        listener.look(now, *([NOTICE] if now % 120 == 40 else []))
    assert listener.heard == [NOTICE.cause]


def test_what_nobody_knows_is_not_over() -> None:
    listener = Listener()
    listener.look(100, IDLE, NOTICE)
    for now in range(160, 5_000, 60):
        listener.look(now, NOTICE, unsure=[IDLE.cause])
    listener.look(5_060, IDLE, NOTICE)
    for now in range(5_120, 9_000, 60):
        listener.look(now, NOTICE, unsure=["idle"])
    listener.look(9_060, IDLE, NOTICE)
    assert listener.heard == [IDLE.cause, NOTICE.cause]


def test_a_clock_that_jumps_tells_nothing_twice() -> None:
    listener = Listener()
    for now in (100_000, 500_000, 10, 100_060):
        listener.look(now, NOTICE)
    assert listener.heard == [NOTICE.cause]
    listener.look(100_120)
    listener.look(50)  # back: when it was over lies in what is to come
    assert listener.told == {}


def test_each_channel_has_its_own_queue_in_order() -> None:
    pending = queued((), [NOTICE, IDLE], ["mail", "ntfy"], 100)
    assert [(entry.channel, entry.alert["kind"]) for entry in pending] == [
        ("mail", "notice"), ("ntfy", "notice"), ("mail", "idle"), ("ntfy", "idle"),
    ]  # fmt: skip
    first = due(pending, "mail", 100)
    assert first is not None
    assert first.alert["kind"] == "notice"
    later = failed(first, 100)
    assert later is not None
    rest = (later, *pending[1:])
    assert due(rest, "mail", 100 + FIRST_RETRY - 1) is None  # what is behind it waits, too
    assert due(rest, "mail", 100 + FIRST_RETRY) == later
    assert due(rest, "ntfy", 100) is not None
    assert [entry.channel for entry in queued(rest, [], ["ntfy"], 200)] == ["ntfy", "ntfy"]


def test_what_fails_waits_longer_each_time_and_is_given_up() -> None:
    entry: Pending | None = Pending("mail", NOTICE.to_json(0), 0)
    now, waits = 0, list[int]()
    while entry is not None:
        if later := failed(entry, now):
            waits.append(later.due - now)
            now = later.due
        entry = later
    assert waits[:3] == [FIRST_RETRY, 2 * FIRST_RETRY, 4 * FIRST_RETRY]
    assert max(waits) == LAST_RETRY
    assert GIVEN_UP_AFTER <= now < GIVEN_UP_AFTER + 2 * LAST_RETRY


def test_a_clock_that_jumped_gives_nothing_up_and_holds_nothing_back() -> None:
    entry = Pending("mail", NOTICE.to_json(0), 100, due=100)
    assert failed(entry, 100 + 10 * GIVEN_UP_AFTER) is not None
    ahead = Pending("mail", NOTICE.to_json(0), 10**9, tries=1, due=10**9 + 30)
    assert due((ahead,), "mail", 100) == ahead


def test_a_channel_that_takes_nothing_is_known() -> None:
    assert failing((Pending("mail", {}, 0, tries=3), Pending("ntfy", {}, 0, tries=2))) == ("mail",)

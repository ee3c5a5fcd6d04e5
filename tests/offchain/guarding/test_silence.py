"""Since when agents say nothing, counted by one guard after another: as from cron, of which each looks once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from leasehold.chain import LeaseRecord, LeaseState
from leasehold.guarding._looking import Heard, Recollection, _hear, silences
from leasehold.home import NotedSilence, Remembered

NOW, MOST = 1_000_000, 300
LEASE = 1 << 16
RECORDS = [cast(LeaseRecord, SimpleNamespace(lease=SimpleNamespace(id=LEASE, state=LeaseState.ACTIVE)))]
HEARD = {LEASE: cast(Heard, None)}


def looked(
    before: dict[int, NotedSilence], now: int, words: dict[int, Heard] | None = None
) -> dict[int, NotedSilence]:
    """What a guard that looks once leaves to the next."""
    recollection = Recollection()
    _hear(recollection, RECORDS, words or {}, before, now, MOST)
    return silences(recollection, now)


def test_a_guard_that_looks_once_goes_on_counting() -> None:
    known = looked({}, NOW)
    assert known[LEASE] == NotedSilence(0, 1, NOW)
    known = looked(known, NOW + 200)
    assert known[LEASE] == NotedSilence(200, 2, NOW + 200)
    assert looked(known, NOW + 260)[LEASE] == NotedSilence(260, 3, NOW + 260)


def test_between_two_looks_far_apart_nobody_knows_how_it_was() -> None:
    """A laptop that slept for a night, or a cron that looks once an hour."""
    known = looked(looked({}, NOW), NOW + 40_000)
    assert known[LEASE].seconds == MOST
    assert looked(known, NOW + 30_000)[LEASE].seconds == MOST  # nor by a clock that went back


def test_who_answers_once_begins_anew() -> None:
    known = looked(looked({}, NOW), NOW + 200)
    assert looked(known, NOW + 250, HEARD) == {}
    assert looked({}, NOW + 300)[LEASE].seconds == 0


def test_one_that_stays_counts_by_its_own_clock() -> None:
    recollection = Recollection(silent={LEASE: (float("-inf"), 7)})
    _hear(recollection, RECORDS, {}, {LEASE: NotedSilence(5, 1, NOW)}, NOW, MOST)
    assert recollection.silent[LEASE] == (float("-inf"), 8)


def test_notes_of_before_know_of_none() -> None:
    document = {
        "term": 1, "looked": 2, "told": {}, "pending": [], "watched": [], "challenged": {}, "dropped": 0,
        "trouble": "",
    }  # fmt: skip
    assert Remembered.of(document).silent == {}
    noted = {**document, "silent": {str(LEASE): {"seconds": 5, "looks": 1, "at": NOW}}}
    assert Remembered.of(noted).silent == {LEASE: NotedSilence(5, 1, NOW)}

"""What a lease has used, kept for its tenant: a ring of bounded size that nothing depends on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leasehold.chain import LeaseState
from leasehold_agent.cards import Allocation, Given, Part
from leasehold_agent.host import CardReading, LeaseUsage
from leasehold_agent.reconciling import DockerRuntime, HostFacts, UsageWatch
from leasehold_agent.store import History, LeaseSample
from leasehold_agent.store import _history as ring

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

LEASE, TENANT, NOW = 2**240 + 1, "0xT", 1_800_000_000 // 900 * 900
DAY = 86_400


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    made = History(tmp_path / "history.sqlite")
    yield made
    made.close()


def keep(history: History, at: int, lease: int = LEASE, tenant: str = TENANT) -> None:
    history.keep({(lease, tenant): LeaseSample(at, cpu_seconds=at - NOW)}, at)


def kept(history: History) -> list[int]:
    return [sample.at - NOW for sample in history.of(LEASE, TENANT)]


def test_the_newest_of_each_minute(history: History) -> None:
    for seconds in (0, 10, 50, 60, 70):
        keep(history, NOW + seconds)
    assert kept(history) == [50, 70]


@pytest.mark.slow
def test_what_is_older_than_an_hour_is_there_by_the_quarter_of_one(history: History) -> None:
    for minute in range(2 * 24 * 60):
        keep(history, NOW + 60 * minute)
    found = kept(history)
    assert found[-60:] == [60 * minute for minute in range(2 * 24 * 60 - 60, 2 * 24 * 60)]
    assert {second % 900 for second in found[:-60]} == {840}
    assert found[0] >= DAY
    assert len(found) <= 60 + 96


def test_nobody_elses(history: History) -> None:
    """Of another lease, and of this one while it was somebody else's."""
    keep(history, NOW)
    keep(history, NOW, lease=LEASE + 1)
    keep(history, NOW + 60, tenant="0xBefore")
    assert kept(history) == [0]
    assert history.of(LEASE, "") == []


def test_a_clock_that_is_set_back(history: History) -> None:
    """What is to come does not stay for ever, in front of what is."""
    keep(history, NOW + 10 * DAY)
    keep(history, NOW)
    assert kept(history) == [0]


def test_it_is_there_after_a_restart(history: History, tmp_path: Path) -> None:
    keep(history, NOW)
    again = History(tmp_path / "history.sqlite")
    assert kept(again) == [0]
    again.close()


@pytest.mark.parametrize("raw", [b"no database" * 1_000, b"\x00", b"SQLite format 3\x00" + b"\xff" * 4_096])
def test_a_file_that_cannot_be_read_is_begun_anew(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "history.sqlite").write_bytes(raw)
    history = History(tmp_path / "history.sqlite")
    keep(history, NOW)
    assert kept(history) == [0]
    history.close()


def test_a_table_of_another_form_is_begun_anew(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "history.sqlite")
    database.execute("CREATE TABLE samples (x)")
    database.commit()
    database.close()
    history = History(tmp_path / "history.sqlite")
    keep(history, NOW)
    assert kept(history) == [0]
    history.close()


def test_a_disk_that_takes_nothing(tmp_path: Path) -> None:
    history = History(tmp_path / "no folder" / "history.sqlite")
    keep(history, NOW)
    assert kept(history) == [0]
    history.close()


def test_what_finds_no_room_is_dropped_until_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenant who opens and closes leases all day fills it, and no more than that."""
    monkeypatch.setattr(ring, "_MOST_PAGES", 16)
    history = History(tmp_path / "history.sqlite")
    for lease in range(2_000):
        history.keep({(lease, TENANT): LeaseSample(NOW)}, NOW)
    keep(history, NOW)
    assert kept(history) == []
    assert (tmp_path / "history.sqlite").stat().st_size <= 16 * 4_096
    keep(history, NOW + 2 * DAY)
    assert kept(history) == [2 * DAY]
    history.close()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"at": 1, "new": 2}'])
def test_a_sample_of_another_version(history: History, text: str) -> None:
    with history._database as database:
        database.execute("INSERT INTO samples VALUES (?, ?, 60, 1, ?)", (str(LEASE), TENANT, text))
    assert history.of(LEASE, TENANT) == []


async def test_a_tenant_of_a_part_of_a_card_does_not_see_what_his_neighbours_do(
    rig: Rig, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await rig.open()
    await rig.reaches(lease, LeaseState.ACTIVE)
    await rig.until(lambda: rig.host.snapshot.leases[lease].state is LeaseState.ACTIVE)
    tenant = rig.host.snapshot.leases[lease].tenant
    rig.host.facts.readings = {
        "a": CardReading(busy=40, temperature=60),
        "b": CardReading(busy=80, temperature=70),
    }

    async def sampled(*parts: Part) -> LeaseSample:
        given = Allocation({lease: Given(parts)}, {})
        monkeypatch.setattr(HostFacts, "allocation", lambda *_: given)
        watch = UsageWatch(rig.reconciler, {lease: LeaseUsage(1.0)}, {(lease, "a"): 7, (lease + 1, "a"): 9})
        return replace(watch._samples()[lease, tenant], at=0)

    assert await sampled() == LeaseSample(0, 1.0)
    assert await sampled(Part("a", 0x0F)) == LeaseSample(0, 1.0, card_memory=7)
    assert await sampled(Part("a", 0xFF), Part("b", 0xFF)) == LeaseSample(
        0, 1.0, card_memory=7, card_busy=60, card_temperature=70
    )


@pytest.mark.slow
async def test_what_a_lease_used_is_kept(rig: Rig, history: History) -> None:
    lease = await rig.open()
    await rig.reaches(lease, LeaseState.ACTIVE)
    watch = UsageWatch(rig.reconciler, history=history)
    runtime = DockerRuntime(rig.host, rig.reconciler, watch)
    tenant = (await rig.handle(lease)).tenant

    async def known() -> bool:
        await watch.look()
        return bool(await runtime.usage(lease, tenant))

    await rig.until(known)
    newest = (await runtime.usage(lease, tenant))[-1]
    assert (newest.processes or 0) >= 1
    assert newest.card_memory is None
    assert await runtime.usage(lease, "0xElse") == []

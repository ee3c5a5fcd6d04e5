"""The log of who did what on a lease: bounded, so that nobody pushes out what others did, and there after a restart."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leasehold_agent.store import AuditLog, NotedAct
from leasehold_agent.store import _audit as audit_module

LEASE = 12 << 16
TENANT = "0x00000000000000000000000000000000000000AA"
OTHER = "0x00000000000000000000000000000000000000bB"
HOUR = 3_600
AT = 1_800_000_000


def act(op: str = "lease.status", *, session: str = "", at: int = AT, account: str = TENANT) -> NotedAct:
    return NotedAct(LEASE, account, session, op, at)


class Host:
    """Which leases are still here."""

    def __init__(self) -> None:
        self.here = {LEASE}

    async def __call__(self, lease: int) -> bool:
        return lease in self.here


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.sqlite"


@pytest.fixture
async def log(path: Path, host: Host) -> AsyncIterator[AuditLog]:
    opened = await AuditLog.open(path, host)
    yield opened
    await opened.close(AT)


async def told(log: AuditLog, account: str = TENANT) -> list[tuple[str | None, str, str, int]]:
    audit = await log.of(LEASE, account, AT)
    return [(entry.session, entry.op, entry.outcome, entry.times) for entry in audit.acts]


async def test_an_act_is_there_before_it_is_done(log: AuditLog) -> None:
    await log.begin(act("lease.stop"))
    assert await told(log) == [(None, "lease.stop", "begun", 1)]
    await log.end(act("lease.stop"), "done", AT + 1)
    assert await told(log) == [(None, "lease.stop", "done", 1)]


async def test_acts_of_one_kind_in_one_hour_are_one_entry(log: AuditLog) -> None:
    for at in (AT, AT + 5, AT + HOUR):
        await log.done(act(at=at))
    entries = (await log.of(LEASE, TENANT, AT)).acts
    assert [(entry.first, entry.last, entry.times) for entry in entries] == [
        (AT, AT + 5, 2),
        (AT + HOUR, AT + HOUR, 1),
    ]


async def test_two_at_once_are_told_apart_when_one_does_not_end(log: AuditLog) -> None:
    await log.begin(act())
    await log.begin(act())
    await log.end(act(), "not-running", AT)
    assert sorted(await told(log)) == [
        (None, "lease.status", "begun", 1),
        (None, "lease.status", "not-running", 1),
    ]


async def test_it_is_kept_by_account(log: AuditLog) -> None:
    await log.done(act())
    await log.done(act("lease.exec", account=OTHER))
    await log.refuse(LEASE, TENANT, "not-your-lease", AT)
    assert await told(log, OTHER) == [(None, "lease.exec", "done", 1)]
    assert (await log.of(LEASE, OTHER, AT)).refused == []


async def test_it_is_there_after_a_restart(log: AuditLog, path: Path, host: Host) -> None:
    await log.begin(act("lease.exec"))
    again = await AuditLog.open(path, host)  # the first one was killed: it closes nothing before
    assert await told(again) == [(None, "lease.exec", "begun", 1)]
    await again.close(AT)


async def test_turned_away_is_counted_and_written_once_a_minute(
    log: AuditLog, path: Path, host: Host
) -> None:
    for second in range(60):
        await log.refuse(LEASE, TENANT, "not-your-lease", AT + second)
    other = await AuditLog.open(path, host)
    assert [tries.times for tries in (await other.of(LEASE, TENANT, AT)).refused] == [1]
    await log.refuse(LEASE, TENANT, "not-your-lease", AT + 60)
    (tries,) = (await other.of(LEASE, TENANT, AT)).refused
    assert (tries.reason, tries.times, tries.last) == ("not-your-lease", 61, AT + 60)
    await other.close(AT)


async def test_a_flood_of_one_caller_pushes_out_its_own_entries_alone(
    log: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_module, "MOST_ENTRIES", 20)
    await log.done(act("lease.stop"))
    await log.done(act("lease.exec", session="0xthief", at=AT - 9 * HOUR))
    for hour in range(100):
        await log.done(act("lease.logs", session="0xcolleague", at=AT + hour * HOUR))
    audit = await log.of(LEASE, TENANT, AT)
    assert len(audit.acts) == 20
    assert audit.dropped == 82
    ops = [(entry.op, entry.session) for entry in audit.acts]
    assert ("lease.stop", None) in ops
    assert ("lease.exec", "0xthief") in ops
    assert audit.acts[-1].last == AT + 99 * HOUR, "of its own, the oldest went"


async def test_counts_have_a_bound(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_module, "_MOST_COUNTED", 3)
    for number in range(9):
        await log.refuse(LEASE, TENANT, f"reason-{number}", AT)
    assert len((await log.of(LEASE, TENANT, AT)).refused) == 4, "the first went to the disk at once"


async def test_what_is_gone_from_the_host_goes_from_the_log(
    log: AuditLog, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_module, "_TIDY_EVERY", 1)
    await log.done(act())
    await log.refuse(LEASE, TENANT, "not-your-lease", AT)
    await log.flush(AT)
    host.here.clear()
    elsewhere = NotedAct(13 << 16, OTHER, "", "lease.status", AT + 3_600)
    await log.begin(elsewhere)
    assert await told(log), "an agent that has only begun knows little: it stays for a day"
    await log.begin(NotedAct(13 << 16, OTHER, "", "lease.status", AT + 90_000))
    audit = await log.of(LEASE, TENANT, AT)
    assert (audit.acts, audit.refused) == ([], [])


async def test_a_disk_that_takes_nothing_keeps_nobody_out(log: AuditLog) -> None:
    await log._database.execute("PRAGMA query_only = ON")
    await log.begin(act())
    await log.end(act(), "done", AT)
    await log.refuse(LEASE, TENANT, "not-your-lease", AT)
    audit = await log.of(LEASE, TENANT, AT)
    assert (audit.acts, audit.lost > 0) == ([], True)


@pytest.fixture
def damaged(path: Path) -> Path:
    path.write_bytes(b"no database, " * 100)
    return path


async def test_a_damaged_file_is_begun_anew(damaged: Path, host: Host) -> None:
    log = await AuditLog.open(damaged, host)
    await log.done(act())
    assert await told(log) == [(None, "lease.status", "done", 1)]
    await log.close(AT)


async def test_nobody_else_can_read_it(log: AuditLog, path: Path) -> None:
    mode = (await asyncio.to_thread(path.stat)).st_mode
    assert stat.S_IMODE(mode) == 0o600

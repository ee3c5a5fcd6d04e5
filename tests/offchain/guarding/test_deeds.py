"""What a guard does by itself, from a table of how things may stand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leasehold.chain import LeaseState
from leasehold.guarding._deeds import CHALLENGE_EVERY, Deed, GuardDo, deeds_of
from leasehold.guarding._settings import KeepSettings
from leasehold.guarding._sights import JobSight, Snapshot

from .sights import HOUR, MONEY, NOW, WELL, lease, settings, sight, snapshot

SOON = NOW + 600
RULE = {"by": "1h", "at_most": "20h", "budget": "100"}
RENTED = KeepSettings(by=1_800, at_most=3 * HOUR, budget="6")
KEEP, ASKS = {"keep": {"all": RULE}}, {"challenge": True}
NUMBER, BACKUP = 1 << 16, b"\1" * 32
SILENT = sight(answers=False, silent=900, idle=None)


def extends(seconds: int) -> list[Deed]:
    return [Deed(GuardDo.EXTEND, NUMBER, seconds=seconds)]


TABLE = [
    ("nothing is due", snapshot(sight()), KEEP, []),
    ("no rule", snapshot(sight(lease(end=SOON))), {}, []),
    ("extended", snapshot(sight(lease(end=SOON))), KEEP, extends(HOUR)),
    ("no longer than it may be", snapshot(sight(lease(start=NOW - 20 * HOUR + 700, end=SOON))), KEEP, extends(100)),
    ("kept as long as it may be", snapshot(sight(lease(start=NOW - 20 * HOUR, end=SOON))), KEEP, []),
    ("its budget is used up", snapshot(sight(lease(end=SOON))), {"keep": {"all": {**RULE, "budget": "4"}}}, []),
    ("nothing is left to pay it", snapshot(sight(lease(end=SOON)), own=replace(WELL, left=5)), KEEP, []),
    ("under notice", snapshot(sight(lease(end=SOON, noticed=True))), KEEP, []),
    ("its command has ended", snapshot(sight(lease(end=SOON), exit_code=0)), KEEP, []),
    ("a run extends itself", snapshot(sight(lease(end=SOON), job="train")), KEEP, []),
    ("another's label", snapshot(sight(lease(end=SOON), labels=frozenset({"a=b"}))),
     {"keep": {"x": {**RULE, "label": "a=c"}}}, []),
    ("its label", snapshot(sight(lease(end=SOON), labels=frozenset({"a=b"}))),
     {"keep": {"x": {**RULE, "label": "a=b"}}}, extends(HOUR)),
    ("as it was rented to be", snapshot(sight(lease(end=SOON), kept=RENTED)), {}, extends(HOUR // 2)),
    ("that counts before a rule", snapshot(sight(lease(end=SOON), kept=RENTED)), KEEP, extends(HOUR // 2)),
    ("as long as was said", snapshot(sight(lease(start=NOW - 3 * HOUR, end=SOON), kept=RENTED)), KEEP, []),
    ("the most that was said", snapshot(sight(replace(lease(end=SOON), deposit=10**7), kept=RENTED)), KEEP, []),
    ("a delegate's cap ends it", snapshot(sight(lease(end=SOON), kept=RENTED), own=replace(WELL, left=5)), {}, []),
    ("it was over before", snapshot(sight(lease(end=NOW))), KEEP, []),
    ("it has not started", snapshot(sight(lease(end=SOON, state=LeaseState.OPENED))), KEEP, []),
    ("something is under way", snapshot(sight(lease(end=SOON)), own=replace(WELL, waiting=True)), KEEP, []),
    ("silent", snapshot(SILENT), ASKS, [Deed(GuardDo.CHALLENGE, NUMBER, 7)]),
    ("silent, and nobody may be asked", snapshot(SILENT), {}, []),
    ("silent, and asked already", snapshot(replace(SILENT, answer_by=NOW + 5)), ASKS, []),
    ("no answer came", snapshot(replace(SILENT, answer_by=NOW - 5)), ASKS, [Deed(GuardDo.PROVE, machine=7)]),
    ("no answer came, and others prove it", snapshot(replace(SILENT, answer_by=NOW - 5)), {"settle": False}, []),
    ("silent for a moment", snapshot(replace(SILENT, silent=60)), ASKS, []),
    ("it says that it is idle and crashes", snapshot(sight(idle=True, looping=True)), {**ASKS, **KEEP}, []),
    ("down without a standby", snapshot(sight(down=NOW - 5)), {}, []),
    ("down", snapshot(sight(lease(backup=BACKUP), down=NOW - 5)), {}, [Deed(GuardDo.FAIL_OVER, NUMBER)]),
    ("down, and to be left", snapshot(sight(lease(backup=BACKUP), down=NOW - 5)), {"failover": False}, []),
    ("two leases on a silent machine", snapshot(replace(SILENT, answer_by=NOW - 5),
     replace(SILENT, answer_by=NOW - 5, lease=lease(2 << 16))), {}, [Deed(GuardDo.PROVE, machine=7)]),
    ("a standby that was opened for a lease with a checkpoint", snapshot(sight(begins=True)), {},
     [Deed(GuardDo.RESTORE, NUMBER)]),
    ("one that has not started", snapshot(sight(lease(state=LeaseState.OPENED), begins=True)), {},
     [Deed(GuardDo.RESTORE, NUMBER)]),
    ("one that is to be left", snapshot(sight(begins=True)), {"failover": False}, []),
    ("one whose time is over", snapshot(sight(lease(end=NOW), begins=True)), {}, []),
    ("a checkpoint", snapshot(sight(checkpoint="bafy")), {}, [Deed(GuardDo.KEEP, NUMBER, cid="bafy")]),
    ("a checkpoint while something is under way",
     snapshot(sight(checkpoint="bafy"), own=replace(WELL, waiting=True)), {},
     [Deed(GuardDo.KEEP, NUMBER, cid="bafy")]),
    ("a checkpoint where none is to be fetched", snapshot(sight(checkpoint="bafy")), {"checkpoints": 0}, []),
    ("a run's checkpoint is fetched all the same", snapshot(sight(checkpoint="bafy", job="train")),
     {"checkpoints": "0B"}, [Deed(GuardDo.KEEP, NUMBER, cid="bafy")]),
    ("a run's checkpoint where runs are to be left", snapshot(sight(checkpoint="bafy", job="train")),
     {"recover": False}, []),
    ("a run", snapshot(jobs=(JobSight("train"),)), {}, [Deed(GuardDo.CARRY, run="train")]),
    ("runs are to be left", snapshot(jobs=(JobSight("train"),)), {"recover": False}, []),
    ("faults", snapshot(settleable=True), {}, [Deed(GuardDo.SETTLE)]),
    ("faults are to be left", snapshot(settleable=True), {"settle": False}, []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("stands", "table", "deeds"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_what_is_due(stands: Snapshot, table: dict[str, object], deeds: list[Deed]) -> None:
    assert deeds_of(stands, settings(**table), {}, MONEY, delegate=False) == deeds


def test_who_lets_himself_be_challenged_for_the_bond_gets_one_a_day() -> None:
    rules, silent = settings(**ASKS), snapshot(SILENT)
    asked = [Deed(GuardDo.CHALLENGE, NUMBER, 7)]
    assert deeds_of(silent, rules, {7: NOW - 60}, MONEY, delegate=False) == []
    assert deeds_of(silent, rules, {7: NOW - CHALLENGE_EVERY}, MONEY, delegate=False) == asked
    assert deeds_of(silent, rules, {8: NOW - 60}, MONEY, delegate=False) == asked


def test_a_delegate_puts_up_no_bond() -> None:
    assert deeds_of(snapshot(SILENT), settings(**ASKS), {}, MONEY, delegate=True) == []


def test_a_deed_for_a_program() -> None:
    assert Deed(GuardDo.EXTEND, NUMBER, seconds=60).to_json() == {
        "do": "extend", "lease": "1", "machine": None, "seconds": 60, "run": None,
    }  # fmt: skip

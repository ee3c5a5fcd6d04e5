"""What a lease had got to, given to the standby that took its place: when, what of, and only once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.offchain.client.test_checkpoints import FIRST, KEY, SECOND, deployment, making

from leasehold.chain import LeaseRecord, LeaseState
from leasehold.client import PoolClient, forget_standbys, restorable, restoration, standby_checkpoint
from leasehold.client._standbys import billed_seconds, note_standby
from leasehold.home import Home

DIGEST, OTHER = b"\x01" * 32, b"\x02" * 32
BEFORE, STANDBY = 1 << 16, 2 << 16
PRICE, CELLS, HOUR = 10**18, 8, 3_600


def record(
    number: int, state: LeaseState, *, workload: bytes = DIGEST, backup: int = 0, hours: int = 0
) -> LeaseRecord:
    lease = SimpleNamespace(id=number, state=state, start=1_000, price=PRICE, cells=CELLS)
    paid = hours * PRICE
    return LeaseRecord(cast(Any, lease), 0, workload, b"", b"", "", paid - paid // 50, paid // 50, 0, backup)


OVER = record(BEFORE, LeaseState.ENDED, backup=STANDBY, hours=2)
OPEN = record(STANDBY, LeaseState.OPENED)


def client(folder: Path, *records: LeaseRecord, now: int = 1_000, group: object = None) -> PoolClient:
    async def leases(*, tenant: str) -> list[LeaseRecord]:
        return list(records)

    async def index(*, again: bool = False) -> Any:
        return SimpleNamespace(leases=leases)

    async def known() -> int:
        return now

    made = SimpleNamespace(
        account="0x1", group=group, home=Home(folder), deployment=deployment(), index=index, now=known
    )
    return cast(PoolClient, made)


def kept(folder: Path, *records: LeaseRecord, now: int = 1_000) -> PoolClient:
    """Somebody who has noted the standby, and has a checkpoint of the lease."""
    made = client(folder, *records, now=now)
    note_standby(made, DIGEST, making(key=KEY, source=FIRST))
    made.home.checkpoints(made.deployment).note(BEFORE, SECOND)
    return made


def noted_of(folder: Path) -> Path:
    (path,) = folder.glob("standbys/*/*.json")
    return path


async def test_the_standby_gets_the_last_checkpoint_once(tmp_path: Path) -> None:
    wish = await restoration(kept(tmp_path, OVER, OPEN), STANDBY)
    assert wish is not None
    assert wish.workload.checkpoint is not None
    assert (wish.lease, wish.close_when_done) == (STANDBY, False)
    assert (wish.workload.checkpoint.source, wish.workload.checkpoint.key) == (SECOND, KEY)
    given = replace(OPEN, workload=OTHER)  # what was sealed for it is not what it runs any more
    assert await restoration(kept(tmp_path, OVER, given), STANDBY) is None


async def test_where_there_is_nothing_to_give_nothing_is(tmp_path: Path) -> None:
    nothing = client(tmp_path / "a", OVER, OPEN)
    assert await restoration(nothing, STANDBY) is None
    note_standby(nothing, DIGEST, making(key=KEY))
    assert await restoration(nothing, STANDBY) is None  # no checkpoint of it is here
    assert await restoration(kept(tmp_path / "b", OPEN), STANDBY) is None  # it took nobody's place
    assert await restoration(kept(tmp_path / "c", OVER, replace(OPEN, lease=OVER.lease)), STANDBY) is None


@pytest.mark.parametrize(("hours", "given"), [(1, True), (2, False), (3, False)])
def test_one_that_has_come_as_far_itself_goes_on(tmp_path: Path, hours: int, given: bool) -> None:
    made = kept(tmp_path)
    runs = record(STANDBY, LeaseState.ACTIVE)
    assert billed_seconds(OVER) == 2 * HOUR
    assert (restorable(made, runs, OVER, 1_000 + hours * HOUR) is not None) is given
    assert restorable(made, record(STANDBY, LeaseState.ENDED), OVER, 1_000) is None


def test_it_is_for_its_owner_alone_and_goes_with_the_lease(tmp_path: Path) -> None:
    made = kept(tmp_path)
    path = noted_of(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    checkpoint = standby_checkpoint(made, DIGEST)
    assert checkpoint is not None
    assert checkpoint.key == KEY
    forget_standbys(made, [])  # not seen on the chain yet
    forget_standbys(made, [OVER, OPEN])
    assert path.exists()
    forget_standbys(made, [OVER, record(STANDBY, LeaseState.ENDED)])
    assert not path.exists()
    assert standby_checkpoint(made, DIGEST) is None


def test_what_makes_no_checkpoints_or_is_a_groups_is_not_noted(tmp_path: Path) -> None:
    note_standby(client(tmp_path), DIGEST, making().model_copy(update={"checkpoint": None}))
    note_standby(client(tmp_path, group=object()), DIGEST, making(key=KEY))
    assert not list(tmp_path.glob("standbys/*/*"))


async def test_a_note_that_is_damaged_is_none(tmp_path: Path) -> None:
    made = kept(tmp_path, OVER, OPEN)
    for text in ("{", "[]", "{}", '{"workload": 7}'):
        noted_of(tmp_path).write_text(text)
        assert await restoration(made, STANDBY) is None

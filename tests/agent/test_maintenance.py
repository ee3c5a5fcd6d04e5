"""Windows in which a host will be worked on: announced, kept free of leases, and told to those that reach into them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.chain import LeaseState, MachineStatus
from leasehold.market import Contact, canonical, parse_document
from leasehold_agent._config import AgentSettings
from leasehold_agent._serve import introduction_of
from leasehold_agent.chain._sale import cells_before_maintenance
from leasehold_agent.host import MaintenanceWindow, parse_windows
from leasehold_agent.reconciling._plan import Actual, BringUp, Decline, SendStart, Tell, plan

from .test_declines import declined
from .test_plan import ACTIVE, LAUNCHED, LEASE, NOW, OPENED, RULES, TOLD, container
from .test_sale import MACHINE

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

from leasehold_agent.chain import ChainSnapshot, Desired

HOUR = 3_600
LATER = MaintenanceWindow(NOW + 1_800, NOW + 5_400)


def written(begin: int, end: int) -> str:
    return "/".join(datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for at in (begin, end))


def due(desired: Desired, actual: Actual, *windows: MaintenanceWindow) -> Any:
    chain = ChainSnapshot(current=True, block=100, now=NOW, leases={LEASE: desired})
    actions = plan(chain, {LEASE: actual}, replace(RULES, windows=windows))
    return actions[0] if actions else None


def test_what_would_reach_into_it_is_not_started() -> None:
    """However far it has come; what ends before it, or begins after it, is."""
    ready, up = Actual(LAUNCHED, container("running"), ready=True), container("running")
    assert due(OPENED, Actual(LAUNCHED), LATER) == Decline(LEASE, "maintenance")
    assert due(OPENED, ready, LATER) == Decline(LEASE, "maintenance")
    short = replace(OPENED, end=OPENED.start + 1_800)
    assert due(short, ready, LATER) == SendStart(LEASE)
    assert due(OPENED, ready, MaintenanceWindow(NOW - 50, NOW)) == SendStart(LEASE)
    assert due(OPENED, Actual(LAUNCHED), MaintenanceWindow(NOW + 4_000, NOW + 5_000)) == BringUp(LEASE)
    assert due(ACTIVE, Actual(LAUNCHED, up), MaintenanceWindow(NOW + 4_000, NOW + 5_000)) is None


def test_what_runs_is_let_run_and_told() -> None:
    up = container("running")
    assert due(ACTIVE, Actual(LAUNCHED, up), LATER) == Tell(LEASE, LATER)
    assert due(ACTIVE, Actual(LAUNCHED, up, warned=LATER), LATER) is None
    assert due(ACTIVE, Actual(LAUNCHED, up, warned=LATER)) == Tell(LEASE, None), "it was called off"
    after = MaintenanceWindow(NOW + 2_000, NOW + 2_001)
    assert due(ACTIVE, Actual(LAUNCHED, up, told=TOLD), LATER, after) == Tell(LEASE, LATER)


def test_nothing_is_sold_that_could_not_end_before_it(tmp_path: Path) -> None:
    settings = AgentSettings.model_validate(
        {"state_dir": tmp_path, "maintenance": [written(NOW + HOUR, NOW + 2 * HOUR)]}
    )
    machine = replace(MACHINE, terms=replace(MACHINE.terms, min_duration=600), status=MachineStatus.VERIFIED)
    for now, cells in (
        (NOW + HOUR - 600, 0),
        (NOW + HOUR - 599, 0xFFFF),
        (NOW + 2 * HOUR - 1, 0xFFFF),
        (NOW + 2 * HOUR, 0),
    ):
        assert cells_before_maintenance(settings, machine, now) == cells


def test_windows_as_they_are_written() -> None:
    berlin = "2026-12-01T03:00+01:00/2026-12-01T04:30+01:00"
    utc = "2026-12-01T02:00Z/2026-12-01T03:30"
    assert parse_windows([berlin]) == parse_windows([utc])
    two = parse_windows(["2027-01-01/2027-01-02", utc])
    assert two[0] < two[1]
    for wrong, says in (
        ("tomorrow", "no window"),
        ("2026-12-01T02:00Z", "no window"),
        ("2026-12-01T02:00Z/", "no window"),
        ("2026-12-01T03:00Z/2026-12-01T02:00Z", "ends before"),
        ("2026-12-01T03:00Z/2026-12-01T03:00Z", "ends before"),
        ("2026-12-01/2026-12-09", "longer than seven days"),
    ):
        with pytest.raises(ValueError, match=says):
            parse_windows([wrong])
    with pytest.raises(ValueError, match="more than the 16"):
        parse_windows([utc] * 17)


@pytest.mark.slow
async def test_a_lease_that_would_reach_into_it_comes_back_whole(rig_of: Callable[..., Any]) -> None:
    """Announced in the contact document; a shorter lease runs, and hears of it once its tenant makes it longer."""
    rig: Rig = await rig_of()
    now = rig.chain.anvil.timestamp
    window = (now + 2 * HOUR, now + 3 * HOUR)
    rig.settings = rig.settings.model_copy(
        update={"maintenance": (written(*window), written(now - HOUR, now - 1))}
    )
    await rig.restart()
    introduction = introduction_of(rig.host, rig.identity)
    await introduction.open()
    contact = parse_document(Contact, introduction.document, "the contact")
    assert contact.maintenance == (window,), "what is over is announced no more"
    assert canonical(json.loads(introduction.document)) == introduction.document
    assert await declined(rig, await rig.open(share=1, duration=3 * HOUR)) == "maintenance"
    lease = await rig.open(rig.workload(grace=0), share=1, duration=HOUR)
    await rig.reaches(lease, LeaseState.ACTIVE)
    told = rig.host.leases.folder(lease).told / "maintenance.json"
    assert not told.exists()
    await rig.chain.pool(2).extend(lease, 2 * HOUR)
    await rig.until(told.exists)
    code, text = await rig.inside(lease, "cat /run/leasehold/maintenance.json")
    assert (code, json.loads(text)) == (0, {"begins_at": window[0], "ends_at": window[1]})
    assert (await rig.lease(lease)).state is LeaseState.ACTIVE

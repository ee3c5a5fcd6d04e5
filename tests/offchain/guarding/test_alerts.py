"""What a guard warns of, from a table of how things may stand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leasehold.chain import LeaseState
from leasehold.guarding._alerts import LONGEST, Alert, AlertKind, acted, alerts_of, harmless, unsure_of
from leasehold.guarding._sights import OwnSight, PastSight, Snapshot

from .sights import HOUR, MONEY, NOW, WELL, lease, settings, sight, snapshot

KEEP = {"all": {"by": "1h", "at_most": "20h", "budget": "100"}}
STANDS = [
    ("all is well", snapshot(sight()), {}, []),
    ("nothing is rented", snapshot(), {}, []),
    ("notice", snapshot(sight(lease(noticed=True))), {}, ["notice"]),
    ("it ends soon", snapshot(sight(lease(end=NOW + 600))), {}, ["end-near"]),
    ("nobody wants to hear of an end", snapshot(sight(lease(end=NOW + 600))), {"end_near": 0}, []),
    ("notice says the end", snapshot(sight(lease(end=NOW + 600, noticed=True))), {}, ["notice"]),
    ("it is kept", snapshot(sight(lease(end=NOW + 600))), {"keep": KEEP}, []),
    ("kept long enough", snapshot(sight(lease(start=NOW - 20 * HOUR, end=NOW + 9))), {"keep": KEEP}, ["end-near"]),
    ("no money to keep it", snapshot(sight(), own=replace(WELL, left=5)), {"keep": KEEP}, ["escrow-low"]),
    ("kept by another rule", snapshot(sight(), own=replace(WELL, left=5)),
     {"keep": {"x": {**KEEP["all"], "label": "project=x"}}}, []),
    ("a run pays for itself", snapshot(sight(lease(end=NOW + 600), job="train")), {}, []),
    ("silent", snapshot(sight(answers=False, silent=900, idle=None)), {}, ["outage"]),
    ("silent for a moment", snapshot(sight(answers=False, silent=60, idle=None)), {}, []),
    ("down", snapshot(sight(down=NOW - 60)), {}, ["outage"]),
    ("crashes", snapshot(sight(looping=True)), {}, ["crash-loop"]),
    ("idle", snapshot(sight(idle=True)), {}, ["idle"]),
    ("idleness interests nobody", snapshot(sight(idle=True)), {"idle_after": 0}, []),
    ("its command has ended", snapshot(sight(exit_code=1)), {}, ["idle"]),
    ("that of a run has", snapshot(sight(exit_code=0, job="train")), {}, []),
    ("cheaper elsewhere", snapshot(sight(cheaper=(9, 1_000_000))), {}, ["price"]),
    ("not started in time", snapshot(sight(lease(state=LeaseState.OPENED, start=NOW - 2_000))), {}, ["not-started"]),
    ("about to start", snapshot(sight(lease(state=LeaseState.OPENED, start=NOW - 100))), {}, []),
    ("past its end, and not closed", snapshot(sight(lease(end=NOW - 1))), {}, []),
    ("declined", snapshot(past=(PastSight(lease(state=LeaseState.CANCELLED), "", "no-disk"),)), {}, ["not-started"]),
    ("closed", snapshot(past=(PastSight(lease(state=LeaseState.ENDED), "train"),)), {}, ["ended"]),
    ("no gas", snapshot(own=OwnSight(5)), {}, ["trouble"]),
    ("something waits", snapshot(own=replace(WELL, waiting=True)), {}, ["trouble"]),
    ("its leave ends", snapshot(own=replace(WELL, expiry=NOW + 60)), {}, ["trouble"]),
    ("a channel fails", snapshot(own=replace(WELL, failing=("mail",))), {}, ["trouble"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("stands", "table", "kinds"), [row[1:] for row in STANDS], ids=[row[0] for row in STANDS]
)
def test_what_there_is_to_warn_of(stands: Snapshot, table: dict[str, object], kinds: list[str]) -> None:
    alerts = alerts_of(stands, settings(**table), MONEY)
    assert [str(alert.kind) for alert in alerts] == kinds
    assert alerts == alerts_of(stands, settings(**table), MONEY)
    assert all(alert.said.endswith(".") and alert.said[0].isupper() for alert in alerts)


def test_one_lease_with_everything_wrong_is_told_of_each() -> None:
    bad = sight(lease(noticed=True), silent=900, looping=True, idle=True, cheaper=(9, 1))
    alerts = alerts_of(snapshot(bad), settings(), MONEY)
    assert [str(alert.kind) for alert in alerts] == ["notice", "outage", "crash-loop", "idle", "price"]
    assert {alert.about for alert in alerts} == {str(1 << 16)}
    assert {alert.lease for alert in alerts} == {"1"}


def test_what_strangers_write_is_one_short_plain_line() -> None:
    said = "a\r\nBcc: all@example.org\x1b[31m\u202eevil\u2066" + "x" * 1_000
    plain = harmless(said)
    assert "\n" not in plain
    assert "\x1b" not in plain
    assert "\u202e" not in plain
    assert len(plain) == LONGEST
    past = PastSight(lease(state=LeaseState.CANCELLED), "na\nme", "no\nroom" + "y" * 500)
    (alert,) = alerts_of(snapshot(past=(past,)), settings(), MONEY)
    assert "\n" not in alert.said
    assert len(alert.said) < 300


def test_a_silent_agent_says_nothing_of_idleness() -> None:
    silent, well = sight(answers=False, idle=None), sight(lease(2 << 16))
    assert unsure_of(snapshot(silent, well)) == {f"crash-loop:{1 << 16}", f"idle:{1 << 16}"}


def test_an_alert_as_it_is_sent() -> None:
    alert = Alert(AlertKind.NOTICE, "5", "Lease 5 ends.", "5")
    sent = alert.to_json(NOW)
    assert (sent["kind"], sent["urgent"], sent["at"], sent["lease"]) == ("notice", True, NOW, "5")
    assert sent["id"] == alert.to_json(NOW)["id"] != alert.to_json(NOW + 1)["id"]
    assert not acted("5-extended", "Done.").urgent

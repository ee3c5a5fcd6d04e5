"""The stand-in for systemd takes a unit at its word: what it starts, with what, and that it ends."""

from __future__ import annotations

import os
import select
from pathlib import Path

import pytest

from devnet import service
from devnet.patience import patient

UNIT = """
[Service]
ExecStart=sh -c "echo $WORD; exec sleep 1d"
Environment=WORD=hello
Restart=always
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a-unit.service").write_text(UNIT)
    monkeypatch.setattr(service, "UNITS", tmp_path)
    monkeypatch.setenv(service.PLACE, str(tmp_path))
    return tmp_path


def test_a_unit_runs_until_it_is_stopped(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert service.main("systemctl", "daemon-reload") == 0
    assert service.main("systemctl", "enable", "--now", "a-unit.service") == 0
    handle = os.pidfd_open(int((place / "a-unit.pid").read_text()))
    try:
        assert not select.select([handle], [], [], 0)[0]
        assert service.main("systemctl", "--quiet", "is-active", "a-unit.service") == 0
    finally:
        assert service.main("systemctl", "disable", "--now", "a-unit") == 0
    assert select.select([handle], [], [], patient(1))[0]
    assert service.main("systemctl", "is-active", "a-unit") == 3
    os.waitid(os.P_PIDFD, handle, os.WEXITED)
    os.close(handle)
    assert service.main("systemctl", "stop", "a-unit") == 0  # it has ended already


def test_its_journal_is_what_it_said(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (place / "a-unit.service").write_text(UNIT.replace("; exec sleep 1d", ""))
    service.main("systemctl", "start", "a-unit")
    os.waitid(os.P_PID, int((place / "a-unit.pid").read_text()), os.WEXITED)
    assert service.main("journalctl", "-u", "a-unit") == 0
    assert capfd.readouterr().out == "hello\n"


def test_what_it_does_not_know_fails(place: Path) -> None:
    assert service.main("systemctl", "mask", "a-unit") == 1

"""`make test-gpu` on a host whose driver is a library that stands in for it: the suite takes it for a real one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.agent.nvml.standin import RTX_4090, StandIn, environment, library

SCRIPT = Path(__file__).parents[2] / "scripts" / "test_gpu.py"


def typed(into: Path, driver: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), "--into", str(into)],
        env=os.environ | driver,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_without_a_driver_it_says_so_and_keeps_nothing(tmp_path: Path) -> None:
    ended = typed(tmp_path / "kept", {"LD_LIBRARY_PATH": str(library())})
    assert ended.returncode == 1
    assert ended.stderr.startswith("No driver of NVIDIA's answers here")
    assert not (tmp_path / "kept").exists()


@pytest.mark.slow
def test_without_a_card_it_says_so(tmp_path: Path) -> None:
    ended = typed(tmp_path / "kept", environment(StandIn(tmp_path / "nvml").file))
    assert ended.returncode == 1
    assert "no card does" in ended.stderr


@pytest.mark.slow
def test_what_the_cards_said_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own processes have that library for a driver, and nothing of the tests' is asked to stand in."""
    host = StandIn(tmp_path / "nvml")
    cards = [host.add(RTX_4090, compute_mode=0) for _ in range(2)]
    smi = tmp_path / "bin" / "nvidia-smi"
    smi.parent.mkdir()
    rows = "".join(f"{card.uuid}, {card.get('name')}, {host.get('driver')}\\n" for card in cards)
    smi.write_text(f"#!/bin/sh\nprintf '{rows}'\n")
    smi.chmod(0o755)
    path = {"PATH": f"{smi.parent}:{os.environ['PATH']}"}
    ended = typed(tmp_path / "kept", environment(host.file) | path)
    assert ended.returncode == 0, ended.stdout
    kept = (tmp_path / "kept" / "gpu-rtx-4090-24g.txt").read_text()
    assert kept.startswith(
        "cards   NVIDIA GeForce RTX 4090, NVIDIA GeForce RTX 4090\ndriver  615.71.05, CUDA 13.4\n"
    )
    assert "test_its_facts_are_the_drivers PASSED" in kept
    assert "a_card_is_lost" not in kept, "nobody takes a real one off its bus"
    assert not any(card.uuid in kept for card in cards)
    host.card(0).set(name="NVIDIA Another")
    assert typed(tmp_path / "kept", environment(host.file) | path).returncode != 0, (
        "a tool that says otherwise"
    )

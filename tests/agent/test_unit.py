"""What the agent's unit leaves it: cards and loop devices are files that it opens."""

from __future__ import annotations

from pathlib import Path

UNIT = Path(__file__).parents[2] / "agent/leasehold-agent.service"
SHUTS_OUT_DEVICES = {"ProtectClock", "PrivateDevices", "DeviceAllow", "DevicePolicy"}
"""Each brings a list of devices, and what does not stand in it cannot be opened: by a program that the agent runs
neither, in whichever view of the file systems.
"""


def test_no_device_is_shut_out() -> None:
    lines = [line for line in UNIT.read_text().splitlines() if not line.startswith("#")]
    assert not {line.partition("=")[0] for line in lines} & SHUTS_OUT_DEVICES


def test_it_may_mount_and_enter_the_engine_s_view() -> None:
    """`MountSpace` does both, and neither works without `CAP_SYS_ADMIN` or in fewer kinds of namespaces."""
    told = dict(
        line.split("=", 1) for line in UNIT.read_text().splitlines() if "=" in line and line[0] != "#"
    )
    assert "CAP_SYS_ADMIN" not in told["CapabilityBoundingSet"]
    assert "RestrictNamespaces" not in told

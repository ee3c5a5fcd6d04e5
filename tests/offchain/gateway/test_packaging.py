"""What ships beside the gateway says what the gateway takes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
REFERENCE = (ROOT / "docs/reference/cli.md").read_text()


def options(text: str) -> set[str]:
    return set(re.findall(r"--[a-z]+", text))


def test_the_unit_and_the_container_name_options_that_there_are() -> None:
    section = REFERENCE.split("leasehold gateway run", 1)[1][:6_000]
    unit = (ROOT / "offchain/leasehold-gateway.service").read_text()
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", (ROOT / "offchain/gateway.Containerfile").read_text(), re.M)
    named = options("".join(line for line in unit.splitlines() if "OPTIONS=" in line)) | options(entry)
    assert named
    assert named <= options(section)
    assert "ExecStart=leasehold gateway run" in unit


def test_the_extra_that_the_container_installs_is_there() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert "[gateway]" in (ROOT / "offchain/gateway.Containerfile").read_text()
    assert {name.split(">")[0] for name in extras["gateway"]} == {"fastapi", "uvicorn", "uvloop"}

"""Gas of each call beside its floor and within its ceiling. Counted, not timed: the figures are the same everywhere."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

SNAPSHOT = Path("tests/contracts/snapshots/gas.json")

# name: (gas of a minimal packed contract that does only this, or None where there is none; ceiling)
BOUNDS: dict[str, tuple[int | None, int]] = {
    "register_first": (114_079, 162_000),
    "register_next": (114_079, 158_000),
    "open_new": (98_315, 121_000),
    "open_reused": (53_123, 88_000),
    "start": (29_683, 44_000),
    "close_warm": (None, 76_000),
    "close_cold": (None, 92_000),
    "claim_first": (None, 75_000),
    "claim_later": (None, 58_000),
    "claim_next_first": (9_500, 33_000),
    "claim_next_later": (9_500, 16_000),
    "withdraw": (41_893, 50_000),
    "pool": (5 * 63_751, 600_000),  # five clones
}

# What others need for what comes nearest, measured in the same way or published (docs/contracts.md, "Cost"). LlamaPay's
# and Flow's are bare streams, and their ends send tokens.
OTHERS: dict[str, str] = {
    "open_new": "LlamaPay 82,443, Sablier Flow 178,667",
    "open_reused": "LlamaPay 54,962",
    "close_warm": "LlamaPay 58,422, Sablier Flow 60,467",
    "withdraw": "LlamaPay 61,223, Sablier Flow 73,891",
    "pool": "LlamaPay 1,493,525",
    "group_2of3_extra": "Safe, measured here",
    "group_2of3_deploy": "Safe, measured here",
}

# name: (what Safe's own figure is called, measured in the same run; ceiling)
PEERS: dict[str, tuple[str, int]] = {
    "group_2of3_extra": ("safe_2of3_extra", 42_000),
}


def run() -> list[dict[str, Any]]:
    """One row a call: ours, the floor or the peer as reference, their ratio, the ceiling as goal.

    Runs the gas tests. Raises RuntimeError when they fail, as they do when a figure has drifted from the committed
    snapshot.
    """
    environment = os.environ | {"FORGE_SNAPSHOT_CHECK": "true", "HOME": str(Path("build").resolve())}
    command = ["forge", "test", "--isolate", "--match-contract", "GasTest"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"the gas tests failed: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    measured = {name: int(gas) for name, gas in json.loads(SNAPSHOT.read_text()).items()}
    rows = [row(name, measured[name], floor, ceiling) for name, (floor, ceiling) in BOUNDS.items()]
    rows += [row(name, measured[name], measured[peer], ceiling) for name, (peer, ceiling) in PEERS.items()]
    # A group deploys nothing; a Safe must.
    return [*rows, row("group_2of3_deploy", 0, measured["safe_deploy"], 0)]


def row(name: str, gas: int, floor: int | None, ceiling: int) -> dict[str, Any]:
    ratio = round(gas / floor, 3) if floor else None
    goal = f"at most {ceiling:,}"
    return {
        "name": f"gas.{name}",
        "ours": gas,
        "reference": floor,
        "ratio": ratio,
        "goal": goal,
        "ok": gas <= ceiling,
        "others": OTHERS.get(name),
    }

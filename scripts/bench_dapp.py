"""The market's page of the browser's app as Lighthouse judges it: a phone of the middle on slow mobile, and a desktop.

The app is the built one, served by a gateway before a market that has been used for a month. Of several runs the middle
one counts: the computer has other work, too.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from devnet.gateway import gateway
from devnet.used_market import aged_chain, fill
from devnet.world import World

LEAST: Final = 95
"""Of 100, in each category."""
CATEGORIES: Final = ("performance", "accessibility", "best-practices")
FORMS: Final = {"phone": (), "desktop": ("--preset=desktop",)}
RUNS: Final = 3
_FLAGS: Final = (
    "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking"
)
_PATIENCE: Final = 300  # seconds of one run


class NoVerdict(RuntimeError):
    """Lighthouse did not come to an end; the text is what it said last."""


def run() -> list[dict[str, Any]]:
    """A row for each category and form."""
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as name:
        folder = Path(name)
        with World(folder / "world", chain=aged_chain()) as world:
            fill(world)
            with gateway(world) as url:
                said = {form: verdicts(form, f"{url}/#/", folder) for form in FORMS}
    return [row for form, verdict in said.items() for row in rows(form, verdict)]


def verdicts(form: str, url: str, folder: Path) -> list[dict[str, Any]]:
    """What Lighthouse said in each of its runs. Raises NoVerdict."""
    return [_verdict(form, url, folder / f"{form}-{number}.json") for number in range(RUNS)]


def rows(form: str, said: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a form: of each category the middle score, and how fast Lighthouse found the computer. A phone is
    that computer slowed to a quarter: where its index is below 1,500, or it has other work, a slower one than meant.
    """
    index = statistics.median(float(one["environment"]["benchmarkIndex"]) for one in said)
    made = []
    for category in CATEGORIES:
        score = round(
            100 * statistics.median(float(one["categories"][category]["score"] or 0) for one in said)
        )
        name = f"dapp.lighthouse_{form}_{category.replace('-', '_')}"
        row = {"name": name, "ours": score, "reference": None, "ratio": None}
        made.append({**row, "goal": f">= {LEAST} of 100, at index {index:.0f}", "ok": score >= LEAST})
    return made


def lacks(said: dict[str, Any]) -> list[str]:
    """What cost points in a run: each audit's name and what it saw."""
    wanted = {
        ref["id"] for name in CATEGORIES for ref in said["categories"][name]["auditRefs"] if ref["weight"]
    }
    audits = (said["audits"][name] for name in sorted(wanted))
    return [
        f"{audit['id']}: {audit['score']} {audit.get('displayValue', '')}"
        for audit in audits
        if audit["score"] is not None and audit["score"] < 1
    ]


def _verdict(form: str, url: str, path: Path) -> dict[str, Any]:
    home = Path(os.environ["LEASEHOLD_LIGHTHOUSE"])
    chromium = shutil.which("chromium")
    command = [
        *(
            str(home / "node_modules/.bin/lighthouse"),
            url,
            "--output=json",
            f"--output-path={path}",
            "--quiet",
        ),
        *(f"--only-categories={','.join(CATEGORIES)}", f"--chrome-flags={_FLAGS}", *FORMS[form]),
        "--no-enable-error-reporting",
    ]
    environment = {**os.environ, "CHROME_PATH": chromium or "chromium", "HOME": str(path.parent)}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=_PATIENCE, check=False
    )
    if not path.is_file():
        raise NoVerdict((done.stderr or done.stdout)[-2_000:])
    said: dict[str, Any] = json.loads(path.read_text())
    if said.get("runtimeError"):
        raise NoVerdict(str(said["runtimeError"]))
    return said


if __name__ == "__main__":
    for row in run():
        print(json.dumps(row))

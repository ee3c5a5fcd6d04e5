"""The compiler of this checkout, asked in JSON."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def compiled(job: Mapping[str, Any], root: Path = ROOT) -> dict[str, Any]:
    """What the compiler answers to a job of its standard JSON; exits with its errors. root: where its paths begin."""
    run = subprocess.run(
        [str(root / "scripts/toolchain/solc.mjs"), "--standard-json"],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        cwd=root,
        check=True,
    )
    output: dict[str, Any] = json.loads(run.stdout)
    errors = [error["formattedMessage"] for error in output.get("errors", []) if error["severity"] == "error"]
    if errors:
        raise SystemExit("\n".join(errors))
    return output

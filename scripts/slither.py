"""Runs Slither over contracts/ and holds what it finds against scripts/toolchain/slither.toml, where each finding that
stays has its reason. A finding without one fails, and so does a reason that explains nothing any more.

    make slither
"""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ACCEPTED = ROOT / "scripts/toolchain/slither.toml"
BUILD = ROOT / "build"
REPORT = BUILD / "slither.json"
Finding = tuple[str, str]


def analyse(slither: str) -> list[dict[str, Any]]:
    """Compiles contracts/ apart, with what Slither reads, and returns its findings."""
    environment = os.environ | {"HOME": str(BUILD), "PATH": f"{Path(slither).parent}:{os.environ['PATH']}"}
    out = ["--out", "build/slither", "--cache-path", "build/slither-cache"]
    subprocess.run(
        ["forge", "build", "contracts", "--build-info", "--force", *out],
        cwd=ROOT,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    REPORT.unlink(missing_ok=True)
    options = ["--ignore-compile", "--foundry-out-directory", "build/slither", "--json", str(REPORT)]
    options += ["--filter-paths", "node_modules|contracts/test|tests/", "--no-fail-pedantic"]
    run = subprocess.run(
        [slither, ".", *options], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    report = json.loads(REPORT.read_text()) if REPORT.exists() else {}
    if run.returncode != 0 or not report.get("success"):
        sys.exit(f"Slither itself failed:\n{run.stderr[-4000:]}")
    findings: list[dict[str, Any]] = report["results"].get("detectors", [])
    return findings


def place(finding: dict[str, Any]) -> str:
    """Where a finding is: `Contract.function`, or as near to it as Slither says."""
    names: list[str] = []
    element = finding["elements"][0]
    while element:
        if element["type"] in ("function", "contract"):
            names.insert(0, element["name"])
        element = element.get("type_specific_fields", {}).get("parent")
    return ".".join(names)


def unexplained(found: set[Finding], accepted: list[dict[str, Any]]) -> tuple[list[Finding], list[Finding]]:
    """Findings that no entry accepts, and entries (check, place) that accept nothing."""
    left = set(found)
    idle: list[Finding] = []
    for entry in accepted:
        for where in entry["where"]:
            matching = {f for f in found if f[0] == entry["check"] and where in ("*", f[1])}
            if not matching:
                idle.append((entry["check"], where))
            left -= matching
    return sorted(left), sorted(idle)


def main() -> None:
    findings = analyse(sys.argv[1])
    accepted = tomllib.loads(ACCEPTED.read_text())["accepted"]
    left, idle = unexplained({(f["check"], place(f)) for f in findings}, accepted)
    for check, where in left:
        print(f"unexplained: {check} in {where}")
        for finding in findings:
            if (finding["check"], place(finding)) == (check, where):
                print("    " + finding["description"].strip().replace("\n", "\n    "))
    for check, where in idle:
        print(f"explains nothing any more: {check} in {where}")
    if left or idle:
        sys.exit(f"Mend the contracts, or say why it is right in {ACCEPTED.relative_to(ROOT)}.")
    print(f"{len(findings)} findings, each with its reason in {ACCEPTED.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()

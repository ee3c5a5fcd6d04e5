"""Shows that each invariant fails when its code is broken.

`tests/invariants/mutations/NN-name.patch` plants one bug in `contracts/`. Each is planted in turn in a copy of the
contracts under `build/mutations`, and the invariant with its number is run there: it must fail. Two are planted at a
time, each in a copy of its own that keeps what it has compiled, so that only what a patch touches is compiled again.

    make mutations              all of them
    make mutations only="1 13"  those of some invariants
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATCHES = ROOT / "tests" / "invariants" / "mutations"
BUILD = ROOT / "build" / "mutations"
INVARIANTS = range(1, 22)
TESTS = "tests/invariants/Controller.invariants.t.sol"
SUITE = "ControllerInvariantsPlain"
# Longer than the light profile, for a bug may need a rare sequence; it ends with the first failure.
SETTINGS = {
    "HOME": str(ROOT / "build"),  # forge writes nothing into the user's own
    "FOUNDRY_INVARIANT_RUNS": "64",
    "FOUNDRY_INVARIANT_DEPTH": "100",
    "FOUNDRY_INVARIANT_SHRINK_RUN_LIMIT": "0",
    # Four times as fast to compile, and none of these bugs is the optimizer's.
    "FOUNDRY_OPTIMIZER": "false",
    # Tests take the contracts from their artifacts, so that a patch does not have them compiled too.
    "FOUNDRY_DYNAMIC_TEST_LINKING": "true",
    "FOUNDRY_OUT": "build/forge",
    "FOUNDRY_CACHE_PATH": "build/forge-cache",
}
TIMEOUT = 900  # seconds for one mutant, compiling included


@dataclass(frozen=True)
class Result:
    """What became of one mutant. `reason` is the failing invariant's message, or why there is no verdict."""

    patch: Path
    killed: bool
    reason: str
    seconds: float


def number_of(patch: Path) -> int:
    """The invariant that a patch is to break: the digits its name begins with."""
    found = re.match(r"(\d\d)-", patch.name)
    if found is None:
        raise SystemExit(f"{patch.name}: a patch's name begins with the two digits of its invariant")
    return int(found[1])


def copy_tree(home: Path) -> None:
    """Brings a copy up to date: what has not changed keeps its time, and with it what forge has compiled."""
    for name in ("contracts", "tests/invariants"):
        target = home / name
        wanted = {path.relative_to(ROOT / name) for path in (ROOT / name).rglob("*.sol")}
        for path in sorted(target.rglob("*.sol")) if target.exists() else []:
            if path.relative_to(target) not in wanted:
                path.unlink()
        for path in sorted(wanted):
            source, copied = ROOT / name / path, target / path
            if not copied.exists() or copied.read_bytes() != source.read_bytes():
                copied.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, copied)
    shutil.copy2(ROOT / "foundry.toml", home / "foundry.toml")
    for name in ("node_modules", "scripts"):
        link = home / name
        if not link.is_symlink():
            link.symlink_to(ROOT / name)


def tidy(reason: str | None) -> str:
    """A failure's message on one line; of a custom error's arguments, which are bytes, what can be printed."""
    said = "".join(char if char.isprintable() else " " for char in reason or "it reverted")
    return " ".join(said.split()).rstrip(":")


def run_invariant(home: Path, number: int) -> tuple[bool, str]:
    """Runs the invariant of this number in a copy.

    Returns whether it failed, and with what message.
    """
    name = f"invariant_{number:02}_"
    done = subprocess.run(
        [
            "forge",
            "test",
            "--json",
            "-j1",
            "--match-path",
            TESTS,
            "--match-contract",
            SUITE,
            "--match-test",
            name,
        ],
        cwd=home,
        env={**os.environ, **SETTINGS},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    suites = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"tests/')]
    if not suites:
        raise RuntimeError((done.stderr or done.stdout).strip()[-2000:])
    tests = {test: found for suite in suites[0].values() for test, found in suite["test_results"].items()}
    failed = {test: found for test, found in tests.items() if found["status"] != "Success"}
    if not any(test.startswith(name) for test in tests):
        raise RuntimeError(f"there is no {name}…")
    reasons = [tidy(found["reason"]) for test, found in failed.items() if test.startswith(name)]
    return bool(reasons), reasons[0] if reasons else ""


def plant(patch: Path, homes: queue.SimpleQueue[Path]) -> Result:
    """Plants one bug in a copy that is free, runs its invariant there, and takes the bug out again."""
    home = homes.get()
    started = time.monotonic()
    try:
        copy_tree(home)
        applied = subprocess.run(
            ["git", "apply", str(patch)],
            cwd=home,
            env={**os.environ, "GIT_CEILING_DIRECTORIES": str(BUILD)},  # not in this repository: in its copy
            capture_output=True,
            text=True,
            check=False,
        )
        if applied.returncode != 0:
            return Result(patch, False, "does not apply: " + applied.stderr.strip(), 0)
        killed, reason = run_invariant(home, number_of(patch))
        return Result(patch, killed, reason or "SURVIVED", time.monotonic() - started)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return Result(patch, False, f"no verdict: {error}", time.monotonic() - started)
    finally:
        homes.put(home)


def main() -> int:
    """Plants the bugs that are asked for. 0 if each is found by its own invariant."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("numbers", nargs="*", type=int, help="invariants whose bugs to plant; all by default")
    parser.add_argument("--jobs", type=int, default=2, help="copies to work in at a time")
    options = parser.parse_args()
    wanted = set(options.numbers or INVARIANTS)
    patches = [patch for patch in sorted(PATCHES.glob("*.patch")) if number_of(patch) in wanted]
    if missing := wanted - {number_of(patch) for patch in patches}:
        print(f"no bug is kept for invariant {', '.join(map(str, sorted(missing)))}", file=sys.stderr)
        return 1

    homes: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for index in range(options.jobs):
        (home := BUILD / str(index)).mkdir(parents=True, exist_ok=True)
        homes.put(home)
    width = max(len(patch.stem) for patch in patches)
    survivors = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for at, result in enumerate(pool.map(lambda patch: plant(patch, homes), patches), 1):
            survivors += not result.killed
            verdict = "found" if result.killed else "MISSED"
            line = f"{at:>2}/{len(patches)}  {result.patch.stem:<{width}}  {verdict:<6}  {result.seconds:>4.0f} s"
            print(f"{line}  {result.reason}", flush=True)
    print(
        f"{len(patches) - survivors} of {len(patches)} planted bugs are found by the invariant of their number"
    )
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())

"""Shows that each invariant fails when its code is broken.

`tests/invariants/mutations/NN-name.patch` plants one bug in `contracts/`. Each is planted in a copy of the contracts
under `build/mutations`, and the invariant with its number is run there: it must fail, with every seed that is tried.

    make mutations                      all of them
    make mutations only="1 13"          those of some invariants
    make mutations seeds=20             each with twenty seeds

A verdict depends on the contracts, the bug and the seed, and on nothing that an earlier run has left:

- What is not mutated is compiled once. Every mutant starts from a fresh copy of that, so that only what the patch
  touches is compiled again, and it must differ: a patch that changes no bytecode, or does not compile, is an error.
- forge keeps the calls by which an invariant failed and tries them first the next time. They are thrown away here, or a
  bug that was found once by luck would be found ever after.
- The calls by which a bug was found are played to the contracts without it. If they break the invariant there too, it
  is not the bug that was found.
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
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATCHES = ROOT / "tests" / "invariants" / "mutations"
BUILD = ROOT / "build" / "mutations"
TESTS = "tests/invariants/Controller.invariants.t.sol"
SUITE = "ControllerInvariantsPlain"
ARTIFACTS = "build/forge"
FAILURES = "build/failures"
# Far longer than the light profile, for a bug may need a rare sequence. It ends with the first failure, so that only a
# bug that is missed takes as long as this allows: three minutes.
RUNS = 512
SETTINGS = {
    "HOME": str(ROOT / "build"),  # forge writes nothing into the user's own
    "FOUNDRY_INVARIANT_DEPTH": "100",
    "FOUNDRY_INVARIANT_SHRINK_RUN_LIMIT": "0",
    "FOUNDRY_INVARIANT_FAILURE_PERSIST_DIR": FAILURES,
    # Four times as fast to compile, and none of these bugs is the optimizer's.
    "FOUNDRY_OPTIMIZER": "false",
    # Tests take the contracts from their artifacts, so that a patch does not have them compiled too.
    "FOUNDRY_DYNAMIC_TEST_LINKING": "true",
    "FOUNDRY_OUT": ARTIFACTS,
    "FOUNDRY_CACHE_PATH": "build/forge-cache",
    "FOUNDRY_SOLC": str(ROOT / "scripts" / "toolchain" / "solc_remembered.py"),
    "SOLC_MEMORY": str(BUILD / "solc"),
}
TIMEOUT = 1800  # seconds for one run of forge, on a machine that is busy with other things


class NoVerdict(Exception):
    """The bug could not be judged, and why."""


@dataclass(frozen=True)
class Result:
    """What became of one mutant. `reason` is the failing invariant's message, or what is wrong."""

    patch: Path
    found: bool
    reason: str
    compiled: float
    slowest: float


def number_of(patch: Path) -> int:
    """The invariant that a patch is to break: the digits its name begins with."""
    found = re.match(r"(\d\d)-", patch.name)
    if found is None:
        raise SystemExit(f"{patch.name}: a patch's name begins with the two digits of its invariant")
    return int(found[1])


def invariants() -> set[int]:
    """The numbers of the invariants that there are."""
    said = "".join(path.read_text() for path in (ROOT / "tests" / "invariants").glob("*.sol"))
    return {int(number) for number in re.findall(r"function invariant_(\d\d)_", said)}


# ------------------------------------------------------------------------------------------------------------- copies


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


def compile_original() -> Path:
    """The contracts without a bug, compiled, from which every mutant starts."""
    home = BUILD / "original"
    home.mkdir(parents=True, exist_ok=True)
    copy_tree(home)
    compile_in(home)
    return home


def compile_in(home: Path) -> None:
    """Compiles the invariants and what they test, and nothing else."""
    done = forge(home, "--list", "--json", env={})
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise NoVerdict("it does not compile: " + said[-1500:])


def plant(patch: Path, original: Path, home: Path) -> None:
    """A fresh copy of the original with one bug in it."""
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(original, home, symlinks=True)
    applied = subprocess.run(
        ["git", "apply", str(patch)],
        cwd=home,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(BUILD)},  # not in this repository: in its copy
        capture_output=True,
        text=True,
        check=False,
    )
    if applied.returncode != 0:
        raise NoVerdict("it does not apply: " + applied.stderr.strip())


def bytecode(home: Path) -> dict[str, str]:
    """What would be deployed, of each contract under `contracts/`."""
    sources = {path.name for path in (home / "contracts").rglob("*.sol")}
    return {
        f"{artifact.parent.name}:{artifact.stem}": json.loads(artifact.read_text())["bytecode"]["object"]
        for artifact in sorted((home / ARTIFACTS).glob("*.sol/*.json"))
        if artifact.parent.name in sources
    }


def changed(original: Path, home: Path) -> list[str]:
    """The contracts whose bytecode a bug has changed."""
    before, after = bytecode(original), bytecode(home)
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


# --------------------------------------------------------------------------------------------------------------- forge


def forge(home: Path, *arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs the tests of the invariants in a copy."""
    command = ["forge", "test", "-j1", "--match-path", TESTS, "--match-contract", SUITE, *arguments]
    settings = {**os.environ, **SETTINGS, **env}
    return subprocess.run(
        command, cwd=home, env=settings, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )


def tidy(reason: str | None) -> str:
    """A failure's message on one line; of a custom error's arguments, which are bytes, what can be printed."""
    said = "".join(char if char.isprintable() else " " for char in reason or "it reverted")
    return " ".join(said.split()).rstrip(":")


def run_invariant(home: Path, number: int, seed: int, runs: int) -> str | None:
    """Runs the invariant of this number in a copy. Its message if it failed."""
    name = f"invariant_{number:02}_"
    env = {"FOUNDRY_FUZZ_SEED": hex(seed), "FOUNDRY_INVARIANT_RUNS": str(runs)}
    done = forge(home, "--json", "--match-test", name, env=env)
    suites = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"tests/')]
    if not suites:
        raise NoVerdict((done.stderr or done.stdout).strip()[-1500:])
    tests = {test: found for suite in suites[0].values() for test, found in suite["test_results"].items()}
    if not any(test.startswith(name) for test in tests):
        raise NoVerdict(f"there is no {name}…")
    reasons = [found["reason"] for found in tests.values() if found["status"] != "Success"]
    return tidy(reasons[0]) if reasons else None


def judge(home: Path, number: int, seed: int) -> str:
    """Whether one seed finds the bug: what the invariant said."""
    shutil.rmtree(home / FAILURES, ignore_errors=True)
    reason = run_invariant(home, number, seed, RUNS)
    if reason is None:
        raise NoVerdict(f"missed with seed {seed}")
    return reason


def prove_innocent(original: Path, home: Path, number: int) -> None:
    """Plays the calls that found the bug to contracts without it, in a folder of this copy's own."""
    innocent = home / "innocent"
    shutil.copytree(original, innocent, symlinks=True)
    if (home / FAILURES).exists():  # else it was broken before the first call
        shutil.copytree(home / FAILURES, innocent / FAILURES)
    reason = run_invariant(innocent, number, 1, 1)
    if reason is not None:
        raise NoVerdict("without the bug the same calls break it too: " + reason)


def try_patch(patch: Path, original: Path, homes: queue.SimpleQueue[Path], seeds: int) -> Result:
    """Plants one bug in a copy that is free and has its invariant look for it."""
    home = homes.get()
    started = time.monotonic()
    compiled, times, reason = 0.0, [0.0], ""
    try:
        plant(patch, original, home)
        compile_in(home)
        compiled = time.monotonic() - started
        if not changed(original, home):
            raise NoVerdict("it changes no bytecode")
        for seed in range(1, seeds + 1):
            began = time.monotonic()
            reason = judge(home, number_of(patch), seed)
            times.append(time.monotonic() - began)
            if seed == 1:
                prove_innocent(original, home, number_of(patch))
        return Result(patch, True, reason, compiled, max(times))
    except NoVerdict as error:
        return Result(patch, False, str(error), compiled, max(times))
    except subprocess.TimeoutExpired:
        return Result(patch, False, f"forge took longer than {TIMEOUT} s", compiled, max(times))
    finally:
        homes.put(home)


def try_all(patches: list[Path], seeds: int, jobs: int) -> Iterator[Result]:
    """Each in turn, `jobs` at a time."""
    try:
        original = compile_original()
    except NoVerdict as error:
        raise SystemExit(f"without any bug: {error}") from None
    homes: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for index in range(jobs):
        homes.put(BUILD / str(index))
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda patch: try_patch(patch, original, homes, seeds), patches)


def options() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("numbers", nargs="*", type=int, help="invariants whose bugs to plant; all by default")
    parser.add_argument("--seeds", type=int, default=1, help="seeds with which each must be found")
    parser.add_argument("--jobs", type=int, default=2, help="copies to work in at a time")
    parser.add_argument("--patches", type=Path, default=PATCHES, help="where the bugs are kept")
    return parser.parse_args()


def main() -> int:
    """Plants the bugs that are asked for. 0 if each is found by its own invariant with every seed."""
    asked = options()
    kept = sorted(asked.patches.resolve().glob("*.patch"))
    wanted = set(asked.numbers) or (
        invariants() if asked.patches == PATCHES else {number_of(p) for p in kept}
    )
    patches = [patch for patch in kept if number_of(patch) in wanted]
    if missing := wanted - {number_of(patch) for patch in patches}:
        print(f"no bug is kept for invariant {', '.join(map(str, sorted(missing)))}", file=sys.stderr)
        return 1

    width = max(len(patch.stem) for patch in patches)
    started, found = time.monotonic(), 0
    for at, result in enumerate(try_all(patches, asked.seeds, asked.jobs), 1):
        found += result.found
        verdict = "found" if result.found else "MISSED"
        times = f"{result.compiled:>4.0f} s to compile, {result.slowest:>4.0f} s at most to find"
        print(
            f"{at:>2}/{len(patches)}  {result.patch.stem:<{width}}  {verdict:<6}  {times}  {result.reason}",
            flush=True,
        )
    every = "" if asked.seeds == 1 else f" with each of {asked.seeds} seeds"
    print(
        f"{found} of {len(patches)} planted bugs are found by the invariant of their number{every}", end=", "
    )
    print(f"in {time.monotonic() - started:.0f} s")
    return 0 if found == len(patches) else 1


if __name__ == "__main__":
    sys.exit(main())

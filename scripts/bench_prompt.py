"""From the prompt to the first line of the log of a warm `leasehold run`, beside its parts measured alone.

The parts: the same line up to the question (`--dry-run`: the program's own start, the search, the plan, the price), the
two transactions that open a lease and say that it runs, the engine's own `docker run` of the same image, from its
command to its line, and `leasehold logs` without what its own start takes. What is above their sum is waiting: for
a look that comes late, a process, a block.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from devnet import images
from devnet.account import Account
from devnet.patience import patient
from devnet.site import Site, make_site
from devnet.world import World

GOAL = 1.2
ROUNDS = 5
_LINE = "first-line"
_JOB = ("sh", "-c", f"echo {_LINE}; sleep 600")


def run() -> list[dict[str, Any]]:
    """The row; seconds."""
    with (
        tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder,
        World(Path(folder)) as world,
        make_site(world) as site,
    ):
        images.load(world.engine.url, images.tiny())
        return [_row(site)]


def _row(site: Site) -> dict[str, Any]:
    """Each round measures both sides."""
    ours, theirs, sender = list[float](), list[float](), Account(site.world)
    _run(site, "warm-up")  # whatever is looked up once
    for number in range(ROUNDS):
        theirs.append(_parts(site, sender))
        ours.append(_run(site, f"prompt-{number}"))
    mine, reference = statistics.median(ours), statistics.median(theirs)
    return {
        "name": "run.prompt_to_log",
        "ours": round(mine, 3),
        "reference": round(reference, 3),
        "ratio": round(mine / reference, 3),
        "goal": f"≤ {GOAL} × the sum of its parts",
        "ok": mine / reference <= GOAL,
    }


def _typed(site: Site, *more: str) -> tuple[str, ...]:
    words = ("--machine", str(site.machine), "--image", site.tiny, "--egress", "none", "--allow-unverified")
    return ("run", *words, "--yes", *more, "--", *_JOB)


def _run(site: Site, name: str) -> float:
    """Seconds until the line is there. The run is left, and its lease closed."""
    folder = site.renter.home / f"results-{name}"
    began = time.perf_counter()
    with site.renter.popen(*_typed(site, "--name", name, "--results", str(folder))) as process:
        try:
            _until_its_line(process)
            took = time.perf_counter() - began
        finally:
            process.kill()
    _closed(site)
    return took


def _until_its_line(process: subprocess.Popen[str]) -> None:
    """Reads what it says, on either stream. Raises RuntimeError with that where it ends before."""
    assert process.stdout is not None
    said = list[str]()
    for line in process.stdout:
        said.append(line)
        if line.strip() == _LINE:
            return
    raise RuntimeError(f"the run ended with {process.wait()} before its first line: {''.join(said)}")


def _parts(site: Site, sender: Account) -> float:
    """Seconds of each part alone, together."""
    lease = site.rent(command=list(_JOB))
    started = _took(lambda: site.renter.run("--version"))
    asked = _took(lambda: site.renter.run("logs", lease)) - started
    _closed(site)
    planned = _took(lambda: site.renter.run(*_typed(site, "--dry-run")))
    contained = _contained(site)
    return planned + 2 * _mined(sender) + contained + asked


def _took(act: Callable[[], subprocess.CompletedProcess[str]]) -> float:
    began = time.perf_counter()
    done = act()
    assert done.returncode == 0, done.stderr
    return time.perf_counter() - began


def _contained(site: Site) -> float:
    """Seconds until the engine has a container of the same image say the line, limits and network as a lease has."""
    limits = ("--memory", str(512 << 20), "--storage-opt", f"size={1 << 30}", "--network", "none")
    engine, name = ("docker", "-H", site.engine.url), f"prompt-{time.time_ns()}"
    began = time.perf_counter()
    with subprocess.Popen(
        [*engine, "run", "--name", name, *limits, site.tiny, *_JOB], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == _LINE
        took = time.perf_counter() - began
        subprocess.run([*engine, "rm", "--force", name], check=True, capture_output=True)
    return took


def _mined(sender: Account) -> float:
    """Seconds of a transaction, until its receipt is there."""
    began = time.perf_counter()
    sender.token(lambda token: token.approve(sender.address, 1))
    return time.perf_counter() - began


def _closed(site: Site) -> None:
    """Nothing of the renter's runs any more."""
    site.until(lambda: all(lease["state"] == "active" for lease in site.renter("leases")), patient(60))
    for lease in site.renter("leases"):
        site.renter("close", str(lease["id"]), "--yes")
    site.until(lambda: not any(container["State"]["Running"] for container in site.containers()), patient(60))

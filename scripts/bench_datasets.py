"""How fast a dataset of 1 GiB and one of small files are fetched, beside `ipfs get` of the same CID, and in how much
memory.

Both fetch from another node, over loopback, each time through a new node that has nothing yet. (Garbage collection
instead of a new node does not do: Kubo 0.42 asked again for blocks that it had dropped sometimes waits for ever.) They
take turns, and the medians are compared. Ours runs in a process of its own, whose peak of resident memory is the second
figure.
"""

import asyncio
import contextlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from devnet.kubo import Kubo, kubo_binary
from leasehold.datasets import Ipfs

_MIB = 1024 * 1024
_LIMIT = 300
_ROUNDS = 3
_SMALL_FILES = 3000
_SPEED_GOAL = 0.9
_MEMORY_GOAL_MIB = 200


def run(size: int = 1024 * _MIB, small: int = _SMALL_FILES, rounds: int = _ROUNDS) -> list[dict[str, object]]:
    """Rows {name, ours, reference, ratio, goal, ok}; speeds in MiB/s, and in files/s where files are small."""
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as name:
        folder = Path(name)
        _write(folder / "large", size)
        _write_small(folder / "small", small)
        with Kubo(folder / "publisher") as publisher:
            large, peak = _compare(folder, publisher, folder / "large", rounds)
            files, _ = _compare(folder, publisher, folder / "small", rounds)
    return [
        _speed("dataset.fetch_1gib", size / _MIB, *large),
        {
            "name": "dataset.fetch_memory_mib",
            "ours": round(peak, 1),
            "reference": _MEMORY_GOAL_MIB,
            "ratio": round(peak / _MEMORY_GOAL_MIB, 3),
            "goal": _MEMORY_GOAL_MIB,
            "ok": peak < _MEMORY_GOAL_MIB,
        },
        _speed("dataset.fetch_small_files", small, *files),
    ]


def _compare(folder: Path, publisher: Kubo, source: Path, rounds: int) -> tuple[tuple[float, float], float]:
    """Median seconds of ours and of `ipfs get`, which take turns; and our peak of memory in MiB."""
    cid = asyncio.run(_add(publisher.api, source))
    ours: list[float] = []
    theirs: list[float] = []
    peak = 0.0
    for _ in range(rounds):
        with _new_node(folder, publisher) as node:
            theirs.append(_ipfs_get(node, cid, folder / "copy"))
        with _new_node(folder, publisher) as node:
            seconds, memory = _ours(node, cid, folder / "copy")
        ours.append(seconds)
        peak = max(peak, memory)
    return (statistics.median(ours), statistics.median(theirs)), peak


def _speed(name: str, amount: float, ours: float, theirs: float) -> dict[str, object]:
    ratio = theirs / ours
    return {
        "name": name,
        "ours": round(amount / ours, 1),
        "reference": round(amount / theirs, 1),
        "ratio": round(ratio, 3),
        "goal": _SPEED_GOAL,
        "ok": ratio >= _SPEED_GOAL,
    }


@contextlib.contextmanager
def _new_node(folder: Path, publisher: Kubo) -> Iterator[Kubo]:
    """A node that knows the publisher and has nothing; it and what was fetched are gone afterwards."""
    os.sync()  # what one turn left to write must not slow down the next
    try:
        with Kubo(folder / "fetcher") as node:
            node.connect(publisher)
            yield node
    finally:
        shutil.rmtree(folder / "fetcher", ignore_errors=True)
        shutil.rmtree(folder / "copy", ignore_errors=True)


def _write(folder: Path, size: int) -> None:
    """Bytes that do not compress and never repeat, the same on every run."""
    source = random.Random(1)
    folder.mkdir()
    with (folder / "data.bin").open("wb") as file:
        for _ in range(size // _MIB):
            file.write(source.randbytes(_MIB))


def _write_small(folder: Path, count: int) -> None:
    """Files of 200 to 4,000 bytes, 500 to a folder, the same on every run."""
    source = random.Random(2)
    for number in range(count):
        place = folder / f"{number // 500}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}").write_bytes(source.randbytes(source.randrange(200, 4000)))


async def _add(api: str, folder: Path) -> str:
    async with Ipfs(api) as ipfs:
        return (await ipfs.add_folder(folder)).cid


def _ipfs_get(node: Kubo, cid: str, copy: Path) -> float:
    command = [str(kubo_binary()), "get", "--progress=false", "-o", str(copy), cid]
    started = time.perf_counter()
    subprocess.run(command, env=node.environment(), check=True, capture_output=True, timeout=_LIMIT)
    return time.perf_counter() - started


def _ours(node: Kubo, cid: str, copy: Path) -> tuple[float, float]:
    """Seconds, and MiB at the peak, of a process that does nothing else."""
    command = [sys.executable, __file__, node.api, cid, str(copy)]
    started = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=_LIMIT)
    seconds = time.perf_counter() - started
    return seconds, json.loads(done.stdout)["peak_mib"]


async def _fetch(api: str, cid: str, copy: Path) -> None:
    async with Ipfs(api) as ipfs:
        await ipfs.fetch(cid, copy)


if __name__ == "__main__":
    asyncio.run(_fetch(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
    # VmHWM is this program's own; getrusage would hand down the peak of the process that started it.
    (peak,) = (
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")
    )
    print(json.dumps({"peak_mib": int(peak.split()[1]) / 1024}))

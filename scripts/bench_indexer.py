"""The index on PostgreSQL, against Ponder on the same server and the same chain, in turns.

`indexer.events`: events per second from an empty database until the last of 100,000 is committed with the cursor, in a
process that is up (reference: Ponder's, from the start of its process).

`indexer.over_ponder`: how many times as long Ponder takes, from the start of a process until the last row is committed
and can be read, for both the same way: what a process does then, to show that nothing is missing and to end, counts for
neither. Ponder's row is the event alone, without the balances and the indices that ours has. Each turn gives a ratio,
and the median of these counts, so that a noisy machine disturbs both alike.
"""

from __future__ import annotations

import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from devnet.anvil import Anvil
from devnet.emitter import Emitter
from devnet.postgres import Postgres
from devnet.steward import steward

EVENTS = 100_000
PER_TRANSACTION = 1_000
ROUNDS = 3
RATE_GOAL = 50_000
RATIO_GOAL = 5.0
GAS_LIMIT = 1_000_000_000
AFTER_THE_LAST = 64
"""Blocks without events at the end: Ponder takes the newest ones one by one, which is not what is measured."""
PATIENCE = 300.0
INDEX_ONCE = Path(__file__).with_name("index_once.py")
_SEEN = 0.05  # seconds between looks at what Ponder has committed


def run() -> list[dict[str, Any]]:
    """The rows of the table. Raises FileNotFoundError where `scripts/setup ponder` has not been run."""
    ponder = Path(os.environ.get("LEASEHOLD_PONDER", ""))
    if not (ponder / "node_modules/.bin/ponder").exists():
        raise FileNotFoundError("There is no Ponder here: run `scripts/setup ponder`.")
    with (
        Anvil(args=["--gas-limit", str(GAS_LIMIT)]) as chain,
        Postgres(safe=True) as server,
    ):
        emitter = Emitter(chain)
        for _ in range(EVENTS // PER_TRANSACTION):
            emitter.emit(*range(1, PER_TRANSACTION + 1), gas=100_000_000)
        last = chain.block_number
        chain.mine(AFTER_THE_LAST)
        turns = [
            (*_own_seconds(chain, server, last), _ponder_seconds(ponder, chain, server))
            for _ in range(ROUNDS)
        ]
    return _rows(turns)


def _rows(turns: list[tuple[float, float, float]]) -> list[dict[str, Any]]:
    """turns: seconds of ours in a process that is up, of ours altogether, of Ponder."""
    rate = statistics.median(EVENTS / up for up, _, _ in turns)
    theirs = statistics.median(EVENTS / ponder for _, _, ponder in turns)
    ratio = statistics.median(ponder / whole for _, whole, ponder in turns)
    return [
        {
            "name": "indexer.events",
            "ours": round(rate),
            "reference": round(theirs),
            "ratio": round(statistics.median(ponder / up for up, _, ponder in turns), 2),
            "goal": f">= {RATE_GOAL:,} events/s into PostgreSQL (reference: Ponder with its start)",
            "ok": rate >= RATE_GOAL,
        },
        {
            "name": "indexer.over_ponder",
            "ours": round(statistics.median(whole for _, whole, _ in turns), 2),
            "reference": round(statistics.median(ponder for _, _, ponder in turns), 2),
            "ratio": round(ratio, 2),
            "goal": f">= {RATIO_GOAL:g} x Ponder's speed, process start included, seconds",
            "ok": ratio >= RATIO_GOAL,
        },
    ]


# --------------------------------------------------------------------------------------------------------------- ours


def _own_seconds(chain: Anvil, server: Postgres, last: int) -> tuple[float, float]:
    """Of the work in a process that is up, and with its start."""
    begun = time.monotonic()  # the clock of the machine: the other process tells by it when it was done
    command = [
        sys.executable,
        str(INDEX_ONCE),
        server.make(),
        chain.url,
        chain.genesis,
        Emitter.address,
        str(last),
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=PATIENCE)
    seconds, ended, moved = done.stdout.split()
    expected = EVENTS // PER_TRANSACTION * sum(range(1, PER_TRANSACTION + 1))
    if int(moved) != expected:
        raise RuntimeError(f"the index lost events: {moved.decode()} of {expected}")
    return float(seconds), float(ended) - begun


# ------------------------------------------------------------------------------------------------------------- Ponder


def _ponder_seconds(installed: Path, chain: Anvil, server: Postgres) -> float:
    """Until its last row can be read by another."""
    url = server.make()
    folder = Path(tempfile.mkdtemp(prefix="leasehold-ponder-"))
    steward().folder(folder)
    try:
        for part in (*installed.glob("*.ts"), installed / "package.json"):
            shutil.copy(part, folder)
        shutil.copytree(installed / "src", folder / "src")
        (folder / "node_modules").symlink_to(installed / "node_modules")
        return _ponder_run(folder, chain, url)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _ponder_run(folder: Path, chain: Anvil, url: str) -> float:
    environment = {
        **os.environ,
        "PONDER_TELEMETRY_DISABLED": "1",
        "DATABASE_URL": url,
        "RPC_URL": chain.url,
        "CONTROLLER": Emitter.address,
    }
    command = ["node", "node_modules/ponder/dist/esm/bin/ponder.js", "start"]
    command += ["--schema", "s1", "--port", str(_free_port())]
    with (folder / "log").open("wb") as log, psycopg.connect(url, autocommit=True) as watching:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        steward().process(process.pid)
        try:
            while _rows_of_ponder(watching) < EVENTS:
                if process.poll() is not None or time.perf_counter() - begun > PATIENCE:
                    raise RuntimeError(f"Ponder ended early: {(folder / 'log').read_text()[-2000:]}")
                time.sleep(_SEEN)
            return time.perf_counter() - begun
        finally:
            process.kill()
            process.wait()


def _rows_of_ponder(connection: psycopg.Connection[Any]) -> int:
    try:
        row = connection.execute("SELECT count(*) FROM s1.ledger").fetchone()
    except psycopg.errors.Error:  # it has not made its tables yet
        return 0
    return int(row[0]) if row else 0


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


if __name__ == "__main__":
    for row in run():
        print(row)

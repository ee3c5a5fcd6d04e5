"""What people type behind every kind of misbehaving node: it ends with its code and a sentence, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from devnet.anvil import Anvil
from devnet.odd_node import Kind, OddNode, Reply, kinds
from devnet.patience import patient
from leasehold import Home
from leasehold.chain import Deposited, Event, LeaseClosed, LeaseOpened, Rpc, Withdrawn, decode_log
from leasehold.chain import Pool as Binding
from leasehold.chain._tables import place_of
from leasehold.cli import app

from .conftest import Cli, Host, Pool
from .test_access import read_until
from .test_leases import IMAGE, PROVIDER, RENTER

DAILY = frozenset(("one answer as a list",))
USUAL = frozenset(
    (
        "a connection that ends",
        "another chain of the same number",
        "limited call by call",
        "no lists",
        "one answer as a list",
        "reads that are cut",
    )
)


def lane(name: str) -> list[pytest.MarkDecorator]:
    """When that kind is tried."""
    if name in DAILY:
        return []
    return [pytest.mark.slow if name in USUAL else pytest.mark.deep]


every_kind = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=lane(name)) for name in sorted(kinds())]
)


LOOKS = (
    (RENTER, "machines"),
    (RENTER, "leases"),
    (RENTER, "show", "1"),
    (RENTER, "wallet", "balance"),
    (RENTER, "faults"),
    (PROVIDER, "provider", "status"),
)
RENT = ("rent", "--for", "2h", "--image", IMAGE, "--allow-unverified", "--no-wait", "--yes")
SENDS: tuple[tuple[type[Event], tuple[str, ...]], ...] = (
    (Deposited, (RENTER, "wallet", "deposit", "1", "--yes")),
    (LeaseOpened, (RENTER, *RENT)),
    (LeaseClosed, (RENTER, "close", "1", "--yes")),
    (Withdrawn, (PROVIDER, "provider", "withdraw", "0.000001", "--yes")),
)


async def hurried(seconds: float) -> None:
    """Stands in for `asyncio.sleep` where a node asks for patience."""
    await asyncio.sleep(min(seconds, 0.01))


@pytest.fixture(scope="module")
def stranger() -> Iterator[Anvil]:
    """Another chain of the same number, longer than ours."""
    with Anvil() as other:
        other.mine(500)
        yield other


@dataclass
class Typed:
    """Somebody who types behind an odd node, with an index that is empty each time."""

    cli: Cli
    node: OddNode
    name: str
    anvil: Anvil
    sources: list[str]

    def __call__(self, wallet: str, *command: str) -> tuple[int, str]:
        """Exit code and what was said of it at the end."""
        for path in self.cli.home.glob("index*.db*"):
            path.unlink()
        self.node.becomes(kinds()[self.name])
        result = CliRunner(env=self.cli.environment(wallet)).invoke(app, command)
        assert result.exception is None or isinstance(result.exception, SystemExit), command
        said = result.stderr.strip().splitlines()
        last = said[-1] if said else ""
        assert result.exit_code in (0, 3), (command, result.stderr)
        assert "Traceback" not in result.stderr
        if result.exit_code:
            assert last.endswith("."), (command, last)
        return result.exit_code, last

    def count(self, kind: type[Event]) -> int:
        query = {"address": self.sources, "fromBlock": "0x0", "toBlock": "latest"}
        found = [decode_log(raw) for raw in self.anvil.request("eth_getLogs", query)]
        return len([each for each in found if isinstance(each, kind)])


@pytest.fixture
def typed(
    market: Cli,
    host: Host,
    pool: Pool,
    stranger: Anvil,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Typed]:
    """A lease runs, and the provider has earned something."""
    monkeypatch.setattr(
        Rpc.__init__, "__kwdefaults__", {**(Rpc.__init__.__kwdefaults__ or {}), "sleep": hurried}
    )
    market(*RENT, wallet=RENTER)
    host.start()
    market("wallet", "deposit", "1", "--to", pool.anvil.accounts[2].address, "--yes", wallet=RENTER)

    async def sources() -> list[str]:
        async with Rpc([pool.anvil.url]) as rpc:
            return await Binding(rpc, pool.deployment).event_sources()

    with OddNode(pool.anvil.url, stranger=stranger.url) as node:
        market.rpc, market.without_agent = node.url, False
        yield Typed(market, node, name, pool.anvil, asyncio.run(sources()))


@pytest.mark.slow
@every_kind
def test_each_command_ends_and_what_is_sent_happens_once(typed: Typed, name: str) -> None:
    """Where one ends with an error although it has sent something, the error says so."""
    for wallet, *command in LOOKS:
        typed(wallet, *command)
    for kind, (wallet, *command) in SENDS:
        more = ("--without-agent",) if command[0] == "rent" else ()
        before = typed.count(kind)
        code, said = typed(wallet, *command, *more)
        done = typed.count(kind) - before
        assert done <= 1, command
        assert done == 1 if code == 0 else done == 0 or "sent" in said, (command, code, said)


@pytest.mark.slow
def test_an_index_that_believed_a_lie_is_built_anew(market: Cli, host: Host, pool: Pool) -> None:
    """An event stands where the next one belongs; no command that reads the chain ended well any more."""
    market(*RENT, wallet=RENTER)
    market("leases", wallet=RENTER)
    with sqlite3.connect(Home(market.home).index) as lie:
        place = place_of(pool.anvil.block_number + 1, 0)
        lie.execute("UPDATE chain_leases SET place = ?", (place,))
    lie.close()
    host.start()
    (shown,) = market("leases", "--json", wallet=RENTER).json
    assert shown["state"] == "active"


@pytest.mark.slow
@pytest.mark.parametrize("terminal", [False, True], ids=["no terminal", "a terminal"])
def test_a_node_that_never_answers_is_named_and_ctrl_c_ends_it(
    market: Cli, pool: Pool, terminal: bool
) -> None:
    """Connections stand and nothing comes of them."""
    over = threading.Event()
    silent = Kind(lambda exchange: Reply(b"", 0) if over.wait() else None, lasts=True)
    with OddNode(pool.anvil.url, silent) as node:
        market.rpc = node.url
        try:
            with process(market, terminal, "leases") as (running, output):
                read_until(output, bytearray(), b"Waiting for the node 127.0.0.1 to answer")
                running.send_signal(signal.SIGINT)
                said = bytearray()
                read_until(output, said, b"Interrupted")
                assert running.wait(patient(30)) == 130
        finally:
            over.set()
    assert b"Traceback" not in said


@contextmanager
def process(cli: Cli, terminal: bool, *command: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """`leasehold command…` as the renter's process, and a descriptor of all that it says."""
    ours, theirs = os.openpty() if terminal else os.pipe()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(cli.home),
        "TERM": "xterm",
        **cli.environment(RENTER),
    }
    started = subprocess.Popen(
        [str(Path(sys.executable).with_name("leasehold")), *command],
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=environment,
    )  # fmt: skip
    try:
        yield started, ours
    finally:
        started.kill()
        started.wait()
        os.close(ours)
        os.close(theirs)

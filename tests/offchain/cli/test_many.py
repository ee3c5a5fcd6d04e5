"""Several leases at once at the command line: by name, by label, all; what they are called; what is offered."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from leasehold.cli import app
from leasehold.cli._completion import ended_leases, known_labels, known_leases, running_leases

from .conftest import Cli, Host, Pool
from .people import add_wallets

IMAGE = "sha256:" + "ab" * 32
RENTER = "renter"
WISH = ("--for", "2h", "--image", IMAGE, "--allow-unverified", "--no-wait", "--yes", "--json")

pytestmark = pytest.mark.slow


@pytest.fixture
def two(market: Cli, host: Host) -> Cli:
    """Two running leases, the first called `train`."""
    for more in (("--name", "train"), ()):
        market("rent", *WISH, *more, wallet=RENTER)
        host.start()
    return market


def offered(home: Path, complete: object, begun: str = "") -> list[str]:
    context = typer.Context(typer.main.get_command(app))
    context.params["home"] = home
    names: list[str] = complete(context, begun)  # type: ignore[operator]
    return names


def test_names_and_labels_choose_leases_in_every_verb(two: Cli, pool: Pool) -> None:
    two("label", "train", "project=x", wallet=RENTER)
    two("label", "2", "project=x", "run=7", wallet=RENTER)
    two("name", "2", "other", wallet=RENTER)
    listed = two("name", wallet=RENTER).out
    assert "train" in listed
    assert "project=x run=7" in listed
    assert two("show", "other", "--json", wallet=RENTER).json["id"] == "2"
    told = two("extend", "--label", "project=x", "1h", "--yes", "--json", wallet=RENTER).json
    assert [lease["lease"] for lease in told["leases"]] == ["1", "2"]
    assert told["transaction"].startswith("0x")
    assert two("extend", "train", "30m", "--dry-run", "--json", wallet=RENTER).json["cost"] == "1.25"
    wrong = two("close", "trian", "--yes", wallet=RENTER, ok=False)
    assert (wrong.code, wrong.err.count("\n"), "write `train`" in wrong.err) == (2, 1, True)
    for words in (
        ("close",),
        ("close", "1", "--all"),
        ("close", "--label", "nothing"),
        ("close", "--label", "a=b"),
    ):
        refused = two(*words, "--yes", wallet=RENTER, ok=False)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
    asked = two("close", "--all", wallet=RENTER, typed="n\n", ok=False)
    assert "Close leases 1 and 2?" in asked.err
    assert asked.code == 11
    pool.anvil.advance(60)
    closed = two("close", "train", "other", "--yes", "--json", wallet=RENTER).json
    assert [lease["state"] for lease in closed["leases"]] == ["ended", "ended"]
    none = two("close", "--all", "--yes", wallet=RENTER, ok=False)
    assert "You have no running lease" in none.err
    rated = two("rate", "--all", "5", "--yes", "--json", wallet=RENTER).json
    assert [lease["lease"] for lease in rated["leases"]] == ["1", "2"]


def test_only_what_a_verb_can_act_on_is_offered(two: Cli) -> None:
    two("label", "1", "project=x", wallet=RENTER)
    two("name", "1", "first", wallet=RENTER)
    two("close", "2", "--yes", wallet=RENTER)
    assert offered(two.home, running_leases) == ["first", "1"]
    assert offered(two.home, ended_leases) == ["2"]
    assert offered(two.home, known_leases, "f") == ["first"]
    assert offered(two.home, known_labels) == ["project=x"]
    assert offered(two.home / "nowhere", running_leases) == []


def test_machines_and_accounts_have_names_too(two: Cli, pool: Pool) -> None:
    addresses = add_wallets(two, pool)
    two("name", "machine:1", "fast", wallet=RENTER)
    two("name", addresses["ada"], "ada", wallet=RENTER)
    assert "machine 1" in two("challenge", "fast", "--dry-run", wallet=RENTER).out
    two("wallet", "deposit", "1", "--to", "ada", "--yes", wallet=RENTER)
    assert two("wallet", "balance", "--json", wallet="ada").json["ledger"] == "1"
    for thing, name in (("machine:9", "x"), ("machine:1", "12"), ("77", "x"), ("0x12", "x")):
        refused = two("name", thing, name, wallet=RENTER, ok=False)
        assert refused.err.count("\n") == 1
    two("name", "machine:1", "--remove", wallet=RENTER)
    assert "is no machine" in two("challenge", "fast", "--dry-run", wallet=RENTER, ok=False).err


def test_top_prints_once_where_there_is_no_terminal(two: Cli) -> None:
    told = two("top", "--json", wallet=RENTER).json
    assert [lease["lease"] for lease in told["leases"]] == ["1", "2"]
    assert told["leases"][0]["name"] == "train"
    assert told["hourly"] == "5"
    shown = two("top", wallet=RENTER)
    assert "1 train" in shown.out
    assert "silent" in shown.out
    silent = [line for line in shown.err.splitlines() if line.startswith("Lease ")]
    assert len(silent) == 2  # why its agent says nothing, of each
    two("close", "--all", "--yes", wallet=RENTER)
    assert "no running lease" in two("top", "--once", wallet=RENTER).out


def test_top_at_a_terminal_draws_until_it_is_interrupted(two: Cli) -> None:
    outer, inner = pty.openpty()
    environment = {**os.environ, **two.environment(RENTER), "TERM": "xterm", "LINES": "24"}
    words = [sys.executable, "-c", "from leasehold.cli import main; main()", "top"]
    with subprocess.Popen(words, env=environment, stdin=inner, stdout=inner, stderr=inner) as process:
        os.close(inner)
        drawn = b""
        while b"2 leases" not in drawn or b"train" not in drawn:
            drawn += os.read(outer, 1 << 16)
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # the terminal is gone with the process
            while data := os.read(outer, 1 << 16):
                drawn += data
        assert process.wait() == 130
    assert b"Your leases go on." in drawn
    assert b"Traceback" not in drawn
    os.close(outer)

"""Ctrl-C at every stage: it ends the command at the first press, with 130, and says what goes on without it."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from devnet.patience import patient
from leasehold.cli._asking import Interrupted, ask_yes

from .conftest import Cli, Pool
from .test_access import read_until
from .test_rent import IMAGE

RENT = ("rent", "--for", "2h", "--image", IMAGE, "--allow-unverified")


@contextmanager
def ctrl_c(when: Callable[[], object]) -> Iterator[None]:
    """Presses it once `when()` holds and the program listens."""
    over = threading.Event()

    def press() -> None:
        while not over.wait(0.01):
            if signal.getsignal(signal.SIGINT) is not signal.default_int_handler and when():
                os.kill(os.getpid(), signal.SIGINT)
                return

    thread = threading.Thread(target=press)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.slow
def test_at_the_password(market: Cli, tmp_path: Path) -> None:
    """With a terminal of its own: that is where a password is asked for, and where Ctrl-C comes from."""
    ours, theirs = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **market.environment("renter")}
    del environment["LEASEHOLD_PASSWORD"]
    command = [str(Path(sys.executable).with_name("leasehold")), "wallet", "approve", "1"]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    seen = bytearray()
    try:
        read_until(ours, seen, b"Password of wallet renter")
        os.write(ours, b"\x03")
        read_until(ours, seen, b"Interrupted: nothing was sent.")
        assert process.wait(patient(60)) == 130
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


def test_at_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as nothing_comes, os.fdopen(writing):
        monkeypatch.setattr(sys, "stdin", nothing_comes)
        with ctrl_c(lambda: True), pytest.raises(Interrupted):
            ask_yes("Pay 5 TUSD into escrow and rent?")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_while_a_transaction_is_under_way(market: Cli, pool: Pool) -> None:
    pool.anvil.request("evm_setAutomine", False)
    with ctrl_c(lambda: int(pool.anvil.request("txpool_status")["pending"], 16)):
        ran = market("wallet", "approve", "7", "--yes", wallet="renter", ok=False)
    assert ran.code == 130
    last = ran.err.strip().splitlines()[-1]
    assert last.startswith("Interrupted while transaction 0x")
    assert "may be mined all the same" in last
    (waiting,) = pool.anvil.request("txpool_content")["pending"].values()
    assert all(each["hash"] in last and f"(nonce {int(nonce)})" in last for nonce, each in waiting.items())
    pool.anvil.request("evm_mine")
    assert market("wallet", "balance", "--json", wallet="renter").json["allowance"] == "7"


def test_while_a_lease_is_waited_for(market: Cli, pool: Pool) -> None:
    with ctrl_c(lambda: int(pool.anvil.request("eth_call", slots(pool), "latest"), 16)):
        ran = market(*RENT, "--yes", wallet="renter", ok=False)
    assert ran.code == 130
    last = ran.err.strip().splitlines()[-1]
    assert (
        "was under way" in last or "lease 1 is open and goes on, for 2.5 TUSD per hour once started" in last
    )
    (listed,) = market("leases", "--json", wallet="renter").json
    assert (listed["id"], listed["state"]) == ("1", "opened")


def slots(pool: Pool) -> dict[str, str]:
    """A call that counts the leases."""
    from eth_utils.crypto import keccak

    return {"to": pool.deployment.controller, "data": "0x" + keccak(text="slotCount()")[:4].hex()}

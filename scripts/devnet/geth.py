"""A development chain of geth's, with a block every two seconds: what a real node is like where Anvil is kinder.

with Geth() as chain:
    Rpc([chain.url])

`scripts/setup geth` builds it. It cannot be told the time, and gives out no state.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from devnet.anvil import Anvil, DevAccount
from devnet.steward import steward

CHAIN_ID = 1337
_UP_SECONDS = 60.0


def binary() -> Path | None:
    """Where `scripts/setup geth` has put it; None where it was not asked for."""
    named = os.environ.get("LEASEHOLD_GETH")
    found = Path(named) if named else None
    return found if found is not None and found.exists() else None


class Geth(Anvil):
    """The same to the outside. `accounts` has the one that holds all coins; its key stays with the node."""

    def __init__(self, *, period: int = 2) -> None:
        super().__init__(chain_id=CHAIN_ID)
        self._period = period
        self._ws_port = 0

    @property
    def ws_url(self) -> str:
        return f"ws://{self._host}:{self._ws_port}"

    def start(self, state: Path | None = None) -> None:
        found = binary()
        assert found is not None, "run `scripts/setup geth` first"
        assert state is None, "geth takes no dumped state"
        self._folder = Path(tempfile.mkdtemp(prefix="leasehold-geth-"))
        steward().folder(self._folder)
        self._port, self._ws_port = _free_port(), _free_port()
        command = [str(found), "--dev", "--dev.period", str(self._period), "--dev.gaslimit", "30000000"]
        command += ["--datadir", str(self._folder), "--ipcdisable", "--verbosity", "1"]
        command += [
            "--http",
            "--http.addr",
            self._host,
            "--http.port",
            str(self._port),
            "--http.api",
            "eth,net,web3",
        ]
        command += ["--ws", "--ws.addr", self._host, "--ws.port", str(self._ws_port), "--ws.api", "eth"]
        command += ["--nodiscover", "--maxpeers", "0", "--port", "0", "--authrpc.port", str(_free_port())]
        environment = {**os.environ, "HOME": str(self._folder), "TMPDIR": str(self._folder)}
        with (self._folder / "geth.log").open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment
            )
        steward().process(self._process.pid)
        try:
            self._await()
            self.accounts = [DevAccount(account, "") for account in self.request("eth_accounts")]
        except BaseException:
            self.stop()
            raise

    def _await(self) -> None:
        assert self._process is not None
        assert self._folder is not None
        deadline = time.monotonic() + _UP_SECONDS
        while True:
            try:
                if self.block_number >= 1:
                    return
            except OSError:
                pass
            if self._process.poll() is not None or time.monotonic() >= deadline:
                raise RuntimeError(
                    f"geth did not come up:\n{(self._folder / 'geth.log').read_text()[-2_000:]}"
                )
            time.sleep(0.1)

    def stop(self) -> None:
        super().stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def give(self, address: str, wei: int) -> None:
        self.send({"to": address, "value": hex(wei)})

    def send(self, transaction: dict[str, str]) -> None:
        sender = {"from": self.accounts[0].address, **transaction}
        sent = self.request("eth_sendTransaction", sender)
        deadline = time.monotonic() + _UP_SECONDS
        while (receipt := self.request("eth_getTransactionReceipt", sent)) is None:
            if time.monotonic() >= deadline:
                raise TimeoutError(f"{sent} was not mined")
            time.sleep(0.2)
        assert receipt["status"] == "0x1", receipt


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

"""An Anvil chain of one's own.

    with Anvil() as chain:
        Rpc([chain.url])

It listens on a free port of the loopback, keeps its state in memory and its files in a folder that goes
with it. It ends with the process that started it.
"""

import contextlib
import gzip
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from devnet.patience import patient
from devnet.steward import steward

_ROOT = Path(__file__).resolve().parents[2]
_ANVIL = _ROOT / "node_modules/.bin/anvil"

# Anvil's own accounts come from this phrase; the keys are as public as it is.
MNEMONIC = "test test test test test test test test test test test junk"
CHAIN_ID = 31337


@dataclass(frozen=True, slots=True)
class DevAccount:
    """A funded account. Never use one of these on a chain that matters: everybody knows the keys."""

    address: str
    key: str


class Anvil:
    """A running chain, as a context manager.

    chain_id: as `eth_chainId` answers. block_time: seconds from block to block, or None to mine a block
    with each transaction. args: more of Anvil's arguments. host: the address it listens on. port: 0 takes a
    free one.
    """

    def __init__(
        self,
        *,
        chain_id: int = CHAIN_ID,
        block_time: float | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        args: Sequence[str] = (),
    ) -> None:
        self.chain_id = chain_id
        self._host = host
        self._port = port
        self._args = ["--chain-id", str(chain_id), *args]
        if block_time is not None:
            self._args += ["--block-time", str(block_time)]
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        self.accounts: list[DevAccount] = []

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self._port}"

    @property
    def ws_url(self) -> str:
        return f"ws://{self._host}:{self._port}"

    @property
    def pid(self) -> int:
        """The process, for tests that stop and continue it."""
        assert self._process is not None, "the chain is not running"
        return self._process.pid

    def __enter__(self) -> "Anvil":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, state: Path | None = None) -> None:
        """Starts the chain, from a dumped `state` if one is named, and returns when it answers."""
        self._folder = Path(tempfile.mkdtemp(prefix="leasehold-anvil-"))
        steward().folder(self._folder)
        command = [str(_binary()), "--host", self._host, "--port", str(self._port)]
        command += ["--cache-path", str(self._folder / "cache")]
        command += self._args
        if state is not None:
            command += ["--load-state", str(state)]
        # A HOME of its own: Anvil keeps temporary states and a cache under it.
        environment = {**os.environ, "HOME": str(self._folder), "TMPDIR": str(self._folder)}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        steward().process(self._process.pid)
        try:
            self._port, banner = _read_banner(
                self._process, f"Listening on {self._host}:".encode(), deadline=time.monotonic() + patient(30)
            )
            self.accounts = _accounts(banner)
            # It would print every request into a pipe that nobody reads.
            self.request("anvil_setLoggingEnabled", False)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends the chain and removes its folder. May be called twice."""
        if self._process is not None:
            if self._process.poll() is None:
                self._process.send_signal(signal.SIGCONT)  # a test may have stopped it
                self._process.kill()  # it holds nothing worth saving
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def request(self, method: str, *params: object, timeout: float = patient(120)) -> Any:
        """One JSON-RPC call, synchronously. Raises RuntimeError with the node's message."""
        answer = self._post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, timeout)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def requests(
        self, calls: Sequence[tuple[str, tuple[object, ...]]], timeout: float = patient(120)
    ) -> list[Any]:
        """Several calls in one body, in turn; their results. Raises RuntimeError with the first message of failure."""
        if not calls:
            return []
        asked = [
            {"jsonrpc": "2.0", "id": place, "method": method, "params": params}
            for place, (method, params) in enumerate(calls)
        ]
        answers = sorted(self._post(asked, timeout), key=lambda answer: int(answer["id"]))
        for (method, _), answer in zip(calls, answers, strict=True):
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
        return [answer["result"] for answer in answers]

    def _post(self, asked: object, timeout: float) -> Any:
        post = urllib.request.Request(
            self.url, json.dumps(asked).encode(), {"Content-Type": "application/json"}
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with contextlib.closing(opener.open(post, timeout=timeout)) as response:
            return json.load(response)

    def give(self, address: str, wei: int) -> None:
        """More coins for an account; they are its own when this returns."""
        balance = int(self.request("eth_getBalance", address, "latest"), 16)
        self.request("anvil_setBalance", address, hex(balance + wei))

    def send(self, transaction: dict[str, str]) -> None:
        """A transaction of the first account, mined when this returns."""
        receipt = self.request("eth_sendTransactionSync", {"from": self.accounts[0].address, **transaction})
        assert receipt["status"] == "0x1", receipt

    def mine(self, blocks: int = 1, interval: int = 1) -> int:
        """Mines blocks, `interval` seconds apart in chain time, and returns the head's number."""
        self.request("anvil_mine", hex(blocks), hex(interval))
        return self.block_number

    def reorg(self, depth: int, transactions: Sequence[tuple[dict[str, str] | str, int]] = ()) -> None:
        """Replaces the last `depth` blocks by as many new ones that hold only `transactions`, each with the
        block (0 is the first of the new ones) that it goes into."""
        self.request("anvil_reorg", depth, [list(t) for t in transactions])

    def rollback(self, depth: int) -> None:
        """Removes the last `depth` blocks and puts nothing in their place."""
        self.request("anvil_rollback", depth)

    def set_time(self, timestamp: int) -> None:
        """The next block's timestamp, unix seconds; it must not lie behind the head's."""
        self.request("evm_setNextBlockTimestamp", timestamp)

    def advance(self, seconds: int) -> int:
        """Mines one block `seconds` after the head and returns its timestamp."""
        target = self.timestamp + seconds
        self.set_time(target)
        self.mine()
        return target

    def save(self, path: Path) -> Path:
        """Writes the whole chain to a file that `start(state=…)` takes, and returns its path."""
        dumped = json.loads(gzip.decompress(bytes.fromhex(self.request("anvil_dumpState")[2:])))
        # One that was started from a state keeps the block that it would have begun with, and writes both.
        blocks, began = dumped["blocks"], self.request("eth_getBlockByNumber", "0x0", False)["timestamp"]
        dumped["blocks"] = [
            block
            for block in blocks
            if block["header"]["number"] != "0x0" or block["header"]["timestamp"] == began
        ]
        path.write_text(json.dumps(dumped))
        return path

    def snapshot(self) -> str:
        """The id of a state to come back to with `revert`."""
        return str(self.request("evm_snapshot"))

    def revert(self, snapshot: str) -> None:
        """Goes back to a snapshot, which is used up."""
        if not self.request("evm_revert", snapshot):
            raise RuntimeError(f"there is no snapshot {snapshot}")

    @property
    def block_number(self) -> int:
        return int(self.request("eth_blockNumber"), 16)

    @property
    def timestamp(self) -> int:
        """The head's timestamp."""
        return int(self.request("eth_getBlockByNumber", "latest", False)["timestamp"], 16)

    @property
    def genesis(self) -> str:
        """The hash of block 0."""
        return str(self.request("eth_getBlockByNumber", "0x0", False)["hash"])


def _binary() -> Path:
    """The native binary: the npm package's entry point is a node process that its child outlives."""
    for native in sorted((_ROOT / "node_modules/@foundry-rs").glob("anvil-*/bin/anvil")):
        return native
    return _ANVIL


def _read_banner(process: subprocess.Popen[bytes], listening: bytes, deadline: float) -> tuple[int, str]:
    """The port that follows `listening`, and all it printed until then."""
    assert process.stdout is not None
    stream = process.stdout.fileno()
    printed = b""
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("Anvil did not come up in time")
        if not select.select([stream], [], [], left)[0]:
            continue
        chunk = os.read(stream, 1 << 16)
        printed += chunk
        at = printed.find(listening)
        if at >= 0 and b"\n" in printed[at:]:
            port = int(printed[at + len(listening) :].split(b"\n", 1)[0])
            return port, printed.decode()
        if not chunk:
            raise RuntimeError(f"Anvil ended: {printed.decode()}")


def _accounts(banner: str) -> list[DevAccount]:
    addresses: list[str] = []
    keys: list[str] = []
    for line in banner.splitlines():
        words = line.split()
        if len(words) >= 2 and words[0].startswith("(") and words[1].strip('"').startswith("0x"):
            (keys if len(words[1]) == 66 else addresses).append(words[1].strip('"'))
    return [DevAccount(address, key) for address, key in zip(addresses, keys, strict=True)]

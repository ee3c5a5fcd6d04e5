"""A gateway in a process of its own, as `leasehold gateway run` starts it, for the demo and the browser's tests."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from devnet.patience import patient
from devnet.world import Party, World, free_port

DAPP = Path(__file__).resolve().parents[2] / "offchain/leasehold/gateway/_dapp"


class GatewayNotUp(RuntimeError):
    """It did not serve in time, or ended; the text is what it said."""


@contextlib.contextmanager
def gateway(
    world: World, name: str = "gateway", port: int = 0, *more: str, coin_price: str | None = None
) -> Iterator[str]:
    """A gateway of the world's pool, and the address at which it serves. port: 0 takes a free one. more: further
    arguments of its command. coin_price: it sends for renters without gas money, at so many tokens a coin.

    Its agents are on this computer's loopback, which a gateway calls only where its operator says so.
    """
    party: Party = world.party(name)
    if coin_price is not None:
        world.fund(party.wallet("sender"))
        more = (*more, "--gasless-wallet", "sender", "--coin-price", coin_price)
    address = f"127.0.0.1:{port or free_port()}"
    command = ["gateway", "run", "--listen", address, "--dapp", str(DAPP), "--ws", world.anvil.ws_url]
    process = party.popen(*command, "--agents-in", "127.0.0.0/8", *more)
    log = party.home / "gateway.log"
    reader = threading.Thread(target=write_down, args=(process.stdout, log), daemon=True)
    reader.start()
    try:
        url = f"http://{address}"
        _ready(f"{url}/readyz", lambda: process.poll() is None)
        yield url
    except GatewayNotUp as error:
        process.kill()
        reader.join()
        raise GatewayNotUp(f"{error}\n{log.read_text()[-4_000:]}") from None
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(patient(20))
        reader.join()


def write_down(said: IO[str] | None, log: Path) -> None:
    """What the gateway says, as it says it: a pipe that nobody reads would fill up, and stop it."""
    assert said is not None
    with said, log.open("w") as file:
        for line in said:
            file.write(line)
            file.flush()


def port_or_another(port: int) -> int:
    """That port of the loopback, or a free one where somebody listens at it."""
    with socket.socket() as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # as a server does: its last callers may linger
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return free_port()
    return port


def documents_have_come(url: str) -> None:
    """Waits until the gateway has the documents of all machines, which it lists before. Raises GatewayNotUp."""
    deadline = time.monotonic() + patient(60)
    while _some_lack(f"{url}/api/v1/machines?limit=200"):
        if time.monotonic() > deadline:
            raise GatewayNotUp(f"{url} does not get its machines' documents")
        time.sleep(0.1)


def _some_lack(url: str) -> bool:
    with urllib.request.urlopen(url, timeout=patient(10)) as answer:
        return any(machine["missing"] for machine in json.load(answer)["items"])


def _ready(url: str, runs: Callable[[], bool]) -> None:
    deadline = time.monotonic() + patient(30)
    while not _answers(url):
        if not runs() or time.monotonic() > deadline:
            raise GatewayNotUp(f"{url} does not say that it is ready")
        time.sleep(0.1)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=patient(1)) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False

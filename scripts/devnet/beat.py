"""A block every some seconds on a chain that mines by itself only when somebody sends: time passes as on any chain."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Final

from devnet.anvil import Anvil

SECONDS: Final = 12.0
"""From block to block, as on Ethereum."""


@contextlib.contextmanager
def beating(anvil: Anvil, seconds: float = SECONDS) -> Iterator[None]:
    """As long as it lasts, an empty block comes every so many seconds. What is sent is mined at once all the same."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(seconds):
            anvil.mine()

    thread = threading.Thread(target=beat, name="beat")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()

"""Calls that may never come back: of a driver whose card has died, of a disk or a file system that is gone.

Nothing ends such a call. It is left to a thread that no process waits for at its end, and whoever asked goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class _Asked(Generic[T]):
    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self.answer: list[T] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.answer.append(self._call())
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is waited for
            self.error = error


def bounded(call: Callable[[], T], seconds: float) -> T:
    """What the call gives, or raises, in so many seconds. Raises TimeoutError where it has not come back by then."""
    asked = _Asked(call)
    thread = threading.Thread(target=asked.run, daemon=True, name="leasehold-bounded")
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"no answer in {seconds:g} s")
    if asked.error is not None:
        raise asked.error
    return asked.answer[0]

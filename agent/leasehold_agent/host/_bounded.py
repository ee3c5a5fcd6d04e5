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


class OneCall(Generic[T]):
    """Bounded calls one after the other: what hangs holds one thread, however often it is asked. For one asker."""

    def __init__(self) -> None:
        self._asked: _Asked[T] | None = None
        self._thread: threading.Thread | None = None

    @property
    def hangs(self) -> bool:
        """Whether the last call has not come back yet."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def unheard(self) -> bool:
        """Whether there is a call of which nobody has heard the answer."""
        return self._asked is not None

    def begin(self, call: Callable[[], T]) -> None:
        """Make the call, unless the one before has not come back, or nobody has heard its answer yet."""
        if self._asked is None:
            self._asked = _Asked(call)
            self._thread = threading.Thread(target=self._asked.run, daemon=True, name="leasehold-bounded")
            self._thread.start()

    def answer(self, seconds: float) -> T:
        """What the call gives, or raises, in so many seconds from now. Raises TimeoutError where it does not: what
        it gives later is heard by whoever asks then.
        """
        assert self._asked is not None, "begin it first"
        assert self._thread is not None, "begin it first"
        self._thread.join(max(0.0, seconds))
        if self.hangs:
            raise TimeoutError(f"no answer in {seconds:g} s")
        asked, self._asked = self._asked, None
        if asked.error is not None:
            raise asked.error
        return asked.answer[0]

"""Threads for calls that last as long as somebody else likes; nobody waits for them when the agent ends.

Those of the standard library are joined before the interpreter goes: a container that is stopped with ten minutes of
grace would hold an agent that is told to end for as long, and its supervisor would kill it instead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Errands(Executor):
    """`at_once` daemon threads at most, made as they are needed."""

    def __init__(self, at_once: int, name: str) -> None:
        self._most, self._name = at_once, name
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._threads = 0
        self._closed = False
        self._lock = threading.Lock()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        with self._lock:
            if self._closed:
                raise RuntimeError("These threads have been let go.")
            future: Future[T] = Future()
            self._jobs.put((future, partial(fn, *args, **kwargs)))
            if not self._idle.acquire(blocking=False) and self._threads < self._most:
                self._threads += 1
                name = f"{self._name}_{self._threads}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
            return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more. `wait` is for those who know that all will end, and is not kept here."""
        with self._lock:
            self._closed = True
            while cancel_futures:
                try:
                    job = self._jobs.get_nowait()
                except Empty:
                    break
                if job is not None:
                    job[0].cancel()
            for _ in range(self._threads):
                self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, act = job
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(act())
                except BaseException as error:  # noqa: BLE001 - whoever asked is told
                    future.set_exception(error)
            del job, future, act  # what a call held is not held while the thread waits for another
            self._idle.release()

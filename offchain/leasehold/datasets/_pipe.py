"""Joins what pushes bytes with what pulls them, in constant memory: a thread and a kernel pipe."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import BinaryIO


class ChunkReader:
    """An iterator of chunks as a file to read from.

    Libraries that read from it may hide what the iterator raises behind their own error: `error` has it.
    """

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")
        self.error: Exception | None = None

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes, at the end none."""
        try:
            while not self._rest:
                self._rest = memoryview(next(self._chunks))
        except StopIteration:
            return b""
        except Exception as error:
            self.error = error
            raise
        taken = self._rest[: size if size >= 0 else len(self._rest)]
        self._rest = self._rest[len(taken) :]
        return bytes(taken)


@contextlib.contextmanager
def piped(feed: Callable[[BinaryIO], None]) -> Iterator[BinaryIO]:
    """Runs `feed(writer)` in a thread and gives the end to read from.

    What `feed` raises is raised here once the reader has seen the end. Leaving early closes the pipe, which
    ends `feed` by BrokenPipeError, and waits for it.
    """
    reading, writing = os.pipe()
    failure: list[BaseException] = []

    def run() -> None:
        try:
            with os.fdopen(writing, "wb") as writer:
                feed(writer)
        except BaseException as error:  # noqa: BLE001  # handed to the reading thread, which raises it
            failure.append(error)

    thread = threading.Thread(target=run, name="leasehold-pipe", daemon=True)
    source = os.fdopen(reading, "rb", buffering=1 << 20)
    thread.start()
    try:
        yield source
        at_end = source.read(1) == b""
    except BaseException as error:
        source.close()
        thread.join()
        _raise_cause(failure, error)
        raise
    source.close()
    thread.join()
    if at_end:
        _raise_cause(failure, None)


def _raise_cause(failure: list[BaseException], error: BaseException | None) -> None:
    """Raises what the feeding side failed with, unless it only noticed that the reader had left."""
    if failure and not isinstance(failure[0], BrokenPipeError) and not isinstance(error, GeneratorExit):
        raise failure[0]

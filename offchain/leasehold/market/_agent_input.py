"""A request whose body has no length yet and may be long: written from a thread, straight into TLS."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable
from typing import BinaryIO, Final, cast

from leasehold.market._agent_socket import AgentSocket, Answer, answer_of
from leasehold.market.wire import AgentUnreachable

Feed = Callable[[BinaryIO], None]
"""Writes a body to what it is given, which only takes bytes and tells how many."""
PIECE: Final = 256 * 1024
"""Bytes that are gathered before they are sent."""
_CONTINUE: Final = 100
_LINES: Final = {"Transfer-Encoding": "chunked", "Expect": "100-continue"}


class FeedFailed(Exception):
    """error: what the writer of a body raised, which is none of the connection's errors."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class InputRequest(AgentSocket):
    """One whose body is written here."""

    def run(self, feed: Feed, counted: Callable[[int], None], seconds: float | None = None) -> Answer:
        """Send what `feed` writes, if it is awaited; what is answered. It blocks, until `cut` is called elsewhere.
        counted: hears of so many bytes more. seconds: how long each piece and the answer may take.

        Raises:
            OSError: `feed` was not called, so that it can be tried again. AgentUnreachable: it broke off later.
            FeedFailed: `feed` raised.
        """
        with self.connected() as connection, connection.makefile("rb") as answers:
            self.ask(connection, _LINES)
            answer = answer_of(answers)
            if answer[0] != _CONTINUE:
                return answer
            connection.settimeout(seconds)
            body = _Body(connection, counted)
            with contextlib.suppress(_Gone):  # what it has said before says why
                _give(feed, body)
            try:
                return answer_of(answers)
            except OSError as error:
                raise AgentUnreachable("The connection to the agent broke off;", "try again.") from error


class _Gone(Exception):
    """The other side takes no more. No OSError: whoever feeds takes one for a file's that he reads."""


def _give(feed: Feed, body: _Body) -> None:
    try:
        feed(cast(BinaryIO, body))
    except _Gone:
        raise
    except Exception as error:
        raise FeedFailed(error) from error
    body.end()


class _Body:
    """The body, in chunks of HTTP, each of what was gathered or is large."""

    def __init__(self, connection: ssl.SSLSocket, counted: Callable[[int], None]) -> None:
        self._connection = connection
        self._counted = counted
        self._gathered = bytearray()
        self._behind = b""  # what ends the chunk before, sent with what begins the next
        self._taken = 0

    def tell(self) -> int:
        return self._taken

    def write(self, data: bytes | memoryview) -> int:
        self._taken += len(data)
        if len(data) < PIECE:
            self._gathered += data
        if len(data) >= PIECE or len(self._gathered) >= PIECE:
            self.flush()
        if len(data) >= PIECE:
            self._send(data)
        return len(data)

    def flush(self) -> None:
        if self._gathered:
            self._send(self._gathered)
            self._gathered.clear()

    def end(self) -> None:
        self.flush()
        self._sent(self._behind + b"0\r\n\r\n")

    def _send(self, data: bytes | bytearray | memoryview) -> None:
        self._sent(b"%s%x\r\n" % (self._behind, len(data)))
        self._sent(data)
        self._behind = b"\r\n"
        self._counted(len(data))

    def _sent(self, data: bytes | bytearray | memoryview) -> None:
        try:
            self._connection.sendall(data)
        except OSError as error:
            raise _Gone from error

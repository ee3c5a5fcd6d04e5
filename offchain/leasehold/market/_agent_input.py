"""A request whose body has no length yet and may be long: written from a thread, straight into TLS.

By the event loop each MiB would be copied, framed and encrypted in pieces, which for much input costs more than all
that is done with it there. Only such a body goes by this way.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import BinaryIO, Final, cast
from urllib.parse import urlsplit

from leasehold.market.wire import AgentUnreachable

Feed = Callable[[BinaryIO], None]
"""Writes a body to what it is given, which only takes bytes and tells how many."""
Answer = tuple[int, bytes]
"""Status and body."""
PIECE: Final = 256 * 1024
"""Bytes that are gathered before they are sent."""
_LONGEST_LINE: Final = 16 * 1024
_MOST_LINES: Final = 100
_MOST_ANSWER: Final = 64 * 1024
_CONTINUE: Final = 100


class FeedFailed(Exception):
    """error: what the writer of a body raised, which is none of the connection's errors."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class InputRequest:
    """One POST to `target`, on a connection of its own. connect, answer: seconds that being let in and each answer may
    take; how long the body takes is the other side's affair.
    """

    def __init__(
        self,
        base: str,
        target: str,
        headers: Mapping[str, str],
        *,
        tls: ssl.SSLContext,
        options: Iterable[tuple[int, int, int]] = (),
        connect: float,
        answer: float,
    ) -> None:
        self._address = urlsplit(base)
        self._target = target
        self._headers = headers
        self._tls = tls
        self._options = tuple(options)
        self._seconds = connect, answer
        self._socket: ssl.SSLSocket | None = None
        self._cut = False

    def run(self, feed: Feed, counted: Callable[[int], None]) -> Answer:
        """Send what `feed` writes, if it is awaited; what is answered. It blocks, until `cut` is called elsewhere.
        counted: hears of so many bytes more.

        Raises:
            OSError: `feed` was not called, so that it can be tried again. AgentUnreachable: it broke off later.
            FeedFailed: `feed` raised.
        """
        with self._connected() as connection, connection.makefile("rb") as answers:
            self._ask(connection)
            answer = _answer(answers)
            if answer[0] != _CONTINUE:
                return answer
            connection.settimeout(None)
            body = _Body(connection, counted)
            with contextlib.suppress(_Gone):  # what it has said before says why
                _give(feed, body)
            try:
                return _answer(answers)
            except OSError as error:
                raise AgentUnreachable("The connection to the agent broke off;", "try again.") from error

    def cut(self) -> None:
        """End it, whatever another thread is about: that gets an error."""
        self._cut = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                # Not the TLS socket's own, after which what is still being written would go out in the clear.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[ssl.SSLSocket]:
        connect, answer = self._seconds
        host, port = self._address.hostname or "", self._address.port or 443
        with socket.create_connection((host, port), connect) as plain:
            for option in self._options:
                plain.setsockopt(*option)
            with self._tls.wrap_socket(plain, server_hostname=host) as connection:
                self._socket = connection
                if self._cut:
                    raise BrokenPipeError("The request was given up.")
                connection.settimeout(answer)
                yield connection

    def _ask(self, connection: ssl.SSLSocket) -> None:
        lines = {"Host": self._address.netloc, "Transfer-Encoding": "chunked", "Expect": "100-continue"}
        head = "".join(f"{name}: {value}\r\n" for name, value in {**lines, **self._headers}.items())
        connection.sendall(f"POST {self._target} HTTP/1.1\r\n{head}\r\n".encode("ascii"))


def _answer(answers: BinaryIO) -> Answer:
    """What the other side says next. Raises OSError."""
    line = answers.readline(_LONGEST_LINE)
    words = line.split(None, 2)
    if not line.endswith(b"\n") or len(words) < 2 or not words[1].isdigit():
        raise ConnectionResetError("The connection ended without an answer.")
    length = 0
    for _ in range(_MOST_LINES):
        name, _, value = answers.readline(_LONGEST_LINE).partition(b":")
        if not name.strip():
            break
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = min(int(value), _MOST_ANSWER)
    return int(words[1][:3]), answers.read(length)


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
        self._taken = 0

    def tell(self) -> int:
        return self._taken

    def write(self, data: bytes) -> int:
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
        self._sent(b"0\r\n\r\n")

    def _send(self, data: bytes | bytearray) -> None:
        self._sent(b"%x\r\n" % len(data))
        self._sent(data)
        self._sent(b"\r\n")
        self._counted(len(data))

    def _sent(self, data: bytes | bytearray) -> None:
        try:
            self._connection.sendall(data)
        except OSError as error:
            raise _Gone from error

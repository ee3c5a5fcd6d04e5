"""A connection to an agent of a request's own, written to and read from in a thread, straight into TLS.

By the event loop each MiB would be copied, framed and encrypted in pieces, which for a long body costs more than all
that is done with it there. Only such bodies go by this way.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO, Final
from urllib.parse import urlsplit

Answer = tuple[int, bytes]
"""Status and body."""
LONGEST_LINE: Final = 16 * 1024
_MOST_LINES: Final = 100
_MOST_ANSWER: Final = 64 * 1024


class AgentSocket:
    """One call to `target`, on a connection of its own. connect, answer: seconds that being let in and each answer may
    take; how long the body takes is the other side's affair.
    """

    def __init__(
        self,
        base: str,
        target: str,
        headers: Mapping[str, str],
        *,
        method: str = "POST",
        tls: ssl.SSLContext,
        options: Iterable[tuple[int, int, int]] = (),
        connect: float,
        answer: float,
    ) -> None:
        self._address = urlsplit(base)
        self._target = target
        self._method = method
        self._headers = headers
        self._tls = tls
        self._options = tuple(options)
        self._seconds = connect, answer
        self._socket: ssl.SSLSocket | None = None
        self._cut = False

    def cut(self) -> None:
        """End it, whatever another thread is about: that gets an error."""
        self._cut = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                # Not the TLS socket's own, after which what is still being written would go out in the clear.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    @contextlib.contextmanager
    def connected(self) -> Iterator[ssl.SSLSocket]:
        connect, answer = self._seconds
        host, port = self._address.hostname or "", self._address.port or 443
        with socket.create_connection((host, port), connect) as plain:
            # What a body ends with is a few bytes, which would wait until all before them has been told to have come.
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for option in self._options:
                plain.setsockopt(*option)
            with self._tls.wrap_socket(plain, server_hostname=host) as connection:
                self._socket = connection
                if self._cut:
                    raise BrokenPipeError("The request was given up.")
                connection.settimeout(answer)
                yield connection

    def ask(self, connection: ssl.SSLSocket, lines: Mapping[str, str], body: bytes = b"") -> None:
        """Send the request's head, with more lines, and a body that is at hand."""
        every = {"Host": self._address.netloc, **lines, **self._headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in every.items())
        connection.sendall(f"{self._method} {self._target} HTTP/1.1\r\n{head}\r\n".encode("ascii") + body)


def answer_of(answers: BinaryIO) -> Answer:
    """What the other side says next, where that is little. Raises OSError."""
    status, lines = head_of(answers)
    return status, rest_of(answers, lines)


def head_of(answers: BinaryIO) -> tuple[int, dict[str, str]]:
    """Status and lines of what the other side says next, by their names in small letters. Raises OSError."""
    line = answers.readline(LONGEST_LINE)
    words = line.split(None, 2)
    if not line.endswith(b"\n") or len(words) < 2 or not words[1].isdigit():
        raise ConnectionResetError("The connection ended without an answer.")
    lines = dict[str, str]()
    for _ in range(_MOST_LINES):
        name, _, value = answers.readline(LONGEST_LINE).partition(b":")
        if not name.strip():
            break
        lines[name.strip().lower().decode("latin-1")] = value.strip().decode("latin-1")
    return int(words[1][:3]), lines


def rest_of(answers: BinaryIO, lines: Mapping[str, str]) -> bytes:
    """The body behind such lines, or the first KiB of it."""
    length = lines.get("content-length", "")
    plain = length.isascii() and length.isdigit()  # `²` is a digit, and no number
    return answers.read(min(int(length[:20]), _MOST_ANSWER)) if plain else b""

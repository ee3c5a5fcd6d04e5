"""A request whose answer may be long, read in a thread, straight out of TLS: what a command on a lease writes.

The answer is pieces behind their lengths, and behind a length of zero how the command ended; one without that broke
off. Nothing of it is believed but that it is the agent's.
"""

from __future__ import annotations

import io
import ssl
import struct
from collections.abc import Callable
from typing import BinaryIO, Final, cast

from leasehold.market._agent_socket import LONGEST_LINE, AgentSocket, Answer, head_of, rest_of
from leasehold.market.wire import AgentUnreachable

Take = Callable[[BinaryIO], None]
"""Reads an answer, to its end or not, from what it is given, which can only be read from."""
_OK: Final = 200
_PIECE: Final = 256 * 1024
_AHEAD: Final = 16 * 1024
"""Bytes that are read ahead: more is read straight to where it is wanted."""
_LENGTH: Final = struct.Struct(">I")
_MOST_END: Final = 64 * 1024


class OutputRequest(AgentSocket):
    """One whose answer is read here."""

    def run(self, given: bytes, take: Take, counted: Callable[[int], None]) -> Answer:
        """Send `given`, have `take` read what is answered, and give the command's end; or a refusal, and then `take`
        was not called. It blocks, until `cut` is called elsewhere. counted: hears of so many bytes more.

        Raises:
            OSError: there was no answer, so that it can be tried again. AgentUnreachable: it broke off later.
            TakeFailed: `take` raised.
        """
        with self.connected() as connection:
            answers = cast(io.BufferedReader, io.BufferedReader(_Records(connection), _AHEAD))
            self.ask(connection, {"Content-Length": str(len(given))}, given)
            status, lines = head_of(answers)
            if status != _OK:
                return status, rest_of(answers, lines)
            connection.settimeout(None)
            output = _Output(io.BufferedReader(_Chunked(answers), _AHEAD), counted)
            try:
                take(cast(BinaryIO, output))
            except AgentUnreachable:
                raise
            except Exception as error:
                if output.end is None:
                    raise TakeFailed(error) from error
                raise TakeFailed(error, (status, output.end)) from error
            while output.read(_PIECE):
                pass
            assert output.end is not None
            return status, output.end


class TakeFailed(Exception):
    """error: what the reader of an answer raised. answer: what that had come to, where it had been read to its end."""

    def __init__(self, error: Exception, answer: Answer | None = None) -> None:
        super().__init__(str(error))
        self.error, self.answer = error, answer


class _Output:
    """What the command writes; `end` is what stood behind it, once all was read."""

    def __init__(self, body: io.BufferedReader, counted: Callable[[int], None]) -> None:
        self._body = body
        self._counted = counted
        self._left = 0
        self.end: bytes | None = None

    def read(self, size: int = -1) -> bytes:
        """So many bytes at most; none at the end. Raises AgentUnreachable where it broke off."""
        parts = list[bytes]()
        while size and (self._left or self._another()):
            data = self._exactly(self._left if size < 0 else min(size, self._left))
            self._left -= len(data)
            self._counted(len(data))
            size -= len(data) if size > 0 else 0
            parts.append(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def readinto(self, buffer: memoryview) -> int:
        """The same, into that; some of it."""
        if not (self._left or self._another()):
            return 0
        try:
            count = self._body.readinto(buffer[: self._left])
        except OSError as error:
            raise _broke_off() from error
        if not count and len(buffer):
            raise _broke_off()
        self._left -= count
        self._counted(count)
        return count

    def _another(self) -> bool:
        """Whether there is one more piece."""
        if self.end is None:
            (self._left,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
            if not self._left:
                self.end = self._some(_MOST_END)
        return self._left > 0

    def _exactly(self, size: int) -> bytes:
        data = self._some(size)
        if len(data) < size:
            raise _broke_off()
        return data

    def _some(self, size: int) -> bytes:
        try:
            return self._body.read(size)
        except OSError as error:
            raise _broke_off() from error


class _Chunked(io.RawIOBase):
    """A body in HTTP's chunks, without them. Raises ConnectionResetError where it breaks off."""

    def __init__(self, answers: io.BufferedReader) -> None:
        self._answers = answers
        self._left = 0
        self._over = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        if not self._left and not self._over:
            self._next()
        if self._over:
            return 0
        count = self._answers.readinto(memoryview(cast(bytearray, buffer))[: self._left])
        if not count:
            raise ConnectionResetError("The answer broke off.")
        self._left -= count
        if not self._left:
            self._answers.readline(LONGEST_LINE)
        return count

    def _next(self) -> None:
        size = self._answers.readline(LONGEST_LINE).partition(b";")[0].strip()
        try:
            self._left = int(size, 16)
        except ValueError:
            raise ConnectionResetError("The answer broke off.") from None
        if self._left < 0:
            raise ConnectionResetError("The answer broke off.")
        self._over = self._left == 0


class _Records(io.RawIOBase):
    """What comes by TLS, a record at a time: a socket's own file asks five functions for each of them."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self._connection = connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = cast(bytearray, buffer)
        # With a buffer it tells how many bytes there were.
        return cast(int, self._connection.read(len(view), view))


def _broke_off() -> AgentUnreachable:
    return AgentUnreachable("The connection to the agent broke off before the command ended;", "try again.")

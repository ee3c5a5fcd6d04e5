"""Whether a resolver answers: one question by UDP, as a container would ask it."""

from __future__ import annotations

import asyncio
import secrets

PORT = 53
_HEADER = 12
_REFUSED = {2: "has failed", 3: "knows no such name", 5: "refuses to answer this host"}


class _Asked(asyncio.DatagramProtocol):
    def __init__(self, number: bytes) -> None:
        self._number = number
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, address: object) -> None:
        """Anybody may send something: what is no answer to this question is passed over."""
        if len(data) >= _HEADER and data[:2] == self._number and data[2] & 0x80 and not self.answer.done():
            self.answer.set_result(data)

    def error_received(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


async def resolver_trouble(server: str, name: str, *, seconds: float, port: int = PORT) -> str | None:
    """What is wrong with a resolver that is asked for a name's address, or None."""
    number = secrets.token_bytes(2)
    try:
        labels = b"".join(bytes((len(label),)) + label for label in name.encode("idna").split(b"."))
    except UnicodeError:
        return f"cannot be asked for {name}, which is no name"
    question = number + b"\x01\x00\x00\x01" + bytes(6) + labels + b"\x00\x00\x01\x00\x01"
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(seconds):
            transport, asked = await loop.create_datagram_endpoint(
                lambda: _Asked(number), remote_addr=(server, port)
            )
            try:
                transport.sendto(question)
                answer = await asked.answer
            finally:
                transport.close()
    except TimeoutError:
        return "does not answer"
    except OSError as error:
        return f"cannot be asked ({error.strerror or error})"
    return _REFUSED.get(answer[3] & 0x0F)

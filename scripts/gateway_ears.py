"""So many who listen to a gateway, in a process of their own: `python scripts/gateway_ears.py PORT COUNT`.

It says when all of them listen. Once its input ends it says in JSON when the last of them heard of each block
(`time.monotonic`), and how many were let go.

They have many addresses, as a thousand people have: a gateway bounds what one address may do.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from typing import Final

OF_ONE_ADDRESS: Final = 8
AT_ONCE: Final = 50  # who wait to be taken in


async def listen(port: int, count: int) -> None:
    """Until the input ends."""
    heard: dict[int, list[float]] = {}
    loop = asyncio.get_running_loop()
    ears: list[_Ear] = []
    for number in range(count):
        place = (f"127.0.1.{1 + number // OF_ONE_ADDRESS}", 0)
        _, ear = await loop.create_connection(lambda: _Ear(heard), "127.0.0.1", port, local_addr=place)
        ears.append(ear)
        if len(ears) % AT_ONCE == 0:
            await asyncio.gather(*(ear.begun for ear in ears[-AT_ONCE:]))
    await asyncio.gather(*(ear.begun for ear in ears))
    print("all listen", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    gone = sum(ear.gone for ear in ears)
    last = {number: max(times) for number, times in heard.items() if len(times) == count}
    print(json.dumps({"last": last, "gone": gone}), flush=True)


class _Ear(asyncio.Protocol):
    """One who hears of machines, by WebSocket as far as it takes to read frames: a client costs the server's cores."""

    _NUMBER = re.compile(rb'"number":([0-9]+)')

    def __init__(self, heard: dict[int, list[float]]) -> None:
        self._heard = heard
        self._came = bytearray()
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.gone = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(
            b"GET /api/v1/live HTTP/1.1\r\nHost: gateway\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )

    def data_received(self, data: bytes) -> None:
        self._came += data
        if not self.begun.done():
            _, found, rest = self._came.partition(b"\r\n\r\n")
            if not found:
                return
            wish = b'{"subscribe":["machines"]}'
            self._transport.write(bytes((0x81, 0x80 | len(wish))) + bytes(4) + wish)  # masked with zeros
            if not self._came.startswith(b"HTTP/1.1 101 "):
                self.begun.set_exception(ConnectionRefusedError(bytes(self._came[:200])))
                return
            self._came = bytearray(rest)
            self.begun.set_result(None)
        while (frame := self._frame()) is not None:
            if frame.startswith(b'{"topic":"machines"'):
                number = self._NUMBER.search(frame)
                assert number is not None
                self._heard.setdefault(int(number[1]), []).append(time.monotonic())

    def _frame(self) -> bytes | None:
        """The next whole frame's payload."""
        if len(self._came) < 4:
            return None
        length, begin = self._came[1], 2
        if length == 126:
            length, begin = int.from_bytes(self._came[2:4]), 4
        if len(self._came) < begin + length:
            return None
        frame = bytes(self._came[begin : begin + length])
        del self._came[: begin + length]
        return frame

    def connection_lost(self, error: Exception | None) -> None:
        self.gone = True


if __name__ == "__main__":
    asyncio.run(listen(int(sys.argv[1]), int(sys.argv[2])))

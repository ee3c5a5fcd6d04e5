"""A Ledger that is reached over TCP, as the emulator Speculos is, with a hand between that can do what it likes."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from devnet.hardware_app import LedgerApp

Device = Callable[[bytes], bytes]
Between = Callable[[bytes, Device], bytes | None]
"""`(command, device) -> answer`: what stands between. `None` is never answered."""


class Unplugged(Exception):
    """The way to the device is cut."""


def honest(command: bytes, device: Device) -> bytes:
    """Carries what it is given."""
    return device(command)


class LedgerEmulator:
    """Serves one app on a port of this computer, a conversation at a time; `place` is what a wallet calls it."""

    def __init__(self, app: LedgerApp | None = None, between: Between = honest) -> None:
        self.app = app or LedgerApp()
        self.between = between
        self.commands: list[bytes] = []
        self._server = _Server(self)

    @property
    def place(self) -> str:
        host, port = self._server.server_address[:2]
        return f"tcp://{host!s}:{port}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, command: bytes) -> bytes | None:
        """What comes back for a command."""
        self.commands.append(command)
        return self.between(command, self.app.answer)


class _Conversation(socketserver.BaseRequestHandler):
    """Four bytes of length before each command and answer; an answer's does not count its status."""

    request: socket.socket

    def handle(self) -> None:
        assert isinstance(self.server, _Server)
        try:
            while head := self._read(4):
                answer = self.server.emulator.answer(self._read(int.from_bytes(head, "big")))
                if answer is not None:
                    self.request.sendall((len(answer) - 2).to_bytes(4, "big") + answer)
        except (OSError, Unplugged):
            return

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.request.recv(size - len(data))
            if not part:
                return b""
            data += part
        return data


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, emulator: LedgerEmulator) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self.emulator = emulator

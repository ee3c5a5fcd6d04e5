"""A TCP relay that can be cut: what is behind it is out of reach, and is not touched.

with Relay(anvil_port) as relay:
    ...
    relay.cut()      # connections end, new ones are refused
    relay.mend()     # the same port serves again
    relay.hold()     # connections stay open, and nothing comes through
    relay.let_go()   # what was sent meanwhile does
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Relay:
    """From a free port of `host`, which stays the same, to one of the loopback."""

    def __init__(self, target: int, host: str = "127.0.0.1") -> None:
        self._target = target
        self.host = host
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._flows = threading.Event()
        self._flows.set()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def ws_url(self) -> str:
        return f"ws://{self.host}:{self.port}"

    def __enter__(self) -> Self:
        self.mend()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut()

    def mend(self) -> None:
        """Serve, first or again."""
        self._listener = socket.create_server((self.host, self.port))
        self.port = int(self._listener.getsockname()[1])
        self._run(self._accept, self._listener)

    def cut(self) -> None:
        """End every connection and refuse new ones. Returns when no thread is left."""
        self.let_go()
        listener, self._listener = self._listener, None
        if listener is None:
            return
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # wakes `accept`
        listener.close()
        while self._threads:
            with self._lock:
                for connection in self._open:
                    with contextlib.suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)
            self._threads[0].join(0.2)
            self._threads = [thread for thread in self._threads if thread.is_alive()]

    def hold(self) -> None:
        """Let nothing through, either way, as a road does that loses all that is sent on it."""
        self._flows.clear()

    def let_go(self) -> None:
        self._flows.set()

    def _run(self, work: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                client.close()
                continue
            self._run(self._serve, client, server)

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        with client, server:
            with self._lock:
                self._open |= {client, server}
            back = threading.Thread(target=self._pump, args=(server, client), daemon=True)
            back.start()
            self._pump(client, server)
            back.join()
            with self._lock:
                self._open -= {client, server}

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        """Until either side ends, which ends both."""
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self._flows.wait()
                target.sendall(data)
        for side in (source, target):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)

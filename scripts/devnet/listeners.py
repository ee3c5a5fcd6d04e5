"""Whoever alerts go to: a web server that takes webhooks and ntfy's messages, and a mail server, on loopback."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from devnet.patience import patient


@dataclass
class Listener:
    """What has come, by channel: documents of the webhook and of ntfy, letters' texts of the mail."""

    http: int = 0
    smtp: int = 0
    _heard: list[tuple[str, Any]] = field(default_factory=list)
    _came: threading.Condition = field(default_factory=threading.Condition)

    def hear(self, channel: str, what: Any) -> None:
        with self._came:
            self._heard.append((channel, what))
            self._came.notify_all()

    def of(self, channel: str) -> list[Any]:
        with self._came:
            return [what for name, what in self._heard if name == channel]

    def until(self, holds: Callable[[], Any], seconds: float = patient(120)) -> Any:
        """Waits until something has come that makes it hold."""
        with self._came:
            assert self._came.wait_for(holds, seconds), self._heard
            return holds()

    def kinds(self, channel: str = "webhook") -> list[str]:
        return [document["kind"] for document in self.of(channel)]

    def settings(self) -> str:
        """The guard's tables that name these."""
        return f"""
[guard.webhook]
url = "http://127.0.0.1:{self.http}/hook"
secret = {{ env = "GUARD_HOOK" }}

[guard.ntfy]
url = "http://127.0.0.1:{self.http}/ntfy"
topic = "mine"

[guard.mail]
host = "127.0.0.1"
port = {self.smtp}
tls = "none"
to = "me@example.org"
sender = "it@example.org"
"""


@contextmanager
def listening() -> Iterator[Listener]:
    listener = Listener(_came=threading.Condition(threading.RLock()))

    class Web(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            listener.hear("webhook" if self.path == "/hook" else "ntfy", json.loads(body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Says nothing."""

    class Post(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            while line := self.rfile.readline():
                word = line.split()[0].upper()
                if word == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    lines = []
                    while (row := self.rfile.readline()) not in (b".\r\n", b""):
                        lines.append(row)
                    letter = message_from_bytes(b"".join(lines), policy=default)
                    listener.hear("mail", f"{letter['Subject']}\n{letter.get_content()}")
                self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 here\r\n")

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    web, post = ThreadingHTTPServer(("127.0.0.1", 0), Web), Server(("127.0.0.1", 0), Post)
    listener.http, listener.smtp = web.server_address[1], post.server_address[1]
    threads = [threading.Thread(target=server.serve_forever, args=(0.05,)) for server in (web, post)]
    for thread in threads:
        thread.start()
    try:
        yield listener
    finally:
        for server in (web, post):
            server.shutdown()
            server.server_close()
        for thread in threads:
            thread.join()

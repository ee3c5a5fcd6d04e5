"""Calls of the engine that last: nobody waits for them who has to go."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer

import pytest

from devnet.patience import patient
from leasehold_agent.engine._errands import Errands

AGENT = """
import asyncio, sys
from leasehold_agent.engine import Engine

async def main():
    engine = Engine(sys.argv[1])
    stopping = asyncio.create_task(engine.stop("container", 600))
    await asyncio.to_thread(sys.stdin.readline)
    stopping.cancel()
    await asyncio.wait([stopping])
    engine.close()

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_container_that_takes_its_grace_holds_no_agent_that_ends(tmp_path: Path) -> None:
    asked, over = threading.Event(), threading.Event()

    class Slow(BaseHTTPRequestHandler):
        """An engine that says its version, and nothing of a container's end before the test is over."""

        def do_GET(self) -> None:
            body = b'{"ApiVersion": "1.41"}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            asked.set()
            over.wait()

        def log_message(self, *_: object) -> None:
            pass

    path = tmp_path / "engine.sock"
    with ThreadingUnixStreamServer(str(path), Slow) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        agent = subprocess.Popen([sys.executable, "-c", AGENT, f"unix://{path}"], stdin=subprocess.PIPE)
        try:
            assert asked.wait(patient(60))
            agent.communicate(b"\n", timeout=patient(30))
            assert agent.returncode == 0
        finally:
            agent.kill()
            agent.wait()
            over.set()
            server.shutdown()


async def test_no_more_at_once_than_was_said() -> None:
    errands, loop = Errands(2, "test"), asyncio.get_running_loop()
    gate, busy, most, lock = threading.Event(), 0, 0, threading.Lock()

    def work(number: int) -> int:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        gate.wait()
        with lock:
            busy -= 1
        return number

    calls = [loop.run_in_executor(errands, work, number) for number in range(5)]
    gate.set()
    assert await asyncio.gather(*calls) == list(range(5))
    assert most <= 2
    errands.shutdown()
    with pytest.raises(RuntimeError, match="let go"):
        errands.submit(work, 1)


async def test_what_went_wrong_is_told_and_what_waits_is_dropped() -> None:
    errands, loop = Errands(1, "test"), asyncio.get_running_loop()
    gate = threading.Event()
    first = loop.run_in_executor(errands, gate.wait)
    second: Callable[[], bool] = lambda: 1 // 0 == 1  # noqa: E731
    failing = loop.run_in_executor(errands, second)
    gate.set()
    with pytest.raises(ZeroDivisionError):
        await failing
    assert await first
    gate.clear()
    running = loop.run_in_executor(errands, gate.wait)
    waiting = loop.run_in_executor(errands, second)
    errands.shutdown(cancel_futures=True)
    gate.set()
    await asyncio.wait([running, waiting])
    assert waiting.cancelled() or waiting.exception() is not None

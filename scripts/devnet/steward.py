"""What a process started ends with it, and what it made is taken away, however it ends.

`with` blocks see to that themselves, but for a process that is killed, or interrupted twice. So each process that
starts a chain, an IPFS node or an engine has a steward: a process in a session of its own, which waits until the socket
from its owner closes, as the kernel closes it for the dead. Then it ends what it was entrusted with, and removes it.

The kernel's own death signal (`PR_SET_PDEATHSIG`) comes when the thread ends that started a process, which a pool's
thread may do at any time, and no signal takes away a mount or a container. The nursery, which has one thread, uses it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from devnet.patience import patient

_SCRIPTS = Path(__file__).parents[1]
_SERVE = "import sys; from devnet.steward import serve; serve(int(sys.argv[1]))"
_MOST = 1 << 16  # bytes of a message


class Steward:
    """One process's own; what is entrusted to it needs no taking back: it sees that it has gone."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _SERVE, str(theirs.fileno())],
                env={**inherited, "PYTHONPATH": str(_SCRIPTS)},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # whoever kills its owner's group leaves it alone
            )
        self.pid = self._process.pid

    def process(self, pid: int) -> None:
        """A child of the owner that nobody has waited for yet."""
        handle = os.pidfd_open(pid)
        try:
            self._tell({}, handle)
        finally:
            os.close(handle)

    def folder(self, path: Path) -> None:
        """A folder that nobody else makes anew."""
        self._tell({"folder": str(path.absolute())})  # the steward stands elsewhere

    def engine(self, name: str) -> None:
        """An engine's network namespace, and all that belongs to it."""
        self._tell({"engine": name})

    def close(self) -> None:
        """Have it do its work now. Returns when it is done."""
        self._socket.close()
        self._process.wait()

    def _tell(self, message: dict[str, str], *handles: int) -> None:
        socket.send_fds(self._socket, [json.dumps(message).encode()], handles)


_one_at_a_time = threading.Lock()
_steward: Steward | None = None


def steward() -> Steward:
    """This process's own, which is started when it is first asked for."""
    global _steward
    with _one_at_a_time:
        if _steward is None or _steward.owner != os.getpid():
            _steward = Steward()
            atexit.register(_steward.close)
        return _steward


# ---------------------------------------------------------------------------------------------------------- the server


def serve(descriptor: int) -> None:
    """What the steward's process does."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with socket.socket(fileno=descriptor) as owner, selectors.DefaultSelector() as running:
        running.register(owner, selectors.EVENT_READ)
        messages = _heard(owner, running)
        running.unregister(owner)
        _end(running)
    if engines := [message["engine"] for message in messages if "engine" in message]:
        from devnet.engine import remove  # it takes its time to import, and few need it

        for name in engines:
            remove(name)
    for message in messages:
        if "folder" in message:
            shutil.rmtree(message["folder"], ignore_errors=True)


def _heard(owner: socket.socket, running: selectors.BaseSelector) -> list[dict[str, str]]:
    """All that the owner said until it was gone. `running` gains the processes, and loses each that ends."""
    messages: list[dict[str, str]] = []
    while True:
        for key, _ in running.select():
            if key.fd != owner.fileno():
                running.unregister(key.fd)
                os.close(key.fd)
                continue
            text, handles, _, _ = socket.recv_fds(owner, _MOST, 1)
            if not text:
                return messages
            messages.append(json.loads(text))
            for handle in handles:
                running.register(handle, selectors.EVENT_READ)


def _end(running: selectors.BaseSelector) -> None:
    """Kills what runs still, and waits for it, though not for ever for what the kernel does not let go."""
    for key in running.get_map().values():
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            signal.pidfd_send_signal(key.fd, signal.SIGKILL)
    while running.get_map() and (ended := running.select(patient(60))):
        for key, _ in ended:
            running.unregister(key.fd)
            os.close(key.fd)

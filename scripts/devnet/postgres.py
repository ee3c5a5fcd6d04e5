"""A PostgreSQL server of one's own: Debian's, in a folder that goes with it, on a socket in that folder.

    with Postgres() as server:
        Indexer(server.make("index"), deployment)

The server does not run as root. Where this process is, it runs as the account that Debian's package made.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

from devnet.patience import patient
from devnet.steward import steward

_DEBIAN = Path("/usr/lib/postgresql")
_ACCOUNT = "postgres"
_NAME = "leasehold"


class PostgresError(RuntimeError):
    """The server could not be made or did not come up; the text ends with what it said."""


class Postgres:
    """A running server, as a context manager. `kill` and `start` may alternate: what was committed stays.

    safe: whether it waits for the disk, as it does where people trust it with what they have nowhere else.
    """

    def __init__(self, *, safe: bool = False) -> None:
        self._safe = safe
        self._process: subprocess.Popen[bytes] | None = None
        self._names = (f"db{number}" for number in itertools.count(1))

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="leasehold-postgres-"))
        steward().folder(self.folder)
        try:
            if os.geteuid() == 0:
                shutil.chown(self.folder, _ACCOUNT, _ACCOUNT)
            self._initialise()
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Returns when it takes connections."""
        settings = {
            "unix_socket_directories": str(self.folder),
            "listen_addresses": "",
            "max_connections": "60",
            "fsync": "on" if self._safe else "off",
            "full_page_writes": "on" if self._safe else "off",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [_command("postgres"), "-D", str(self._data), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                **_identity(),
            )
        steward().process(self._process.pid)
        self._wait_ready(self._process)

    def kill(self) -> None:
        """As a power cut ends it: the server and all its processes, with no time for anything."""
        process, self._process = self._process, None
        if process is None:
            return
        handles = _tell(process, signal.SIGKILL)
        process.wait()
        deadline = time.monotonic() + patient(30)
        for handle in handles:
            _wait_gone(handle, deadline)
            os.close(handle)

    def freeze(self) -> None:
        """As a disk that stands still stops it: it keeps its connections, takes new ones, and says nothing."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on where it stood."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        for handle in _tell(self._process, number):
            os.close(handle)

    def stop(self) -> None:
        """Ends the server and removes its folder. May be called twice."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def make(self, name: str = "") -> str:
        """A new database; its URL."""
        name = name or next(self._names)
        self.do("postgres", f'CREATE DATABASE "{name}"')
        return self.url(name)

    def url(self, name: str) -> str:
        """As the library takes it, over the socket."""
        return f"postgresql://{_NAME}@/{name}?host={self.folder}"

    def do(self, database: str, statement: str) -> list[tuple[Any, ...]]:
        """One statement, and the rows that it gives."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def _log(self) -> Path:
        return self.folder / "log"

    def _initialise(self) -> None:
        options = ("-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
        done = subprocess.run(
            [_command("initdb"), "-D", str(self._data), "-U", _NAME, *options],
            capture_output=True,
            cwd=self.folder,
            timeout=patient(60),
            check=False,
            **_identity(),
        )
        if done.returncode:
            raise PostgresError(f"initdb failed: {done.stderr.decode(errors='replace')}")

    def _wait_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + patient(30)
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError as error:
                if process.poll() is not None or time.monotonic() > deadline:
                    said = self._log.read_text(errors="replace")[-1000:]
                    raise PostgresError(f"PostgreSQL did not come up:\n{said}") from error
            time.sleep(0.02)


def _tell(process: subprocess.Popen[bytes], number: signal.Signals) -> list[int]:
    """Sends a signal to a server and to all its processes; handles of them, for who waits or closes them."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    handles = [os.pidfd_open(process.pid)]
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            handles.append(os.pidfd_open(int(child)))
    for handle in handles:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, number)
    return handles


def _wait_gone(handle: int, deadline: float) -> None:
    if not select.select([handle], [], [], max(0.0, deadline - time.monotonic()))[0]:
        raise PostgresError("a process of PostgreSQL's does not end")


def _identity() -> dict[str, Any]:
    """What `subprocess` takes so that the server is not root's."""
    return {"user": _ACCOUNT, "group": _ACCOUNT, "extra_groups": []} if os.geteuid() == 0 else {}


def _command(name: str) -> str:
    """The newest server's that Debian has here, or whichever is in everybody's PATH."""
    versions = [path for path in _DEBIAN.glob(f"*/bin/{name}") if path.parts[-3].isdigit()]
    if versions:
        return str(max(versions, key=lambda path: int(path.parts[-3])))
    found = shutil.which(name)
    if found is None:
        raise PostgresError("There is no PostgreSQL here: run `make setup`.")
    return found

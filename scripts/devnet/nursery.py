"""Commands in processes of their own that need not import anything first.

`leasehold` and `leasehold-agent` import for two seconds before they do what takes a tenth of one, and an end-to-end
test runs a dozen of them. A `Nursery` is a process that has imported all of both and does nothing but fork: a child has
the environment, the arguments and the pipes that it was given, and is otherwise what `bin/leasehold` would be. That
the installed scripts begin well is shown by what is started beside it (`Party.popen`, the demo).

A nursery ends with whom it was made for, whose end closes its standard input, and its children end with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Any, Self

from devnet.patience import patient
from devnet.steward import steward

_SCRIPTS = Path(__file__).parents[1]
_SERVE = "import sys; from devnet.nursery import serve; serve(sys.argv[1])"
_PR_SET_PDEATHSIG = 1
# command: the package whose modules it may import, and where it begins
COMMANDS = {
    "leasehold": ("leasehold", "leasehold.cli"),
    "leasehold-agent": ("leasehold_agent", "leasehold_agent.__main__"),
}


class Child:
    """A command that runs. As much of `subprocess.Popen` as devnet uses."""

    def __init__(self, connection: socket.socket, pid: int, stdout: IO[str] | None) -> None:
        self._connection = connection
        self.pid = pid
        self.stdout = stdout
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, negative where a signal ended it, or None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                said = self._connection.recv(16)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0) from None
            if not said:
                raise RuntimeError("the nursery is gone")
            self.returncode = int(said)
            self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Nothing where it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Nursery:
    """`with Nursery() as nursery: nursery.run("leasehold", ["machines"], env)`

    environment: what its process begins with beside the caller's, which a child no longer can: libraries to preload.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = dict(environment or {})

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as undo:
            folder = undo.enter_context(tempfile.TemporaryDirectory(prefix="leasehold-nursery-"))
            steward().folder(Path(folder))
            self._address = str(Path(folder, "socket"))
            places = os.pathsep.join(filter(None, (str(_SCRIPTS), os.environ.get("PYTHONPATH"))))
            process = subprocess.Popen(
                [sys.executable, "-c", _SERVE, self._address],
                env={**os.environ, **self._environment, "PYTHONPATH": places},
                stdin=subprocess.PIPE,  # the server ends when this does
                stdout=subprocess.PIPE,
            )
            undo.enter_context(process)
            self.pid = process.pid
            assert process.stdout is not None
            if process.stdout.readline() != b"ready\n":
                raise RuntimeError("the nursery did not come up: what it said is above")
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def begin(
        self,
        command: str,
        arguments: list[str],
        env: Mapping[str, str],
        *,
        stdin: int,
        stdout: int,
        stderr: int,
    ) -> Child:
        """Starts a command on three file descriptors, which stay the caller's. Its output is not read here."""
        request = {"command": command, "arguments": arguments, "env": dict(env)}
        return _begun(self._address, request, (stdin, stdout, stderr))

    def put_scripts(self, folder: Path) -> None:
        """Writes both commands into a folder, for a shell's PATH: what is called by them begins here."""
        for command in COMMANDS:
            script = folder / command
            script.write_text(
                f"#!{sys.executable} -IS\nimport sys\nsys.path.insert(0, {str(_SCRIPTS)!r})\n"
                f"from devnet.nursery import stand_in\nstand_in({self._address!r}, {command!r})\n"
            )
            script.chmod(0o755)

    def popen(self, command: str, arguments: list[str], env: Mapping[str, str]) -> Child:
        """Starts a command with nothing to read, whose output and errors come out of `stdout`, line by line."""
        ours, theirs = os.pipe()
        with open(os.devnull) as nothing, open(theirs, "wb"):
            child = self.begin(command, arguments, env, stdin=nothing.fileno(), stdout=theirs, stderr=theirs)
        child.stdout = open(ours, buffering=1)  # noqa: SIM115 - closed by who reads it
        return child

    def run(
        self, command: str, arguments: list[str], env: Mapping[str, str], *, stdin: str = "", timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end. Raises subprocess.TimeoutExpired, and then it has been killed."""
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(stdin.encode())
            given.seek(0)
            files = {"stdin": given.fileno(), "stdout": out.fileno(), "stderr": err.fileno()}
            child = self.begin(command, arguments, env, **files)
            try:
                code = child.wait(timeout)
            except BaseException:
                child.kill()
                child.wait()
                raise
            said = []
            for file in (out, err):
                file.seek(0)
                said.append(file.read().decode())
        return subprocess.CompletedProcess([command, *arguments], code, *said)


def stand_in(address: str, command: str) -> None:
    """What a script is that a nursery has put: the command with this process's streams, arguments, folder, signals."""
    request = {
        "command": command,
        "arguments": sys.argv[1:],
        "env": dict(os.environ),
        "cwd": os.getcwd(),
    }
    mounts = os.open("/proc/self/ns/mnt", os.O_RDONLY)  # in which `/etc` may be another than the nursery's
    child = _begun(address, request, (0, 1, 2, mounts))

    def hand_on(number: int, frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, hand_on)
    code = child.wait()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


def _begun(address: str, request: Mapping[str, Any], descriptors: Sequence[int]) -> Child:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(patient(60))
        connection.connect(address)
        data = json.dumps(request).encode()
        socket.send_fds(connection, [len(data).to_bytes(8, "big")], [*descriptors])
        connection.sendall(data)
        pid = int.from_bytes(_exactly(connection, 8), "big")
    except BaseException:
        connection.close()
        raise
    return Child(connection, pid, None)


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise RuntimeError("the nursery is gone")
        data += piece
    return data


# ---------------------------------------------------------------------------------------------------------- the server


def serve(address: str) -> None:
    """What the nursery's process does. Returns in a child, after its command, and when standard input ends."""
    for package, _ in COMMANDS.values():
        _import_all(package)
    importlib.import_module("leasehold._connections").authorities()  # read here, and not by each child
    assert threading.active_count() == 1, "what has threads cannot fork"
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        print("ready", flush=True)
        main = _fork_until_told(listener)
    if main is not None:
        main()


def _import_all(package: str) -> None:
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        importlib.import_module(module.name)


def _fork_until_told(listener: socket.socket) -> Callable[[], Any] | None:
    """Forks for each who asks. Returns where a child's command begins, and None in the server at its end."""
    server = os.getpid()
    running: dict[int, tuple[int, socket.socket]] = {}  # by the descriptor that becomes ready when it ends
    with selectors.DefaultSelector() as ready:
        ready.register(listener, selectors.EVENT_READ)
        ready.register(0, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                if key.fd == 0:
                    return None
                if key.fd != listener.fileno():
                    ready.unregister(key.fd)
                    _tell(key.fd, *running.pop(key.fd))
                    continue
                connection, _ = listener.accept()
                request, files = _received(connection)
                bound, binds = os.pipe()
                pid = os.fork()
                if pid == 0:
                    _end_with(server)
                    os.close(bound)
                    os.close(binds)
                    for handle, (_, other) in running.items():
                        os.close(handle)
                        other.close()
                    connection.close()
                    return _become(request, files)
                os.close(binds)
                os.read(bound, 1)  # ends when the child is bound to this process: nobody stops it before
                for file in (bound, *files):
                    os.close(file)
                connection.sendall(pid.to_bytes(8, "big"))
                handle = os.pidfd_open(pid)
                running[handle] = (pid, connection)
                ready.register(handle, selectors.EVENT_READ)


def _received(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    length, files, _, _ = socket.recv_fds(connection, 8, 4)
    request: dict[str, Any] = json.loads(_exactly(connection, int.from_bytes(length, "big")))
    return request, files


def _tell(handle: int, pid: int, connection: socket.socket) -> None:
    _, status = os.waitpid(pid, 0)
    os.close(handle)
    with connection, contextlib.suppress(OSError):  # nobody may wait for it any more
        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def _end_with(server: int) -> None:
    """The kernel kills this child when the nursery's one thread ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server:  # it has ended already
        os.kill(os.getpid(), signal.SIGKILL)


def _become(request: dict[str, Any], files: list[int]) -> Callable[[], Any]:
    """Makes a child what was asked for, and returns where it begins."""
    for number, file in enumerate(files):
        if number < 3:
            os.dup2(file, number)
        elif ctypes.CDLL(None, use_errno=True).setns(file, 0) != 0:
            raise OSError(ctypes.get_errno(), "the command's mounts cannot be had")
        os.close(file)
    os.environ.clear()
    os.environ.update(request["env"])
    if "cwd" in request:
        os.chdir(request["cwd"])
        os.setsid()  # a password is read from the terminal that was given, not from the one of whoever runs the tests
    tempfile.tempdir = None
    sys.argv = [request["command"], *request["arguments"]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _, module = COMMANDS[request["command"]]
    main: Callable[[], Any] = importlib.import_module(module).main
    return main

"""A Docker engine of one's own, for the demo, the tests and the benchmarks.

It shares nothing with an engine that the host may run: its data lies on a btrfs file of its own (so that
`--storage-opt size` is enforced), and it lives in a network namespace of its own. The namespace is what
makes it harmless: two daemons in one namespace fight over the chains `DOCKER` and `DOCKER-USER`, and a
namespace takes its bridges, rules and addresses with it when it goes. A veth pair joins it to the caller's
namespace, so containers and published ports answer at `Engine.address` from the host.

Needs root. Leaves nothing behind: `Engine` removes daemon, containers, mounts, loop device, control groups,
namespace and files when its `with` block ends, a process's steward (`devnet.steward`) when the process is killed
before it could, and `reap()` where the steward was killed too.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import docker
import requests
from docker.errors import APIError, DockerException

from devnet.patience import patient
from devnet.steward import steward

T = TypeVar("T")
CGROUPS = Path("/sys/fs/cgroup")
NAMESPACES = Path("/run/netns")
PREFIX = "leasehold"
_FIRST_SUBNET, _LAST_SUBNET = 200, 250
_STARTS = 3
"""How often a daemon is begun that ends by itself, as systemd does it: Docker 20.10 may panic over what a kill has left
half written.
"""


class EngineError(RuntimeError):
    """The engine could not be started; the text holds the end of its log."""


def _run(*command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if check and result.returncode != 0:
        raise EngineError(f"{' '.join(command)}: {result.stderr.strip() or result.returncode}")
    return result


class Engine:
    """`with Engine() as engine: docker -H {engine.url} …`

    `url` is the socket's address, `netns` the path of the namespace that the daemon lives in, `address`
    where published ports answer, `subnet` the addresses it may give out ("10.N.0.0/16"), `gateway` the
    caller's end of the veth pair.
    """

    def __init__(
        self, folder: Path | None = None, *, size_gib: int = 24, start_seconds: float = patient(60)
    ) -> None:
        """`folder` must not exist yet or be empty; it is removed at the end. The btrfs file is sparse."""
        self._given = folder
        self._size_gib = size_gib
        self._start_seconds = start_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._undo = contextlib.ExitStack()

    # ------------------------------------------------------------------------------------------------- life

    def __enter__(self) -> Self:
        reap()
        with contextlib.ExitStack() as undo:
            self._make_folder(undo)
            self._make_disk(undo)
            self._make_network(undo)
            self._write_config()
            undo.callback(self._remove_cgroups)
            undo.callback(self._end_all)
            self.start()
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    def start(self) -> None:
        """Start the daemon, first or again after `kill` or `stop`; returns when it answers. Raises EngineError."""
        deadline = time.monotonic() + self._start_seconds
        for left in reversed(range(_STARTS)):
            self._launch()
            while not self._answers():
                over = time.monotonic() > deadline
                ended = self._process is None or self._process.poll() is not None
                if over or (ended and not left):
                    raise EngineError(f"dockerd did not come up:\n{self.log()[-2000:]}")
                if ended:
                    break  # Docker 20.10 sometimes waits in vain for its own containerd, ends that, and then itself
                time.sleep(0.05)
            else:
                return

    def _launch(self) -> None:
        _forget_dead_containerd(self.folder / "exec" / "containerd" / "containerd.pid")
        with open(self.folder / "dockerd.log", "ab") as log:
            self._process = subprocess.Popen(
                [
                    "nsenter",
                    f"--net={self.netns}",
                    "dockerd",
                    "--config-file",
                    str(self.folder / "daemon.json"),
                ],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        steward().process(self._process.pid)

    def kill(self) -> None:
        """SIGKILL the daemon, as a crash would. Containers keep running (live-restore)."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        """SIGTERM the daemon, as an upgrade would. Containers keep running (live-restore)."""
        self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(patient(20))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    @property
    def pid(self) -> int | None:
        """The daemon's process, or None while it is down."""
        return self._process.pid if self._process else None

    def log(self) -> str:
        return (self.folder / "dockerd.log").read_text(errors="replace")

    @contextlib.contextmanager
    def client(self) -> Iterator[docker.DockerClient]:
        client = docker.DockerClient(base_url=self.url, timeout=patient(120))
        try:
            yield client
        finally:
            client.close()

    def in_netns(self, *command: str) -> Sequence[str]:
        """`command` as it is run in the engine's namespace."""
        return ["nsenter", f"--net={self.netns}", *command]

    def within(self, act: Callable[[], T]) -> T:
        """What `act` gives in the engine's namespace, where whatever it starts stays."""

        def step_over() -> T:
            with self.netns.open() as there:
                if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), 0) != 0:
                    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(self.netns))
            return act()

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(step_over).result()

    def _answers(self) -> bool:
        """By a plain socket: the SDK leaks one each time that nobody listens."""
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(self.url.removeprefix("unix://"))
            connection.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return b" 200 " in connection.recv(64)
        return False

    # ----------------------------------------------------------------------------------------------- making

    def _make_folder(self, undo: contextlib.ExitStack) -> None:
        if self._given is None:
            self.folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}-engine-"))
            steward().folder(self.folder)
        else:
            self.folder = self._given.absolute()
            self.folder.mkdir(parents=True, exist_ok=True)
        self.url = f"unix://{self.folder}/docker.sock"
        undo.callback(shutil.rmtree, self.folder, ignore_errors=True)

    def _make_disk(self, undo: contextlib.ExitStack) -> None:
        image, data = self.folder / "disk.btrfs", self.folder / "data"
        data.mkdir()
        with open(image, "wb") as file:
            file.truncate(self._size_gib << 30)
        _run("mkfs.btrfs", "--quiet", str(image))
        _run("mount", "-o", "loop,noatime", str(image), str(data))
        undo.callback(_unmount_below, self.folder)

    def _make_network(self, undo: contextlib.ExitStack) -> None:
        number = self._claim_subnet()
        undo.callback(_run, "ip", "link", "delete", self._veth, check=False)
        self.subnet, self.gateway, self.address = (
            f"10.{number}.0.0/16",
            f"10.{number}.0.1",
            f"10.{number}.0.2",
        )
        self._bridge, self._pool = f"10.{number}.1.1/24", f"10.{number}.16.0/20"
        name = f"{PREFIX}-{os.getpid()}-{number}"
        self.netns = NAMESPACES / name
        steward().engine(name)
        _run("ip", "netns", "add", name)
        undo.callback(_run, "ip", "netns", "delete", name, check=False)
        inside = ("ip", "-netns", name)
        _run("ip", "link", "set", f"{self._veth}p", "netns", name)
        _run("ip", "address", "add", f"{self.gateway}/30", "dev", self._veth)
        _run("ip", "link", "set", self._veth, "up")
        _run(*inside, "link", "set", f"{self._veth}p", "name", "uplink")
        _run(*inside, "address", "add", f"{self.address}/30", "dev", "uplink")
        _run(*inside, "link", "set", "uplink", "up")
        _run(*inside, "link", "set", "lo", "up")
        _run(*inside, "route", "add", "default", "via", self.gateway)
        _run("ip", "route", "add", self.subnet, "via", self.address)

    def _claim_subnet(self) -> int:
        """The kernel makes a link of one name once only: whoever makes it owns the subnet of that number."""
        taken = {
            address["local"].split(".")[1]
            for link in json.loads(_run("ip", "-json", "address").stdout)
            for address in link["addr_info"]
            if address["local"].startswith("10.")
        }
        for number in range(_FIRST_SUBNET, _LAST_SUBNET):
            self._veth = f"lhe{number}"
            made = ("ip", "link", "add", self._veth, "type", "veth", "peer", "name", f"{self._veth}p")
            if str(number) not in taken and _run(*made, check=False).returncode == 0:
                return number
        raise EngineError("no free 10.N.0.0/16 between 10.200 and 10.249 for another engine")

    def _write_config(self) -> None:
        self._cgroup = self.netns.name
        config = {
            "hosts": [self.url],
            "data-root": str(self.folder / "data"),
            "exec-root": str(self.folder / "exec"),
            "pidfile": str(self.folder / "dockerd.pid"),
            "storage-driver": "btrfs",
            "live-restore": True,
            "userland-proxy": False,
            "bip": self._bridge,
            "default-address-pools": [{"base": self._pool, "size": 28}],
            "cgroup-parent": self._cgroup,
            "runtimes": {"runsc": {"path": "runsc", "runtimeArgs": ["--network=host"]}}
            if shutil.which("runsc")
            else {},
        }
        (self.folder / "daemon.json").write_text(json.dumps(config, indent=1))

    # ----------------------------------------------------------------------------------------------- ending

    def _end_all(self) -> None:
        """With live-restore, a daemon that ends leaves its containers running: so they go first."""
        if not self._answers():
            with contextlib.suppress(EngineError):
                self._signal(signal.SIGKILL)
                self.start()
        with contextlib.suppress(DockerException, requests.RequestException), self.client() as client:
            for container in client.containers.list(all=True):
                with contextlib.suppress(APIError):
                    container.remove(force=True)
        self._signal(signal.SIGTERM)
        _end_processes_of(self.folder)
        _end_containers_of(self.netns.name)

    def _remove_cgroups(self) -> None:
        _remove_cgroups(self.netns.name)


def reap() -> None:
    """Remove what engines left behind whose process was killed, and its steward with it."""
    for space in NAMESPACES.glob(f"{PREFIX}-*-*"):
        _, owner, _ = space.name.split("-")
        if not Path("/proc", owner).exists():
            remove(space.name)


def remove(name: str) -> None:
    """Remove all of an engine whose process is gone, found by its namespace's name; nothing where that is gone."""
    _, _, number = name.split("-")
    if not (NAMESPACES / name).exists():
        return
    with _one_at_a_time():
        _end_processes(_pids_in(NAMESPACES / name))
        folders = _engine_folders(name)
        for folder in folders:
            _end_processes_of(folder)
        _end_containers_of(name)
        for folder in folders:
            _unmount_below(folder)
            shutil.rmtree(folder, ignore_errors=True)
        _remove_cgroups(name)
        _run(
            "ip", "link", "delete", f"lhe{number}", check=False
        )  # first, or another engine may have the number
        _run("ip", "netns", "delete", name, check=False)


@contextlib.contextmanager
def _one_at_a_time() -> Iterator[None]:
    """A steward and a new engine may come upon the same remains."""
    with _opened(NAMESPACES) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _engine_folders(cgroup: str) -> list[Path]:
    """Folders of engines of that name, found by their mounts."""
    mounts = (line.split()[1] for line in Path("/proc/mounts").read_text().splitlines())
    folders = {Path(mount).parent for mount in mounts if mount.endswith("/data")}
    return [
        folder
        for folder in folders
        if (folder / "daemon.json").is_file()
        and json.loads((folder / "daemon.json").read_text()).get("cgroup-parent") == cgroup
    ]


def _pids_in(namespace: Path) -> list[int]:
    found = _run("ip", "netns", "pids", namespace.name, check=False).stdout.split()
    return [int(pid) for pid in found]


def _forget_dead_containerd(pidfile: Path) -> None:
    """containerd dies with dockerd; where process 1 reaps no orphans, its zombie would look alive."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        state = Path("/proc", pidfile.read_text().strip(), "stat").read_text().rpartition(")")[2].split()[0]
        if state != "Z":
            return
    pidfile.unlink(missing_ok=True)


def _end_processes_of(folder: Path) -> None:
    """End containerd and the shims: they name the engine's folder on their command lines."""
    marker = str(folder / "exec").encode()
    theirs = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and marker in (entry / "cmdline").read_bytes():
                theirs.append(int(entry.name))
    _end_processes(theirs)


def _end_processes(pids: Iterable[int]) -> None:
    """Kill them all and wait until they have let go of what they held, though not for ever."""
    with contextlib.ExitStack() as undo:
        handles = []
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                handle = os.pidfd_open(pid)
                undo.callback(os.close, handle)
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                handles.append(handle)
        for handle in handles:
            select.select([handle], [], [], patient(10))


def _unmount_below(folder: Path) -> None:
    """Innermost first. A loop device made by `mount -o loop` goes with its mount."""
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for mount in sorted((m for m in mounts if m.startswith(f"{folder}/")), key=len, reverse=True):
        if _run("umount", mount, check=False).returncode != 0:
            _run("umount", "--lazy", mount, check=False)


def _cgroups_of(name: str) -> list[Path]:
    """The engine's control groups, one for each controller; some lie below the group of whoever started it."""
    return [Path(path, name) for path, folders, _ in os.walk(CGROUPS) if name in folders]


def _end_containers_of(name: str) -> None:
    """End what still runs in the engine's control groups: a container outlives its daemon and its shim."""
    for top in _cgroups_of(name):
        for procs in top.rglob("cgroup.procs"):
            with contextlib.suppress(OSError):
                _end_processes(map(int, procs.read_text().split()))


def _remove_cgroups(name: str) -> None:
    for top in _cgroups_of(name):
        for path, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(path)

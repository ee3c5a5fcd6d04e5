"""`nvidia-cuda-mps-control` for machines that have no card, versions 2 and 3: a daemon that is a process, with sockets
at which a test can knock; and the arguments of NVIDIA's documents (`tests/agent/transcripts`), where every other is
refused with exit code 2, so that a wrong one fails a test.

`install` puts it on a PATH. A server computes on its card, as NVML sees it. Beside what the tool has, a daemon takes
`break SERVER STATUS` (a server says so of itself) and `lose SERVER` (it ends by itself), from tests alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.agent.nvml.standin import StandIn

_FOLDER = Path(__file__).parents[3]
_OPTIONS: dict[tuple[str, str], tuple[int, set[str]]] = {
    ("server", "create"): (1, {"uid", "allowed-devices", "locality-domains"}),
    ("server", "delete"): (1, {"force"}),
    ("server", "list"): (0, {"format"}),
    ("server", "set"): (
        1, {"uid", "pinned-memory-limit", "active-thread-percentage", "locality-domains", "client-priority"}),
    ("server", "get"): (2, set()),
    ("namespace", "create"): (1, {"server"}),
    ("namespace", "delete"): (1, {"server", "force"}),
    ("namespace", "list"): (0, {"server", "format"}),
    ("namespace", "set"): (
        1, {"server", "pinned-memory-limit", "active-thread-percentage", "client-priority"}),
    ("namespace", "get"): (3, set()),
}  # fmt: skip
"""By module and verb: how many words come by their place, and what goes by name ("MPS v3 Interface")."""
_OF_SERVERS = {
    "allowed_devices", "pinned_memory_limit", "active_thread_percentage", "client_priority", "uid",
    "locality_domains", "namespaces", "devices",
}  # fmt: skip
_OF_NAMESPACES = {"pinned_memory_limit", "active_thread_percentage", "client_priority"}
_NO_DAEMON = "Cannot find MPS control daemon process"


class Wrong(Exception):
    """No argument of the tool's: exit code 2."""


class Refused(Exception):
    """What the tool says it cannot do: exit code 1."""


def install(folder: Path) -> Path:
    """The tool in a folder for the PATH. Returns where it keeps what it is asked."""
    folder.mkdir(parents=True, exist_ok=True)
    tool, asked = folder / "nvidia-cuda-mps-control", folder / "asked-mps"
    tool.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(_FOLDER)!r})\n"
        f"from tests.agent.programs.mps_control import main\nmain({str(asked)!r})\n"
    )
    tool.chmod(0o755)
    return asked


def pipes() -> Path:
    return Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"))


def ask(folder: Path, *words: str) -> str:
    """What the daemon of that folder answers. Raises Refused, Wrong."""
    with socket.socket(socket.AF_UNIX) as line:
        try:
            line.connect(str(folder / "control"))
        except OSError:
            raise Refused(_NO_DAEMON) from None
        line.sendall(json.dumps(words).encode() + b"\n")
        code, said = json.loads(line.makefile().readline() or '[1, "it has ended"]')
    if code:
        raise (Wrong if code == 2 else Refused)(said)
    return str(said)


def main(asked: str) -> None:
    arguments = sys.argv[1:]
    with open(asked, "a") as log:
        log.write(" ".join(arguments) + "\n")
    try:
        sys.stdout.write(_run(arguments, asked))
    except (Refused, Wrong) as problem:
        sys.stdout.write(f"{problem}\n")
        sys.exit(2 if isinstance(problem, Wrong) else 1)


def _run(arguments: Sequence[str], asked: str) -> str:
    if (daemon := daemon_of(arguments, os.environ)) is not None:
        return _begin(daemon)
    if arguments == ["-v"]:
        return "Version 615\n"
    commands = commands_of(arguments, "" if arguments else sys.stdin.read())
    if not arguments:
        with open(asked, "a") as log:
            log.write("".join(f"< {' '.join(words)}\n" for words in commands))
    return "".join(ask(pipes(), *words) for words in commands)


def daemon_of(arguments: Sequence[str], environment: Mapping[str, str]) -> Daemon | Legacy | None:
    """What begins with these arguments, if one does."""
    folder = Path(environment.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"))
    nvml = Path(environment["LEASEHOLD_NVML"])
    match arguments:
        case ["-d"]:
            return Legacy(folder, environment.get("CUDA_VISIBLE_DEVICES", ""))
        case ["-d", "-m", "-p", "3", "-a", file]:
            return Daemon.of(Path(file), folder, nvml)
    return None


def commands_of(arguments: Sequence[str], stdin: str) -> list[list[str]]:
    """What a daemon that runs is told: by the arguments, or where there are none, line by line. Raises Wrong."""
    if not arguments:
        return [line.split() for line in stdin.split("\n") if line]
    if tuple(arguments[:2]) not in _OPTIONS:
        raise Wrong(f"Invalid argument: {' '.join(arguments)}")
    return [list(arguments)]


def _begin(daemon: Legacy | Daemon) -> str:
    """In the background, once it listens: whoever began it finds it there."""
    try:
        ask(daemon.folder, "hello")
    except Refused:
        listening = daemon.listen()
    else:
        raise Refused("An instance of this daemon is already running")
    if os.fork():
        return f"To connect CUDA applications to this daemon, set CUDA_MPS_PIPE_DIRECTORY={pipes()}\n"
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    (daemon.folder / "nvidia-cuda-mps-control.pid").write_text(str(os.getpid()))
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    while True:
        line, _ = listening.accept()
        with line, contextlib.suppress(OSError, ValueError):
            words = json.loads(line.makefile().readline())
            line.sendall(json.dumps(answer_of(daemon, words)).encode() + b"\n")
        if words == ["quit"]:
            daemon.end()
            os._exit(0)


def answer_of(daemon: Legacy | Daemon, words: Sequence[str]) -> tuple[int, str]:
    """The exit code, and what it prints."""
    try:
        return 0, daemon.answer(words)
    except Refused as refusal:
        return 1, str(refusal)
    except (Wrong, KeyError, ValueError) as wrong:
        return 2, f"Invalid argument: {wrong}"


def _listen(folder: Path) -> socket.socket:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "control").unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(folder / "control"))
    listening.listen(64)
    return listening


def _compute(nvml: Path, card: str, pid: int, computes: bool) -> None:
    """The server has its context on the card, or has it no more; cards that a host lacks are nobody's."""
    host = StandIn(nvml)
    for index in range(int(host.get("cards") or 0)):
        if host.card(index).uuid == card:
            host.card(index).run(*([(pid, 1 << 28)] if computes else []))
            return
    raise Refused("no CUDA-capable device is detected")


def _limits(values: Mapping[str, str]) -> dict[str, str]:
    """Memory and threads, as the tool takes them."""
    memory, percent = values.get("pinned_memory_limit"), values.get("active_thread_percentage")
    if memory is not None and not re.fullmatch(r"\d+[KMG]", memory):
        raise Wrong(f"pinned-memory-limit={memory}")
    if percent is not None and not (percent.isdigit() and 1 <= int(percent) <= 100):
        raise Wrong(f"active-thread-percentage={percent}")
    return {key: value for key, value in (("memory", memory), ("percent", percent)) if value is not None}


def _name(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9_]{1,64}", name):
        raise Wrong(f"name {name}")
    return name


@dataclass
class _Server:
    card: str
    pid: int
    status: str = "Ready"
    sockets: dict[str, socket.socket] = field(default_factory=dict)
    namespaces: dict[str, dict[str, str]] = field(default_factory=lambda: {"default": {}})


@dataclass
class Daemon:
    """Version 3, with `-m`: several users come to servers that are root's."""

    folder: Path
    nvml: Path
    servers: dict[str, _Server] = field(default_factory=dict)
    begun: Mapping[str, Any] = field(default_factory=dict)
    made: int = 0
    listening: socket.socket | None = None

    @classmethod
    def of(cls, file: Path, folder: Path, nvml: Path) -> Daemon:
        """By its configuration; a key that it does not know ends it."""
        written = tomllib.loads(file.read_text())
        if written.pop("schema_version", None) != "1.0" or written.keys() - {"servers", "features"}:
            raise Refused("configuration error")
        for server in written.get("servers", {}).values():
            namespaces = server.get("namespaces", {}).values()
            strange = server.keys() - _OF_SERVERS or {
                k for n in namespaces for k in n.keys() - _OF_NAMESPACES
            }
            if strange or server.get("uid") != 0:
                raise Refused("configuration error")
        return cls(folder, nvml, begun=written.get("servers", {}))

    def listen(self) -> socket.socket:
        listening = _listen(self.folder)
        for name, server in self.begun.items():
            with contextlib.suppress(Refused):  # a server whose card is gone ends at once
                self._create(name, server["allowed_devices"])
                self.servers[name].namespaces["default"] |= _limits(server)
                for namespace, limits in server.get("namespaces", {}).items():
                    self._open(name, namespace)
                    self.servers[name].namespaces[namespace] |= _limits(limits)
        return listening

    def end(self) -> None:
        for name in list(self.servers):
            self._delete(name)

    def die(self) -> None:
        """Without a word, and its servers with it: their sockets stay, and answer nobody."""
        for server in self.servers.values():
            for listening in server.sockets.values():
                listening.close()
            _compute(self.nvml, server.card, server.pid, False)
        if self.listening is not None:
            self.listening.close()

    def answer(self, words: Sequence[str]) -> str:
        match words:
            case ["hello"] | ["quit"]:
                return ""
            case ["break", server, status]:
                self.servers[server].status = status
                return ""
            case ["lose", server]:
                self._delete(server)
                return ""
        count, known = _OPTIONS[words[0], words[1]]
        places = [word for word in words[2:] if not word.startswith("--")]
        named = dict(word[2:].partition("=")[::2] for word in words[2:] if word.startswith("--"))
        if len(places) != count or named.keys() - known:
            raise Wrong(" ".join(words))
        if named.get("format", "csv,noheader") != "csv,noheader":
            raise Wrong(named["format"])
        return str(
            getattr(self, f"_{words[0]}_{words[1]}")(
                *places, **{k.replace("-", "_"): v for k, v in named.items()}
            )
        )

    # ----------------------------------------------------------------------------------- what it can be asked

    def _server_create(self, name: str, *, uid: str = "", allowed_devices: str = "") -> str:
        if uid != "0":
            raise Refused("in multiuser mode, only uid 0 is allowed")
        if _name(name) in self.servers:
            raise Refused(f"server {name} exists")
        with contextlib.suppress(Refused):  # it is created, ends at once, and is not listed
            self._create(name, allowed_devices)
        return ""

    def _server_delete(self, name: str, *, force: str | None = None) -> str:
        self._delete(self._known(name))
        return ""

    def _server_set(self, name: str, **limits: str) -> str:
        if name in self.servers:
            self.servers[name].namespaces["default"] |= _limits(limits)
        return ""

    def _server_list(self, *, format: str = "") -> str:
        rows = ((name, s.pid, s.status, self.folder / name, s.card) for name, s in self.servers.items())
        return "".join(f"{name},0,{pid},{status},{pipe},{card},-\n" for name, pid, status, pipe, card in rows)

    def _namespace_create(self, name: str, *, server: str) -> str:
        if _name(name) in self.servers[self._known(server)].namespaces:
            raise Refused(f"namespace {name} exists")
        self._open(server, name)
        return ""

    def _namespace_delete(self, name: str, *, server: str, force: str | None = None) -> str:
        found = self.servers[self._known(server)]
        if name not in found.namespaces:
            raise Refused(f"no namespace {name}")
        if force is None:
            raise Refused("active clients remain")  # it may be that they do
        self._shut(server, name)
        return ""

    def _namespace_set(self, name: str, *, server: str, **limits: str) -> str:
        if not limits:
            raise Wrong("at least one option flag is required")
        self.servers[self._known(server)].namespaces[name] |= _limits(limits)
        return ""

    def _namespace_list(self, *, server: str, format: str = "") -> str:
        found = self.servers[self._known(server)]
        return "".join(
            f"{name},{server},{found.status},{limits.get('memory', '-')},{self._percent(limits)},0,"
            f"{self.folder / server / name}\n"
            for name, limits in found.namespaces.items()
        )

    def _namespace_get(self, name: str, server: str, what: str) -> str:
        limits = self.servers[self._known(server)].namespaces[name]
        said = {
            "pinned-memory-limit": limits.get("memory", "-"),
            "active-thread-percentage": self._percent(limits),
            "pipe-directory": str(self.folder / server / name),
        }
        return said[what] + "\n"

    # ------------------------------------------------------------------------------------------- what it does

    @staticmethod
    def _percent(limits: Mapping[str, str]) -> str:
        return f"{int(limits.get('percent', '100')):.2f}"

    def _known(self, server: str) -> str:
        if server not in self.servers:
            raise Refused(f"no server {server}")
        return server

    def _create(self, name: str, card: str) -> None:
        self.made += 1
        pid = 48_200 + self.made
        _compute(self.nvml, card, pid, True)
        self.servers[_name(name)] = _Server(card, pid, sockets={"": _listen(self.folder / name)})
        self._open(name, "default")

    def _open(self, server: str, namespace: str) -> None:
        found = self.servers[server]
        found.sockets[namespace] = _listen(self.folder / server / _name(namespace))
        found.namespaces.setdefault(namespace, {})

    def _shut(self, server: str, namespace: str) -> None:
        found = self.servers[server]
        found.sockets.pop(namespace).close()
        found.namespaces.pop(namespace, None)
        (self.folder / server / namespace / "control").unlink()
        (self.folder / server / namespace).rmdir()

    def _delete(self, name: str) -> None:
        for namespace in list(self.servers[name].namespaces):
            self._shut(name, namespace)
        gone = self.servers.pop(name)
        gone.sockets[""].close()
        shutil.rmtree(self.folder / name)  # and what a daemon before has left in there
        _compute(self.nvml, gone.card, gone.pid, False)


@dataclass
class Legacy:
    """Version 2: one daemon for one folder, its server when somebody comes. `CUDA_VISIBLE_DEVICES` is its card."""

    folder: Path
    card: str
    percent: str = "100"
    memory: dict[str, str] = field(default_factory=dict)
    server: str = ""
    listening: socket.socket | None = None

    def listen(self) -> socket.socket:
        if not self.card.startswith("GPU-"):
            raise Refused("it sees every card")
        listening = _listen(self.folder)
        for name in ("control_lock", "control_privileged"):
            (self.folder / name).touch()
        if not (self.folder / "log").exists():
            os.mkfifo(self.folder / "log")
        return listening

    def end(self) -> None:
        """Its files lie there still, as after a kill."""
        if self.listening is not None:
            self.listening.close()

    die = end

    def answer(self, words: Sequence[str]) -> str:
        match words:
            case ["hello"] | ["quit"]:
                return ""
            case ["get_server_list"]:
                return f"{self.server}\n" if self.server else ""
            case ["start_server", "-uid", user] if user.isdigit():
                self.server = str(os.getpid())
                return ""
            case ["get_default_active_thread_percentage"]:
                return f"{float(self.percent)}\n"
            case ["set_default_active_thread_percentage", percent]:
                self.percent = _limits({"active_thread_percentage": percent})["percent"]
                return f"{float(self.percent)}\n"
            case ["set_default_device_pinned_mem_limit", card, size] if re.fullmatch(r"\d+[GM]", size):
                self.memory[card] = size
                return ""
            case ["get_default_device_pinned_mem_limit", card]:
                return self.memory[card] + "\n"
            case ["set_active_thread_percentage", server, percent] if server == self.server:
                return f"{float(percent)}\n"
            case ["set_device_pinned_mem_limit", server, _, size] if server == self.server:
                return "" if re.fullmatch(r"\d+[GM]", size) else self._wrong(words)
        return self._wrong(words)

    def _wrong(self, words: Sequence[str]) -> str:
        raise Wrong(" ".join(words))

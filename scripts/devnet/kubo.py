"""An IPFS node of one's own, in a private swarm.

    with Kubo(tmp / "renter") as renter, Kubo(tmp / "provider") as provider:
        renter.connect(provider)
        Ipfs(renter.api)

Nodes with the same `swarm_key` can talk to one another and to nobody else. All ports are the kernel's choice,
at `host`, and stay the same when the node starts again; the folder holds everything, survives `stop()`, and
is the caller's to remove. A node ends with the process that started it.
"""

import json
import os
import secrets
import selectors
import signal
import subprocess
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

from devnet.patience import patient
from devnet.steward import steward

_READY = b"Daemon is ready"
SWARM_KEY = secrets.token_hex(32)
"""One private swarm for each process that imports this, unless it names another."""


def kubo_binary() -> Path:
    """The `ipfs` that `make setup` made.

    Raises FileNotFoundError where there is none.
    """
    cache = Path(os.environ.get("LEASEHOLD_CACHE") or Path.home() / ".cache/leasehold")
    found = sorted(cache.glob("kubo-*/ipfs"))
    if not found:
        raise FileNotFoundError(f"There is no Kubo under {cache}: run `make setup`.")
    return found[-1]


class KuboFailed(RuntimeError):
    """The node could not be set up or did not come up in time."""


class Kubo:
    """A running node, as a context manager. `start` and `stop` may alternate: the repository stays.

    folder: made if need be, the node's repository and log. swarm_key: 64 hexadecimal digits. host: the
    address that it listens on. swarm_host: that other nodes reach it at, if another.
    """

    def __init__(
        self,
        folder: Path,
        *,
        swarm_key: str = SWARM_KEY,
        host: str = "127.0.0.1",
        swarm_host: str = "",
        ready_within: float = patient(30),
    ) -> None:
        self.folder = folder
        self._host = host
        self._swarm_host = swarm_host or host
        self.peer_id = ""
        self._api = ""
        self._swarm_key = swarm_key
        self._ready_within = ready_within
        self._process: subprocess.Popen[bytes] | None = None

    # ------------------------------------------------------------------------------------------------- life

    def __enter__(self) -> "Kubo":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Brings the node up, with a new repository where there is none.

        Raises KuboFailed.
        """
        if not (self.folder / "config").exists():
            self._init()
        with (self.folder / "daemon.log").open("ab") as log:
            self._process = subprocess.Popen(
                [kubo_binary(), "daemon", "--migrate=false"],
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        steward().process(self._process.pid)
        try:
            self._wait_ready(self._process)
        except BaseException:
            self.stop()
            raise
        self._api = (self.folder / "api").read_text().strip()
        self.peer_id = str(self.call("id")["ID"])
        self._keep_ports()

    def stop(self, within: float = 20.0) -> None:
        """Ends the node; what it stored stays. Does nothing where it does not run."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(within)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    @property
    def pid(self) -> int:
        """The process, for tests that stop and continue it."""
        assert self._process is not None, "the node is not running"
        return self._process.pid

    # ------------------------------------------------------------------------------------------------- talk

    @property
    def api(self) -> str:
        """The RPC API's multiaddr."""
        return self._api

    @property
    def api_url(self) -> str:
        _, _, host, _, port = self._api.split("/")
        return f"http://{host}:{port}/api/v0"

    @property
    def addresses(self) -> list[str]:
        """Where other nodes reach this one, each with its peer id."""
        return [str(address) for address in self.call("id")["Addresses"]]

    def connect(self, other: "Kubo") -> None:
        """Connects the two nodes, whichever of them dials."""
        for address in other.addresses:
            self.call("swarm/connect", address)

    def disconnect(self, other: "Kubo") -> None:
        for address in other.addresses:
            self.call("swarm/disconnect", address)

    def call(self, command: str, *args: str, **options: str) -> dict[str, Any]:
        """One command of the RPC API; its last answer."""
        query = "&".join([*(f"arg={a}" for a in args), *(f"{k}={v}" for k, v in options.items())])
        request = urllib.request.Request(f"{self.api_url}/{command}?{query}", method="POST")
        with urllib.request.urlopen(request, timeout=patient(120)) as response:
            lines = response.read().splitlines()
        answer: dict[str, Any] = json.loads(lines[-1]) if lines else {}
        return answer

    def environment(self) -> dict[str, str]:
        """For running `ipfs` against this node by hand."""
        return {
            "IPFS_PATH": str(self.folder),
            "HOME": str(self.folder),
            "PATH": os.environ.get("PATH", ""),
            "LIBP2P_FORCE_PNET": "1",
            "IPFS_TELEMETRY": "off",
        }

    # --------------------------------------------------------------------------------------------- privately

    def _init(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [kubo_binary(), "init", "--empty-repo", "--profile=test"],
            env=self.environment() | {"LIBP2P_FORCE_PNET": "0"},
            capture_output=True,
            timeout=patient(60),
            check=False,
        )
        if done.returncode:
            raise KuboFailed(done.stderr.decode(errors="replace").strip())
        (self.folder / "swarm.key").write_text(f"/key/swarm/psk/1.0.0/\n/base16/\n{self._swarm_key}\n")
        path = self.folder / "config"
        config = json.loads(path.read_text())
        config["Bootstrap"] = []
        config["AutoConf"] = {"Enabled": False}
        config["AutoTLS"] = {"Enabled": False}
        config["Routing"] = {"Type": "dht"}
        config["DNS"] = {"Resolvers": {}}
        config["Ipns"]["DelegatedPublishers"] = []
        config["Routing"]["DelegatedRouters"] = []
        config["Experimental"]["Libp2pStreamMounting"] = True
        config["Swarm"]["Transports"]["Network"] = {"Websocket": False, "QUIC": False, "WebTransport": False}
        config["Addresses"] |= {
            "API": f"/ip4/{self._host}/tcp/0",
            "Gateway": [],
            "Swarm": [f"/ip4/{self._swarm_host}/tcp/0"],
        }
        path.write_text(json.dumps(config, indent=2))

    def _keep_ports(self) -> None:
        """Whoever knew the node finds it again after a restart."""
        path = self.folder / "config"
        config = json.loads(path.read_text())
        config["Addresses"]["API"] = self._api
        config["Addresses"]["Swarm"] = [address.rpartition("/p2p/")[0] for address in self.addresses]
        path.write_text(json.dumps(config, indent=2))

    def _wait_ready(self, process: subprocess.Popen[bytes]) -> None:
        """Reads what the daemon says until it is ready; afterwards its few lines stay in the pipe."""
        assert process.stdout is not None
        deadline = time.monotonic() + self._ready_within
        said = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while _READY not in said:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise KuboFailed(f"The IPFS node did not come up within {self._ready_within:.0f} s.")
                part = os.read(process.stdout.fileno(), 65536)
                if not part:
                    log = (self.folder / "daemon.log").read_text(errors="replace")
                    raise KuboFailed(f"The IPFS node ended at once: {log.strip()[-2000:]}")
                said += part

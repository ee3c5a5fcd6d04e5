"""What a tenant or a stranger does to a machine, in threads of a process of its own, and a tally of how it went.

Errors are what an attacker meets, so none ends an attack; but each is counted by its name, and what an attack must
have done to be one is counted too: a test that looks at the tally cannot take an attack that never began for one that
was withstood.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import secrets
import signal
import socket
import ssl
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh

from devnet.site import Site
from devnet.tenant import Tenant
from leasehold.chain import LeaseState, format_lease, parse_lease
from leasehold.market import AgentClient

_PACE = 0.01
_TELL = 0.2
# Attackers bring processors of their own. Here they are on the host's, and take what it and its tenants leave of them.
_YIELDS = 10


@dataclass(frozen=True)
class Ground:
    """A machine with a tenant who wants nothing but his lease, and another who would have its stake. accomplices: more
    accounts of the thief's, for one transaction after another each. key: opens the thief's lease by SSH. disk: what
    the agent keeps its state on.
    """

    site: Site
    tenant: Tenant
    lease: int
    thief: Tenant
    thiefs_lease: int
    accomplices: Sequence[Tenant]
    key: Path
    disk: Path

    def fill(self) -> int:
        """The state folder's disk, to the last byte. How many that were."""
        written = 0
        with (self.disk / "ballast").open("ab", buffering=0) as file:
            for size in (1 << 20, 4_096):
                with contextlib.suppress(OSError):
                    while count := file.write(bytes(size)):
                        written += count
        return written

    def make_room(self) -> None:
        (self.disk / "ballast").unlink(missing_ok=True)


class Tally:
    """How often what happened to each attack, in a file that another process reads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)
        self._lock = threading.Lock()

    def note(self, attack: str, what: str, times: int = 1) -> None:
        with self._lock:
            self._counts[attack][what] += times

    def read(self) -> dict[str, dict[str, int]]:
        """What the attackers' process wrote last."""
        found: dict[str, dict[str, int]] = json.loads(self._path.read_text()) if self._path.exists() else {}
        return found

    def write(self) -> None:
        with self._lock:
            text = json.dumps(self._counts)
        part = self._path.with_suffix(".part")
        part.write_text(text)
        part.replace(self._path)


@dataclass
class Attack:
    """One attack. Strangers come from many addresses of the loopback."""

    name: str
    ground: Ground
    tally: Tally

    @property
    def api(self) -> tuple[str, int]:
        host, _, port = self.ground.site.contact.endpoints[0].removeprefix("https://").rpartition(":")
        return host, int(port)

    @property
    def ssh(self) -> tuple[str, int]:
        ssh = self.ground.site.contact.ssh
        assert ssh is not None
        return "127.0.0.1", ssh.port

    def bit(self, times: int = 1) -> None:
        """It did what it is about."""
        self.tally.note(self.name, "bit", times)

    def again(self, act: Callable[[], object], threads: int = 1) -> None:
        """Over and over, whatever comes of it; what came of it is counted."""

        def go() -> None:
            while True:
                self.tally.note(self.name, "tried")
                try:
                    act()
                except Exception as error:  # noqa: BLE001 - whatever an attacker is told
                    self.tally.note(self.name, f"met {type(error).__name__}")
                time.sleep(_PACE)  # an attacker's pace, which nothing waits for

        for _ in range(threads):
            threading.Thread(target=go, daemon=True).start()

    def as_tenant(self, act: Callable[[AgentClient, int], Awaitable[None]], threads: int = 1) -> None:
        """Over and over, with the thief's own lease."""
        ground = self.ground

        def once() -> None:
            ground.site.agent(lambda agent: act(agent, ground.thiefs_lease), ground.thief.signer)

        self.again(once, threads)

    def inside(self, script: str, threads: int = 1, *, bites: bool = True) -> None:
        """A shell script in the thief's container, over and over. bites: already by being run."""

        async def run(agent: AgentClient, lease: int) -> None:
            async with agent.exec(lease, ["sh", "-c", script]) as command:
                self.bit(int(bites))
                async for _ in command:
                    pass

        self.as_tenant(run, threads)

    def by_ssh(
        self, act: Callable[[asyncssh.SSHClientConnection], Awaitable[None]], threads: int = 1
    ) -> None:
        """Over and over, logged in to the thief's lease; the connection is dropped without a goodbye."""

        async def once() -> None:
            connection = await self.login(self.ground.key)
            try:
                await act(connection)
            finally:
                connection.abort()

        self.again(lambda: asyncio.run(once()), threads)

    async def login(self, key: Path) -> asyncssh.SSHClientConnection:
        host, port = self.ssh
        user = format_lease(self.ground.thiefs_lease)
        return await asyncssh.connect(
            host, port, username=user, client_keys=[str(key)], known_hosts=None, config=None, agent_path=None
        )

    def leases(self, accomplice: int, *kinds: dict[str, Any], runs: bool = False) -> None:
        """One lease after the other, of each kind of workload in turn. runs: it is closed once it is billed."""
        tenant, numbers = self.ground.accomplices[accomplice], iter(range(1_000_000))

        def one() -> None:
            fields: dict[str, Any] = {"grace": 1, "program": "sleep 600"} | kinds[next(numbers) % len(kinds)]
            dataset = fields.pop("dataset", None) or tenant.dataset("another")
            sealed = self.ground.site.seal(tenant.workload(dataset, **fields))
            lease = parse_lease(tenant.open(sealed, share=1, duration=3_600))
            try:
                self.bit(int(not runs or self._runs(tenant, lease)))
            finally:
                tenant.pool(lambda pool: pool.close(lease))

        self.again(one)

    def _runs(self, tenant: Tenant, lease: int) -> bool:
        """Waits until it is billed, or never will be."""
        while (state := tenant.lease(lease).state) is LeaseState.OPENED:
            time.sleep(_TELL)
        if state is not LeaseState.ACTIVE:
            self.tally.note(self.name, f"met {state.name}")
        return state is LeaseState.ACTIVE

    def connect(self, to: tuple[str, int], *, first: bytes = b"", tls: bool = False) -> socket.socket:
        """From one of many addresses."""
        source = ("127." + ".".join(str(secrets.randbelow(250) + 2) for _ in range(3)), 0)
        made = socket.create_connection(to, timeout=10, source_address=source)
        try:
            if tls:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                made = context.wrap_socket(made)
            if first:
                made.sendall(first)
        except OSError:
            made.close()
            raise
        return made

    def hold(self, to: tuple[str, int], count: int, **how: Any) -> None:
        """Connections that stay open, and are opened anew when they are cut."""
        held: list[socket.socket] = []

        def one_more() -> None:
            if len(held) >= count:
                held.pop(0).close()
            held.append(self.connect(to, **how))
            self.bit()

        self.again(one_more, 4)


Begin = Callable[[Attack], None]


@contextlib.contextmanager
def attacked(ground: Ground, attacks: Sequence[Begin], tally: Path) -> Iterator[Tally]:
    """In a process of their own, or the honest tenant would wait for the attackers' interpreter."""
    if not (attackers := os.fork()):
        try:
            _attack(ground, attacks, Tally(tally))
        finally:
            os._exit(0)
    try:
        yield Tally(tally)
    finally:
        os.kill(attackers, signal.SIGKILL)
        os.waitpid(attackers, 0)
        ground.make_room()


def _attack(ground: Ground, attacks: Sequence[Begin], tally: Tally) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.nice(_YIELDS)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for begin in attacks:
        try:
            begin(Attack(begin.__name__, ground, tally))
        except Exception as error:  # noqa: BLE001 - the others begin, and the test is told
            tally.note(begin.__name__, f"did not begin: {error!r}")
    while True:
        tally.write()
        time.sleep(_TELL)

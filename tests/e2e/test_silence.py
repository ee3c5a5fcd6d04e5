"""Whatever a tenant or a stranger tries, the machine gives its signs of life, and the other tenants are served.

A challenge that is not answered costs the provider stake, of which the tenants get half: so each of these would pay its
author. The agent has 1,024 descriptors, and its state folder lies on a small disk that is full. What is asserted while
an attack still stands: the answer is on the chain, no container of another lease was touched, and another tenant's
request is answered. How long that took is printed; it is the machine's to say, not the test's.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from devnet.site import Site, make_site
from devnet.tenant import Tenant
from devnet.world import World
from leasehold.chain import Answered, Challenged, FaultFiled, LeaseState, format_lease, parse_lease
from leasehold.market import AgentClient

# The attackers' process begins as a copy of this one, in which nothing but the forking thread goes on.
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
DAY = 86_400
CHALLENGE_WINDOW = 600
DESCRIPTORS = 1_024
DISK = 64 << 20
BUSY = "mkdir -p /results; touch /ready; while :; do sleep 1 & wait $!; done"
DEAF = 'trap "" TERM; ' + BUSY


@dataclass
class Ground:
    """A machine with a tenant who wants nothing but his lease, and another who would have its stake."""

    site: Site
    tenant: Tenant
    lease: int
    thief: Tenant
    thiefs_lease: int
    disk: Path

    def challenge(self) -> None:
        self.site.world.anvil.advance(DAY + 1)
        self.thief.deposit(5)
        self.thief.faults(lambda faults: faults.challenge(self.site.machine, self.thiefs_lease))

    @property
    def answered(self) -> bool:
        asked = self.site.here(Challenged)[-1].challenge
        return asked in [answer.challenge for answer in self.site.here(Answered)]

    def container(self, lease: int) -> tuple[str, str]:
        """Which it is, and when it was started."""
        (found,) = self.site.containers(format_lease(lease))
        assert found["State"]["Running"], found["State"]
        return found["Id"], found["State"]["StartedAt"]

    def served(self) -> float:
        """Asks for the honest tenant's lease until the agent answers; how long that took."""
        began = time.monotonic()
        while True:
            with contextlib.suppress(Exception):  # whatever refuses him now must not refuse him for good
                status = self.site.agent(lambda agent: agent.status(self.lease), self.tenant.signer)
                assert status.phase == "running"
                return time.monotonic() - began
            assert time.monotonic() - began < 240, "the other tenant is not served"

    def fill(self) -> None:
        """The state folder's disk, to the last byte."""
        with (self.disk / "ballast").open("ab", buffering=0) as file:
            for size in (1 << 20, 4_096):
                with contextlib.suppress(OSError):
                    while file.write(bytes(size)):
                        pass

    def make_room(self) -> None:
        (self.disk / "ballast").unlink(missing_ok=True)


@pytest.fixture(scope="module")
def ground(world: World) -> Iterator[Ground]:
    settings: dict[str, Any] = {"tick_seconds": 0.5, "disk_reserve": 0, "fetch_seconds": 20}
    with make_site(world, "--max", "30d", **settings) as site, contextlib.ExitStack() as undo:
        site.host.kill()
        disk = undo.enter_context(on_a_small_disk(site.host.folder / "state"))
        undo.callback(site.host.kill)
        site.host.descriptors = DESCRIPTORS
        site.host.start()
        tenant, thief = Tenant(site), Tenant(site)
        leases = []
        for each in (tenant, thief):
            sealed = site.seal(each.workload(each.dataset("an answer"), program=BUSY))
            leases.append(parse_lease(each.open(sealed, share=2, duration=25 * DAY)))
            site.until(partial(_active, each, leases[-1]))
        yield Ground(site, tenant, leases[0], thief, leases[1], disk)


def _active(tenant: Tenant, lease: int) -> bool:
    return tenant.lease(lease).state is LeaseState.ACTIVE


@contextlib.contextmanager
def on_a_small_disk(folder: Path) -> Iterator[Path]:
    """Moves a folder to a file system of its own."""
    aside = folder.with_name("aside")
    folder.rename(aside)
    folder.mkdir(mode=0o700)
    options = f"size={DISK},mode=700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
    try:
        shutil.copytree(aside, folder, dirs_exist_ok=True, symlinks=True)
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


# ------------------------------------------------------------------------------------------------------ attacks


@dataclass
class Attack:
    """What goes on in threads until its process is killed. Strangers come from many addresses of the loopback."""

    ground: Ground

    @property
    def api(self) -> tuple[str, int]:
        host, _, port = self.ground.site.contact.endpoints[0].removeprefix("https://").rpartition(":")
        return host, int(port)

    @property
    def ssh(self) -> tuple[str, int]:
        ssh = self.ground.site.contact.ssh
        assert ssh is not None
        return "127.0.0.1", ssh.port

    def again(self, act: Callable[[], object], threads: int = 1) -> None:
        """Over and over, whatever comes of it."""

        def go() -> None:
            while True:
                with contextlib.suppress(Exception):
                    act()
                time.sleep(0.01)  # an attacker's pace, which nothing waits for

        for _ in range(threads):
            threading.Thread(target=go, daemon=True).start()

    def as_tenant(self, act: Callable[[AgentClient, int], Any], threads: int = 1) -> None:
        """Over and over, with the thief's own lease."""
        ground = self.ground

        def once() -> None:
            ground.site.agent(lambda agent: act(agent, ground.thiefs_lease), ground.thief.signer)

        self.again(once, threads)

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

        self.again(one_more, 4)


def silent_connections(attack: Attack) -> None:
    attack.hold(attack.api, 1_100)


def silent_logins(attack: Attack) -> None:
    attack.hold(attack.ssh, 600, first=b"SSH-2.0-x\r\n")


def mute_at_the_ssh_port(attack: Attack) -> None:
    attack.hold(attack.ssh, 600)


def half_a_handshake(attack: Attack) -> None:
    attack.hold(attack.api, 400, first=b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")


def half_a_header(attack: Attack) -> None:
    attack.hold(attack.api, 300, first=b"GET /v1/health HTTP/1.1\r\nHost: x\r\nX-Slow: ", tls=True)


def garbage(attack: Attack) -> None:
    attack.again(lambda: attack.connect(attack.api, first=secrets.token_bytes(8_192)).close(), 4)


def health_without_end(attack: Attack) -> None:
    asked = b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n" * 64
    attack.hold(attack.api, 32, first=asked, tls=True)


def the_whole_machine_without_end(attack: Attack) -> None:
    asked = b"GET /v1/machine HTTP/1.1\r\nHost: x\r\n\r\n" * 16
    attack.hold(attack.api, 32, first=asked, tls=True)


def signatures_to_check(attack: Attack) -> None:
    """Each costs the agent a recovery, of an account that nobody knows."""
    digest = secrets.token_hex(32)
    proof = b"A" * 400
    head = f"PUT /v1/workloads/{digest} HTTP/1.1\r\nHost: x\r\nAuthorization: Leasehold ".encode()
    attack.hold(attack.api, 64, first=head + proof + b"\r\nContent-Length: 0\r\n\r\n", tls=True)


def uploads_that_no_lease_claims(attack: Attack) -> None:
    ground = attack.ground

    def upload() -> None:
        body = secrets.token_bytes(1 << 20)
        ground.site.agent(lambda agent: agent.put_workload(body), ground.thief.signer)

    attack.again(upload, 2)


def bodies_that_never_come(attack: Attack) -> None:
    head = f"PUT /v1/workloads/{'0' * 64} HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n".encode()
    attack.hold(attack.api, 200, first=head + bytes(100), tls=True)


def logs_that_are_followed(attack: Attack) -> None:
    async def follow(agent: AgentClient, lease: int) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                async for _ in agent.logs(lease, follow=True):
                    await asyncio.sleep(1)

    attack.as_tenant(follow, 12)


def commands_that_never_end(attack: Attack) -> None:
    async def sleep(agent: AgentClient, lease: int) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(8):
                async with agent.exec(lease, ["sleep", "600"]) as command:
                    await command.wait()

    attack.as_tenant(sleep, 12)


def output_without_end(attack: Attack) -> None:
    async def pour(agent: AgentClient, lease: int) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                async with agent.exec(lease, ["cat", "/dev/zero"]) as command:
                    async for _ in command:
                        await asyncio.sleep(0.2)

    attack.as_tenant(pour, 3)


def forks_and_processor(attack: Attack) -> None:
    async def burn(agent: AgentClient, lease: int) -> None:
        burn = "for i in $(seq 60); do (timeout 10 sh -c 'while :; do :; done' &) ; done"
        async with agent.exec(lease, ["sh", "-c", burn]) as command:
            async for _ in command:
                pass
        await asyncio.sleep(8)

    attack.as_tenant(burn)


def log_without_end(attack: Attack) -> None:
    async def write(agent: AgentClient, lease: int) -> None:
        command = "timeout 5 yes '" + "x" * 1_000 + "' > /proc/1/fd/1"
        async with agent.exec(lease, ["sh", "-c", command]) as running:
            async for _ in running:
                pass

    attack.as_tenant(write)


def its_own_disk_full(attack: Attack) -> None:
    async def fill(agent: AgentClient, lease: int) -> None:
        async with agent.exec(lease, ["sh", "-c", "head -c 64m /dev/zero > /fill; rm /fill"]) as command:
            async for _ in command:
                pass

    attack.as_tenant(fill)


def leases_that_cannot_start(attack: Attack) -> None:
    """One after the other, each with something to look for that is not there, or deaf to its end."""
    ground, numbers = attack.ground, iter(range(1_000_000))

    def open_one() -> None:
        kinds: list[dict[str, Any]] = [
            {"image": "sha256:" + "0" * 64},
            {"command": ["sh", "-c", "exit 3"], "restart": "always"},
            {"command": ["sh", "-c", DEAF], "grace": 600},
        ]
        fields = kinds[next(numbers) % 3]
        workload = ground.thief.workload(
            ground.thief.dataset("another"), program=BUSY, **({"grace": 1} | fields)
        )
        lease = parse_lease(ground.thief.open(ground.site.seal(workload), share=1, duration=3_600))
        ground.thief.pool(lambda pool: pool.close(lease))

    attack.again(open_one)


def the_disk_full(attack: Attack) -> None:
    attack.ground.fill()
    attack.again(attack.ground.fill)


STRANGERS = (
    silent_connections,
    silent_logins,
    mute_at_the_ssh_port,
    half_a_handshake,
    half_a_header,
    garbage,
    health_without_end,
    the_whole_machine_without_end,
    signatures_to_check,
    bodies_that_never_come,
)
TENANTS = (
    uploads_that_no_lease_claims,
    logs_that_are_followed,
    commands_that_never_end,
    output_without_end,
    forks_and_processor,
    log_without_end,
    its_own_disk_full,
    leases_that_cannot_start,
    the_disk_full,
)
EVERYTHING = (*STRANGERS, *TENANTS)


@contextlib.contextmanager
def attacked(ground: Ground, attacks: tuple[Callable[[Attack], None], ...]) -> Iterator[None]:
    """In a process of their own, or the honest tenant would wait for the attackers' interpreter."""
    if not (attackers := os.fork()):
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            attack = Attack(ground)
            for begin in attacks:
                begin(attack)
            signal.pause()
        finally:
            os._exit(0)
    try:
        yield
    finally:
        os.kill(attackers, signal.SIGKILL)
        os.waitpid(attackers, 0)
        ground.make_room()


def withstood(ground: Ground, attacks: tuple[Callable[[Attack], None], ...]) -> None:
    before, filed = ground.container(ground.lease), len(ground.site.here(FaultFiled))
    agent = ground.site.host.process
    with attacked(ground, attacks):
        ground.challenge()
        asked = ground.site.here(Challenged)[-1]
        ground.site.until(lambda: ground.answered, 300)
        waited = ground.site.here(Answered)[-1]
        took = ground.served()
        print(f"{'+'.join(each.__name__ for each in attacks)}: another tenant was served after {took:.2f} s")
        assert ground.container(ground.lease) == before
    at = [block_time(ground, event.log.block_number) for event in (asked, waited)]
    assert at[1] - at[0] <= CHALLENGE_WINDOW // 10
    assert len(ground.site.here(FaultFiled)) == filed
    assert agent is ground.site.host.process
    assert agent is not None
    assert agent.poll() is None, ground.site.host.tail()


def block_time(ground: Ground, number: int) -> int:
    block = ground.site.world.anvil.request("eth_getBlockByNumber", hex(number), False)
    return int(block["timestamp"], 16)


@pytest.mark.deep
@pytest.mark.parametrize("attack", EVERYTHING, ids=lambda attack: attack.__name__)
def test_one_by_one(ground: Ground, attack: Callable[[Attack], None]) -> None:
    withstood(ground, (attack,))


def test_all_at_once(ground: Ground) -> None:
    withstood(ground, EVERYTHING)

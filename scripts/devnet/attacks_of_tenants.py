"""What somebody with a lease does to its machine: by the API, by SSH, and by what runs in the lease."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import subprocess
from collections.abc import AsyncIterator

import asyncssh

from devnet.attack import Attack, Begin
from leasehold.chain._ids import cid_of_digest
from leasehold.market import AgentClient

_DEAF = 'trap "" TERM; touch /ready; while :; do sleep 1 & wait $!; done'
_BOMB = 'trap "while :; do sh -c \\"trap : TERM; while :; do :; done\\" & done" TERM; touch /ready; '
_WAIT = "while :; do sleep 1 & wait $!; done"
_DEEP = "mkdir /results; cd /results; i=0; while [ $i -lt 1500 ]; do mkdir d; cd d; i=$((i+1)); done; touch x /ready"
_MANY = "mkdir /results; cd /results; seq 20000 | xargs touch; ln -s /etc/passwd l; mkfifo p; touch /ready"
_HOSTILE = "printf '\\033]0;x\\007\\033[2J\\377\\376\\000'; head -c 262144 /dev/zero"
_PUBLIC = "192.0.2.1"  # which no network has
HUGE = 2**31 - 1


@contextlib.asynccontextmanager
async def _for_a_while(seconds: float) -> AsyncIterator[None]:
    """An attack that stands still is made anew now and then."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            yield


# --------------------------------------------------------------------------------------------------- by the API


def uploads_that_no_lease_claims(attack: Attack) -> None:
    ground = attack.ground

    def upload() -> None:
        body = secrets.token_bytes(1 << 20)
        ground.site.agent(lambda agent: agent.put_workload(body), ground.thief.signer)
        attack.bit()

    attack.again(upload, 2)


def a_status_without_end(attack: Attack) -> None:
    async def ask(agent: AgentClient, lease: int) -> None:
        for _ in range(200):
            await agent.status(lease)
            attack.bit()

    attack.as_tenant(ask, 2)


def logs_that_are_followed(attack: Attack) -> None:
    async def follow(agent: AgentClient, lease: int) -> None:
        async with _for_a_while(5):
            async for _ in agent.logs(lease, follow=True):
                attack.bit()
                await asyncio.sleep(1)  # slower than it is written

    attack.as_tenant(follow, 12)


def logs_from_their_end(attack: Attack) -> None:
    async def read(agent: AgentClient, lease: int) -> None:
        async for _ in agent.logs(lease, tail=10_000):
            attack.bit()

    attack.as_tenant(read, 4)


def commands_that_never_end(attack: Attack) -> None:
    async def sleep(agent: AgentClient, lease: int) -> None:
        async with _for_a_while(8), agent.exec(lease, ["sleep", "600"]) as command:
            attack.bit()
            await command.wait()

    attack.as_tenant(sleep, 12)


def output_without_end(attack: Attack) -> None:
    async def pour(agent: AgentClient, lease: int) -> None:
        async with _for_a_while(5), agent.exec(lease, ["cat", "/dev/zero"]) as command:
            async for _ in command:
                attack.bit()
                await asyncio.sleep(0.2)

    attack.as_tenant(pour, 3)


def large_arguments(attack: Attack) -> None:
    async def run(agent: AgentClient, lease: int) -> None:
        env = {f"V{number}": "x" * 1_000 for number in range(90)}
        async with agent.exec(lease, ["true", *["y" * 1_000] * 90], env=env) as command:
            attack.bit()
            await command.wait()

    attack.as_tenant(run, 2)


# ------------------------------------------------------------------------------------------------------- by SSH


def forwards(attack: Attack) -> None:
    """1,500 of one connection."""

    async def open_all(connection: asyncssh.SSHClientConnection) -> None:
        async def one() -> None:
            try:
                await connection.open_connection("localhost", 9_000, encoding=None)
                attack.tally.note(attack.name, "stood")
            except asyncssh.ChannelOpenError as error:
                attack.tally.note(attack.name, f"refused with {error.code}")

        async with _for_a_while(30):
            await asyncio.gather(*(one() for _ in range(1_500)))
            attack.bit()

    attack.by_ssh(open_all)


def idle_logins(attack: Attack) -> None:
    held: list[asyncssh.SSHClientConnection] = []

    async def stand() -> None:
        async with _for_a_while(10):
            while True:
                held.append(await attack.login(attack.ground.key))
                attack.bit()

    def go() -> None:
        try:
            asyncio.run(stand())
        finally:
            held.clear()

    attack.again(go, 4)


def _deaf(connection: asyncssh.SSHClientConnection) -> None:
    """The client reads no more, as long as it lives."""
    transport = connection._transport
    assert isinstance(transport, asyncio.Transport)
    transport.pause_reading()


def reads_whose_answers_nobody_fetches(attack: Attack) -> None:
    """4 KB of requests for 400 MB."""

    async def ask(connection: asyncssh.SSHClientConnection) -> None:
        sftp = await connection.start_sftp_client()
        file = await sftp.open("/large", "rb")
        reads = [asyncio.create_task(file.read(4 << 20, n % 16 * (4 << 20))) for n in range(100)]
        await asyncio.sleep(0)
        _deaf(connection)
        attack.bit()
        await asyncio.sleep(3)  # it stands, and nothing waits for it
        connection.abort()
        await asyncio.gather(*reads, return_exceptions=True)

    attack.by_ssh(ask, 2)


def a_window_that_changes(attack: Attack) -> None:
    """Of a command that reads nothing of it."""

    async def change(connection: asyncssh.SSHClientConnection) -> None:
        process = await connection.create_process("sleep 600", term_type="xterm")
        async with _for_a_while(10):
            for number in range(5_000):
                process.change_terminal_size(80 + number % 100, 24)
                if number % 100 == 0:
                    await asyncio.sleep(0)
            attack.bit()
            await process.wait()

    attack.by_ssh(change)


def a_command_that_is_not_listened_to(attack: Attack) -> None:
    async def run(connection: asyncssh.SSHClientConnection) -> None:
        process = await connection.create_process("cat /dev/zero", encoding=None, window=HUGE)
        await process.stdout.read(10)
        _deaf(connection)
        attack.bit()
        await asyncio.sleep(3)  # as above

    attack.by_ssh(run, 2)


def input_that_nobody_reads(attack: Attack) -> None:
    async def pour(connection: asyncssh.SSHClientConnection) -> None:
        process = await connection.create_process("sleep 600", encoding=None)
        async with _for_a_while(5):
            while True:
                process.stdin.write(bytes(1 << 20))
                attack.bit()
                await process.stdin.drain()

    attack.by_ssh(pour, 2)


# --------------------------------------------------------------------------------------- by what runs in the lease


def processor(attack: Attack) -> None:
    attack.inside("for i in $(seq 60); do (timeout 10 sh -c 'while :; do :; done' &) ; done; sleep 8")


def processes(attack: Attack) -> None:
    """As many as it may have, which begin others as they end."""
    attack.inside("timeout 5 sh -c 'f() { f | f & }; f; sleep 5'")


def log_without_end(attack: Attack) -> None:
    attack.inside("timeout 5 yes '" + "x" * 1_000 + "' > /proc/1/fd/1")


def a_hostile_log(attack: Attack) -> None:
    """One line without an end, of what terminals obey and no text is."""
    attack.inside(f"for i in $(seq 20); do {_HOSTILE}; done > /proc/1/fd/1")


def its_own_disk_full(attack: Attack) -> None:
    attack.inside("head -c 64m /dev/zero > /fill; rm /fill")


def its_own_names(attack: Attack) -> None:
    """As many files as its disk has room for names."""
    attack.inside("mkdir -p /names; cd /names; seq 50000 | xargs touch; rm -r /names")


def its_own_memory(attack: Attack) -> None:
    attack.inside("head -c 64m /dev/zero > /dev/shm/fill; head -c 900m /dev/zero | tail; rm -f /dev/shm/fill")


def connections_to_everywhere(attack: Attack) -> None:
    """The kernel remembers each for minutes, and only so many for the whole host."""
    spray = f"for i in $(seq 200); do timeout 1 nslookup name {_PUBLIC} & done; wait"
    attack.inside(f"({spray}) >/dev/null 2>&1", bites=False)

    def count() -> None:
        listed = subprocess.run(
            attack.ground.site.engine.in_netns("cat", "/proc/net/nf_conntrack"),
            capture_output=True,
            text=True,
            check=True,
        )
        attack.bit(sum(f"dst={_PUBLIC} " in line for line in listed.stdout.splitlines()))

    attack.again(count)


# ----------------------------------------------------------------------------------------------- by other leases


def leases_that_cannot_start(attack: Attack) -> None:
    """Each with something to look for that is not there, or deaf to its end, or never ready."""
    nobodys = cid_of_digest(secrets.token_bytes(32))
    attack.leases(
        0,
        {"image": "sha256:" + "0" * 64},
        {"command": ["sh", "-c", "exit 3"], "restart": "always"},
        {"program": _DEAF, "grace": 600},
        {"dataset": nobodys},
        {"readiness": {"command": ["sleep", "600"], "timeout": 120}},
        {"image": "docker.io/library/none@sha256:" + "0" * 64},
    )


def data_that_nobody_has(attack: Attack) -> None:
    attack.leases(1, *({"dataset": cid_of_digest(secrets.token_bytes(32))} for _ in range(8)))


def bombs_at_their_end(attack: Attack) -> None:
    """SIGTERM makes processes that no SIGKILL is ever given the time to end, on the lease's own cores."""
    attack.leases(2, {"program": _BOMB + _WAIT, "grace": 0}, {"program": _DEAF, "grace": 600}, runs=True)


def outputs_without_end(attack: Attack) -> None:
    """Folders in folders, and more entries than anybody reads; they are packed once the lease is over."""
    attack.leases(3, *({"program": f"{each}; {_WAIT}"} for each in (_DEEP, _MANY)), runs=True)


def the_disk_full(attack: Attack) -> None:
    def fill() -> None:
        if attack.ground.fill():
            attack.bit()

    attack.again(fill)


TENANTS: tuple[Begin, ...] = (
    uploads_that_no_lease_claims,
    a_status_without_end,
    logs_that_are_followed,
    logs_from_their_end,
    commands_that_never_end,
    output_without_end,
    large_arguments,
    forwards,
    idle_logins,
    reads_whose_answers_nobody_fetches,
    a_window_that_changes,
    a_command_that_is_not_listened_to,
    input_that_nobody_reads,
    processor,
    processes,
    log_without_end,
    a_hostile_log,
    its_own_disk_full,
    its_own_names,
    its_own_memory,
    connections_to_everywhere,
    leases_that_cannot_start,
    data_that_nobody_has,
    bombs_at_their_end,
    outputs_without_end,
    the_disk_full,
)

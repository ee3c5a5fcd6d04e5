"""`leasehold logs`, `exec`, `metrics` and `ssh`: into what runs on a lease."""

from __future__ import annotations

import asyncio
import codecs
import shlex
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

from leasehold.cli._carrying_out import open_session
from leasehold.cli._choosing import meant
from leasehold.cli._command import ANSWERS, OF_GROUP, PASSWORD_FILE, WALLET, Invocation, shared
from leasehold.cli._finishing import say_finish
from leasehold.cli._given import parse_variable
from leasehold.cli._options import SECONDS, AnyLeases, RunningLease, Several, argument, option
from leasehold.cli._output import plain
from leasehold.cli._several_logs import print_logs
from leasehold.cli._terminal import attach
from leasehold.client import SshDoor, Which, choose_lease, finish_of, is_named, mint_key, ssh_door
from leasehold.errors import AgentError, LeaseholdError
from leasehold.market import AgentClient
from leasehold.market.wire import AgentUnreachable
from leasehold.tables import readings_table

SETTLING = 5.0  # seconds after the end of a log in which its agent sees that the command has ended
SSH_FAILED: Final = 255
_READINGS = 10
Env = Annotated[list[str] | None, option("--env -e NAME=VALUE")]


@shared(WALLET | PASSWORD_FILE | OF_GROUP)
async def logs(
    call: Invocation,
    leases: AnyLeases = None,
    *,
    several: Several,
    follow: Annotated[bool, option("--follow -f", "Go on until the workload ends.")] = False,
    tail: Annotated[int | None, option("--tail -n N", "Only the last lines.", min=0)] = None,
    since: Annotated[
        int | None, option("--since DURATION", "Nothing older, by the machine's clock: 10m, 2h."), SECONDS
    ] = None,
    timestamps: Annotated[
        bool, option("--timestamps -t", "Begin each line with when it was written.")
    ] = False,
) -> int:
    """Print what workloads have written, on their standard output and error.

    Of several leases each line begins with its own. With `--follow` it leaves with the exit code of a command that has
    ended by itself, and says so; of several, with the first that is not 0.
    """
    earliest = None if since is None else int(time.time()) - since
    async with open_session(call) as client:
        await client.index()
        chosen = await meant(client, leases, several, Which.ANY if leases else Which.LIVE)
        if len(chosen) > 1:
            await print_logs(client, chosen, tail=tail, follow=follow, since=earliest, timestamps=timestamps)
        else:
            async with client.agent_of(chosen[0]) as agent:
                await print_log(
                    agent.logs(chosen[0], tail=tail, follow=follow, since=earliest, timestamps=timestamps)
                )
        if not follow:
            return 0
        codes = [say_finish(call, await finish_of(client, lease, patience=SETTLING)) for lease in chosen]
        return next((code for code in codes if code), 0)


async def print_log(log: AsyncGenerator[bytes, None]) -> None:
    """A log as it comes: to a file or a pipe as it is, to a terminal without what steers that. It is closed."""
    harmless = Harmless() if sys.stdout.isatty() else None
    async with aclosing(log):  # when nobody reads the output any more
        async for data in log:
            sys.stdout.buffer.write(harmless.feed(data) if harmless else data)
            sys.stdout.buffer.flush()


@shared(WALLET | PASSWORD_FILE | OF_GROUP, "exec")
async def execute(
    call: Invocation,
    lease: RunningLease,
    command: Annotated[list[str], argument("COMMAND...", "What to run in the container.")],
    terminal: Annotated[
        bool | None, option("--tty/--no-tty", "A terminal of its own; by default if you sit at one.")
    ] = None,
    env: Env = None,
) -> int:
    """Run a command in the lease's container, and leave with its exit code."""
    variables = dict(map(parse_variable, env or ()))
    async with _agent_of(call, lease) as (agent, number):
        return await attach(agent, number, command, variables, terminal)


@shared(ANSWERS | WALLET | PASSWORD_FILE | OF_GROUP)
async def metrics(call: Invocation, lease: RunningLease) -> None:
    """Show what a lease has used of its machine: the last readings, and with --json a day of them."""
    async with _agent_of(call, lease) as (agent, number):
        answer = await agent.metrics(number)
    call.out.answer(answer.model_dump(mode="json"))
    columns, rows = readings_table(answer.readings)
    empty = "Its machine's agent has read nothing of this lease yet."
    call.out.table(columns, rows[-_READINGS:], empty=empty)


@asynccontextmanager
async def _agent_of(call: Invocation, word: str) -> AsyncIterator[tuple[AgentClient, int]]:
    async with open_session(call) as client:
        await client.index()
        lease = await choose_lease(client, word)
        async with client.agent_of(lease) as agent:
            yield agent, lease


@shared(ANSWERS | WALLET | PASSWORD_FILE | OF_GROUP)
async def ssh(
    call: Invocation,
    lease: RunningLease,
    arguments: Annotated[
        list[str] | None, argument("[COMMAND]...", "After `--`; without one, a shell.")
    ] = None,
    identity: Annotated[
        Path | None, option("--identity -i FILE", "One of the workload's private keys, as OpenSSH's -i.")
    ] = None,
    forward: Annotated[list[str] | None, option("--forward -L PORT:HOST:PORT", "As OpenSSH's -L.")] = None,
    show: Annotated[bool, option("--print", "Print the OpenSSH command instead of running it.")] = False,
) -> int:
    """Open a shell in the lease's container, by OpenSSH, with the machine's host key pinned.

    Without --identity the machine lets in a throw-away key for which your wallet, or its session, signs.
    """
    async with open_session(call, account=is_named(lease)) as client:
        number = await choose_lease(client, lease)
        door = await ssh_door(client, number, identity=identity, forward=forward or ())
    if show or call.out.as_json:
        spelled = door.command(arguments or ())
        copying = door.copying()
        known = str(door.known_hosts)
        call.out.answer({"command": list(spelled), "copy": list(copying), "known_hosts": known})
        if not call.out.as_json:
            call.out.say(shlex.join(spelled))
            call.out.warn(f"To copy files: {shlex.join(copying)} FILE {door.user}@{door.host}:/PATH")
        return 0
    with TemporaryDirectory(prefix="leasehold-ssh-") as folder:
        refused = None
        if identity is None:
            door, refused = await _minted(call, door, number, Path(folder))
        code = await _run(door.command(arguments or ()))
    if code == SSH_FAILED and refused is not None:
        call.out.warn(f"No certificate was offered: {refused}")
    return code


async def _minted(
    call: Invocation, door: SshDoor, lease: int, folder: Path
) -> tuple[SshDoor, LeaseholdError | None]:
    """The door with a throw-away key, or as it is, and why: OpenSSH's own choice of keys may do.

    Raises AgentUnreachable: who would open it is not there, and OpenSSH would say it less well.
    """
    call.asks = sys.stdin.isatty()  # else the password would be taken from what is meant for the command
    try:
        async with open_session(call) as client:
            return await mint_key(client, door, lease, folder), None
    except AgentUnreachable:
        raise
    except LeaseholdError as error:
        return door, error


async def _run(command: Sequence[str]) -> int:
    try:
        process = await asyncio.create_subprocess_exec(*command)
    except FileNotFoundError:
        raise AgentError(
            "There is no `ssh` here: install OpenSSH's client, or use `leasehold exec`."
        ) from None
    return await process.wait()


class Harmless:
    """A log as a terminal may see it: a workload's bytes steer nothing. Files and pipes get them as they are."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def feed(self, data: bytes) -> bytes:
        """The next bytes; a character that is cut in two waits for its rest. A bar that is redrawn becomes lines."""
        return plain(self._decode(data).replace("\r\n", "\n").replace("\r", "\n")).encode()

"""`leasehold logs`, `exec` and `ssh`: into what runs on a lease."""

from __future__ import annotations

import asyncio
import codecs
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from leasehold import parse_lease
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import LeaseId
from leasehold.cli._output import plain
from leasehold.cli._shared import ANSWERS, OF_GROUP, PASSWORD_FILE, WALLET, shared
from leasehold.cli._terminal import attach
from leasehold.client import ssh_door
from leasehold.errors import AgentError
from leasehold.market import InvalidInput


def register(app: typer.Typer) -> None:
    """Add this file's commands."""
    app.command()(logs)
    app.command("exec")(execute)
    app.command()(ssh)


@shared(WALLET | PASSWORD_FILE | OF_GROUP)
async def logs(
    call: Invocation,
    lease: LeaseId,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the workload ends.")] = False,
    tail: Annotated[
        int | None, typer.Option("--tail", "-n", metavar="N", min=0, help="Only the last lines.")
    ] = None,
) -> None:
    """Print what the workload has written, on its standard output and error."""
    number = parse_lease(lease)
    async with open_session(call) as client:
        await client.index()
        async with client.agent_of(number) as agent:
            harmless = Harmless() if sys.stdout.isatty() else None
            async for data in agent.logs(number, tail=tail, follow=follow):
                sys.stdout.buffer.write(harmless.feed(data) if harmless else data)
                sys.stdout.buffer.flush()


@shared(WALLET | PASSWORD_FILE | OF_GROUP)
async def execute(
    call: Invocation,
    lease: LeaseId,
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="What to run in the container.")],
    terminal: Annotated[
        bool | None,
        typer.Option("--tty/--no-tty", help="A terminal of its own; by default if you sit at one."),
    ] = None,
    env: Annotated[list[str] | None, typer.Option("--env", "-e", metavar="NAME=VALUE")] = None,
) -> int:
    """Run a command in the lease's container, and leave with its exit code."""
    number = parse_lease(lease)
    variables = {}
    for each in env or ():
        name, equals, value = each.partition("=")
        if not equals:
            raise InvalidInput(f"'{each}' sets no variable: write --env NAME=VALUE.")
        variables[name] = value
    async with open_session(call) as client:
        await client.index()
        async with client.agent_of(number) as agent:
            return await attach(agent, number, command, variables, terminal)


@shared(ANSWERS | WALLET)
async def ssh(
    call: Invocation,
    lease: LeaseId,
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[COMMAND]...", help="After `--`; without one, a shell.")
    ] = None,
    identity: Annotated[
        Path | None,
        typer.Option("--identity", "-i", metavar="FILE", help="The private key, as OpenSSH's -i."),
    ] = None,
    forward: Annotated[
        list[str] | None, typer.Option("--forward", "-L", metavar="PORT:HOST:PORT", help="As OpenSSH's -L.")
    ] = None,
    show: Annotated[
        bool, typer.Option("--print", help="Print the OpenSSH command instead of running it.")
    ] = False,
) -> int:
    """Open a shell in the lease's container, by OpenSSH, with the machine's host key pinned."""
    async with open_session(call, account=False) as client:
        door = await ssh_door(client, parse_lease(lease), identity=identity, forward=forward or ())
    spelled = door.command(arguments or ())
    if show or call.out.as_json:
        copying = door.copying()
        call.out.answer(
            {"command": list(spelled), "copy": list(copying), "known_hosts": str(door.known_hosts)}
        )
        if not call.out.as_json:
            call.out.say(shlex.join(spelled))
            call.out.warn(f"To copy files: {shlex.join(copying)} FILE {door.user}@{door.ssh.host}:/PATH")
        return 0
    try:
        process = await asyncio.create_subprocess_exec(*spelled)
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

"""`leasehold ssh-config`, `edit` and `port`: a lease in the tools that one has."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import signal
import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Final

from leasehold import format_lease
from leasehold.cli._carrying_out import open_session
from leasehold.cli._command import ANSWERS, OF_GROUP, PASSWORD_FILE, WALLET, Invocation, shared
from leasehold.cli._options import OneLease, RunningLease, argument, option
from leasehold.client import PoolClient, SafeAt, Which, choose_lease
from leasehold.copying import SshFiles, exclude, forwarded_port, include, let_in, ssh_config, ssh_hosts
from leasehold.market import InvalidInput

WORK: Final = "/work"
_NO_CODE: Final = (
    "There is no `code` here: install VS Code (code.visualstudio.com) with its command in the PATH, and its extension "
    "Remote - SSH (`code --install-extension ms-vscode-remote.remote-ssh`)."
)


@shared(ANSWERS | WALLET | PASSWORD_FILE | OF_GROUP, "ssh-config")
async def write_config(
    call: Invocation,
    show: Annotated[bool, option("--print", "Print it instead of writing it.")] = False,
    undo: Annotated[bool, option("--undo", "Take it away again.")] = False,
    key: Annotated[
        OneLease, option("--key LEASE", "Have this computer's key let into one; OpenSSH asks for it.")
    ] = None,
) -> None:
    """Tell OpenSSH of your leases, so that `ssh lease-12`, or by its name, works in every tool that uses it.

    `~/.ssh/config` includes a file of Leasehold's from then on. New leases are in it once this is run again.
    """
    files = _files(call)
    if undo:
        gone = exclude(files)
        call.out.answer({"undone": gone})
        call.out.say(
            "OpenSSH knows nothing of your leases any more." if gone else "There was nothing to undo."
        )
        return
    async with open_session(call) as client:
        if key is not None:
            await let_in(client, key, files)
            return
        hosts, text = await _written(call, client, files, write=not show)
    aliases = [list(host) for host in hosts]
    call.out.answer({"hosts": aliases, "file": str(files.own), "config": text})
    if show and not call.out.as_json:
        call.out.say(text.rstrip())
        return
    for host in hosts:
        call.out.say(f"ssh {host[-1]}")
    if not hosts:
        call.out.say("You have no live lease whose machine has an SSH server.")


async def _written(
    call: Invocation, client: PoolClient, files: SshFiles, *, write: bool = True
) -> tuple[list[tuple[str, ...]], str]:
    """What the hosts are called, and the file. A session is signed now, since OpenSSH cannot ask for a password."""
    with call.out.working("Looking for your leases"):
        hosts = await ssh_hosts(client)
        text = ssh_config(hosts, files, lambda lease: _minting(call, lease))
    if write:
        if client.other is None:
            await client.home.sessions.session(client.wallet, client.domain, now=await client.now())
        include(files, text)
    return [host.aliases for host in hosts], text


def _minting(call: Invocation, lease: str) -> list[str]:
    """This command, as OpenSSH runs it: from any folder, with these settings."""
    settings, group = call.settings, call.group
    command = [str(Path(sys.executable).parent / "leasehold"), "--home", str(settings.home.absolute())]
    if settings.deployment is not None:
        command += ["--deployment", str(settings.deployment.absolute())]
    for address in settings.rpc:
        command += ["--rpc", address]
    command += ["--ipfs", settings.ipfs, "ssh-config", "--wallet", call.chosen().name]
    if group is not None:
        command += ["--as-safe", group.address] if isinstance(group, SafeAt) else ["--as-group", group]
    return [*command, "--key", lease]


def _files(call: Invocation) -> SshFiles:
    return SshFiles(call.settings.home.absolute() / "ssh", Path.home() / ".ssh" / "config")


@shared(ANSWERS | WALLET | PASSWORD_FILE | OF_GROUP)
async def edit(
    call: Invocation,
    lease: RunningLease,
    path: Annotated[str | None, argument("[PATH]", "The folder in its container, by default /work.")] = None,
    code: Annotated[bool, option("--code", "In VS Code, which is also what happens without it.")] = True,
    show: Annotated[bool, option("--print", "Print the command instead of running it.")] = False,
) -> int:
    """Open a folder of the lease's container in VS Code, over SSH."""
    async with open_session(call) as client:
        await client.index()
        shown = format_lease(await choose_lease(client, lease, Which.LIVE))
        hosts, _ = await _written(call, client, _files(call))
    mine = f"lease-{shown}"
    alias = next((host[-1] for host in hosts if host[0] == mine), None)
    if alias is None:
        raise InvalidInput(f"Lease {shown} is not live, or its machine has no SSH server.")
    command = ["code", "--remote", f"ssh-remote+{alias}", path or WORK]
    if show or call.out.as_json:
        call.out.answer({"command": list[str](command)})
        call.out.say(shlex.join(command))
        return 0
    if shutil.which(command[0]) is None:
        raise InvalidInput(_NO_CODE)
    return await (await asyncio.create_subprocess_exec(*command)).wait()


@shared(ANSWERS | WALLET | PASSWORD_FILE | OF_GROUP)
async def port(
    call: Invocation,
    lease: RunningLease,
    number: Annotated[
        str, argument("PORT[:LOCAL]", "In the container, and here; by default the same or a free one.")
    ],
    stay: Annotated[bool, option("--no-open", "Do not open the browser.")] = False,
) -> int:
    """Bring a port of the lease's container to this computer, and open it in the browser, until Ctrl-C."""
    inside, local = _ports(number)
    async with open_session(call) as client:
        await client.index()
        chosen = await choose_lease(client, lease, Which.LIVE)
        async with forwarded_port(client, chosen, inside, local) as there:
            call.out.if_interrupted = f"{there.address} is closed; the lease goes on."
            # Else OpenSSH would outlive this process.
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, there.process.terminate)
            if await there.listens():
                call.out.answer({"address": there.address, "port": there.port})
                call.out.say(f"{there.address} leads there until Ctrl-C.")
                if not stay:
                    await asyncio.to_thread(webbrowser.open, there.address)
            return await there.process.wait()


def _ports(text: str) -> tuple[int, int | None]:
    """In the container, and here."""
    inside, colon, local = text.partition(":")
    numbers = [inside, *([local] if colon else [])]
    if not all(part.isdecimal() and 0 < int(part) < 65536 for part in numbers):
        raise InvalidInput(f"'{text}' is no port: write 8888, or 8888:9999 for another here.")
    return int(inside), int(local) if colon else None

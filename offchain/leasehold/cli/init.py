"""`leasehold init`: five questions, and a configuration that works."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from typing import Annotated

from leasehold import Deployment
from leasehold.cli._asking import NobodyThere, ask_text
from leasehold.cli._command import ANSWERS, PASSWORD_FILE, Invocation, shared
from leasehold.cli._options import option
from leasehold.errors import SettingsError, WalletError
from leasehold.files import write_private
from leasehold.home import write_config
from leasehold.market import InvalidInput, Json
from leasehold.runs import begin_project, project_name

_WALLET = "me"


@shared(ANSWERS | PASSWORD_FILE)
async def init(
    call: Invocation,
    pool: Annotated[Path | None, option("--pool FILE", "The pool's deployment file.")] = None,
    node: Annotated[str | None, option("--node URL", "A node of its chain.")] = None,
    wallet: Annotated[
        str | None, option("--wallet -w NAME", "A wallet that is there, or a new one's name.")
    ] = None,
    kubo: Annotated[str | None, option("--kubo MULTIADDR", "Your own IPFS node's API.")] = None,
    project: Annotated[
        str | None, option("--project NAME", "What this folder's run is called; `-` for none.")
    ] = None,
) -> None:
    """Ask five questions and leave a configuration that works: config.toml at home, leasehold.toml here.

    What is given is not asked. Without a terminal, what is not given stays as it is set. Then try `leasehold doctor`.
    """
    settings, home = call.settings, call.home
    file = Path(_answer("The pool's deployment file", str(pool or ""), str(settings.deployment or "")))
    file = await asyncio.to_thread(file.expanduser)
    if str(file) in ("", "."):
        raise SettingsError("No pool is named", "give its deployment file with --pool.")
    deployment = Deployment.load(file)
    rpc = _answer("A node of the chain", node or "", ",".join(settings.rpc))
    wallets = [kept.name for kept in home.keystore.list()]
    name = _answer("The wallet", wallet or "", settings.wallet or (wallets[0] if wallets else _WALLET))
    ipfs = _answer("Your IPFS node's API", kubo or "", settings.ipfs)
    called = _answer("What this folder's run is called, - for none", project or "", project_name(Path.cwd()))
    _check(rpc, ipfs, called)
    made = name not in wallets
    if made:
        await _make_wallet(call, name)
    changes: dict[str, object] = {"rpc": rpc.split(","), "wallet": name, "ipfs": ipfs}
    config, where = await asyncio.to_thread(_write, home.path, file, deployment, changes, called)
    told: dict[str, Json] = {"config": str(config), "project": str(where) if where else None, "wallet": name}
    call.out.answer(
        {**told, "made": made, "deployment": str(changes["deployment"]), "rpc": rpc, "ipfs": ipfs}
    )
    call.out.say(f"Settings are in {config}" + (f", and this folder's run in {where}." if where else "."))
    call.out.say("Next: `leasehold doctor` tries everything.")


def _write(
    home: Path, file: Path, deployment: Deployment, changes: dict[str, object], called: str
) -> tuple[Path, Path | None]:
    """The pool's file and the settings at home, and a project's file here where there is none yet."""
    kept = home / "pools" / f"{deployment.chain_id}-{deployment.controller.lower()}.json"
    write_private(kept, file.read_bytes())
    changes["deployment"] = str(kept)
    return write_config(home, changes), begin_project(Path(), None if called == "-" else called, _PROJECT)


_PROJECT = """\
# What `leasehold run` does here; what is typed wins. Keys: workload, code, command, search, gpu, share, spot, recover,
# max-price, budget, step, at-most, start-within, gone-after, close-when, results, allow-unverified.
"""


def _answer(question: str, given: str, usual: str) -> str:
    """What was given, else what somebody types, else what is usual."""
    if given:
        return given
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return usual
    try:
        return ask_text(question, usual)
    except NobodyThere:
        return usual


def _check(rpc: str, ipfs: str, called: str) -> None:
    if not all(re.match(r"https?://[^/\s]+", url.strip()) for url in rpc.split(",")):
        raise InvalidInput(f"{rpc} is no address of a node", "write it such as http://127.0.0.1:8545.")
    if not ipfs.startswith("/"):
        raise InvalidInput(f"{ipfs} is no multiaddr", "write it such as /ip4/127.0.0.1/tcp/5001.")
    if called != "-" and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", called):
        raise InvalidInput(f"{called} is no name for a run", "use letters, digits, `.`, `_` and `-`.")


async def _make_wallet(call: Invocation, name: str) -> None:
    password = call.password(name, choose=True)
    if not password:
        raise WalletError("The password is empty", "choose one.")
    signer = await call.home.keystore.new(name, password)
    await call.home.age_keys.new(name, password)
    call.out.say(f"Wallet {name} is {signer.address}.")
    call.out.warn(f"Back up {call.home.keys} and the password: nobody can restore either for you.")

"""`leasehold-agent`: describe, run, status, drain, pause, report."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import shutil
import signal
import sys
import time
from collections.abc import Coroutine
from typing import Annotated, Any, TextIO, cast

import structlog
import typer
from rich.console import Console
from rich.table import Table

from leasehold.chain import Lease, LeaseState, Machine, MachineStatus, Pool, cost, format_lease, parse_lease
from leasehold.datasets import Ipfs
from leasehold.errors import DatasetError, LeaseholdError
from leasehold_agent._config import AgentSettings, config_file, load_settings
from leasehold_agent._serve import disk_for_sale, opened_pool, serve
from leasehold_agent.chain import consent, owner_of, remember_owner, sentinel_beside
from leasehold_agent.documents import (
    canonical,
    concerns,
    contact_document,
    hardware_document,
    lacks,
    read_status,
)
from leasehold_agent.engine import Engine
from leasehold_agent.host import load_identity, take_inventory, write_private
from leasehold_agent.store import DatasetCache

app = typer.Typer(
    help="The agent of a Leasehold provider's host: runs what was paid for, and stops what no longer is.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_STALE_SECONDS = 60


def main() -> None:
    """The console script. Errors are one sentence and an exit code, never a traceback."""
    try:
        app(standalone_mode=True)
    except LeaseholdError as error:
        _console(stderr=True).print(str(error), style="red", markup=False)
        sys.exit(error.exit_code)
    except OSError as error:
        _console(stderr=True).print(_broken(error), style="red", markup=False)
        sys.exit(1)


def _broken(error: OSError) -> str:
    """What the host refused, and which setting may be wrong."""
    if error.errno == errno.EADDRINUSE:
        return (
            f"A port is taken ({error.strerror}): end what has it, or set another `api_port` or `ssh_port`."
        )
    what = error.filename if error.filename is not None else "This host refused something"
    return f"{what}: {error.strerror or error}; see to that, or set another `state_dir` in {config_file()}."


@app.command()
def describe(
    owner: Annotated[
        str | None,
        typer.Option(
            "--owner", metavar="ADDRESS", help="The provider whose machines this host serves from now on."
        ),
    ] = None,
) -> None:
    """Print machine.json: what this host is, how it is reached, and that its key serves its owner. Makes the host's
    keys at the first call.
    """
    settings = load_settings()
    if owner is not None:
        remember_owner(settings, owner)
    print(json.dumps(_run(_describe(settings)), indent=2, sort_keys=True))


@app.command()
def run() -> None:
    """Run the agent until it is stopped. Leases go on running without it."""
    settings = load_settings()
    _configure_logs()
    with sentinel_beside(settings) as told:
        _run(_until_signalled(serve(settings, told)))


@app.command()
def status(as_json: Json = False) -> None:
    """Show what the running agent sees: machines, leases, the operator's gas."""
    seen = read_status(load_settings().state_dir)
    if seen is None:
        _console(stderr=True).print("No agent has run here yet: start it with `leasehold-agent run`.")
        raise typer.Exit(1)
    if as_json:
        print(json.dumps(seen))
        return
    console = _console()
    if time.time() - seen["at"] > _STALE_SECONDS:
        console.print("[yellow]The agent does not run: this is what it saw last.[/yellow]")
    if not seen["current"]:
        console.print("[yellow]The chain does not answer; nothing is stopped meanwhile.[/yellow]")
    if seen.get("nodes", 2) < 2:
        console.print(
            "[yellow]One node of the chain is asked, and what it says is believed: name a second one of somebody "
            "else's in `rpc`, and leases end or change hands only when both say so.[/yellow]"
        )
    for machine in seen["machines"]:
        if machine["down_since"]:
            since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(machine["down_since"]))
            console.print(f"[red]Machine {machine['machine']} is down since {since}.[/red]")
        if machine["challenged"]:
            console.print(f"[yellow]Machine {machine['machine']} is asked for a sign of life.[/yellow]")
        if machine.get("provable_until"):
            until = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(machine["provable_until"]))
            console.print(
                f"[yellow]Machine {machine['machine']} gave no sign of life in time: anybody may prove it until "
                f"{until}, then the question is over.[/yellow]"
            )
    for number in seen.get("strangers", ()):
        console.print(
            f"[yellow]Machine {number} names this host's key and is not its owner's: not served.[/yellow]"
        )
    for sentence in seen.get("lacks", ()):
        console.print(sentence, style="yellow", markup=False)
    if not seen["leases"]:
        console.print("No lease is here at the moment.")
    table = Table("lease", "machine", "phase", "container", "ports", "why")
    for lease in seen["leases"]:
        ports = ", ".join(f"{port['host']}→{port['container']}" for port in lease["ports"])
        why = lease["reason"] or lease["progress"] or _kept(lease)
        row = (
            lease["lease"],
            str(lease["machine"]),
            lease["phase"],
            lease["container_state"] or "",
            ports,
            why,
        )
        table.add_row(*row)
    if seen["leases"]:
        console.print(table)
    if seen["gas"] and seen["gas"]["warning"]:
        console.print(seen["gas"]["warning"], style="yellow", markup=False)


def _kept(lease: dict[str, Any]) -> str:
    """Until when what is over is kept."""
    if not lease.get("kept_until"):
        return ""
    until = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(lease["kept_until"]))
    return f"kept until {until}, or until its room is wanted"


@app.command()
def drain(
    undo: Annotated[bool, typer.Option("--undo", help="Take new leases again.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Return once no lease is left.")] = False,
) -> None:
    """Take no new leases; those that run go on to their end."""
    _run(_drain(load_settings(), undo, wait))


@app.command()
def pause(as_json: Json = False) -> None:
    """Give me my card back: sell nothing more, and show what ending the leases that run would cost."""
    _run(_pause(load_settings(), as_json))


@app.command()
def report(
    undo: Annotated[bool, typer.Option("--undo", help="The host is back: end the outage now.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
) -> None:
    """Say that this host is down from now on, before you take it down: half of what it costs to be found out.

    Tenants pay nothing from then on. The agent ends the outage when it is next started.
    """
    question = (
        "An outage that you report costs 2 % of each machine's stake up to 7 minutes, 4 % up to 48 hours, 30 % up to "
        "120 hours and 50 % beyond, outages of the last week counted together. Report one?"
    )
    if not (undo or yes) and not typer.confirm(question, err=True):
        raise typer.Exit(1)
    _run(_end_outages(load_settings()) if undo else _report(load_settings()))


def _run(work: Coroutine[None, None, object]) -> object:
    return asyncio.run(work)


async def _until_signalled(work: Coroutine[None, None, None]) -> None:
    task = asyncio.ensure_future(work)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def _describe(settings: AgentSettings) -> dict[str, object]:
    identity, inventory, engine = load_identity(settings.state_dir), take_inventory(), Engine(settings.docker)
    try:
        signed = await consent(settings, identity, int(time.time()))
        async with Ipfs(settings.ipfs) as ipfs:
            facts = await engine.facts()
            for sentence in lacks(facts):
                _console(stderr=True).print(sentence, style="yellow", markup=False)
            cache = DatasetCache(settings.state_dir / "datasets", ipfs, room=0, reserve=0, wait=0)
            disk = disk_for_sale(facts, settings)
            hardware = hardware_document(inventory, facts, settings, disk)
            for concern in await asyncio.to_thread(concerns, facts, gpus=bool(inventory.gpus)):
                _console(stderr=True).print(concern, style="yellow", markup=False)
            contact = await contact_document(
                settings, identity, ipfs, images=await engine.images(), datasets=cache.public()
            )
            write_private(settings.state_dir / "contact.json", canonical(contact))
            for document in (hardware, contact):
                with contextlib.suppress(DatasetError):  # `leasehold provider join` pins them as well
                    await ipfs.put_block(canonical(document))
    finally:
        await engine.aclose()
    return {
        "hardware": hardware,
        "contact": contact,
        "operator": identity.operator.address,
        "suggested": {
            "gpus": inventory.units(settings.cpu_units),
            "smallest_share": inventory.smallest_share,
        },
        "consent": signed,
    }


async def _drain(settings: AgentSettings, undo: bool, wait: bool) -> None:
    console = _console()
    identity = load_identity(settings.state_dir)
    async with opened_pool(settings, identity) as pool:
        for machine in await _in_service(pool, identity.operator.address, owner_of(settings)):
            await pool.withhold(machine.id, 0 if undo else _all_cells(machine))
            console.print(f"Machine {machine.id} takes {'new leases again' if undo else 'no new leases'}.")
        while wait and await _leases(pool, settings):  # noqa: ASYNC110 - the chain is polled
            await asyncio.sleep(settings.tick_seconds)


async def _pause(settings: AgentSettings, as_json: bool) -> None:
    identity = load_identity(settings.state_dir)
    async with opened_pool(settings, identity) as pool:
        machines = await _in_service(pool, identity.operator.address, owner_of(settings))
        for machine in machines:
            await pool.withhold(machine.id, _all_cells(machine))
        leases = await _leases(pool, settings)
        costs = [(lease, await _penalty(pool, lease)) for lease in leases]
        symbol, decimals = pool.deployment.token_symbol, pool.deployment.token_decimals
    if as_json:
        shown = [{"lease": format_lease(lease.id), "end": lease.end, "penalty": p} for lease, p in costs]
        print(json.dumps({"machines": [m.id for m in machines], "leases": shown}))
        return
    console = _console()
    console.print(
        f"Withheld: machine {', '.join(str(m.id) for m in machines) or 'none'}. Nothing new is rented."
    )
    if not costs:
        console.print("No lease runs: the host is yours.")
        return
    table = Table("lease", "ends", f"ending it costs ({symbol})")
    for lease, penalty in costs:
        ends = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(lease.end))
        table.add_row(format_lease(lease.id), ends, f"{penalty / 10**decimals:,.6f}")
    console.print(table)
    named = " ".join(format_lease(lease.id) for lease, _ in costs)
    console.print(f"To end them, where the owner's key is:  leasehold provider terminate {named}")


async def _report(settings: AgentSettings) -> None:
    identity = load_identity(settings.state_dir)
    async with opened_pool(settings, identity) as pool:
        faults = await pool.faults()
        for machine in await _in_service(pool, identity.operator.address, owner_of(settings)):
            if machine.down:
                _console().print(f"Machine {machine.id} is down already.")
                continue
            fault, _ = await faults.report_outage(machine.id)
            _console().print(
                f"Machine {machine.id} is down from now on (fault {fault}). The agent ends the outage when it is "
                "next started, or you with `leasehold-agent report --undo`."
            )


async def _end_outages(settings: AgentSettings) -> None:
    """Only where the engine answers: the word that a host is back is believed."""
    identity, engine = load_identity(settings.state_dir), Engine(settings.docker)
    try:
        await engine.facts()
    finally:
        await engine.aclose()
    async with opened_pool(settings, identity) as pool:
        faults = await pool.faults()
        for machine in await _in_service(pool, identity.operator.address, owner_of(settings)):
            if machine.down:
                await faults.recover(machine.id)
                _console().print(f"Machine {machine.id} is back.")


async def _in_service(pool: Pool, operator: str, owner: str) -> list[Machine]:
    machines = await _machines(pool, operator, owner)
    return [machine for machine in machines if machine.status is not MachineStatus.RETIRED]


async def _machines(pool: Pool, operator: str, owner: str) -> list[Machine]:
    """Every machine of this operator and its owner's, asked of the chain: the agent need not be running."""
    machines = [await pool.machine_of(number) for number in range(1, await pool.machine_count() + 1)]
    return [machine for machine in machines if (machine.operator, machine.provider) == (operator, owner)]


async def _leases(pool: Pool, settings: AgentSettings) -> list[Lease]:
    """Leases that run on this host, by the agent's last status and the chain's word on each."""
    status = read_status(settings.state_dir) or {"leases": []}
    ids = [parse_lease(str(entry["lease"])) for entry in status["leases"] if entry["phase"] != "ended"]
    leases = [await pool.lease_of(lease) for lease in ids]
    return [lease for lease in leases if lease.state in (LeaseState.OPENED, LeaseState.ACTIVE)]


async def _penalty(pool: Pool, lease: Lease) -> int:
    """What `terminate` takes from the provider's ledger: price × the lesser of penaltySeconds and the
    time cut off.
    """
    if lease.spot or lease.state is not LeaseState.ACTIVE or lease.noticed:
        return 0
    params = await pool.params(lease.params)
    cut = max(0, lease.end - int(time.time()) - params.notice_seconds)
    return cost(lease.price, lease.cells, min(params.penalty_seconds, cut))


def _console(*, stderr: bool = False) -> Console:
    """Sentences stay on one line: a terminal folds them, and a program that reads them need not."""
    return Console(stderr=stderr, soft_wrap=True, highlight=False)


def _all_cells(machine: Machine) -> int:
    return (1 << 8 * machine.gpus) - 1


class _Unfailing:
    """A file for log lines: one that cannot be written, for a full disk or a reader that left, is lost."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._file.flush()


def _configure_logs() -> None:
    """Lines for people on a terminal, one JSON object a line elsewhere."""
    renderer: structlog.types.Processor = structlog.processors.JSONRenderer()
    if sys.stdout.isatty() and shutil.get_terminal_size().columns:
        renderer = structlog.dev.ConsoleRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            renderer,
        ],
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _Unfailing(sys.stdout))),
        cache_logger_on_first_use=True,
    )
    logging.getLogger("asyncssh").setLevel(logging.WARNING)

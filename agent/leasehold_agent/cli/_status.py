"""`status`: what the agent that runs sees."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import typer

from leasehold.chain import Deployment
from leasehold_agent._config import AgentSettings, load_settings
from leasehold_agent.chain import Withholdings
from leasehold_agent.cli._console import Json, terminal
from leasehold_agent.cli._pool import because
from leasehold_agent.documents import read_status

if TYPE_CHECKING:
    from rich.console import Console

_STALE_SECONDS = 60
_GIB = 1 << 30


def status(as_json: Json = False) -> None:
    """Show what the running agent sees: machines, leases, the operator's gas."""
    settings = load_settings()
    seen = read_status(settings.state_dir)
    if seen is None:
        terminal(stderr=True).print("No agent has run here yet: start it with `leasehold-agent run`.")
        raise typer.Exit(1)
    if as_json:
        print(json.dumps(seen))
        return
    console = terminal()
    if time.time() - seen["at"] > _STALE_SECONDS:
        console.print("[yellow]The agent does not run: this is what it saw last.[/yellow]")
    if not seen["current"]:
        console.print("[yellow]The chain does not answer; nothing is stopped meanwhile.[/yellow]")
    if seen.get("nodes", 2) < 2:
        console.print(
            "[yellow]One node of the chain is asked, and what it says is believed: name a second one of somebody "
            "else's in `rpc`, and leases end or change hands only when both say so.[/yellow]"
        )
    _show_machines(console, seen["machines"])
    _show_sale(console, settings, seen["machines"])
    for number in seen.get("strangers", ()):
        console.print(
            f"[yellow]Machine {number} names this host's key and is not its owner's: not served.[/yellow]"
        )
    for sentence in seen.get("lacks", ()):
        console.print(sentence, style="yellow", markup=False)
    _show_cards(console, seen.get("cards", []))
    _show_idle(console, seen.get("idle", []))
    _show_leases(console, seen["leases"])
    if seen["gas"] and seen["gas"]["warning"]:
        console.print(seen["gas"]["warning"], style="yellow", markup=False)


def _show_machines(console: Console, machines: list[dict[str, Any]]) -> None:
    for machine in machines:
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


def _show_sale(console: Console, settings: AgentSettings, machines: list[dict[str, Any]]) -> None:
    """What is out of sale, why, and when the hours change that."""
    if settings.deployment is not None:
        kept = Withholdings.of(settings.state_dir, Deployment.load(settings.deployment))
        for machine in machines:
            if (known := kept.known(machine["machine"])).cells:
                console.print(
                    f"Machine {machine['machine']} has cells out of sale, for {because(known)}.", markup=False
                )
    if (change := settings.sale_hours.change_after(int(time.time()))) is not None:
        when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(change))
        sold = "are the owner's own" if settings.sale_hours.at(change - 1) else "are sold"
        console.print(f"From {when} on, `{settings.hours_cells}` {sold} (`hours`).", markup=False)


def _show_cards(console: Console, cards: list[dict[str, Any]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("card", "at", "busy", "memory", "°C", "watts", "health")
    for card in cards:
        ailment = card["ailment"]
        health = f"{ailment['cause']}: {ailment['detail']}" if ailment else "well"
        used, whole = card["memory_used"], card["memory_bytes"]
        row = (
            card["model"],
            card["pci"],
            _said(card["busy"], "%"),
            _said(None if used is None else f"{used / _GIB:.1f} of {whole / _GIB:.0f}", " GiB"),
            _said(card["temperature"]),
            _said(None if card["power_watts"] is None else round(card["power_watts"])),
            health,
        )
        table.add_row(*map(escape, row), style="red" if ailment else None)
    if cards:
        console.print(table)


def _show_idle(console: Console, jobs: list[dict[str, Any]]) -> None:
    """The owner's own job, on cards that nobody leases."""
    for job in jobs:
        on = f" on {job['model']} at {job['pci']}" if job["pci"] else ""
        problem = f": {job['problem']}" if job["problem"] else ""
        console.print(f"Idle job{on}: {job['state']}{problem}", markup=False)


def _said(value: object, unit: str = "") -> str:
    return "" if value is None else f"{value}{unit}"


def _show_leases(console: Console, leases: list[dict[str, Any]]) -> None:
    from rich.table import Table

    if not leases:
        console.print("No lease is here at the moment.")
    table = Table("lease", "machine", "phase", "container", "ports", "why")
    for lease in leases:
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
    if leases:
        console.print(table)


def _kept(lease: dict[str, Any]) -> str:
    """Until when what is over is kept."""
    if not lease.get("kept_until"):
        return ""
    until = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(lease["kept_until"]))
    return f"kept until {until}, or until its room is wanted"

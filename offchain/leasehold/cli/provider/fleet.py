"""`leasehold provider fleet`: many hosts, described in one file, reached over ssh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import ANSWERS, SENDS, WALLET, Invocation, shared
from leasehold.cli._options import Approve, Read, argument, option
from leasehold.files import replace_file
from leasehold.market import Json, format_amount, format_time
from leasehold.provider import (
    Errand,
    Fleet,
    FleetJoin,
    FleetUpdate,
    HostAnswer,
    HostJoined,
    HostLeft,
    HostStatus,
    HostUpdated,
    OpenSsh,
    ask_hosts,
    host_status,
    machine_file,
)

if TYPE_CHECKING:
    from leasehold.client import FleetJoinPlan, Step

FAILED = 8
"""The exit code where a host did not do it."""

ON_HOSTS = ANSWERS | {"yes", "dry_run"}

FleetFile = Annotated[Path, argument("FLEET.TOML", "The hosts: docs/guides/fleet.md says how it is written.")]
Only = Annotated[
    tuple[str, ...],
    option("--only NAME", "Only hosts of that name or label. May be given several times."),
    Read(str),
]
Undo = Annotated[bool, option("--undo", "Take it back.")]


@shared(SENDS)
async def join(call: Invocation, fleet: FleetFile, only: Only = (), approve: Approve = False) -> int:
    """Stake and register every host of the file that is not in the pool yet.

    Each describes itself over ssh; what all of them take is shown, and asked for once. Cut off, the same command goes
    on where it was. A host that does not answer does not stop the others.
    """
    chosen = Fleet.load(fleet).only(only)
    async with planned(call, FleetJoin(chosen, OpenSsh.of(chosen))) as plan:
        _show_joining(call, plan)
        if not plan.joining and not plan.unfunded:
            call.out.answer({**plan.to_json(), "dry_run": call.dry_run})
            call.out.say(_why_nobody(plan.left))
            return _code(plan.left)
        stake = plan.client.money.show(plan.payment.amount if plan.payment else 0)
        done = await carry_out(
            call,
            plan,
            f"Stake {stake} and register {len(plan.joining)} machine{'s' * (len(plan.joining) != 1)}?",
            lambda joined: f"{len(joined.joined)} joined. Their agents can be started.",
            approve=approve,
            waiting="Pinning documents, staking, registering",
            on_step=lambda step: _tell(call, step),
        )
        return _code(plan.left if done is None else done.left)


@shared(SENDS)
async def update(call: Invocation, fleet: FleetFile, only: Only = ()) -> int:
    """Publish the documents of hosts that have changed, and give their machines the terms that the file names."""
    chosen = Fleet.load(fleet).only(only)
    async with planned(call, FleetUpdate(chosen, OpenSsh.of(chosen))) as plan:
        call.out.table(
            ("host", ">machine", "changes"),
            [(host.name, str(host.machine.id), ", ".join(host.changes)) for host in plan.changing],
            empty="Nothing has changed.",
        )
        if not plan.changing:
            for caution in plan.cautions:
                call.out.warn(caution)
            call.out.answer({**plan.to_json(), "dry_run": call.dry_run})
            return _code(plan.left)
        done = await carry_out(
            call, plan, "Publish this?", on_step=lambda step: _tell(call, step), waiting="Publishing"
        )
        return _code(plan.left if done is None else done.left)


@shared(ANSWERS | WALLET)
async def describe(
    call: Invocation,
    fleet: FleetFile,
    *,
    only: Only = (),
    output: Annotated[Path, option("--output -o FOLDER", "Where each host's machine.json goes.")] = Path(),
) -> int:
    """Have the hosts describe themselves for your account, and keep each one's machine.json."""
    owner, chosen = call.chosen().address, Fleet.load(fleet).only(only)

    def keep(answer: HostAnswer) -> str | HostLeft:
        said = machine_file(answer)
        if isinstance(said, HostLeft):
            return said
        path = output / f"{answer.host.name}.json"
        replace_file(path, answer.said)
        return str(path)

    return await _on_hosts(call, chosen, ("leasehold-agent", "describe", "--owner", owner), keep)


@shared(ANSWERS)
async def check(call: Invocation, fleet: FleetFile, only: Only = ()) -> int:
    """Have each host try what an agent needs, and show the last it says."""
    return await _on_hosts(call, Fleet.load(fleet).only(only), Errand.CHECK.command, _last_word)


@shared(ANSWERS)
async def status(call: Invocation, fleet: FleetFile, only: Only = ()) -> int:
    """Show what each host's agent sees, by its own word: machines, leases, for how many leases its gas lasts.

    What the chain knows of them shows `leasehold provider status`.
    """
    return await _on_hosts(call, Fleet.load(fleet).only(only), Errand.STATUS.command, _shown_status)


@shared(ON_HOSTS)
async def drain(call: Invocation, fleet: FleetFile, only: Only = (), undo: Undo = False) -> int:
    """Have the hosts take no new leases; those that run go on to their end. --undo puts them back on sale."""
    chosen, errand = Fleet.load(fleet).only(only), Errand.UNDRAIN if undo else Errand.DRAIN
    if not _agreed(call, chosen, "Put {} back on sale?" if undo else "Let {} take no new leases?"):
        return 0
    return await _on_hosts(call, chosen, errand.command, _last_word)


@shared(ON_HOSTS)
async def report(call: Invocation, fleet: FleetFile, only: Only = (), undo: Undo = False) -> int:
    """Have the hosts say that they are down from now on: half of what it costs to be found out. --undo ends it.

    An outage that is reported costs 2 % of each machine's stake up to 7 minutes, 4 % up to 48 hours, 30 % up to 120
    hours and 50 % beyond, outages of the last week counted together.
    """
    chosen, errand = Fleet.load(fleet).only(only), Errand.RECOVER if undo else Errand.REPORT
    asked = (
        "Say that {} are back?"
        if undo
        else "Report {} down, which costs at least 2 % of each machine's stake?"
    )
    if not _agreed(call, chosen, asked):
        return 0
    return await _on_hosts(call, chosen, errand.command, _last_word)


# -------------------------------------------------------------------------------------------------------- what is shown


def _show_joining(call: Invocation, plan: FleetJoinPlan) -> None:
    money = plan.client.money
    rows = [
        (
            host.name,
            host.model,
            str(host.plan.quote.gpus),
            format_amount(host.plan.terms.price, money.decimals),
            money.show(host.plan.quote.stake),
            f"{host.plan.smallest_share}/8",
        )
        for host in plan.joining
    ]
    call.out.table(
        ("host", "model", ">GPUs or units", ">price", ">stake", ">smallest share"),
        rows,
        empty="No host joins.",
    )
    for left in plan.left:
        if not left.problem:
            call.out.say(f"{left.host}: {left.why}")
    if not plan.joining and not plan.unfunded:
        for caution in plan.cautions:
            call.out.warn(caution)
        return
    pulled = money.show(plan.payment.pulled if plan.payment else 0)
    stake = money.show(plan.payment.amount if plan.payment else 0)
    lost = money.show(sum(host.plan.quote.lost_at_most for host in plan.joining))
    daily = money.show(sum(host.plan.quote.daily for host in plan.joining))
    call.out.pairs(
        f"All together, {len(plan.joining)} of {len(plan.joining) + len(plan.left) + len(plan.unfunded)} hosts",
        (
            ("stake", f"{stake}, of which {pulled} from the wallet"),
            ("earns, wholly leased", f"{daily} a day after the pool's fee"),
            ("can be lost", f"at most {lost} in seven days, for proven faults only"),
            ("gas for the operators", f"{format_amount(plan.gas, 18, places=6)} of the chain's own coin"),
        ),
    )


def _why_nobody(left: Sequence[HostLeft]) -> str:
    failed = [host.host for host in left if host.problem]
    if not failed:
        return "No host has to join."
    return f"No host joins, and nothing was sent: {', '.join(failed)} could not be asked; see what is said of each."


def _tell(call: Invocation, step: Step) -> None:
    """A host that has had its turn."""
    if isinstance(step, HostLeft):
        call.out.warn(f"{step.host}: {step.why}")
    elif isinstance(step, HostJoined):
        call.out.report(f"{step.host} is machine {step.machine}")
    elif isinstance(step, HostUpdated):
        call.out.report(f"{step.host}: {', '.join(step.changed)}")


def _agreed(call: Invocation, fleet: Fleet, question: str) -> bool:
    """Whether it is to be done; a dry run shows on which hosts."""
    many = f"{len(fleet.hosts)} host{'s' * (len(fleet.hosts) != 1)}"
    if call.dry_run:
        call.out.answer({"hosts": [host.name for host in fleet.hosts], "dry_run": True})
        call.out.say(f"Would ask {many}: {', '.join(host.name for host in fleet.hosts)}.")
        return False
    call.out.confirm(question.format(many))
    return True


def _last_word(answer: HostAnswer) -> str | HostLeft:
    """The last line that it said."""
    lines = answer.said.decode(errors="replace").strip().splitlines()
    return (lines[-1] if lines else "done") if answer.well else HostLeft(answer.host.name, answer.why)


def _shown_status(answer: HostAnswer) -> str | HostLeft:
    seen = host_status(answer)
    if isinstance(seen, HostLeft):
        return seen
    return _in_words(seen)


def _in_words(seen: HostStatus) -> str:
    machines = ", ".join(
        f"machine {each.machine}{' is down' if each.down_since else ''}" for each in seen.machines
    )
    gas = f"gas for {seen.gas.leases} leases" if seen.gas is not None else "gas unknown"
    chain = "" if seen.current else ", the chain does not answer"
    running = f"{len(seen.running)} of {len(seen.leases)} leases run"
    return f"{machines or 'no machine'}; {running}; {gas}{chain}; seen {format_time(seen.at)}"


async def _on_hosts(
    call: Invocation, fleet: Fleet, command: Sequence[str], read: Callable[[HostAnswer], str | HostLeft]
) -> int:
    """Run the command everywhere, and show what became of it, in the fleet's order."""
    found: dict[str, str | HostLeft] = {}
    many = len(fleet.hosts)
    with call.out.working(f"Asking {many} hosts") as update:
        async for answer in ask_hosts(fleet, OpenSsh.of(fleet), command):
            found[answer.host.name] = read(answer)
            update(f"{len(found)} of {many} hosts have answered")
    results = [(host.name, found[host.name]) for host in fleet.hosts]
    document: list[Json] = [
        {"host": name, "well": isinstance(said, str), "said": said if isinstance(said, str) else said.why}
        for name, said in results
    ]
    call.out.answer({"hosts": document})
    rows = [
        (name, "ok", said) if isinstance(said, str) else (name, "failed", said.why) for name, said in results
    ]
    call.out.table(("host", "", "what it said"), rows, empty="")
    return _code([said for _, said in results if isinstance(said, HostLeft)])


def _code(left: Sequence[HostLeft]) -> int:
    return FAILED if any(host.problem for host in left) else 0

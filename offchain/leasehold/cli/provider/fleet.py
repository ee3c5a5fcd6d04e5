"""`leasehold provider fleet`: many hosts, described in one file, reached over ssh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from leasehold.cli._carrying_out import carry_out, planned
from leasehold.cli._command import ANSWERS, SENDS, WALLET, Invocation, shared
from leasehold.cli._options import Approve, Read, argument, option
from leasehold.files import replace_file
from leasehold.market import Json
from leasehold.provider import (
    Errand,
    Fleet,
    FleetJoin,
    FleetUpdate,
    HostAnswer,
    HostJoined,
    HostLeft,
    HostUpdated,
    OpenSsh,
    ask_hosts,
    host_status,
    machine_file,
)
from leasehold.tables import changing_table, host_line, hosts_table, joining_rows, joining_table

if TYPE_CHECKING:
    from leasehold.client import FleetJoinPlan, FleetUpdatePlan, Step

FAILED = 8
"""The exit code where a host did not do it."""

ON_HOSTS = ANSWERS | {"yes", "dry_run"}


FleetFile = Annotated[
    Fleet,
    argument("FLEET.TOML", "The hosts: docs/guides/fleet.md says how it is written."),
    Read(lambda text: Fleet.load(Path(text))),
]


@dataclass(frozen=True)
class Hosts:
    """Which hosts are meant."""

    fleet: FleetFile
    only: Annotated[
        tuple[str, ...],
        option("--only NAME", "Only hosts of that name or label. May be given several times."),
        Read(str),
    ] = ()

    @property
    def chosen(self) -> Fleet:
        """Raises NoSuchHost."""
        return self.fleet.only(self.only)


Undo = Annotated[bool, option("--undo", "Take it back.")]


@shared(SENDS)
async def join(call: Invocation, *, hosts: Hosts, approve: Approve = False) -> int:
    """Stake and register every host of the file that is not in the pool yet.

    Each describes itself over ssh; what all of them take is shown, and asked for once. Cut off, the same command goes
    on where it was. A host that does not answer does not stop the others.
    """
    chosen = hosts.chosen
    async with planned(call, FleetJoin(chosen, OpenSsh.of(chosen))) as plan:
        _show_joining(call, plan)
        if not plan.joining and not plan.unfunded:
            return _nothing(call, plan, _why_nobody(plan.left))
        stake = plan.client.money.show(plan.payment.amount if plan.payment else 0)
        done = await carry_out(
            call,
            plan,
            f"Stake {stake} and register {len(plan.joining)} machine{'s' * (len(plan.joining) != 1)}?",
            lambda joined: f"{len(joined.joined)} joined. Their agents can be started.",
            approve=approve,
            waiting="Pinning documents, staking, registering",
            on_step=partial(_tell, call),
        )
        return _code(plan.left if done is None else done.left)


@shared(SENDS)
async def update(call: Invocation, hosts: Hosts) -> int:
    """Publish the documents of hosts that have changed, and give their machines the terms that the file names."""
    chosen = hosts.chosen
    async with planned(call, FleetUpdate(chosen, OpenSsh.of(chosen))) as plan:
        call.out.table(*changing_table(plan.changing), empty="Nothing has changed.")
        if not plan.changing:
            return _nothing(call, plan)
        tell = partial(_tell, call)
        done = await carry_out(call, plan, "Publish this?", on_step=tell, waiting="Publishing")
        return _code(plan.left if done is None else done.left)


@shared(ANSWERS | WALLET)
async def describe(
    call: Invocation,
    *,
    hosts: Hosts,
    output: Annotated[Path, option("--output -o FOLDER", "Where each host's machine.json goes.")] = Path(),
) -> int:
    """Have the hosts describe themselves for your account, and keep each one's machine.json."""
    owner = call.chosen().address

    def keep(answer: HostAnswer) -> str | HostLeft:
        said = machine_file(answer)
        if isinstance(said, HostLeft):
            return said
        path = output / f"{answer.host.name}.json"
        replace_file(path, answer.said)
        return str(path)

    return await _on_hosts(call, hosts, ("leasehold-agent", "describe", "--owner", owner), keep)


@shared(ANSWERS)
async def check(call: Invocation, hosts: Hosts) -> int:
    """Have each host try what an agent needs, and show the last it says."""
    return await _on_hosts(call, hosts, Errand.CHECK.command, _last_word)


@shared(ANSWERS)
async def status(call: Invocation, hosts: Hosts) -> int:
    """Show what each host's agent sees, by its own word: machines, leases, for how many leases its gas lasts.

    What the chain knows of them shows `leasehold provider status`.
    """
    return await _on_hosts(call, hosts, Errand.STATUS.command, _status)


@shared(ON_HOSTS)
async def drain(call: Invocation, *, hosts: Hosts, undo: Undo = False) -> int:
    """Have the hosts take no new leases; those that run go on to their end. --undo puts them back on sale."""
    question = "Put {} back on sale?" if undo else "Let {} take no new leases?"
    return await _errand(call, hosts, Errand.UNDRAIN if undo else Errand.DRAIN, question)


@shared(ON_HOSTS)
async def report(call: Invocation, *, hosts: Hosts, undo: Undo = False) -> int:
    """Have the hosts say that they are down from now on: half of what it costs to be found out. --undo ends it.

    An outage that is reported costs 2 % of each machine's stake up to 7 minutes, 4 % up to 48 hours, 30 % up to 120
    hours and 50 % beyond, outages of the last week counted together.
    """
    question = "Report {} down, which costs at least 2 % of each machine's stake?"
    if undo:
        question = "Say that {} are back?"
    return await _errand(call, hosts, Errand.RECOVER if undo else Errand.REPORT, question)


# -------------------------------------------------------------------------------------------------------- what is shown


def _show_joining(call: Invocation, plan: FleetJoinPlan) -> None:
    call.out.table(*joining_table(plan), empty="No host joins.")
    for left in plan.left:
        if not left.problem:
            call.out.say(f"{left.host}: {left.why}")
    if not plan.joining and not plan.unfunded:
        return
    many = len(plan.joining) + len(plan.left) + len(plan.unfunded)
    call.out.pairs(f"All together, {len(plan.joining)} of {many} hosts", joining_rows(plan))


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


def _nothing(call: Invocation, plan: FleetJoinPlan | FleetUpdatePlan, text: str = "") -> int:
    """There is nothing to carry out; why some hosts are left."""
    for caution in plan.cautions:
        call.out.warn(caution)
    call.out.answer({**plan.to_json(), "dry_run": call.dry_run})
    if text:
        call.out.say(text)
    return _code(plan.left)


async def _errand(call: Invocation, hosts: Hosts, errand: Errand, question: str) -> int:
    """What is asked for once; a dry run shows of which hosts."""
    names = [host.name for host in hosts.chosen.hosts]
    many = f"{len(names)} host{'s' * (len(names) != 1)}"
    if call.dry_run:
        call.out.answer({"hosts": list[Json](names), "dry_run": True})
        call.out.say(f"Would ask {many}: {', '.join(names)}.")
        return 0
    call.out.confirm(question.format(many))
    return await _on_hosts(call, hosts, errand.command, _last_word)


def _last_word(answer: HostAnswer) -> str | HostLeft:
    """The last line that it said."""
    lines = answer.said.decode(errors="replace").strip().splitlines()
    return (lines[-1] if lines else "done") if answer.well else HostLeft(answer.host.name, answer.why)


def _status(answer: HostAnswer) -> str | HostLeft:
    seen = host_status(answer)
    return seen if isinstance(seen, HostLeft) else host_line(seen)


async def _on_hosts(
    call: Invocation, hosts: Hosts, command: Sequence[str], read: Callable[[HostAnswer], str | HostLeft]
) -> int:
    """Run the command everywhere, and show what became of it, in the fleet's order."""
    fleet, told = hosts.chosen, dict[str, str | HostLeft]()
    many = len(fleet.hosts)
    with call.out.working(f"Asking {many} hosts") as update:
        async for answer in ask_hosts(fleet, OpenSsh.of(fleet), command):
            told[answer.host.name] = read(answer)
            update(f"{len(told)} of {many} hosts have answered")
    results = {host.name: told[host.name] for host in fleet.hosts}
    document: list[Json] = [
        {"host": name, "well": isinstance(said, str), "said": said if isinstance(said, str) else said.why}
        for name, said in results.items()
    ]
    call.out.listing({"hosts": document}, *hosts_table(results), empty="")
    return _code([said for said in results.values() if isinstance(said, HostLeft)])


def _code(left: Sequence[HostLeft]) -> int:
    return FAILED if any(host.problem for host in left) else 0

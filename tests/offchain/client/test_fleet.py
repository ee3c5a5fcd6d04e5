"""A fleet: its file, what is believed of hosts, and forty of them that join, one run cut off."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from devnet.pool import PoolChain
from devnet.ssh_hosts import Hosts
from leasehold.chain import LocalSigner
from leasehold.client import FleetUnreadable, NoSuchHost, PlanStale
from leasehold.market import StakeNotCovered
from leasehold.provider import (
    AskedTerms,
    Errand,
    Fleet,
    FleetHost,
    FleetJoin,
    FleetJoined,
    FleetUpdate,
    HostAnswer,
    HostJoined,
    HostLeft,
    HostStatus,
    Join,
    OpenSsh,
    ask_hosts,
    host_status,
)

from .conftest import HARDWARE, Opening, described

UNIT = 10**18
MANY = 40


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosts:
    made = Hosts(tmp_path)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    return made


def host(name: str, **more: object) -> FleetHost:
    return replace(FleetHost(name, name, (), sudo=False, asked=AskedTerms("1.5"), gpus=1), **more)  # type: ignore[arg-type]


def key_of(number: int) -> LocalSigner:
    return LocalSigner(f"0x{number + 4_096:064x}")


# ---------------------------------------------------------------------------------------------------------- the file


def test_what_stands_at_the_top_is_every_hosts(tmp_path: Path) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text(
        """
        price = 1.2
        sudo = true
        max = "3d"
        at_once = 4
        ssh_config = "ssh_config"
        [hosts.gpu01]
        ssh = "ssh://ops@[2001:db8::1]:2222"
        labels = ["rack-1", "old"]
        [hosts.gpu02]
        price = "0.90"
        sudo = false
        smallest_share = 4
        """
    )
    fleet = Fleet.load(file)
    assert fleet == Fleet(
        (
            FleetHost(
                *("gpu01", "ssh://ops@[2001:db8::1]:2222", ("rack-1", "old")),
                sudo=True,
                asked=AskedTerms(Decimal("1.2"), longest=259_200),
            ),
            FleetHost(
                *("gpu02", "gpu02", ()),
                sudo=False,
                asked=AskedTerms(Decimal("0.90"), longest=259_200),
                smallest_share=4,
            ),
        ),
        at_once=4,
        ssh_config=tmp_path / "ssh_config",
    )
    assert [host.name for host in fleet.only(["old"]).hosts] == ["gpu01"]
    assert fleet.only([]) is fleet
    with pytest.raises(NoSuchHost, match="`gpu03`"):
        fleet.only(["old", "gpu03"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "hosts"),
        ("hosts = {}", "hosts"),
        ("[hosts.gpu01]\nprize = 1", r"prize: there is no such field"),
        ('[hosts."../../etc/x"]', r"hosts"),
        ('[hosts.a]\nssh = "-oProxyCommand=touch /tmp/x"', r"hosts\.a\.ssh"),
        ('[hosts.a]\nssh = "a; reboot"', r"hosts\.a\.ssh"),
        ('[hosts.a]\nssh = "a\\nb"', r"hosts\.a\.ssh"),
        ('max = "3 weeks"\n[hosts.a]', "max: '3 weeks' is not a duration"),
        ('price = "cheap"\n[hosts.a]', "price: it should be a valid decimal"),
        ("hosts = [", r"fleet\.toml"),
        ("\n".join(f"[hosts.h{number}]" for number in range(1_001)), "hosts"),
    ],
)
def test_a_file_of_another_form_is_refused(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "fleet.toml").write_text(text)
    with pytest.raises(FleetUnreadable, match=says):
        Fleet.load(tmp_path / "fleet.toml")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FleetUnreadable, match="No such file"):
        Fleet.load(tmp_path / "none.toml")


# ------------------------------------------------------------------------------------------------------- the hosts


async def test_a_host_gets_the_command_and_nothing_of_the_caller(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`SendEnv LEASEHOLD_*`, in somebody's configuration, would carry the wallet's password to each host."""
    monkeypatch.setenv("LEASEHOLD_PASSWORD", "correct horse")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    hosts.answer("gpu01", 'printf "%s" "$1"')
    answer = await OpenSsh().run(
        host("gpu01", sudo=True), ("leasehold-agent", "describe", "--owner", "0x; rm")
    )
    assert answer.well
    assert answer.said.decode() == "sudo --non-interactive leasehold-agent describe --owner '0x; rm'"
    seen = hosts.saw("gpu01")
    assert "LEASEHOLD_PASSWORD" not in seen
    assert seen["SSH_AUTH_SOCK"] == "/run/agent", "ssh itself may ask it"
    (called,) = hosts.asked("gpu01")
    words = called.split()
    assert {"-a", "-x", "-T", "BatchMode=yes", "ClearAllForwardings=yes", "--"} <= set(words)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exec sleep 600", "it did not answer within 0.5 s"),
        ("sleep 600 & sleep 600", "it did not answer within 0.5 s"),
        ("yes", "it said more than 2 MiB"),
        ("yes >&2; exit 3", "it did not answer within 0.5 s"),
        ("exit 255", "ssh could not reach it"),
        ("echo 'Permission denied (publickey).' >&2; exit 255", "Permission denied (publickey)."),
        ("echo first >&2; printf '\\033[2Jall is \\342\\200\\256well\\n' >&2; exit 2",
         "exit code 2: \ufffd[2Jall is \ufffdwell"),
        ("echo out; exit 7", "exit code 7: out"),
    ],
)  # fmt: skip
async def test_a_host_that_does_not_answer_well(script: str, why: str, hosts: Hosts) -> None:
    hosts.answer("gpu01", script)
    seconds = 0.5 if "0.5" in why else 600
    answer = await OpenSsh(seconds).run(host("gpu01"), ("leasehold-agent", "status"))
    assert not answer.well
    assert (answer.said == b"" or answer.code is not None, answer.why) == (True, why)


async def test_without_ssh_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    answer = await OpenSsh().run(host("gpu01"), ("true",))
    assert (answer.code, answer.why) == (None, "ssh cannot be started: No such file or directory")


class Counting:
    """Hosts that wait for one another, so that it shows how many are asked at once."""

    def __init__(self) -> None:
        self.running = self.most = 0

    async def run(self, host: FleetHost, command: Sequence[str]) -> HostAnswer:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        return HostAnswer(host, 0)


async def test_so_many_are_asked_at_once_and_no_more() -> None:
    shells = Counting()
    fleet = Fleet(tuple(host(f"h{number}") for number in range(MANY)), at_once=8)
    assert len([answer async for answer in ask_hosts(fleet, shells, Errand.DRAIN.command)]) == MANY
    assert shells.most == 8


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (b'{"at": 5, "machines": [{"machine": 7}], "leases": [{"lease": "12", "phase": "running"}], "more": {}}',
         HostStatus.model_validate(
             {"at": 5, "machines": [{"machine": 7}], "leases": [{"lease": "12", "phase": "running"}]})),
        (b"", HostLeft("a", "its status: Invalid JSON: EOF while parsing a value at line 1 column 0")),
        (b"[" * 5_000, None),
        (json.dumps({"at": 1, "machines": [{"machine": 1}] * 65}).encode(), None),
        (json.dumps({"at": 1, "leases": [{"lease": "1" * 65, "phase": "x"}]}).encode(), None),
    ],
)  # fmt: skip
def test_a_status_is_read_as_a_strangers(said: bytes, found: HostStatus | HostLeft | None) -> None:
    read = host_status(HostAnswer(host("a"), 0, said))
    assert read == found if found is not None else isinstance(read, HostLeft)


# ------------------------------------------------------------------------------------------------------------- joining


@pytest.fixture
async def farm(chain: PoolChain, hosts: Hosts, tmp_path: Path, request: pytest.FixtureRequest) -> Fleet:
    """So many hosts of account 2's, with a key each: eight, or as many as the test asks for."""
    many = getattr(request, "param", 8)
    for number in range(many):
        file = await described(chain, tmp_path / f"h{number:02}.json", operator=key_of(number))
        hosts.describes(f"h{number:02}", file)
    return Fleet(tuple(host(f"h{number:02}") for number in range(many)))


@pytest.mark.parametrize("farm", [12, pytest.param(MANY, marks=pytest.mark.slow)], indirect=True)
async def test_many_hosts_join_and_a_run_that_is_cut_off_goes_on(
    chain: PoolChain, opened: Opening, farm: Fleet, hosts: Hosts
) -> None:
    many = len(farm.hosts)
    hosts.answer("h07", "exit 255")
    shells, pool = OpenSsh(), await opened(2)
    plan = await pool.plan(FleetJoin(farm, shells))
    assert plan.payment is not None
    assert (len(plan.joining), plan.payment.amount) == (many - 1, (many - 1) * 100 * UNIT)
    assert plan.cautions == ("h07: ssh could not reach it",)
    assert await pool.pool.machine_count() == 0, "nothing has been sent"
    steps, seen = pool.steps(plan, approve=True), 0
    async for step in steps:
        seen += isinstance(step, HostJoined)
        if seen == 5:
            break
    await steps.aclose()
    # It died between the stake of the last and the gas of its agent.
    chain.anvil.request("anvil_setBalance", key_of(4).address, "0x0")

    hosts.describes("h07", Path(hosts.environment["SSH_STAND_IN"]).parent / "h07.json")
    pool = await opened(2)
    again = await pool.plan(FleetJoin(farm, shells))
    assert [part.name for part in again.unfunded] == ["h04"]
    assert len(again.joining) == many - 5
    assert [left.why for left in again.left] == [f"it is machine {number} already" for number in range(1, 5)]
    assert again.cautions == ()
    done = await pool.carry_out(again, approve=True)
    assert isinstance(done, FleetJoined)
    assert len(done.joined) == many - 4
    assert await pool.pool.machine_count() == many
    machines = [await pool.pool.machine_of(number) for number in range(1, many + 1)]
    assert {machine.operator for machine in machines} == {key_of(number).address for number in range(many)}
    assert sum(machine.stake for machine in machines) == many * 100 * UNIT
    for number in range(many):
        assert await pool.rpc.balance(key_of(number).address) > 0
    nothing = await pool.plan(FleetJoin(farm, shells))
    assert (nothing.joining, nothing.unfunded, nothing.payment) == ((), (), None)


async def test_what_hosts_may_lie_about(
    chain: PoolChain, opened: Opening, hosts: Hosts, tmp_path: Path
) -> None:
    """A copy of another's word, a word for another owner, no such word at all, cards that are not there."""
    honest = await described(chain, tmp_path / "honest.json", operator=key_of(0))
    for name in ("a", "b"):
        hosts.describes(name, honest)
    hosts.describes("c", await described(chain, tmp_path / "c.json", provider=4, operator=key_of(1)))
    hosts.answer("d", "echo '{\"operator\": 1}'")
    boasts = json.loads((await described(chain, tmp_path / "e.json", operator=key_of(2))).read_text())
    boasts["suggested"]["gpus"] = 8
    (tmp_path / "e.json").write_text(json.dumps(boasts))
    hosts.describes("e", tmp_path / "e.json")
    hosts.describes("f", tmp_path / "e.json")
    (tmp_path / "f.json").write_text((tmp_path / "e.json").read_text())
    fleet = Fleet(tuple(host(name) for name in "abcde"))
    pool = await opened(2)
    plan = await pool.plan(FleetJoin(fleet, OpenSsh()))
    why = {left.host: left.why for left in plan.left}
    assert why["a"] == f"it shows the operator's key {key_of(0).address}, and so does b"
    assert why["b"].endswith("and so does a")
    assert "serves" in why["c"]
    assert "what d describes" in why["d"]
    (part,) = plan.joining
    assert (part.name, part.plan.quote.gpus) == ("e", 1), "the file says how many, not the host"
    boasted = await pool.plan(FleetJoin(Fleet((host("e", gpus=None),)), OpenSsh()))
    assert boasted.payment is not None
    assert boasted.payment.amount == 800 * UNIT, "what it makes its owner stake stands in the plan"


async def test_a_fleet_that_the_account_cannot_stake_is_refused_whole(
    chain: PoolChain, opened: Opening, farm: Fleet
) -> None:
    """One host after another could be paid for, and all together not."""
    pool = await opened(2)
    await pool.token.transfer(chain.address(9), await pool.token.balance(chain.address(2)) - 300 * UNIT)
    with pytest.raises(StakeNotCovered):
        await pool.plan(FleetJoin(farm, OpenSsh()))


async def test_no_more_is_taken_than_was_agreed_to(
    chain: PoolChain, opened: Opening, farm: Fleet, hosts: Hosts
) -> None:
    """The ledger was to pay for one of two; its money goes elsewhere while the first joins."""
    pool, two = await opened(2), Fleet(farm.hosts[:2])
    await pool.token.approve(chain.deployment.controller, 10_000 * UNIT)
    await pool.pool.deposit(chain.address(2), 100 * UNIT)
    plan = await pool.plan(FleetJoin(two, OpenSsh()))
    assert plan.payment is not None
    assert plan.payment.pulled == 100 * UNIT
    await pool.pool.withdraw(chain.address(2), 100 * UNIT)
    with pytest.raises(PlanStale):
        await pool.carry_out(plan)
    await pool.pool.deposit(chain.address(2), 200 * UNIT)
    plan = await pool.plan(FleetJoin(two, OpenSsh()))
    assert plan.payment is not None
    assert plan.payment.pulled == 0
    steps = []
    async for step in pool.steps(plan):
        steps.append(step)
        if isinstance(step, HostJoined):
            await pool.pool.withdraw(chain.address(2), await pool.pool.balance_of(chain.address(2)))
    assert [type(step) for step in steps] == [HostJoined, HostLeft, FleetJoined]
    assert isinstance(steps[1], HostLeft)
    assert "Things have changed" in steps[1].why


# ------------------------------------------------------------------------------------------------------------ updating


@pytest.mark.slow
async def test_what_has_changed_is_published_and_the_file_says_the_terms(
    chain: PoolChain, opened: Opening, farm: Fleet, hosts: Hosts, tmp_path: Path
) -> None:
    few, pool = Fleet(farm.hosts[:3]), await opened(2)
    await pool.carry_out(FleetJoin(few, OpenSsh()), approve=True)
    same = await pool.plan(FleetUpdate(farm.only(["h00", "h01", "h02", "h03"]), OpenSsh()))
    assert same.changing == ()
    (unknown,) = same.cautions
    assert unknown.startswith("h03: which machine it is is not known here")
    assert hosts.asked("h03") == []
    assert hosts.asked("h01")[-1].endswith(f"describe --owner {chain.address(2)} --machine 2")
    changed = json.loads((tmp_path / "h01.json").read_text())
    changed["hardware"] = {**HARDWARE, "driver": "580.1"}
    (tmp_path / "h01.json").write_text(json.dumps(changed))
    dearer = Fleet((few.hosts[0], few.hosts[1], replace(few.hosts[2], asked=AskedTerms("2"))))
    plan = await pool.plan(FleetUpdate(dearer, OpenSsh()))
    assert [(part.name, part.changes) for part in plan.changing] == [
        ("h01", ("hardware",)),
        ("h02", ("terms",)),
    ]
    assert plan.cautions == ("h01: machine 2 will be unverified until a committee has measured it.",)
    done = await pool.carry_out(plan)
    assert [host.host for host in done.updated] == ["h01", "h02"]
    assert (await pool.pool.machine_of(3)).terms.price == 2 * UNIT
    assert (await pool.plan(FleetUpdate(dearer, OpenSsh()))).changing == ()


async def test_a_host_does_not_describe_anothers_machine(
    chain: PoolChain, opened: Opening, farm: Fleet, hosts: Hosts, tmp_path: Path
) -> None:
    """Operator and consent of h00 are on the chain for everybody; false hardware would cost its owner the stake."""
    two, pool = Fleet(farm.hosts[:2]), await opened(2)
    await pool.carry_out(FleetJoin(two, OpenSsh()), approve=True)
    forged = json.loads((tmp_path / "h00.json").read_text())
    forged["hardware"] = {**HARDWARE, "memory_bytes": 1}
    (tmp_path / "h01.json").write_text(json.dumps(forged))
    hosts.answer("h00", "exit 255")
    plan = await pool.plan(FleetUpdate(two, OpenSsh()))
    assert plan.changing == ()
    assert [left.host for left in plan.left if left.problem] == ["h00", "h01"]
    assert f"describes a machine of the operator {key_of(0).address}" in plan.left[1].why
    hosts.describes("h02", tmp_path / "h01.json")
    again = await pool.plan(FleetJoin(Fleet(farm.hosts[:3]), OpenSsh()))
    assert [left.why for left in again.left] == [
        "it is machine 1 already",
        "it is machine 2 already",
        f"it shows the operator's key {key_of(0).address}, and h00 joined with that",
    ]


async def test_a_host_that_joined_by_itself_is_named_in_the_file(
    chain: PoolChain, opened: Opening, farm: Fleet, hosts: Hosts, tmp_path: Path
) -> None:
    pool = await opened(2)
    await pool.carry_out(Join(tmp_path / "h00.json", AskedTerms("1")), approve=True)
    named = Fleet((replace(farm.hosts[0], machine=1, asked=AskedTerms("2")),))
    plan = await pool.plan(FleetUpdate(named, OpenSsh()))
    assert [part.changes for part in plan.changing] == [("terms",)]
    joining = await pool.plan(FleetJoin(named, OpenSsh()))
    assert (joining.joining, joining.left[0].why) == ((), "it is machine 1 already")
    elsewhere = Fleet((replace(farm.hosts[1], machine=9),))
    assert (await pool.plan(FleetUpdate(elsewhere, OpenSsh()))).changing == ()

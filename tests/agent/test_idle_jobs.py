"""The owner's job on cards that nobody leases: what it may be, where it is, and that no lease ever meets it. In
containers it is tried in `test_gpu_leases.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from leasehold.errors import SettingsError
from leasehold.workload import Workload
from leasehold_agent._errors import EngineDown
from leasehold_agent.cards import CardBusy, Devices, cells_of
from leasehold_agent.cli._status import _show_idle
from leasehold_agent.engine import ContainerFacts, ContainerSpec
from leasehold_agent.host import Ailment
from leasehold_agent.idling import IdleJobs, _idle_jobs, load_job
from leasehold_agent.idling._job import _KNOWN
from leasehold_agent.idling._plan import IdleContainer, IdlePlan, plan
from leasehold_agent.reconciling import Host

from .test_cards import CARDS, HASHES, HOST, Site, document

IMAGE = "sha256:" + "ab" * 32
PLAIN = f'version = 1\nimage = "{IMAGE}"\ncommand = ["work"]\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    written = tmp_path / "idle.toml"
    written.write_text(PLAIN)
    return written


class TestFile:
    def test_another_one_has_another_mark(self, file: Path) -> None:
        before = load_job(file).mark
        assert load_job(file).mark == before
        file.write_text(PLAIN.replace("work", "play"))
        assert load_job(file).mark != before

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("ports = [{ container = 80 }]\n", "take ports out"),
            ('outputs = [{ path = "/out" }]\n', "take outputs out"),
            ('secrets = { token = "hush" }\n', "take secrets out"),
            ('share = "mig"\n', "take share out"),
            ('restart = "always"\ngrace = 600\n', "take grace, restart out"),
            ("nonsense = 1\n", "cannot be used"),
        ],
    )
    def test_what_only_a_lease_has_is_refused(self, file: Path, text: str, says: str) -> None:
        file.write_text(PLAIN + text)
        with pytest.raises(SettingsError, match=says):
            load_job(file)

    def test_what_is_new_to_workloads_is_none_of_it(self) -> None:
        """Until somebody has thought of what it means here."""
        assert Workload.model_fields.keys() >= _KNOWN
        lease_only = {"volumes", "datasets", "outputs", "ports", "ssh_keys", "tenant"}
        assert lease_only & Workload.model_fields.keys()
        assert not lease_only & _KNOWN

    def test_no_file_is_said_and_no_end_of_the_agent(self, tmp_path: Path) -> None:
        jobs = IdleJobs.of(cast(Host, None), "0xAA", tmp_path / "none.toml")
        assert jobs.job is None
        (line,) = jobs.shown()
        assert line["state"] == "refused"
        assert "none.toml" in str(line["problem"])


class TestPlan:
    def test_a_card_that_nobody_has(self) -> None:
        assert plan({"a", "b"}, {"a": IdleContainer("m", True)}, "m") == IdlePlan(begin=frozenset({"b"}))

    @pytest.mark.parametrize(
        ("free", "found", "mark"),
        [
            (set(), IdleContainer("m", True), "m"),  # somebody has it
            ({"a"}, IdleContainer("old", True), "m"),  # it is another job
            ({"a"}, IdleContainer("m", False), "m"),  # it has ended
            ({"a"}, IdleContainer("m", True), None),  # none is wanted any more
        ],
    )
    def test_what_goes_first(self, free: set[str], found: IdleContainer, mark: str | None) -> None:
        assert plan(free, {"a": found}, mark) == IdlePlan(leave=frozenset({"a"}))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    made.join(1, document(*CARDS[:3]), 3)
    return made


class TestFreeCards:
    def free(self, site: Site) -> set[int]:
        return {HASHES.index(card) for card in site.facts.free_cards(site.chain)}

    def test_those_of_machines_alone(self, site: Site) -> None:
        assert self.free(site) == {0, 1, 2}
        site.retire(1)
        assert self.free(site) == set()

    @pytest.mark.parametrize("word", ["leased", "withheld"])
    def test_not_where_a_cell_is_taken_by_the_chain(self, site: Site, word: str) -> None:
        site.machines[1] = replace(site.machines[1], **{word: 0x0100})
        assert self.free(site) == {0, 2}

    def test_not_before_the_chains_word_is_heard(self, site: Site) -> None:
        """A lease that was sold by an older document has its card all the same."""
        site.lease(1, 1, 0x01FF)
        site.join(1, document(CARDS[3], *CARDS[:2]), 3)
        assert self.free(site) == {1, 3}

    def test_not_what_is_ill_lost_or_cut(self, site: Site) -> None:
        site.facts.ill = {HASHES[0]: Ailment("heat", "95 °C")}
        site.lose(CARDS[1])
        assert self.free(site) == {2}
        site.facts.inventory = replace(HOST, gpus=tuple(replace(card, mig=True) for card in CARDS))
        assert self.free(site) == set()

    def test_another_machine_that_names_the_card_counts(self, site: Site) -> None:
        site.join(2, document(CARDS[2], CARDS[3]), 2)
        site.machines[2] = replace(site.machines[2], leased=0x0001)
        assert self.free(site) == {0, 1, 3}

    @pytest.mark.slow
    def test_none_is_ever_a_lease_s(self, site: Site) -> None:
        """Over thousands of hosts, leases and holdings at random."""
        dice = random.Random(216)
        for number in range(3_000):
            site.leases.clear()
            for lease in range(dice.randrange(4)):
                site.lease(lease, 1, 1 << 8 + dice.randrange(3) | dice.choice([0x01, 0x0F, 0xFF]))
            site.machines[1] = replace(site.machines[1], withheld=dice.getrandbits(24) & dice.getrandbits(24))
            given = site.facts.allocation(site.chain).given.values()
            theirs = {part.card for share in given for part in share.parts}
            assert not theirs & site.facts.free_cards(site.chain), number

    def test_its_share_is_a_leases_of_that_card(self, site: Site) -> None:
        theirs = site.lease(1, 1, 0x02FF)
        assert site.facts.share_of_card(HASHES[1], site.chain) == theirs
        assert [gpu for gpu, _ in cells_of(0x02FF)] == [1]


@dataclass
class Docker:
    """As much of an engine as a job needs, in memory. `starting` holds a start until it is set; `undying` containers
    survive SIGKILL.
    """

    states: dict[str, str] = field(default_factory=dict)
    specs: dict[str, ContainerSpec] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    starting: asyncio.Event = field(default_factory=asyncio.Event)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    undying: bool = False
    away: bool = False

    def _facts(self, name: str) -> ContainerFacts:
        return ContainerFacts(name, name, self.specs[name].labels, self.states[name], 0, 1, None, ())

    async def containers(self, label: str) -> list[ContainerFacts]:
        if self.away:
            raise EngineDown("away")
        return [self._facts(name) for name in self.states]

    async def inspect(self, name: str) -> ContainerFacts | None:
        return self._facts(name) if name in self.states else None

    async def create(self, spec: ContainerSpec) -> None:
        self.specs[spec.name] = spec
        self.states.setdefault(spec.name, "created")

    async def start(self, name: str) -> None:
        self.begun.set()
        await self.starting.wait()
        self.states[name] = "running"
        self.log.append("start")

    async def kill(self, name: str) -> None:
        self.log.append("kill")
        if self.states.get(name) == "running" and not self.undying:
            self.states[name] = "exited"

    async def remove(self, name: str) -> None:
        self.states.pop(name, None)

    async def ensure_network(self, *_: object) -> None: ...

    async def remove_network(self, *_: object) -> None: ...


@dataclass
class Room:
    """A host with one card and a job for it."""

    jobs: IdleJobs
    docker: Docker
    host: Any
    site: Site

    async def settled(self) -> None:
        await asyncio.gather(*self.jobs._tasks.values(), return_exceptions=True)

    def open(self) -> None:
        """Somebody leases the card."""
        self.site.lease(1, 1, 0x01FF)
        self.host.snapshot = self.site.chain


@pytest.fixture
async def room(tmp_path: Path, file: Path) -> AsyncIterator[Room]:
    @contextlib.asynccontextmanager
    async def held() -> AsyncIterator[None]:
        yield

    async def same(_: str, image: str, *__: object) -> str:
        return image

    async def nothing() -> None: ...

    async def ensure(image: str, *_: object) -> str:
        return image

    site = Site(tmp_path)
    site.facts.settings = site.facts.settings.model_copy(update={"state_dir": tmp_path})
    site.facts.inventory = replace(HOST, gpus=CARDS[:1])
    site.join(1, document(CARDS[0]), 1)
    docker = Docker()
    host = SimpleNamespace(
        facts=site.facts,
        snapshot=site.chain,
        estranged=None,
        clock=lambda: 0.0,
        containers=SimpleNamespace(engine=docker, limits=SimpleNamespace(held=held)),
        supplies=SimpleNamespace(images=SimpleNamespace(ensure=ensure, without_volumes=same)),
        devices=Devices(processes=lambda _: ()),
        guard=nothing,
    )
    jobs = IdleJobs.of(cast(Host, host), "0xAA", file)
    made = Room(jobs, docker, host, site)
    yield made
    docker.starting.set()
    await jobs.aclose()


class TestRuns:
    async def test_a_lease_that_comes_while_it_starts_finds_it_dead(self, room: Room) -> None:
        await room.jobs.look(set())
        await room.docker.begun.wait()
        room.open()
        leaving = asyncio.create_task(room.jobs.leave([CARDS[0].uuid]))
        await asyncio.sleep(0)
        room.docker.starting.set()
        await leaving
        assert room.docker.log == ["start", "kill"]
        assert list(room.docker.states.values()) == ["exited"]

    async def test_a_lease_that_comes_before_it_starts_has_it_never_start(self, room: Room) -> None:
        room.docker.starting.set()
        await room.jobs.look(set())
        room.open()
        await room.jobs.leave([CARDS[0].uuid])
        await room.settled()
        assert "start" not in room.docker.log
        await room.jobs.look(set())
        await room.settled()
        assert room.docker.states == {}

    async def test_a_lease_that_comes_has_the_line_for_its_own_image(self, room: Room) -> None:
        fetching = asyncio.Event()

        async def slowly(*_: object) -> str:
            fetching.set()
            await asyncio.Event().wait()
            return IMAGE

        room.host.supplies.images.ensure = slowly
        await room.jobs.look(set())
        await fetching.wait()
        room.open()
        await room.jobs.leave([CARDS[0].uuid])
        (task,) = room.jobs._tasks.values()
        await asyncio.wait([task])
        assert task.cancelled()
        await room.jobs.look(set())
        assert room.docker.states == {}

    async def test_one_that_does_not_die_keeps_the_card_from_the_lease(self, room: Room) -> None:
        room.docker.starting.set()
        await room.jobs.look(set())
        await room.settled()
        room.docker.undying = True
        with pytest.raises(CardBusy):
            await room.jobs.leave([CARDS[0].uuid])

    async def test_an_engine_that_hangs_holds_nobody_for_long(
        self, room: Room, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        room.docker.starting.set()
        await room.jobs.look(set())
        await room.settled()
        monkeypatch.setattr(room.docker, "kill", lambda _: asyncio.Event().wait())
        monkeypatch.setattr(_idle_jobs, "_ENDS_SECONDS", 0)
        with pytest.raises(CardBusy):
            await room.jobs.leave([CARDS[0].uuid])

    async def test_a_container_of_a_lease_that_is_over_still_has_its_card(self, room: Room) -> None:
        await room.jobs.look({CARDS[0].uuid})
        assert room.jobs._tasks == {}

    async def test_not_while_the_owner_computes_himself(self, room: Room) -> None:
        room.host.devices.processes = lambda _: (4_711,)
        await room.jobs.look(set())
        await room.settled()
        (line,) = room.jobs.shown()
        assert (line["state"], room.docker.states) == ("waiting", {})
        assert "computes on the card" in str(line["problem"])

    async def test_a_driver_that_does_not_answer_is_waited_for(self, room: Room) -> None:
        def silent(_: str) -> tuple[int, ...]:
            raise OSError("the card does not answer")

        room.host.devices.processes = silent
        await room.jobs.look(set())
        await room.settled()
        (line,) = room.jobs.shown()
        assert (line["state"], line["problem"]) == ("waiting", "the card does not answer")

    async def test_one_that_ends_begins_anew_after_a_pause(self, room: Room) -> None:
        room.docker.starting.set()
        await room.jobs.look(set())
        await room.settled()
        room.docker.states = dict.fromkeys(room.docker.states, "exited")
        for _ in range(2):
            await room.jobs.look(set())
            await room.settled()
        assert room.docker.states == {}, "not at once"
        room.host.clock = lambda: 60.0
        await room.jobs.look(set())
        await room.settled()
        assert list(room.docker.states.values()) == ["running"]

    async def test_without_news_of_the_chain_or_the_engine_nothing_changes(self, room: Room) -> None:
        room.docker.starting.set()
        await room.jobs.look(set())
        await room.settled()
        room.host.snapshot = replace(room.site.chain, current=False, machines={})
        await room.jobs.look(set())
        room.docker.away = True
        room.host.snapshot = replace(room.site.chain, machines={})
        await room.jobs.look(set())
        await room.settled()
        assert list(room.docker.states.values()) == ["running"]

    async def test_a_copy_of_a_host_runs_none(self, room: Room) -> None:
        room.host.estranged = "a copy"
        await room.jobs.look(set())
        assert room.jobs._tasks == {}

    async def test_where_there_is_no_job_nobody_is_asked(self, room: Room) -> None:
        idle = IdleJobs.of(cast(Host, room.host), "0xAA", None)
        await idle.look(set())
        room.docker.away = True
        await idle.look(set())
        await idle.leave([CARDS[0].uuid])
        assert room.docker.log == []
        assert (idle.shown(), idle.policies()) == ([], [])


def test_status_says_where_it_is_and_why_not() -> None:
    console = Console(record=True, width=200)
    lines = [
        {"model": "A card", "pci": "0000:10:00.0", "state": "running", "problem": None},
        {"model": None, "pci": None, "state": "refused", "problem": "idle_job: [no] file"},
    ]
    _show_idle(console, lines)
    said = console.export_text().splitlines()
    assert said == ["Idle job on A card at 0000:10:00.0: running", "Idle job: refused: idle_job: [no] file"]

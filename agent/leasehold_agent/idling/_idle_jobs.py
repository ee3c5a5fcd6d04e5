"""The owner's job on each card that nobody leases, in a container of its own with the fences of a tenant's.

A lease that needs the card finds it free: the job is killed in the look that first sees the lease, without grace, and
once more, by its name, right before the card is given. No job is started on a card between that and the next look: who
starts one holds the card's turn, and so does who ends it. A container goes by operator and card, so that an agent that
begins again finds it instead of making a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
import shutil
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from leasehold.errors import AgentError, LeaseholdError, SettingsError
from leasehold_agent._backoff import Backoff
from leasehold_agent._errors import EngineRefused
from leasehold_agent.cards import WHOLE, CardBusy
from leasehold_agent.engine import Claimant, ContainerFacts
from leasehold_agent.host import BRIDGE_PREFIX, DISK_TROUBLE, Card, LeasePolicy
from leasehold_agent.idling._job import IdleJob, load_job
from leasehold_agent.idling._plan import IdleContainer, plan
from leasehold_agent.reconciling import NO_LEASE, Called, Host, check_fits, fenced_spec, policy_of
from leasehold_agent.store import write_etc

_log = structlog.get_logger("leasehold_agent")
OPERATOR_LABEL, CARD_LABEL, JOB_LABEL = "leasehold.idle", "leasehold.idle.card", "leasehold.idle.job"
_ENDS_SECONDS = 15.0
"""For which the end of a job is waited for: longer than the engine itself waits for what it has killed."""
_HEALTHY_SECONDS = 60
_PLACEMENT = 1 << 8 | WHOLE


@dataclass
class IdleJobs:
    """The jobs of this agent. operator: by whose address its containers are known. job: None ends what is there.
    refused: why the owner's file is no job.
    """

    host: Host
    operator: str
    job: IdleJob | None
    refused: str | None = None
    _looked: bool = False
    _here: dict[str, ContainerFacts] = field(default_factory=dict)
    _wanted: set[str] = field(default_factory=set)
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _troubles: dict[str, str] = field(default_factory=dict)
    _pauses: defaultdict[str, Backoff] = field(default_factory=lambda: defaultdict(Backoff))
    _turns: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    @classmethod
    def of(cls, host: Host, operator: str, file: Path | None) -> IdleJobs:
        """With the job of a file. One that cannot be used is said, and nothing runs: leases are served all the same."""
        try:
            return cls(host, operator, load_job(file) if file is not None else None)
        except SettingsError as error:
            _log.error("idle job", problem=str(error))
            return cls(host, operator, None, str(error))

    # ------------------------------------------------------------------------------------------ looking

    async def look(self, held: Collection[str]) -> None:
        """Begin what follows from the chain as it was last seen; without news of it, what runs runs on."""
        host = self.host
        if self.job is None and self._looked and not self._here:
            return
        try:
            containers = await host.containers.engine.containers(f"{OPERATOR_LABEL}={self.operator.lower()}")
        except AgentError:  # the loop has said so, or will in a moment
            return
        self._here = {c.labels[CARD_LABEL]: c for c in containers if CARD_LABEL in c.labels}
        self._looked = True
        if not host.snapshot.current:
            return
        free = set() if host.estranged is not None else self._free(held)
        here = {card: IdleContainer(c.labels.get(JOB_LABEL, ""), c.running) for card, c in self._here.items()}
        decided = plan(free, here, self.job.mark if self.job is not None else None)
        self._wanted = free if self.job is not None else set()
        for card in decided.leave:
            self._begin(card, self._end)
        for card in decided.begin:
            if host.clock() >= self._pauses[card].until:
                self._begin(card, self._run)

    def _free(self, held: Collection[str]) -> set[str]:
        """Cards that nobody has, where the disk has room for more than leases."""
        if self.host.facts.room(self.host.facts.settings.disk_reserve):
            return set()
        theirs = {card.uuid_hash for card in self.host.facts.inventory.gpus if card.uuid in held}
        return self.host.facts.free_cards(self.host.snapshot) - theirs

    def _begin(self, card: str, work: Callable[[str], Awaitable[None]]) -> None:
        """One thing at a time for each card."""
        if (task := self._tasks.get(card)) is None or task.done():
            self._tasks[card] = asyncio.create_task(self._tried(card, work))

    async def _tried(self, card: str, work: Callable[[str], Awaitable[None]]) -> None:
        try:
            await work(card)
        except (LeaseholdError, *DISK_TROUBLE) as error:
            self._pauses[card].failed(self.host.clock())
            if self._troubles.get(card) != str(error):
                _log.warning("idle job", card=card[:8], problem=str(error))
            self._troubles[card] = str(error)
        except Exception:  # noqa: BLE001 - the owner's own job is no reason for an agent to end
            self._pauses[card].failed(self.host.clock())
            _log.exception("idle job", card=card[:8])

    # ------------------------------------------------------------------------------------------ beginning

    async def _run(self, card: str) -> None:
        """The job on a card that nobody has; given up where somebody gets it meanwhile."""
        host, job, here = self.host, self.job, self._card(card)
        if job is None or here is None:
            return
        workload, facts = job.workload, host.facts
        share = facts.share_of_card(card, host.snapshot)
        check_fits(workload, _PLACEMENT, share, facts.engine, facts.settings)
        await host.devices.free(here.uuid, watched=share.watched)
        image = await self._image(job)
        called = self._called(card, job)
        spec = fenced_spec(
            workload,
            called,
            image=image,
            share=share,
            devices=[here.uuid],
            facts=facts.engine,
            mounts=[],
            ports={},
            settings=facts.settings,
        )
        mounts = write_etc(self._folder(card), spec.hostname, spec.dns)
        spec = dataclasses.replace(spec, mounts=mounts, devices=facts.inventory.devices_of([here.uuid]))
        engine = host.containers.engine
        await engine.ensure_network(called.network, self._bridge(card), self._labels(card))
        async with host.containers.limits.held():
            await engine.create(spec)
        await host.guard()
        async with self._turns[card]:
            if card in self._wanted:  # nobody has come for it since the last look
                await engine.start(spec.name)
                self._troubles.pop(card, None)
                _log.info("idle job", card=card[:8], begins=spec.name)

    async def _image(self, job: IdleJob) -> str:
        """Its image, with nothing that would lie beside the container, where no disk limit reaches."""
        images, workload = self.host.supplies.images, job.workload
        claimant = Claimant(self.operator, workload.registry, gives_way=True)
        image = await images.ensure(workload.image, claimant, lambda _: None)
        try:
            return await images.without_volumes(workload.image, image)
        except EngineRefused:
            if self.host.facts.engine.quota:
                raise
            return image

    # ------------------------------------------------------------------------------------------ ending

    async def leave(self, cards: Collection[str]) -> None:
        """What is on these cards (UUIDs) is dead, and nothing begins there before the next look."""
        if self.job is None and not self._here:
            return
        mine = {card.uuid_hash for card in self.host.facts.inventory.gpus if card.uuid in cards}
        self._wanted -= mine
        for card in mine:
            if (task := self._tasks.get(card)) is not None and not self._turns[card].locked():
                task.cancel()  # it fetches an image, say, over the line that the lease's comes by
        await asyncio.gather(*map(self._kill, sorted(mine)))

    async def _kill(self, card: str) -> None:
        """By its name, whatever is known of it. Raises CardBusy where it does not die in time."""
        engine, name = self.host.containers.engine, self._name(card)
        async with self._turns[card]:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_ENDS_SECONDS):
                    if (known := self._here.get(card)) is not None and known.paused:
                        await engine.unpause(name)  # it would not hear of its end
                    await engine.kill(name)
            container = await engine.inspect(name)
        if container is not None and (container.running or container.paused):
            raise CardBusy("The owner's own job does not end.")

    async def _end(self, card: str) -> None:
        """The container goes, and its network. One that ended by itself is not begun anew at once."""
        container, pause = self._here.get(card), self._pauses[card]
        if container is not None and container.exited and card in self._wanted:
            if container.finished_at - container.started_at >= _HEALTHY_SECONDS:
                pause.reset()
            pause.failed(self.host.clock())
            self._troubles[card] = f"It has ended ({container.exit_code}), and begins anew after a pause."
        engine = self.host.containers.engine
        await self._kill(card)
        await engine.remove(self._name(card))
        await engine.remove_network(self._name(card))
        await asyncio.to_thread(shutil.rmtree, self._folder(card), ignore_errors=True)

    async def aclose(self) -> None:
        """The agent ends. What runs goes on, and the next run finds it."""
        tasks = [task for task in self._tasks.values() if not task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # ------------------------------------------------------------------------------------------ naming and showing

    def policies(self) -> Sequence[LeasePolicy]:
        """What its networks may reach: as a tenant's, and nothing where they are of another job."""
        workload = self.job.workload if self.job is not None else None
        return [policy_of(self._bridge(card), workload) for card in sorted(self._wanted | self._here.keys())]

    def shown(self) -> Sequence[Mapping[str, object]]:
        """A line for each card on which it is, or should be."""
        lines = list[Mapping[str, object]]()
        if self.refused is not None:
            lines.append({"model": None, "pci": None, "state": "refused", "problem": self.refused})
        for card in sorted(self._wanted | self._here.keys()):
            known, container = self._card(card), self._here.get(card)
            running = container is not None and container.running
            trouble = None if running else self._troubles.get(card)
            lines.append(
                {
                    "model": known.model if known else None,
                    "pci": known.pci if known else None,
                    "state": container.state if container is not None else "waiting",
                    "problem": trouble,
                }
            )
        return lines

    def _card(self, card: str) -> Card | None:
        return next((known for known in self.host.facts.inventory.gpus if known.uuid_hash == card), None)

    def _called(self, card: str, job: IdleJob) -> Called:
        labels = self._labels(card) | {JOB_LABEL: job.mark}
        return Called(self._name(card), self._name(card), "idle", labels, {})

    def _labels(self, card: str) -> dict[str, str]:
        return NO_LEASE | {OPERATOR_LABEL: self.operator.lower(), CARD_LABEL: card}

    def _folder(self, card: str) -> Path:
        return self.host.facts.settings.state_dir / "idle" / self._mark(card)

    def _mark(self, card: str) -> str:
        return hashlib.sha256(f"idle/{self.operator.lower()}/{card}".encode()).hexdigest()[:12]

    def _name(self, card: str) -> str:
        return f"leasehold-idle-{self._mark(card)}"

    def _bridge(self, card: str) -> str:
        return BRIDGE_PREFIX + self._mark(card)

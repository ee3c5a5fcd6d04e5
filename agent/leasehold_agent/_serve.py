"""`leasehold-agent run`: everything of the agent in one process, put together and taken apart again."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import resource
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog

from leasehold.chain import SCHEMA, Deployment, Indexer, Pool, Rpc, Sender
from leasehold.datasets import Ipfs, Streams
from leasehold.errors import AgentError, ChainError, DatasetError, SettingsError
from leasehold.files import replace_file
from leasehold.market.wire import agent_stream, ssh_stream
from leasehold_agent._config import AgentSettings
from leasehold_agent._errors import AlreadyRunning, EngineDown
from leasehold_agent._runtime import ServeContext
from leasehold_agent.access import ANSWER_SECONDS, Admission, Line, Mounts
from leasehold_agent.api import ApiServer, MetricsPort
from leasehold_agent.cards import HardwareFiles, MemoryGroups, MpsHost
from leasehold_agent.chain import (
    GasState,
    PoolGate,
    Sale,
    Told,
    Withholdings,
    Witnesses,
    authorizer,
    follow,
    owner_of,
)
from leasehold_agent.documents import (
    Introduction,
    concerns,
    contact_document,
    endpoint_document,
    metrics,
    write_status,
)
from leasehold_agent.engine import Engine, EngineFacts, ImageRules, Images
from leasehold_agent.host import (
    DISK_TROUBLE,
    AddressBlocks,
    CardWard,
    DiskLimits,
    DiskReserve,
    Firewall,
    Identity,
    Inventory,
    MountSpace,
    load_identity,
    take_inventory,
)
from leasehold_agent.idling import IdleJobs
from leasehold_agent.reading import Readers
from leasehold_agent.reconciling import (
    CardHealth,
    Carrying,
    Checkpoints,
    Committing,
    Containers,
    DockerRuntime,
    Host,
    HostFacts,
    LeaseBook,
    LostCells,
    Names,
    Reconciler,
    Supplies,
    UsageWatch,
    boot_id,
)
from leasehold_agent.ssh import SshServer
from leasehold_agent.store import (
    HELPER_MOUNT,
    CodeStore,
    DatasetCache,
    History,
    UploadedWorkloads,
    Volumes,
    lend_helper,
    packer,
)

T = TypeVar("T")
_log = structlog.get_logger("leasehold_agent")
_RETRY_SECONDS = 2.0
_GAS_SECONDS = 60.0
_STATUS_SECONDS, _STATUS_TICKS = 10.0, 2.5  # what each lease shows is a fifth of what a look costs
_CARDS_SECONDS = 10.0
_RESTS_PER_CALM = 10
_THREADS = 32
_CARRYING_THREADS = 16
"""Exports, volumes that are filled, and checkpoints: none of them waits for the others' threads."""


async def serve(settings: AgentSettings, told: Told | None = None) -> None:
    """Run until cancelled. Leases keep running afterwards, and the next run takes them over. told: what the process
    beside this one hears.

    A node of another chain is waited out like one that does not answer. Raises SettingsError, AlreadyRunning, and
    OSError when a port is taken.
    """
    if settings.deployment is None or not settings.rpc:
        raise SettingsError("Name the pool's deployment file and an RPC address: `deployment` and `rpc`.")
    deployment = Deployment.load(settings.deployment)
    identity = load_identity(settings.state_dir)
    reserve = DiskReserve(settings.state_dir / "reserve")
    reserve.mend()
    most_descriptors()
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, "leasehold"))
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(_only_one(settings.state_dir))
        rpc = await stack.enter_async_context(Rpc(list(settings.rpc)))
        await _patiently("chain", lambda: rpc.check_chain(deployment), ChainError)
        index = Indexer(f"sqlite:///{settings.state_dir / f'index-{SCHEMA}.sqlite'}", deployment)
        stack.push_async_callback(index.aclose)
        await _patiently("disk", index.open, DISK_TROUBLE, reserve.mend)
        ipfs = await stack.enter_async_context(Ipfs(settings.ipfs))
        sender = Sender(rpc, identity.operator).prepared()
        stack.push_async_callback(sender.aclose)
        pool = Pool(rpc, deployment, sender)
        owner = owner_of(settings)
        witnesses = await stack.enter_async_context(Witnesses.of(settings.rpc, deployment))
        gate = PoolGate(rpc, pool, index, identity.operator.address, owner, witnesses=witnesses)
        host = await make_host(stack, settings, identity, deployment, gate, ipfs)
        # Before anybody can ask: without it, a restarted agent would refuse the tenants of its own machines.
        host.snapshot = await gate.snapshot(set(host.leases.folders()))
        reconciler = Reconciler(host, told or Told())
        kept = Withholdings.of(settings.state_dir, deployment)
        introduction = introduction_of(host, identity)
        await _patiently("engine", introduction.open, (EngineDown, *DISK_TROUBLE))
        history = History(settings.state_dir / "history.sqlite")
        stack.callback(history.close)
        usage = UsageWatch(reconciler, history=history)
        await _servers(stack, host, reconciler, identity, deployment, rpc, introduction, usage)
        _log.info(
            "serving", operator=identity.operator.address, owner=owner, controller=deployment.controller
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(follow(rpc, settings.ws, deployment, index, reconciler.wake))
            tasks.create_task(reconciler.run())
            tasks.create_task(_watch(host, reconciler, gate, reserve))
            lost, noted = LostCells(kept, host.clock, settings.card_rest), asyncio.Event()
            changed, ward = _both(noted.set, reconciler.wake), CardWard(settings.card_rest / _RESTS_PER_CALM)
            health = CardHealth(host, lost, card_thread(stack), changed, health=ward)
            tasks.create_task(health.run())
            tasks.create_task(watch_cards(host, lost, reconciler.wake, lambda: health.watch.hangs))
            tasks.create_task(keep_parts(host, lambda: health.watch.hangs))
            tasks.create_task(_introduce(host, introduction))
            tasks.create_task(_sell(host, Sale(gate, kept, settings, host.clock), noted))
            tasks.create_task(usage.run())
            if settings.metrics_port is not None:
                await show_metrics(stack, usage, settings.metrics_port)


async def make_host(
    stack: contextlib.AsyncExitStack,
    settings: AgentSettings,
    identity: Identity,
    deployment: Deployment,
    gate: PoolGate,
    ipfs: Ipfs,
) -> Host:
    """This host with all its parts; what they hold open is closed with `stack`."""
    engine = Engine(settings.docker, AddressBlocks(settings.lease_networks, settings.engine_netns))
    stack.push_async_callback(engine.aclose)
    facts = await _patiently("engine", engine.facts, EngineDown)
    if estranged := other_engine(settings.state_dir, facts):
        _log.error("engine", problem=estranged)
    stack.enter_context(_only_here(facts.root, identity.operator.address))
    inventory = await asyncio.to_thread(take_inventory)
    for problem in (*inventory.problems, *inventory.refused):
        _log.warning("cards", problem=problem)
    for concern in await asyncio.to_thread(concerns, facts, gpus=inventory.needs_toolkit):
        _log.warning("version", problem=concern)
    layers = facts.root / "btrfs"  # where the engine's driver of that name keeps its containers
    cache = DatasetCache(
        settings.state_dir / "datasets",
        ipfs,
        room=settings.dataset_cache,
        reserve=settings.disk_reserve,
        wait=settings.fetch_seconds,
    )
    names = Names.of(deployment)
    images = Images(
        engine,
        ipfs,
        settings.state_dir / "images",
        wait=settings.fetch_seconds,
        reserve=settings.disk_reserve,
        registries=settings.registries,
        limit=settings.image_limit,
        disk=facts.root,
        netns=settings.engine_netns,
        logins=settings.registry_logins,
        rules=ImageRules(settings.images_allow, settings.images_deny),
    )
    leases = LeaseBook(settings.state_dir / "leases" / names.folder, identity.age_identity)
    volumes = Volumes(settings.state_dir / "volumes" / names.folder, MountSpace(engine.socket))
    containers = Containers(
        names,
        engine,
        DiskLimits(layers if facts.quota and layers.is_dir() else None),
        Firewall(settings.engine_netns, settings.host_egress.pace),
    )
    carrying = Carrying(
        volumes,
        leases,
        await stack.enter_async_context(Ipfs(settings.ipfs, threads=_CARRYING_THREADS)),
        lambda: max(0, shutil.disk_usage(settings.state_dir).free - settings.disk_reserve),
        settings.fetch_seconds,
    )
    checkpoints = Checkpoints(containers, volumes, leases, carrying)
    host = Host(
        facts=HostFacts(
            settings,
            inventory,
            facts,
            disk_for_sale(facts, settings),
            boot_id(),
            HardwareFiles(settings.hardware_dir),
        ),
        leases=leases,
        containers=containers,
        supplies=Supplies(
            ipfs,
            UploadedWorkloads(settings.state_dir / "workloads"),
            images,
            cache,
            packer(ipfs),
            CodeStore(settings.state_dir / "code", room=settings.code_cache, reserve=settings.disk_reserve),
        ),
        volumes=volumes,
        carrying=carrying,
        checkpoints=checkpoints,
        committing=Committing(
            containers, leases, carrying, checkpoints, settings.state_dir / "commits", settings.image_limit
        ),
        chain=gate,
        endpoint=lambda desired, ports: endpoint_document(settings, identity, desired, ports),
        estranged=estranged,
        helper=await asyncio.to_thread(lend_helper, settings.state_dir / "helper"),
    )
    _sell_parts(host, identity)
    lent = (host.helper, HELPER_MOUNT) if host.helper is not None else None
    host.readers = Readers(host.containers, host.leases, host.facts, lent)
    host.idle = IdleJobs.of(host, identity.operator.address, settings.idle_job)
    return host


def mps_host(inventory: Inventory, facts: EngineFacts, identity: Identity) -> MpsHost:
    """What this host has for MPS."""
    limits = MemoryGroups(identity.operator.address[2:10].lower(), facts.groups) if facts.groups else None
    return MpsHost(inventory.driver, inventory.cuda, limits)


def _sell_parts(host: Host, identity: Identity) -> None:
    """By MPS, where the owner wants it; and what is left of it goes, where he has wanted it."""
    settings, mps = host.facts.settings, mps_host(host.facts.inventory, host.facts.engine, identity)
    parts = mps.parts(settings.mps_dir / identity.operator.address[2:10].lower())
    if settings.isolation == "mps":
        host.facts.mps = mps.kind
    if settings.isolation == "mps" or parts.book.exists:
        host.devices.mps = parts


async def keep_parts(host: Host, hangs: Callable[[], bool]) -> None:
    """What leases have of cards by MPS works, whatever has died beside the agent; and goes once nobody is in it. A
    driver that hangs is not asked, as by `watch_cards`.
    """
    while host.devices.mps is not None:
        try:
            if not hangs():
                await host.devices.mps.mend()
        except (AgentError, OSError) as error:
            _log.warning("mps", problem=str(error))
        except Exception:  # noqa: BLE001 - nothing that a driver says may end the agent
            _log.exception("mps")
        await host.sleep(_CARDS_SECONDS)


async def _servers(
    stack: contextlib.AsyncExitStack,
    host: Host,
    reconciler: Reconciler,
    identity: Identity,
    deployment: Deployment,
    rpc: Rpc,
    introduction: Introduction,
    usage: UsageWatch,
) -> None:
    settings = host.facts.settings
    folder = settings.state_dir / "api"
    folder.mkdir(mode=0o700, exist_ok=True)
    context = ServeContext(
        runtime=DockerRuntime(host, reconciler, usage),
        chain_id=deployment.chain_id,
        controller=deployment.controller,
        machines=lambda: sorted(host.snapshot.machines),
        contact=lambda: introduction.document,
        operator=identity.operator,
        is_authorized=authorizer(rpc, deployment),
        state_dir=folder,
        tls_certificate=identity.tls_certificate,
        tls_key=identity.tls_key,
        ssh_host_key=identity.ssh_host_key,
        now=lambda: int(time.time()),
        seen=reconciler.seen,
    )
    admission = Admission(line=Line(settings.line_bandwidth))
    api = await _patiently("disk", lambda: ApiServer.open(context, admission=admission), DISK_TROUBLE)
    host.reachable = lambda: api.alive
    stack.push_async_callback(api.close)
    await api.start(settings.listen, settings.api_port)
    certificates, audit = api.api.certificates, api.api.audit
    ssh = SshServer(context, admission=admission, certificates=certificates, audit=audit)
    stack.push_async_callback(ssh.close)
    await ssh.start(settings.listen, settings.ssh_port)
    if settings.reach != "direct":
        await _mount(stack, settings, identity, api, ssh)


async def _mount(
    stack: contextlib.AsyncExitStack,
    settings: AgentSettings,
    identity: Identity,
    api: ApiServer,
    ssh: SshServer,
) -> None:
    # A client of its own: what else is asked of the node keeps no caller out.
    streams = Streams(await stack.enter_async_context(Ipfs(settings.ipfs, timeout=ANSWER_SECONDS, threads=1)))
    operator = identity.operator.address
    doors = {
        agent_stream(operator): partial(api.open_back_door, settings.libp2p_api_port),
        ssh_stream(operator): partial(ssh.open_back_door, settings.libp2p_ssh_port),
    }
    mounts = Mounts(streams, doors)
    stack.push_async_callback(mounts.close)
    mounts.start()


def introduction_of(host: Host, identity: Identity) -> Introduction:
    """The host's contact document, with the images and datasets that it has at hand."""
    settings, ipfs = host.facts.settings, host.supplies.ipfs

    async def made() -> dict[str, object]:
        images = [*await host.containers.engine.images(), *await host.supplies.images.public()]
        datasets = await asyncio.to_thread(host.supplies.datasets.public)
        return await contact_document(settings, identity, ipfs, images=images, datasets=datasets)

    return Introduction(settings.state_dir, ipfs, made)


def other_engine(state_dir: Path, facts: EngineFacts) -> str | None:
    """What to do where the state folder was made beside another engine, or None where it was not. This may be a copy of
    a host whose leases run elsewhere, and would run each of them again and publish over their results.
    """
    note = state_dir / "engine"
    known = note.read_text().strip() if note.exists() else ""
    if known and facts.id and known != facts.id:
        return (
            f"No lease is run, stopped or published here, for {state_dir} was made beside another Docker engine "
            f"({known}; here is {facts.id}). If the engine was set up anew, delete {note} and restart the agent. If "
            "this is a copy of a host, stop the agent and name another `state_dir`. Meanwhile challenges are answered, "
            "new leases are declined as their start window ends, and `leasehold-agent drain` keeps them away."
        )
    if not known and facts.id:
        with contextlib.suppress(OSError):  # a full disk: the next start does it
            replace_file(note, facts.id.encode())
    return None


def disk_for_sale(facts: EngineFacts, settings: AgentSettings) -> int:
    """Bytes of the engine's disk, or of the state folder's where the engine's is elsewhere, less the reserve."""
    root = facts.root if facts.root.is_dir() else settings.state_dir
    return max(0, shutil.disk_usage(root).total - settings.disk_reserve)


async def _watch(host: Host, reconciler: Reconciler, gate: PoolGate, reserve: DiskReserve) -> None:
    """Keep the status file fresh, and look after the operator's gas and the disk's reserve."""
    runtime, gas, asked_at, shown_at = DockerRuntime(host, reconciler), None, float("-inf"), float("-inf")
    tick = host.facts.settings.tick_seconds
    while True:
        if host.clock() - asked_at >= _GAS_SECONDS:
            with contextlib.suppress(ChainError):
                gas, asked_at = await _gas(gate), host.clock()
        reserve.mend()
        if host.clock() - shown_at >= min(_STATUS_SECONDS, _STATUS_TICKS * tick):
            shown_at = host.clock()
            try:
                await write_status(host, runtime, gas, reconciler.told.lacks())
            except DISK_TROUBLE as error:  # a status that is old says when it was written
                _log.warning("status", problem=str(error))
            except Exception:  # noqa: BLE001 - nothing that a lease shows may end the agent, and its sentinel with it
                _log.exception("status")
        await host.sleep(tick)


async def watch_cards(
    host: Host, lost: LostCells, wake: Callable[[], None], hangs: Callable[[], bool] = lambda: False
) -> None:
    """Look again and again which cards answer, and note what nobody could be given. A driver that hangs holds up this
    task alone, and is not asked meanwhile: each question would leave a thread behind.
    """
    while True:
        try:
            if host.estranged is None and host.snapshot.current:
                lost.note(host.snapshot, host.facts.allocation(host.snapshot).withheld)
            await host.sleep(_CARDS_SECONDS)
            if hangs():
                continue
            inventory = await asyncio.to_thread(take_inventory)
        except Exception:  # noqa: BLE001 - nothing that a driver says may end the agent, and its sentinel with it
            _log.exception("cards")
            await host.sleep(_CARDS_SECONDS)
            continue
        if inventory.gpus != host.facts.inventory.gpus:
            _log.warning("cards", answer=len(inventory.gpus), before=len(host.facts.inventory.gpus))
            wake()
        host.facts.inventory = inventory


async def _introduce(host: Host, introduction: Introduction) -> None:
    """Keep the contact document fresh."""
    while True:
        try:
            if await introduction.refresh():
                _log.info("contact", bytes=len(introduction.document))
        except (AgentError, DatasetError, *DISK_TROUBLE) as error:  # engine, node or disk will be back
            _log.warning("contact", problem=str(error))
        except Exception:  # noqa: BLE001 - as above
            _log.exception("contact")
        await host.sleep(host.facts.settings.contact_every)


async def show_metrics(stack: contextlib.AsyncExitStack, usage: UsageWatch, port: int) -> None:
    """Have Prometheus read what there is. A port that is taken is no reason for an agent to end."""
    host = usage.reconciler.host
    shown = MetricsPort(lambda: metrics(host, usage))
    stack.push_async_callback(shown.close)
    try:
        await shown.start(host.facts.settings.metrics_listen, port)
    except OSError as error:
        _log.error("metrics", problem=str(error))


def _both(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    def both() -> None:
        first()
        second()

    return both


def card_thread(stack: contextlib.AsyncExitStack) -> ThreadPoolExecutor:
    """The one that looks at the cards, and ends with the agent."""
    thread = ThreadPoolExecutor(1, "leasehold-cards")
    stack.callback(thread.shutdown, wait=False)
    return thread


async def _sell(host: Host, sale: Sale, noted: asyncio.Event) -> None:
    """Keep out of sale what is to be: every few seconds, and at once when something was `noted`."""
    while True:
        noted.clear()
        try:
            await sale.look(host.snapshot)
        except Exception:  # noqa: BLE001 - as above
            _log.exception("withhold")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(host.facts.settings.tick_seconds):
                await noted.wait()


async def _gas(gate: PoolGate) -> GasState:
    gas = await gate.gas()
    if gas.warning:
        (_log.error if gas.alarming else _log.warning)("gas", problem=gas.warning, leases=gas.leases)
    return gas


async def _patiently(
    what: str,
    ask: Callable[[], Awaitable[T]],
    again: type[Exception] | tuple[type[Exception], ...],
    mend: Callable[[], None] = lambda: None,
) -> T:
    """Wait for a part that is not up yet: after a reboot everything starts at once, and a full disk is no end."""
    while True:
        try:
            return await ask()
        except again as error:
            _log.warning("waiting", part=what, problem=str(error))
            mend()
            await asyncio.sleep(_RETRY_SECONDS)


def most_descriptors() -> int:
    """Raise the process's own limit of open files to the most that the host allows it; returns that."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


def _only_one(state_dir: Path) -> contextlib.AbstractContextManager[None]:
    return _locked(
        state_dir / "lock", f"Another agent runs with {state_dir}: stop it, or name another folder."
    )


@contextlib.contextmanager
def _only_here(root: Path, operator: str) -> Iterator[None]:
    """One agent for each key beside an engine, whatever copies there are of its state folder: two would stop, start and
    publish over each other. An engine whose folder cannot be reached from here keeps nobody out.
    """
    problem = f"Another agent with the key of {operator} runs beside this Docker engine: stop it first."
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            stack.enter_context(_locked(root / f"leasehold-{operator.lower()}.lock", problem))
        yield


@contextlib.contextmanager
def _locked(path: Path, problem: str) -> Iterator[None]:
    """The kernel drops the lock with the process, however it ends. Raises AlreadyRunning, OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning(problem) from None
        yield
    finally:
        os.close(descriptor)

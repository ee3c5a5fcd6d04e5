"""From a workload to a container: pure functions that say what it gets, and what it may not have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from leasehold.chain import format_lease
from leasehold.workload import Runtime, Share, Ulimits, Workload
from leasehold_agent._config import AgentSettings
from leasehold_agent._errors import Declined
from leasehold_agent.cards import WHOLE, LeaseShare, Place
from leasehold_agent.chain import Desired
from leasehold_agent.engine import DEVICES_LABEL, SHARING_LABEL, ContainerSpec, EngineFacts, Limits
from leasehold_agent.host import LeasePolicy, parse_rule
from leasehold_agent.reconciling._names import Names
from leasehold_agent.reconciling._plan import WORKLOAD_LABEL

_LEAST_CPUS = 0.01
"""The least that the kernel's scheduler takes. The engine reads what rounds to nothing as no limit at all."""
_NO_RESOLVER = ("127.0.0.1",)
"""The container's own loopback, where nobody listens. With none named, the engine asks the host's resolver in the
container's stead, from the host's network: a way out by names that no rule sees."""
_LEAST_DISK = 16 << 20
"""What a container writes of its own where its volumes take all that its cells buy."""
_NO_PLACE = Place()
_PIDS_PER_CPU, _LEAST_PIDS = 1_024, 256
"""Processes for each core that the lease has: a thousand on a hundredth of one could not even be ended."""


def check_tenant(workload: Workload, desired: Desired) -> None:
    """Raises Declined("workload-invalid") for a workload that another account sealed for its own leases.

    What counts is who set it: a lease that was transferred since runs what its former tenant left in it.
    """
    if workload.tenant is not None and workload.tenant != desired.author:
        raise Declined("workload-invalid", "This workload was sealed for the leases of another account.")


def check_fits(
    workload: Workload, placement: int, share: LeaseShare, facts: EngineFacts, settings: AgentSettings
) -> None:
    """Raises Declined: "unsupported" for what the lease's cells or this host do not offer, "no-card" while that cannot
    be told.
    """
    check_cards_told(share)
    _check_cards(workload, placement, share, settings)
    for what, asked, most in (
        ("cpu", workload.cpu, share.cpus),
        ("memory", workload.memory, share.memory_bytes),
        ("disk", workload.disk, share.disk_bytes),
        ("shm", workload.shm, share.memory_bytes),
    ):
        if asked is not None and asked > most:
            raise Declined(
                "unsupported", f"{what}: {asked} is more than the {most} that the lease's cells buy."
            )
    if workload.runtime is Runtime.GVISOR and "runsc" not in facts.runtimes:
        raise Declined("unsupported", "runtime: this host has no gVisor.")
    for port in workload.ports:
        if port.host is not None and not settings.first_port <= port.host <= settings.last_port:
            offered = f"{settings.first_port} to {settings.last_port}"
            raise Declined("unsupported", f"ports: this host publishes {offered}, not {port.host}.")


def check_cards_told(share: LeaseShare) -> None:
    """Raises Declined("no-card") while the lease cannot have its cards: what they could offer cannot be told either,
    and no card is given instead of one that was paid for.
    """
    if share.problem is not None:
        raise Declined("no-card", f"cards: {share.problem}")


def _check_cards(workload: Workload, placement: int, share: LeaseShare, settings: AgentSettings) -> None:
    """What cannot be kept apart is not given, whatever was sold, but to those who want it so."""
    whole = placement & 0xFF == 0xFF
    timed = share.watched and (settings.isolation == "time-slice" or bool(share.mps))
    offered = settings.isolation != "whole" if share.cut else timed
    if share.gpu_uuids and not whole and not offered:
        raise Declined("unsupported", "share: this host cannot keep parts of a card apart; rent whole GPUs.")
    check_apart(workload, share)
    if share.stays_cut:
        raise Declined(
            "unsupported",
            "share: these cards are cut into slices (MIG), of which a process can use one, and only a reset makes them "
            "whole; rent one GPU.",
        )
    if share.mps and workload.runtime is Runtime.GVISOR:
        raise Declined("unsupported", "runtime: parts of these cards are had by MPS, which gVisor keeps out.")
    held = Share.WHOLE if whole else Share.CELLS
    served = (None, held, Share.MIG) if share.cut else (None, held)
    if workload.share not in served and not shares_card(workload, share):
        raise Declined("unsupported", f"share: the lease holds its GPUs as `{held}`, not `{workload.share}`.")


def shares_card(workload: Workload, share: LeaseShare) -> bool:
    """Whether others may compute on the lease's card too, in parts of it: of a kind that nothing keeps apart by the
    tenant's own wish only.
    """
    wished = workload.share is (Share.MPS if share.mps else Share.TIME_SLICE)
    return _in_parts(share) and (wished or (share.mps == "hard" and workload.share in (None, Share.CELLS)))


def check_apart(workload: Workload, share: LeaseShare) -> None:
    """Raises Declined("unsupported") for a part of a card that nothing keeps apart, but by its tenant's own wish. A
    lease that has run may have become one: it was a whole card, or the card was cut.
    """
    if not _in_parts(share) or shares_card(workload, share):
        return
    if share.mps == "hard":
        raise Declined("unsupported", f"share: parts of this card are had by MPS, not by `{workload.share}`.")
    if share.mps:
        raise Declined(
            "unsupported",
            "share: parts of this card have limits that bind only who keeps to them; ask for `mps` by name, or rent "
            "whole GPUs.",
        )
    raise Declined(
        "unsupported",
        "share: parts of this card are time on it, without a limit of memory; ask for `time-slice` by name, or "
        "rent whole GPUs.",
    )


def _in_parts(share: LeaseShare) -> bool:
    return bool(share.gpu_uuids) and share.cells != WHOLE and not share.cut


def sharing_of(workload: Workload, share: LeaseShare) -> str:
    """By what the lease's card is shared with others, as its container is labelled; empty where it has it alone."""
    if not shares_card(workload, share):
        return ""
    return (Share.MPS if share.mps else Share.TIME_SLICE).value


def choose_ports(
    workload: Workload, taken: Collection[int], settings: AgentSettings
) -> dict[tuple[int, str], int]:
    """Host ports for the workload's. Raises Declined("port-taken")."""
    asked = {port.host for port in workload.ports if port.host is not None}
    if clash := asked & set(taken):
        raise Declined("port-taken", f"ports: {min(clash)} serves another lease.")
    free = (
        p for p in range(settings.first_port, settings.last_port + 1) if p not in asked and p not in taken
    )
    return {(p.container, p.protocol.value): p.host or _next(free) for p in workload.ports}


def _next(free: Iterator[int]) -> int:
    try:
        return next(free)
    except StopIteration:
        raise Declined("port-taken", "ports: every port that this host publishes is taken.") from None


def policy_of(bridge: str, workload: Workload | None) -> LeasePolicy:
    """The lease's rules; for a workload that cannot be read, none may leave."""
    if workload is None:
        return LeasePolicy(bridge, "none")
    return LeasePolicy(bridge, workload.egress.mode, tuple(parse_rule(r) for r in workload.egress.allow))


def limits_of(workload: Workload, share: LeaseShare) -> Limits:
    """What the workload asks for, and no more than the lease's cells buy: they may have become fewer."""
    return Limits(
        cpus=max(_LEAST_CPUS, min(workload.cpu or share.cpus, share.cpus)),
        memory_bytes=min(workload.memory or share.memory_bytes, share.memory_bytes),
    )


def spec_of(
    desired: Desired,
    workload: Workload,
    names: Names,
    *,
    image: str,
    share: LeaseShare,
    devices: Sequence[str],
    facts: EngineFacts,
    mounts: Sequence[tuple[Path, str]],
    ports: Mapping[tuple[int, str], int],
    settings: AgentSettings,
    volumes: Sequence[tuple[Path, str, int]] = (),
    place: Place = _NO_PLACE,
) -> ContainerSpec:
    """The container of a lease. devices: the cards or slices that it is given of its share. volumes: with sizes. place:
    what it is made with for a part of a card.
    """
    called = Called(
        name=names.container(desired.lease),
        network=names.network(desired.lease),
        hostname=f"lease-{format_lease(desired.lease).replace('.', '-')}",
        labels={
            **names.labels(desired.lease, desired.machine),
            WORKLOAD_LABEL: desired.workload.hex(),
            SHARING_LABEL: sharing_of(workload, share),
        },
        environment={"LEASEHOLD_LEASE": format_lease(desired.lease), **_told(workload)},
    )
    return fenced_spec(
        workload,
        called,
        image=image,
        share=share,
        devices=devices,
        facts=facts,
        mounts=mounts,
        volumes=volumes,
        ports=ports,
        settings=settings,
        place=place,
    )


def _told(workload: Workload) -> Mapping[str, str]:
    """Where a program finds what it had got to, and leaves what it has."""
    return {} if workload.checkpoint is None else {"LEASEHOLD_CHECKPOINT": workload.checkpoint.path}


@dataclass(frozen=True)
class Called:
    """By what a container goes: nothing here lets it do more. hostname: where its workload names none."""

    name: str
    network: str
    hostname: str
    labels: Mapping[str, str]
    environment: Mapping[str, str]


def fenced_spec(
    workload: Workload,
    called: Called,
    *,
    image: str,
    share: LeaseShare,
    devices: Sequence[str],
    facts: EngineFacts,
    mounts: Sequence[tuple[Path, str]],
    ports: Mapping[tuple[int, str], int],
    settings: AgentSettings,
    volumes: Sequence[tuple[Path, str, int]] = (),
    place: Place = _NO_PLACE,
) -> ContainerSpec:
    """A container that holds to its share and does no more than any tenant's, whosever it is."""
    limits, cdi = limits_of(workload, share), facts.adds(devices)
    return ContainerSpec(
        name=called.name,
        image=image,
        network=called.network,
        labels={**called.labels, DEVICES_LABEL: ",".join(devices)},
        command=workload.command,
        environment={
            **workload.env,
            **called.environment,
            # Where NVIDIA's runtime is the engine's default it believes this variable, an image's own included.
            "NVIDIA_VISIBLE_DEVICES": "void" if cdi else ",".join(devices) or "void",
            **place.environment,
        },
        hostname=workload.hostname or called.hostname,
        cpus=limits.cpus,
        memory_bytes=limits.memory_bytes,
        pids=min(settings.pids_limit, max(_LEAST_PIDS, int(limits.cpus * _PIDS_PER_CPU))),
        shm_bytes=min(workload.shm or max(1, limits.memory_bytes // 2), limits.memory_bytes),
        disk_bytes=own_disk(workload, share, sum(size for _, _, size in volumes)) if facts.quota else None,
        runtime="runsc" if workload.runtime is Runtime.GVISOR else None,
        gpu_uuids=devices,
        cdi=cdi,
        mounts=[*mounts, *place.mounts],
        volumes=[(folder, path) for folder, path, _ in volumes],
        group=place.group,
        shm=place.shm,
        ports=ports,
        dns=_NO_RESOLVER if workload.egress.mode == "none" else settings.dns,
        grace=workload.grace,
        seccomp=facts.seccomp,
        entrypoint=workload.entrypoint,
        workdir=workload.workdir,
        user=workload.user,
        ulimits=_ulimits(workload.ulimits, limits.memory_bytes),
    )


def own_disk(workload: Workload, share: LeaseShare, volumes: int) -> int:
    """Bytes that the container may write beside its volumes: they are of the same disk that its cells buy."""
    left = max(_LEAST_DISK, share.disk_bytes - volumes)
    return min(workload.disk or left, left)


def _ulimits(asked: Ulimits | None, memory: int) -> dict[str, int]:
    """What is counted for each process by itself; what a process may lock or have for a stack is memory."""
    if asked is None:
        return {}
    of_memory = {"memlock": asked.memlock, "stack": asked.stack}
    chosen = {
        name: memory if value == "unlimited" else min(int(value), memory)
        for name, value in of_memory.items()
        if value is not None
    }
    return chosen | ({"nofile": asked.nofile} if asked.nofile is not None else {})

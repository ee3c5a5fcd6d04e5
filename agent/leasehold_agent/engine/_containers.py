"""Containers in the engine's words: as it describes one, and as it is asked for one. Nothing here speaks to it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from docker.errors import ImageNotFound
from docker.types import DeviceRequest, EndpointConfig, LogConfig, Mount, Ulimit

from leasehold_agent.engine._kept import as_before

DEVICES_LABEL = "leasehold.devices"
"""The cards, or slices of cards, that a container was made with, by their UUIDs: each vendor's are added otherwise."""
SHARING_LABEL = "leasehold.sharing"
"""By what a container's cards are shared with others, or empty where they are its own. It is always set: a label of its
image would stand there instead.
"""
_CDI_KIND = "nvidia.com/gpu="
_TIME = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?Z$")


@dataclass(frozen=True)
class ContainerFacts:
    """A container as the engine describes it now. `state` is its word: created, running, exited, dead…"""

    id: str
    name: str
    labels: Mapping[str, str]
    state: str
    exit_code: int
    pid: int
    address: str | None
    ports: tuple[tuple[int, str, int], ...]  # container port, protocol, host port
    out_of_memory: bool = False
    started_at: float = 0.0  # unix seconds by the engine's clock
    finished_at: float = 0.0
    mounts: frozenset[str] = frozenset()  # where in it something of the host's is mounted
    devices: tuple[str, ...] = ()  # cards or slices of cards, by their UUIDs
    user: str = ""  # as whom it runs, as it was asked for or as the image says; empty: root

    @property
    def sharing(self) -> str:
        """By what its cards are shared with other containers; empty where they are its own."""
        return self.labels.get(SHARING_LABEL, "")

    @property
    def running(self) -> bool:
        return self.state in ("running", "restarting")

    @property
    def paused(self) -> bool:
        """Its processes stand still, by somebody's hand on the host: they hold memory and answer nothing."""
        return self.state == "paused"

    @property
    def exited(self) -> bool:
        return self.state in ("exited", "dead")


@dataclass(frozen=True)
class Limits:
    """What of a container can be changed while it runs. `cpus` may be a fraction, memory is bytes."""

    cpus: float
    memory_bytes: int


@dataclass(frozen=True)
class ContainerSpec:
    """All that a container is made of. Sizes in bytes; `ports` maps (container port, protocol) to a host port.

    `disk_bytes` counts on top of the image and is None where the engine cannot enforce it. `gpu_uuids` are cards or
    slices of cards; `cdi`: the engine itself adds them, else NVIDIA's runtime does. `devices` are the files of its
    cards, where no runtime finds these by their UUIDs. `entrypoint`, `workdir` and `user` are the image's where they
    are None; an empty `entrypoint` is none. `ulimits` are neither lowered nor raised in the container. `group`: the
    control group above its own, in the engine's words. `shm`: the host's folder that is its /dev/shm.
    """

    name: str
    image: str
    network: str
    labels: Mapping[str, str]
    command: Sequence[str]
    environment: Mapping[str, str]
    hostname: str
    cpus: float
    memory_bytes: int
    pids: int
    shm_bytes: int
    disk_bytes: int | None
    runtime: str | None
    gpu_uuids: Sequence[str]
    cdi: bool
    mounts: Sequence[tuple[Path, str]]
    ports: Mapping[tuple[int, str], int]
    dns: Sequence[str]
    grace: int
    seccomp: str | None = None  # None is the engine's own
    entrypoint: Sequence[str] | None = None
    workdir: str | None = None
    user: str | None = None
    ulimits: Mapping[str, int] = field(default_factory=dict)
    devices: Sequence[str] = ()
    volumes: Sequence[tuple[Path, str]] = ()  # as `mounts`, to be written to as well
    group: str | None = None
    shm: Path | None = None
    base: str | None = None  # where `image` was kept of a container: what that one had been made of


# What a root process in a container needs to install packages, change users and serve low ports.
KEPT_CAPABILITIES = (
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "NET_BIND_SERVICE",
    "SETGID",
    "SETUID",
    "SYS_CHROOT",
)


def facts_of(raw: Mapping[str, Any]) -> ContainerFacts:
    networks, state = raw["NetworkSettings"]["Networks"].values(), raw["State"]
    return ContainerFacts(
        id=raw["Id"],
        name=raw["Name"].removeprefix("/"),
        labels=raw["Config"]["Labels"] or {},
        state=state["Status"],
        exit_code=int(state["ExitCode"]),
        pid=int(state["Pid"]),
        address=next((n["IPAddress"] for n in networks if n.get("IPAddress")), None),
        ports=tuple(_bindings(raw["HostConfig"].get("PortBindings") or {})),
        out_of_memory=bool(state.get("OOMKilled")),
        started_at=_seconds(state.get("StartedAt", "")),
        finished_at=_seconds(state.get("FinishedAt", "")),
        mounts=frozenset(mount["Destination"] for mount in raw.get("Mounts") or ()),
        devices=tuple(_devices(raw)),
        user=raw["Config"].get("User") or "",
    )


def _seconds(text: str) -> float:
    """The engine's RFC 3339 with nanoseconds as unix seconds; 0 for what has not happened (the year 1)."""
    parts = _TIME.match(text)
    if parts is None or text.startswith("0001"):
        return 0.0
    whole = datetime.fromisoformat(parts[1] + "+00:00").timestamp()
    return whole + float("0." + (parts[2] or "0"))


def _devices(raw: Mapping[str, Any]) -> Iterator[str]:
    """By its label; of a container that was made before there was one, as its cards were asked for."""
    label = (raw["Config"]["Labels"] or {}).get(DEVICES_LABEL)
    if label is not None:
        yield from filter(None, label.split(","))
        return
    for request in raw["HostConfig"].get("DeviceRequests") or ():
        yield from request.get("DeviceIDs") or ()


def _bindings(raw: Mapping[str, Sequence[Mapping[str, str]]]) -> Iterator[tuple[int, str, int]]:
    for key, bound in sorted(raw.items()):
        port, _, protocol = key.partition("/")
        for binding in bound:
            yield int(port), protocol, int(binding["HostPort"])


def options_of(client: Any, spec: ContainerSpec) -> dict[str, Any]:
    """What `docker.APIClient.create_container` is given; its stubs leave half of its methods untyped."""
    size = None
    if spec.disk_bytes is not None:  # the engine's limit counts the image as well
        size = {"size": str(spec.disk_bytes + _size(client, spec))}
    host = client.create_host_config(
        cap_drop=["ALL"],
        cap_add=list(KEPT_CAPABILITIES),
        security_opt=["no-new-privileges", *([f"seccomp={spec.seccomp}"] if spec.seccomp else [])],
        nano_cpus=nano(spec.cpus),
        mem_limit=spec.memory_bytes,
        memswap_limit=spec.memory_bytes,
        pids_limit=spec.pids,
        shm_size=None if spec.shm else spec.shm_bytes,
        cgroup_parent=spec.group,
        # One byte and not none: where the host hands cores to a program, that is not asked by the kernel's own rule.
        ulimits=[
            Ulimit(name=name, soft=most, hard=most) for name, most in {**spec.ulimits, "core": 1}.items()
        ],
        storage_opt=size,
        runtime=spec.runtime,
        device_requests=[device_request(spec)] if spec.gpu_uuids and not spec.devices else None,
        devices=[f"{path}:{path}:rwm" for path in spec.devices] or None,
        mounts=[
            *(Mount(target, str(source), type="bind", read_only=True) for source, target in spec.mounts),
            *(Mount(target, str(source), type="bind") for source, target in spec.volumes),
            *([Mount("/dev/shm", str(spec.shm), type="bind")] if spec.shm else []),
        ],
        port_bindings={f"{port}/{protocol}": host for (port, protocol), host in spec.ports.items()},
        network_mode=spec.network,
        dns=list(spec.dns),
        log_config=LogConfig(type="json-file", config={"max-size": "16m", "max-file": "2"}),
        init=spec.runtime != "runsc",
    )
    options = {
        "image": spec.image,
        "command": list(spec.command) or None,
        # To the engine an empty list says nothing; one empty text says that there is none.
        "entrypoint": None if spec.entrypoint is None else list(spec.entrypoint) or [""],
        "working_dir": spec.workdir,
        "user": spec.user,
        "name": spec.name,
        "hostname": spec.hostname,
        "environment": dict(spec.environment),
        # An image's own check would run on the engine's time, as often as every millisecond.
        "healthcheck": {"test": ["NONE"]},
        "ports": [(port, protocol) for port, protocol in spec.ports],
        "host_config": host,
        "networking_config": client.create_networking_config(
            {spec.network: EndpointConfig(client.api_version)}
        ),
        "stop_timeout": spec.grace,
    }
    return options if spec.base is None else as_before(client, options, spec.base)


def _size(client: Any, spec: ContainerSpec) -> int:
    """Of the image that a container's disk limit does not count: what was kept of its own data it does."""
    with contextlib.suppress(ImageNotFound):
        return int(client.inspect_image(spec.base or spec.image)["Size"])
    return int(client.inspect_image(spec.image)["Size"])


def device_request(spec: ContainerSpec) -> DeviceRequest:
    """How the engine is asked for the container's cards."""
    if spec.cdi:
        return DeviceRequest(driver="cdi", device_ids=[_CDI_KIND + uuid for uuid in spec.gpu_uuids])
    return DeviceRequest(driver="nvidia", device_ids=list(spec.gpu_uuids), capabilities=[["gpu"]])


def nano(cpus: float) -> int:
    return int(cpus * 1_000_000_000)

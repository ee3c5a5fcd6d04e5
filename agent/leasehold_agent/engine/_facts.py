"""What an engine can do: whether it enforces limits of the disk, which runtimes it has, where it keeps its data."""

from __future__ import annotations

import contextlib
import io
import re
import tarfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import structlog
from docker.errors import APIError, NotFound

from leasehold_agent.engine._seccomp import ProfileMissing, profile

_CDI_SINCE = 26
_SUFFIXES = (".yaml", ".yml", ".json")
_log = structlog.get_logger("leasehold_agent")


@dataclass(frozen=True)
class EngineFacts:
    """`quota`: whether the engine enforces a container's disk limit. `root` is where it keeps its data. `seccomp`
    is the profile that containers get, or None where there is none but the engine's own. `id` is
    the engine's name of itself; `live_restore`: containers outlive the daemon. `versions` are those of its parts;
    `containerd_images`: containerd keeps its images. `groups`: who makes its control groups, where these are of version
    2. `cdi`: folders in which the engine finds what to add to a
    container for a device, where it can do that by itself.
    """

    quota: bool
    runtimes: tuple[str, ...]
    root: Path
    seccomp: str | None = None
    id: str = ""
    live_restore: bool = True
    versions: Mapping[str, str] = field(default_factory=dict)
    containerd_images: bool = False
    cdi: tuple[Path, ...] = ()
    groups: Literal["systemd", "cgroupfs"] | None = None

    @property
    def run(self) -> str:
        """A mark of the daemon's present run: it makes the folder of its temporary files anew whenever it starts. The
        same for ever where its files are not to be seen from here.
        """
        with contextlib.suppress(OSError):
            return str((self.root / "tmp").stat().st_ino)
        return ""

    def adds(self, devices: Collection[str]) -> bool:
        """Whether the engine itself knows what to add for all these devices. Slices that were made since are known once
        somebody has written it down anew.
        """
        written = [
            path.read_text(errors="replace") for folder in self.cdi for path in _specifications(folder)
        ]
        return bool(devices) and all(any(device in text for text in written) for device in devices)


def _specifications(folder: Path) -> list[Path]:
    """What NVIDIA's toolkit has written there."""
    with contextlib.suppress(OSError):
        return [
            path for path in folder.iterdir() if path.name.startswith("nvidia") and path.suffix in _SUFFIXES
        ]
    return []


def read_facts(client: Any) -> EngineFacts:
    """Asks a `docker.APIClient`, whose stubs leave half of its methods untyped."""
    info, seccomp = client.info(), None
    driver = info["Driver"]
    try:
        seccomp = profile()
    except ProfileMissing as error:
        _log.warning("system calls", problem=f"containers get the engine's own profile: {error}")
    if driver == "btrfs":
        if not (quota := seccomp is not None):
            _log.warning("disk limits", problem="none is promised, since a tenant could evade them")
    else:
        quota = driver == "zfs" or _quota_probe(client)
    return EngineFacts(
        quota=quota,
        seccomp=seccomp,
        runtimes=tuple(name for name in ("runc", "runsc") if name in info["Runtimes"]),
        root=Path(info["DockerRootDir"]),
        id=str(info.get("ID", "")),
        live_restore=bool(info.get("LiveRestoreEnabled")),
        versions={part["Name"]: part["Version"] for part in client.version().get("Components") or ()},
        cdi=cdi_folders(info),
        groups=groups_of(info),
        containerd_images="io.containerd.snapshotter.v1" in str(info.get("DriverStatus")),
    )


def cdi_folders(info: Mapping[str, Any]) -> tuple[Path, ...]:
    """Where an engine that can add devices by itself looks for how. Docker 25 has it as an experiment."""
    version = re.match(r"\d+", str(info.get("ServerVersion", "")))
    if version is None or int(version[0]) < _CDI_SINCE:
        return ()
    return tuple(map(Path, info.get("CDISpecDirs") or ()))


def groups_of(info: Mapping[str, Any]) -> Literal["systemd", "cgroupfs"] | None:
    """Who makes the engine's control groups, where a program beside it can count in them too."""
    if str(info.get("CgroupVersion")) != "2":
        return None
    driver = str(info.get("CgroupDriver"))
    return "systemd" if driver == "systemd" else "cgroupfs" if driver == "cgroupfs" else None


def _quota_probe(client: Any) -> bool:
    """overlay2 enforces a size on xfs with project quotas only, and says so when a container is created."""
    empty = io.BytesIO()
    tarfile.open(fileobj=empty, mode="w").close()
    client.import_image_from_data(empty.getvalue(), repository="leasehold/probe", tag="1")
    name = "leasehold-quota-probe"
    with contextlib.suppress(NotFound):
        client.remove_container(name, force=True)
    try:
        config = client.create_host_config(storage_opt={"size": "64M"})
        client.create_container("leasehold/probe:1", ["none"], name=name, host_config=config)
    except APIError:
        return False
    client.remove_container(name, force=True)
    return True

"""What a lease runs: version 1 of the workload. docs/reference/workload.md describes it for users.

Sizes are bytes and may be written as `16GiB`; times are seconds and may be written as `10m`; both are kept as
integers, so that a workload has one canonical form.
"""

import base64
import binascii
import ipaddress
import re
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Annotated, Final, Literal, Self

import orjson
from eth_utils.address import is_address, to_checksum_address
from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from leasehold.chain import InvalidCid, cid_to_bytes
from leasehold.datasets import check_identity, check_recipient
from leasehold.errors import AgeKeyInvalid
from leasehold.images import ImageNameInvalid, parse_reference, registry_of
from leasehold.workload._image import (
    Entrypoint,
    Hostname,
    RegistryLogin,
    Title,
    Ulimits,
    User,
    Workdir,
    no_others,
)
from leasehold.workload._values import Bytes, Text, WorkloadPart, refuse
from leasehold.workload._volumes import LEAST_INTERVAL, LEAST_VOLUME_BYTES, VolumeKey, VolumeName

UNSERVED_FIELDS: Final = ("cluster", "tasks")
"""Fields of version 1 that are refused by name for now."""

_UNSERVED_VALUES: Final = {
    "kind": ("vm", "service"),
}
_FROM_NO_REGISTRY: Final = ("sha256:", "ipfs:")
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600}
_SYSTEM_PATHS: Final = (
    "/proc",
    "/sys",
    "/dev",
    "/run/secrets",
    "/run/leasehold",
    "/etc",
    "/bin",
    "/sbin",
    "/lib",
)


# ------------------------------------------------------------------------------------------------------ values


def _seconds(value: object) -> object:
    """Seconds of `90`, `90s`, `10m` or `1h`."""
    if not isinstance(value, str):
        return value
    parts = re.fullmatch(r"([0-9]{1,20})\s*([smh]?)", value.strip())
    if parts is None:
        raise refuse("is not a time such as 90s, 10m or a number of seconds")
    return int(parts[1]) * _SECONDS[parts[2]]


def _container_path(value: str) -> str:
    """An absolute path in its shortest form, outside what the system needs to be its own."""
    if "\0" in value or not value.startswith("/") or ".." in value.split("/") or len(value) > 1024:
        raise refuse("is not an absolute path without `..`")
    path = "/" + str(PurePosixPath(value)).lstrip("/")
    if path in ("/", "/run") or any(path == taken or path.startswith(taken + "/") for taken in _SYSTEM_PATHS):
        raise refuse(f"may not be {path}, which belongs to the system")
    return path


def _cid(value: str) -> str:
    try:
        cid_to_bytes(value)
    except InvalidCid as error:
        raise refuse("is not a CID") from error
    return value


def _image(value: str) -> str:
    if re.fullmatch(r"sha256:[0-9a-f]{64}", value):
        return value
    if value.startswith("ipfs:"):
        return "ipfs:" + _cid(value.removeprefix("ipfs:"))
    if re.fullmatch(r"[a-z0-9][a-zA-Z0-9._:/-]{0,254}@sha256:[0-9a-f]{64}", value):
        return value
    try:
        if "@" in value:
            raise ImageNameInvalid(value)
        parse_reference(value)
    except ImageNameInvalid as error:
        raise refuse(
            "is not <name>:<tag>, <name>@sha256:<digest>, ipfs:<CID> (an archive) or sha256:<id> (one of the host's)"
        ) from error
    return value


def _recipient(value: str) -> str:
    try:
        check_recipient(value)
    except AgeKeyInvalid as error:
        raise refuse("is not an age recipient (age1…)") from error
    return value


def _identity(value: str) -> str:
    try:
        check_identity(value)
    except AgeKeyInvalid as error:
        raise refuse("is not an age identity (AGE-SECRET-KEY-1…)") from error
    return value


def _ssh_key(value: str) -> str:
    """A public key as in `authorized_keys`, without options."""
    parts = value.split()
    try:
        if len(parts) < 2 or "\n" in value.strip():
            raise ValueError(value)
        blob = base64.b64decode(parts[1], validate=True)
        length = int.from_bytes(blob[:4])
        if blob[4 : 4 + length].decode("ascii") != parts[0] or len(blob) <= 4 + length:
            raise ValueError(value)
    except (ValueError, binascii.Error) as error:
        raise refuse("is not an OpenSSH public key such as `ssh-ed25519 AAAA… name`") from error
    return " ".join(parts)


def _address_rule(value: str) -> str:
    """`10.1.2.3`, `203.0.113.0/24` or `[2001:db8::]/32`, with `:port` behind where only one port is meant."""
    parts = re.fullmatch(r"(?:\[([0-9A-Fa-f:]+)\]|([0-9.]+))(/[0-9]{1,3})?(?::([0-9]{1,5}))?", value)
    try:
        if parts is None:
            raise ValueError(value)
        network = ipaddress.ip_network((parts[1] or parts[2]) + (parts[3] or ""))
        port = int(parts[4]) if parts[4] else None
        if port is not None and not 1 <= port <= 65535:
            raise ValueError(value)
    except ValueError as error:
        raise refuse("is not an address or network such as 203.0.113.0/24 or 203.0.113.7:443") from error
    host = f"[{network.network_address}]" if network.version == 6 else str(network.network_address)
    prefix = "" if network.prefixlen == network.max_prefixlen else f"/{network.prefixlen}"
    return f"{host}{prefix}" + (f":{port}" if port else "")


def _account(value: str) -> str:
    if not is_address(value):
        raise refuse("is not an account such as 0x71C7…976F")
    return str(to_checksum_address(value))


def check_apart(what: str, paths: Sequence[str]) -> None:
    """Refuses paths of which one is another or lies inside it. By their parts: as text, `/a-` stands between `/a` and
    `/a/b`.
    """
    for outer, inner in pairwise(sorted(PurePosixPath(path).parts for path in paths)):
        if inner[: len(outer)] == outer:
            raise refuse(f"{what}: {PurePosixPath(*inner)} lies inside {PurePosixPath(*outer)}")


Seconds = Annotated[int, BeforeValidator(_seconds), Field(strict=True)]
ContainerPath = Annotated[str, AfterValidator(_container_path)]
Cid = Annotated[str, AfterValidator(_cid)]
Command = Annotated[tuple[Text, ...], Field(max_length=1024)]
PortNumber = Annotated[int, Field(strict=True, ge=1, le=65535)]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=255)]
SecretName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$", max_length=255)]
Recipient = Annotated[str, AfterValidator(_recipient)]


class WorkloadKind(StrEnum):
    """`container` runs until the lease ends; `batch` runs once, and its end is the job's end."""

    CONTAINER = "container"
    BATCH = "batch"


class Share(StrEnum):
    """How the workload must hold its GPUs: whole ones, cells of one, slices that the hardware keeps apart, a part of a
    card that others compute on as well (MPS), or time on one, without a limit of memory.
    """

    WHOLE = "whole"
    CELLS = "cells"
    MIG = "mig"
    MPS = "mps"
    TIME_SLICE = "time-slice"


class Restart(StrEnum):
    """When the agent starts a container again that has ended by itself."""

    NEVER = "never"
    ON_FAILURE = "on-failure"
    ALWAYS = "always"


class Runtime(StrEnum):
    RUNC = "runc"
    GVISOR = "gvisor"


class Protocol(StrEnum):
    TCP = "tcp"
    UDP = "udp"


# ------------------------------------------------------------------------------------------------------ models


class Port(WorkloadPart):
    """A port of the container, published on the host as `host`, or as one the agent chooses."""

    container: PortNumber
    host: PortNumber | None = None
    protocol: Protocol = Protocol.TCP


class DatasetMount(WorkloadPart):
    """A dataset, read-only at `path`. `key` is the age identity that opens an encrypted one."""

    cid: Cid
    path: ContainerPath
    key: Annotated[Annotated[str, AfterValidator(_identity)] | None, Field(repr=False)] = None


class Code(WorkloadPart):
    """A folder that lies at `path` before the command starts. `digest` is its list's (`CodeTree`), in hex.

    The tenant hands it to the agent; or it lies sealed at `cid`, which the age identity `key` opens.
    """

    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    path: ContainerPath = "/work"
    cid: Cid | None = None
    key: Annotated[Annotated[str, AfterValidator(_identity)] | None, Field(repr=False)] = None

    @model_validator(mode="after")
    def _both(self) -> Self:
        if (self.cid is None) != (self.key is None):
            raise refuse("needs `cid` and `key` together: code on IPFS is sealed")
        return self


class VolumeMount(WorkloadPart):
    """A volume of the tenant's, to read and to write at `path`. It lies on the machine under `key`, which is never
    noted there. `size` is the most that it holds; left out, as much as it does, or what the machine gives a new one.
    `source`: an export of the volume (a CID), of which one is filled that is made anew there.
    """

    name: VolumeName
    path: ContainerPath
    size: Annotated[Bytes, Field(ge=LEAST_VOLUME_BYTES)] | None = None
    source: Cid | None = None
    key: Annotated[VolumeKey | None, Field(repr=False)] = None


class Checkpoint(WorkloadPart):
    """A folder of the lease's own at `path`, of which a copy is kept every `interval` seconds, sealed under `key`.
    `command` brings it up to date before, inside the container, in `timeout` seconds; without one it is taken as it
    lies there. `size` is the most that it holds. `name`: what its key is made of; one key opens all of one name.
    `source`: a checkpoint (a CID) that the folder begins with.
    """

    path: ContainerPath = "/checkpoint"
    interval: Annotated[Seconds, Field(ge=LEAST_INTERVAL, le=86_400)] = 600
    command: Annotated[tuple[Text, ...], Field(min_length=1, max_length=1024)] | None = None
    timeout: Annotated[Seconds, Field(ge=1, le=600)] = 60
    size: Annotated[Bytes, Field(ge=LEAST_VOLUME_BYTES)] | None = None
    name: VolumeName = "checkpoint"
    source: Cid | None = None
    key: Annotated[VolumeKey | None, Field(repr=False)] = None


class WorkloadOutput(WorkloadPart):
    """A file or folder that goes to IPFS at the end: sealed to `recipients`, or `public` for all to read."""

    path: ContainerPath
    public: bool = False
    recipients: Annotated[tuple[Recipient, ...], Field(max_length=16)] = ()

    @model_validator(mode="after")
    def _either(self) -> Self:
        if self.public and self.recipients:
            raise refuse("is public and has recipients: leave one of them out")
        return self


class HttpProbe(WorkloadPart):
    """Ready when `GET http://container:port/path` answers with a status under 400."""

    port: PortNumber
    path: Annotated[str, StringConstraints(pattern=r"^/[!-~]*$", max_length=1024)] = "/"


class Readiness(WorkloadPart):
    """What must hold before billing begins: a command that exits 0 inside, or a port that answers HTTP."""

    command: Annotated[tuple[Text, ...], Field(min_length=1, max_length=1024)] | None = None
    http: HttpProbe | None = None
    timeout: Annotated[Seconds, Field(ge=1, le=3600)] = 60

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.command is None) == (self.http is None):
            raise refuse("needs either `command` or `http`")
        return self


class Egress(WorkloadPart):
    """Where the container may connect to. The host's own policy holds over it."""

    mode: Literal["none", "internet", "allow"]
    allow: Annotated[tuple[Annotated[str, AfterValidator(_address_rule)], ...], Field(max_length=256)] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.mode == "allow") != bool(self.allow):
            raise refuse("needs a list `allow` with mode `allow`, and none otherwise")
        return self


def _egress(value: object) -> object:
    """`none`, `internet` or a bare list, as people write it."""
    if isinstance(value, str):
        return {"mode": value}
    if isinstance(value, list | tuple):
        return {"mode": "allow", "allow": value}
    return value


class Workload(WorkloadPart):
    """A workload, version 1. Frozen; unknown fields are refused, those not served yet by name."""

    version: Literal[1]
    kind: WorkloadKind = WorkloadKind.CONTAINER
    image: Annotated[str, AfterValidator(_image)]
    command: Command = ()
    env: Annotated[dict[Variable, Text], Field(max_length=1024)] = Field(default_factory=dict)
    secrets: Annotated[dict[SecretName, Text], Field(max_length=256)] = Field(
        default_factory=dict, repr=False
    )
    cpu: Annotated[float, Field(gt=0, le=4096, allow_inf_nan=False)] | None = None
    memory: Bytes | None = None
    disk: Bytes | None = None
    shm: Bytes | None = None
    share: Share | None = None
    ports: Annotated[tuple[Port, ...], Field(max_length=64)] = ()
    datasets: Annotated[tuple[DatasetMount, ...], Field(max_length=64)] = ()
    outputs: Annotated[tuple[WorkloadOutput, ...], Field(max_length=64)] = ()
    tenant: Annotated[str, AfterValidator(_account)] | None = None
    ssh_keys: Annotated[tuple[Annotated[str, AfterValidator(_ssh_key)], ...], Field(max_length=64)] = ()
    readiness: Readiness | None = None
    restart: Restart = Restart.NEVER
    grace: Annotated[Seconds, Field(ge=0, le=600)] = 10
    egress: Annotated[Egress, BeforeValidator(_egress)] = Egress(mode="internet")
    runtime: Runtime = Runtime.RUNC
    # What these were left out of keeps the bytes that it had before there were any: they have no default to write out.
    name: Title | None = None
    entrypoint: Entrypoint | None = None
    workdir: Workdir | None = None
    user: User | None = None
    hostname: Hostname | None = None
    ulimits: Annotated[Ulimits, BeforeValidator(no_others)] | None = None
    registry: RegistryLogin | None = None
    code: Code | None = None
    volumes: Annotated[tuple[VolumeMount, ...], Field(min_length=1, max_length=16)] | None = None
    checkpoint: Checkpoint | None = None
    image_key: Annotated[Annotated[str, AfterValidator(_identity)] | None, Field(repr=False)] = None

    @model_validator(mode="before")
    @classmethod
    def _unserved(cls, data: object) -> object:
        if isinstance(data, dict):
            for field in UNSERVED_FIELDS:
                if field in data:
                    raise PydanticCustomError("unserved", "{field}", {"field": field})
            for field, values in _UNSERVED_VALUES.items():
                if data.get(field) in values:
                    raise PydanticCustomError("unserved", "{field}", {"field": f"{field} = {data[field]}"})
        return data

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        volumes = self.volumes or ()
        mounted = [dataset.path for dataset in self.datasets] + [volume.path for volume in volumes]
        check_apart("volumes" if volumes else "datasets", mounted)
        if self.checkpoint is not None:
            check_apart("checkpoint", [*mounted, self.checkpoint.path])
        for kind, path in self._written:
            # Its results are taken of a lease that is over, whose volumes are closed.
            check_apart(f"outputs and {kind}s", [path, *(output.path for output in self.outputs)])
        if len(names := [volume.name for volume in volumes]) != len(set(names)):
            raise refuse("volumes: one is named twice")
        check_apart("outputs", [output.path for output in self.outputs])
        if self.code is not None:
            self._check_code(self.code)
        for key in ("container", "host"):
            taken = [(getattr(p, key), p.protocol) for p in self.ports if getattr(p, key) is not None]
            if len(taken) != len(set(taken)):
                raise refuse(f"ports: a {key} port is named twice")
        if self.kind is WorkloadKind.BATCH and self.restart is Restart.ALWAYS:
            raise refuse("restart: a batch job that always restarts never ends")
        if self.kind is WorkloadKind.BATCH and self.readiness is not None:
            raise refuse("readiness: a batch job is ready when it runs")
        if self.registry is not None:
            self._check_login(self.registry)
        if self.image_key is not None and not self.image.startswith("ipfs:"):
            raise refuse("image_key: it opens an archive from IPFS, and the image is none")
        return self

    def _check_code(self, code: Code) -> None:
        """Nothing of it can be written where a dataset is mounted, which nobody writes to, and what is put into the
        container before its start would lie beneath a volume.
        """
        for kind, path in [("dataset", dataset.path) for dataset in self.datasets] + self._written:
            if PurePosixPath(code.path).is_relative_to(path):
                raise refuse(f"code: {code.path} lies in the {kind} at {path}")

    @property
    def _written(self) -> list[tuple[str, str]]:
        """What of the host's is mounted for it to write to, and where."""
        mounts = [("volume", volume.path) for volume in self.volumes or ()]
        return mounts if self.checkpoint is None else [*mounts, ("checkpoint", self.checkpoint.path)]

    def _check_login(self, login: RegistryLogin) -> None:
        """A password for one registry is shown to no other."""
        if self.image.startswith(_FROM_NO_REGISTRY):
            raise refuse("registry: the image comes from none")
        if login.server != registry_of(self.image):
            raise refuse(f"registry: the image comes from {registry_of(self.image)}, not from {login.server}")

    @property
    def pinned(self) -> bool:
        """Whether the image is named by what is in it. A tag is its registry's to move, and is sealed nowhere."""
        return "@" in self.image or self.image.startswith(_FROM_NO_REGISTRY)

    def for_tenant(self, account: str) -> Self:
        """The same, for leases of `account` only.

        A lease's digest and often its sealed bytes can be seen by all. Without this, anybody could open a lease of
        their own with them and look at the secrets from inside.
        """
        return self.model_copy(update={"tenant": _account(account)})

    def with_code(self, code: Code) -> Self:
        """The same with a folder of code, in which its command runs unless another `workdir` is named."""
        return self.validated(code=code, workdir=self.workdir or code.path)

    def restored_from(self, cid: str) -> Self:
        """The same, beginning with that checkpoint; itself where it makes none."""
        if self.checkpoint is None:
            return self
        return self.model_copy(
            update={"checkpoint": self.checkpoint.model_copy(update={"source": _cid(cid)})}
        )

    def validated(self, **fields: object) -> Self:
        """The same with other fields, looked at as a whole. Raises ValidationError."""
        return type(self).model_validate({**self.model_dump(exclude_none=True), **fields})

    def canonical(self) -> bytes:
        """The one JSON form: sorted keys, no spaces, UTF-8, what was left out left out."""
        return orjson.dumps(self.model_dump(mode="json", exclude_none=True), option=orjson.OPT_SORT_KEYS)

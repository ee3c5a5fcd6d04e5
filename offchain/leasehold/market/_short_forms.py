"""Parts of a workload as people write them in one word, such as `8080:80/udp`: what each stands for among its fields.

load_workload({"image": "nginx:1", "ports": [read_port("8080:80")], "volumes": read_volumes(["data:/data:5GiB"])})
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from leasehold.errors import error_type
from leasehold.market._errors import InvalidInput


@error_type("port-unreadable", problem="'{text}' is no port", advice="write 8080, 8080:18080 or 53/udp.")
class PortUnreadable(InvalidInput):
    """A port has a number, and may have another at the host, and a protocol."""

    text: str


@error_type("dataset-unreadable", problem="'{text}' has no place", advice="write CID:/data/name.")
class DatasetUnreadable(InvalidInput):
    """A dataset is mounted somewhere."""

    text: str


@error_type(
    "volume-unreadable", problem="'{text}' has no place", advice="write NAME:/data or NAME:/data:100GiB."
)
class VolumeUnreadable(InvalidInput):
    """A volume has a name and lies somewhere."""

    text: str


@error_type(
    "source-unreadable",
    problem="'{text}' fills no volume",
    advice="write NAME=CID, of a volume that is named.",
)
class SourceUnreadable(InvalidInput):
    """What a volume begins with is of one of the workload's."""

    text: str


@error_type(
    "ulimit-unreadable",
    problem="'{text}' sets no limit",
    advice="write nofile=65536 or memlock=unlimited.",
)
class UlimitUnreadable(InvalidInput):
    """A limit has a name and a most."""

    text: str


@error_type("quote-open", problem="'{text}' has a quote without its other end", advice="close it.")
class QuoteOpen(InvalidInput):
    """A command as a shell reads it. field: of the workload, as it is written on a command line."""

    text: str
    field: str


def read_port(text: str) -> dict[str, object]:
    """`8080`, `8080:18080` with the host's, `53/udp`. Raises PortUnreadable."""
    numbers, _, protocol = text.partition("/")
    container, _, host = numbers.partition(":")
    if not container.isdecimal() or (host and not host.isdecimal()):
        raise PortUnreadable(text)
    port: dict[str, object] = {"container": int(container), "protocol": protocol or "tcp"}
    return {**port, "host": int(host)} if host else port


def read_dataset(text: str) -> dict[str, object]:
    """`CID:/data/name`. Raises DatasetUnreadable."""
    cid, colon, path = text.partition(":")
    if not colon:
        raise DatasetUnreadable(text)
    return {"cid": cid, "path": path}


def read_volumes(mounts: Sequence[str], sources: Sequence[str] = ()) -> list[dict[str, object]]:
    """`NAME:/data` or with its size `NAME:/data:100GiB`; `NAME=CID` is what one begins with. Raises VolumeUnreadable,
    SourceUnreadable.
    """
    volumes = {str(volume["name"]): volume for volume in map(_volume, mounts)}
    for text in sources:
        name, _, cid = text.partition("=")
        if name not in volumes or not cid:
            raise SourceUnreadable(text)
        volumes[name] = {**volumes[name], "source": cid}
    return list(volumes.values()) if sources else [_volume(text) for text in mounts]


def read_ulimit(text: str) -> tuple[str, object]:
    """`nofile=65536`, `memlock=unlimited`. Raises UlimitUnreadable."""
    name, equals, most = text.partition("=")
    if not equals:
        raise UlimitUnreadable(text)
    return name, int(most) if most.isdecimal() else most


def read_readiness(text: str) -> dict[str, object]:
    """`http:8080/health`, or a command. Raises QuoteOpen."""
    port, slash, path = text.removeprefix("http:").partition("/")
    if text.startswith("http:") and port.isdecimal():
        return {"http": {"port": int(port), **({"path": f"/{path}"} if slash else {})}}
    return {"command": read_command(text, "ready")}


def read_command(text: str, field: str = "command") -> list[str]:
    """A command's words, as a shell would part them. Raises QuoteOpen."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise QuoteOpen(text, field) from error


def _volume(text: str) -> dict[str, object]:
    name, colon, rest = text.partition(":")
    path, sized, size = rest.partition(":")
    if not colon or not path:
        raise VolumeUnreadable(text)
    return {"name": name, "path": path, **({"size": size} if sized else {})}

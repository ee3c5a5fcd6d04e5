"""What a container has written, after its end: how much that is, as an image, and as a container in which it is read.

Nothing of a stopped container can be read at the engine but by whole folders, and nothing of it can be given to
another container but as an image. Each function asks a `docker.APIClient`, whose stubs leave half of its methods
untyped.
"""

from __future__ import annotations

import contextlib
import json
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.errors import APIError, ImageNotFound, NotFound
from docker.types import LogConfig, Mount, Ulimit

from leasehold_agent._errors import EngineRefused

KEEP_SECONDS = 3_600
"""An image is made by copying: as long as it takes, and no call is left waiting for ever."""
_SHELLS: Sequence[Sequence[str]] = (("/bin/sh",), ("/bin/busybox", "sh"))
_IDLE = 'sleep "$1" 2>/dev/null || read -r _'
"""It ends by itself, should nobody be there to end it; without a `sleep` it waits for what nobody ever types."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NO_PROGRAM = ("no such file", "not found", "not a directory", "permission denied", "exec format")


@dataclass(frozen=True)
class ReaderSpec:
    """A container in which to look at what another has written. `image` is what was kept of that one, `volumes` are its
    own: (name, path). `seconds`: after which it ends by itself. `lent`: a static busybox of the host's, and where it is
    mounted, for images that have no shell.
    """

    name: str
    image: str
    labels: Mapping[str, str]
    volumes: Sequence[tuple[str, str]]
    runtime: str | None
    seccomp: str | None
    seconds: int
    lent: tuple[Path, str] | None = None


READER_CPUS, READER_MEMORY, READER_PIDS, READER_SHM = 0.5, 128 << 20, 64, 8 << 20
"""What a reader has of the host, which nobody pays for."""
READER_CAPABILITIES = ("DAC_OVERRIDE",)
"""A root in it reads what others' files hold, as it did; it changes no user, serves no port and writes nothing."""


def written(client: Any, name: str, base: str | None = None) -> int:
    """Bytes that a container has written, its image not counted. base: then all that it holds beside that image, which
    may have been written by containers before it.
    """
    answer = client._get(client._url("/containers/{0}/json", name), params={"size": 1})
    described = client._result(answer, json=True)
    own = int(described.get("SizeRw") or 0)
    if base is None:
        return own
    with contextlib.suppress(ImageNotFound):
        return max(own, int(described.get("SizeRootFs") or 0) - int(client.inspect_image(base)["Size"]))
    return own


def volumes_of(client: Any, name: str) -> tuple[tuple[str, str], ...]:
    """(name, path) of the volumes that the engine made for a container, because its image declares them."""
    mounts = client.inspect_container(name).get("Mounts") or ()
    return tuple((str(m["Name"]), str(m["Destination"])) for m in mounts if m.get("Type") == "volume")


def keep(client: Any, name: str, label: str) -> str:
    """An image without a name of all that a container has written; returns its id. It carries `label`."""
    key, _, value = label.partition("=")
    answer = client._post_json(  # the SDK's own `commit` gives up after as long as any other call
        client._url("/commit"),
        data=None,
        params={"container": name, "pause": True, "changes": f"LABEL {key}={json.dumps(value)}"},
        timeout=KEEP_SECONDS,
    )
    return str(client._result(answer, json=True)["Id"])


def forget(client: Any, label: str) -> None:
    """Remove the images that `keep` made with `label`, where no container needs them."""
    for image in client.images(filters={"label": label}, all=True):
        with contextlib.suppress(APIError):  # a later one was made of it: it goes with that one
            client.remove_image(image["Id"])


def kept_for(client: Any, key: str) -> set[str]:
    """What images say under the label `key`, where they have it."""
    return {str(image["Labels"][key]) for image in client.images(filters={"label": key}, all=True)}


def drop(client: Any, image: str) -> None:
    """Remove an image that `keep` has made."""
    client.remove_image(image)


def as_before(client: Any, options: dict[str, Any], base: str) -> dict[str, Any]:
    """`options` of a container whose image was kept of another: but for its files all is as `base` says, and not as the
    workload of that other had it.
    """
    try:
        known = client.inspect_image(base)["Config"] or {}
        kept = client.inspect_image(options["image"])["Config"] or {}
    except ImageNotFound:
        return options
    own = dict(_variable(text) for text in known.get("Env") or ())
    strange: dict[str, str | None] = {_variable(text)[0]: None for text in kept.get("Env") or ()}
    if "PATH" in strange:  # the only one that the engine itself gives where nobody says one
        strange["PATH"] = _PATH
    command = options["command"]
    if not (entrypoint := options.get("entrypoint")):
        command = command or known.get("Cmd")
    return options | {
        "environment": strange | own | options["environment"],  # a name without a value is unset
        "entrypoint": entrypoint or known.get("Entrypoint") or [""],
        "command": command,
        "working_dir": options.get("working_dir") or known.get("WorkingDir") or "/",
        "user": options.get("user") or known.get("User") or "0",
    }


def open_reader(client: Any, spec: ReaderSpec) -> str | None:
    """Make a reader and start it; its id, or None where the image has no shell that could wait in it."""
    for shell in [*((where, "sh") for _, where in _lent(spec)), *_SHELLS]:
        with contextlib.suppress(NotFound):
            client.remove_container(spec.name, force=True, v=True)
        made = str(client.create_container(**_reader_options(client, spec, shell))["Id"])
        _refuse_writable(client, made)
        try:
            client.start(made)
        except APIError as error:
            if not any(words in str(error.explanation).lower() for words in _NO_PROGRAM):
                raise
        else:
            return made
    return None


def _refuse_writable(client: Any, reader: str) -> None:
    """The engine makes a volume for whatever an image declares, which no limit holds. Raises EngineRefused."""
    if any(mount.get("RW") for mount in client.inspect_container(reader).get("Mounts") or ()):
        raise EngineRefused("a reader would have somewhere to write to")


def _lent(spec: ReaderSpec) -> list[tuple[Path, str]]:
    return [spec.lent] if spec.lent is not None else []


def _hidden(client: Any, spec: ReaderSpec) -> list[str]:
    """Paths that the image declares as volumes, and at which what was kept had something else mounted."""
    declared = (client.inspect_image(spec.image)["Config"] or {}).get("Volumes") or ()
    return sorted({posixpath.normpath(path) for path in declared} - {path for _, path in spec.volumes})


def _reader_options(client: Any, spec: ReaderSpec, shell: Sequence[str]) -> dict[str, Any]:
    """Nothing of it can be written to but a few MiB at /dev/shm, and nothing leads out of it."""
    host = client.create_host_config(
        read_only=True,
        cap_drop=["ALL"],
        cap_add=list(READER_CAPABILITIES),
        security_opt=["no-new-privileges", *([f"seccomp={spec.seccomp}"] if spec.seccomp else [])],
        nano_cpus=int(READER_CPUS * 1_000_000_000),
        mem_limit=READER_MEMORY,
        memswap_limit=READER_MEMORY,
        pids_limit=READER_PIDS,
        shm_size=READER_SHM,
        ulimits=[Ulimit(name="core", soft=1, hard=1)],
        runtime=spec.runtime,
        mounts=[
            *(Mount(path, volume, type="volume", read_only=True) for volume, path in spec.volumes),
            *(Mount(path, None, type="tmpfs", read_only=True) for path in _hidden(client, spec)),
            *(Mount(where, str(file), type="bind", read_only=True) for file, where in _lent(spec)),
        ],
        network_mode="none",
        log_config=LogConfig(type="none", config={}),
    )
    return {
        "image": spec.image,
        "entrypoint": [*shell, "-c", _IDLE, "sh"],
        "command": [str(spec.seconds)],
        "name": spec.name,
        "labels": dict(spec.labels),
        # Where NVIDIA's runtime is the engine's default it believes this variable, which the image remembers.
        "environment": {"NVIDIA_VISIBLE_DEVICES": "void"},
        "healthcheck": {"test": ["NONE"]},
        "stdin_open": True,
        "network_disabled": True,
        "host_config": host,
    }


def _variable(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value

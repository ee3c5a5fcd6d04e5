"""An image that the engine has, in the engine's words, and the same one without its volumes.

A volume that an image declares lies beside the container, where no disk limit holds and `docker commit` does not look.
The engine can be told to mount something there, but not to mount nothing. So the image is described to it anew, in all
but the volumes: its layers are there already, and the engine takes no second copy of what it has. What the image holds
at such a path then lies in the container's own layer, like everything else.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_NO_TIME = "1970-01-01T00:00:00Z"
_SNAPSHOTTER = "io.containerd.snapshotter"


@dataclass(frozen=True)
class LocalImage:
    """id: by the engine's own digest. tags: names that it has here. volumes: paths at which it wants volumes."""

    id: str
    size: int
    tags: Sequence[str]
    volumes: Sequence[str]


def image_of(raw: Mapping[str, Any]) -> LocalImage:
    volumes = (raw["Config"] or {}).get("Volumes") or ()
    return LocalImage(raw["Id"], int(raw["Size"]), tuple(raw.get("RepoTags") or ()), tuple(sorted(volumes)))


def keeps_layers_itself(info: Mapping[str, Any]) -> bool:
    """Whether an engine that says `info` of itself knows layers by their content, as all do that hold disk limits.

    Those of containerd's image store want each layer in the archive.
    """
    return not any(_SNAPSHOTTER in str(value) for _, value in info.get("DriverStatus") or ())


def config_with(raw: Mapping[str, Any], layers: Sequence[str]) -> bytes:
    """The configuration of an image like that one, of other layers (their digests) and without volumes."""
    described = {
        "architecture": raw["Architecture"],
        "os": raw["Os"],
        **({"variant": raw["Variant"]} if raw.get("Variant") else {}),
        "created": raw.get("Created") or _NO_TIME,
        "config": {name: value for name, value in (raw["Config"] or {}).items() if name != "Volumes"},
        "rootfs": {"type": "layers", "diff_ids": list(layers)},
    }
    return json.dumps(described, sort_keys=True).encode()


def archive_without_volumes(raw: Mapping[str, Any]) -> bytes:
    """An archive for `docker load` that holds the image's configuration and none of its layers."""
    layers = raw["RootFS"].get("Layers") or []
    named = [{"Config": "config", "RepoTags": None, "Layers": [f"{n}/layer.tar" for n in range(len(layers))]}]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        manifest = json.dumps(named, sort_keys=True).encode()
        for name, data in (("config", config_with(raw, layers)), ("manifest.json", manifest)):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()

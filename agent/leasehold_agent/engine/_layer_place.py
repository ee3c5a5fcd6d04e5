"""Where an engine keeps a container's files on its disk, for the two drivers that can hold it to a limit of that."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from leasehold_agent.host import LayerPlace

_NAME: Final = re.compile(r"[0-9a-f]{64}")
_MOUNT_NAMES: Final = "image/btrfs/layerdb/mounts"


def layer_place(raw: Mapping[str, Any], root: Path, seen: Callable[[Path], Path]) -> LayerPlace | None:
    """Of a container as the engine describes it; None where it does not say, or a label is put on all that is written.
    root: where the engine keeps its data, which is read where it is `seen`.
    """
    kept = raw.get("GraphDriver") or {}
    if raw.get("MountLabel"):
        return None
    if kept.get("Name") == "overlay2":
        data = kept.get("Data") or {}
        with contextlib.suppress(KeyError):
            lowers = tuple(Path(lower) for lower in data["LowerDir"].split(":"))
            return LayerPlace(Path(data["UpperDir"]), lowers, Path(data["WorkDir"]))
    if kept.get("Name") == "btrfs" and _NAME.fullmatch(str(raw["Id"])):
        with contextlib.suppress(OSError):
            name = seen(root / _MOUNT_NAMES / raw["Id"] / "mount-id").read_text().strip()
            if _NAME.fullmatch(name):
                return LayerPlace(root / "btrfs" / "subvolumes" / name)
    return None

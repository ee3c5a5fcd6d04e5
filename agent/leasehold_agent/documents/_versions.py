"""What stands between a container and its host, and since which version it holds: said at start and by `describe`.

A distribution may have mended an older version, which only its owner can know: so it is said, and nothing refused.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from typing import Final

from leasehold_agent.engine import EngineFacts

_TOOLKIT: Final = "NVIDIA Container Toolkit"
LEAST: Final[Mapping[str, tuple[tuple[int, int, int], str]]] = {
    "Engine": ((20, 10, 24), "CVE-2022-36109 and those before it"),
    "runc": ((1, 2, 8), "CVE-2024-21626, CVE-2025-31133, CVE-2025-52565 and CVE-2025-52881"),
    _TOOLKIT: ((1, 17, 8), "CVE-2025-23266"),
}
_SECONDS: Final = 10


def concerns(facts: EngineFacts, *, gpus: bool) -> list[str]:
    """A sentence for each part that is older than it should be, or cannot be seen."""
    versions = dict(facts.versions)
    if gpus:
        versions[_TOOLKIT] = _toolkit()
    sentences = [_concern(name, version) for name, version in sorted(versions.items()) if name in LEAST]
    if facts.containerd_images:
        sentences.append(
            "The engine keeps images by containerd, where a manifest may name addresses that the engine then asks: "
            "add the rules of docs/decisions/0106, or set `containerd-snapshotter` to false in daemon.json."
        )
    return [sentence for sentence in sentences if sentence is not None]


def _concern(name: str, version: str) -> str | None:
    least, mended = LEAST[name]
    wanted = ".".join(map(str, least))
    digits = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", version)
    if digits is None:
        return f"The version of {name} cannot be seen: make sure that it is at least {wanted} ({mended})."
    if tuple(int(part or 0) for part in digits.groups()) >= least:
        return None
    return (
        f"{name} {version} is older than {wanted}, by which a container cannot leave its host through {mended}: "
        "upgrade it, or make sure that your distribution has mended these."
    )


def _toolkit() -> str:
    """What the toolkit calls itself, or nothing."""
    command = shutil.which("nvidia-ctk")
    if command is None:
        return ""
    try:
        said = subprocess.run(
            [command, "--version"], capture_output=True, text=True, check=False, timeout=_SECONDS
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = re.search(r"version (\S+)", said)
    return match[1] if match else ""

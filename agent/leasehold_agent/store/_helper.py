"""A shell and small tools that the host lends to containers whose image has none: busybox, in one static file.

It is mounted read-only, and runs as what any program in there is: a process of the container. A copy of the agent's
own is mounted, since a container starts again only while what is mounted into it is there, and the host's own file
comes and goes with its package.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

from leasehold.files import replace_file

HELPER_MOUNT = "/.leasehold/busybox"
_WITHIN_SECONDS = 30
_TRIAL = "printf '/\\0' | xargs -0 -r stat -c %s -- && dd if=/dev/null of=/dev/null"
_INTERPRETED = 3  # PT_INTERP: a loader and libraries of the host's would be wanted
_ELF64 = b"\x7fELF\x02\x01"


def lend_helper(folder: Path, program: str | None = None) -> Path | None:
    """The copy in `folder`, of the busybox at `program` or wherever this host has one; None where none would do.

    Blocks for as long as it takes to run it once.
    """
    source = program or shutil.which("busybox")
    if source is None or not _stands_alone(Path(source)):
        return None
    content = Path(source).read_bytes()
    copy = folder / "busybox"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not copy.is_file() or copy.read_bytes() != content:
        replace_file(copy, content, mode=0o755)
    return copy


def _stands_alone(program: Path) -> bool:
    """Whether it needs no library, and its shell finds its own tools where there are no others."""
    try:
        if _interpreted(program.read_bytes()):
            return False
        said = subprocess.run(
            [program, "sh", "-c", _TRIAL],
            env={"PATH": "/nowhere"},
            capture_output=True,
            timeout=_WITHIN_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError, struct.error):
        return False
    return said.returncode == 0


def _interpreted(content: bytes) -> bool:
    if not content.startswith(_ELF64):
        return True
    start, size, count = struct.unpack_from("<Q", content, 32)[0], *struct.unpack_from("<HH", content, 54)
    kinds = (struct.unpack_from("<I", content, start + size * number)[0] for number in range(count))
    return _INTERPRETED in kinds

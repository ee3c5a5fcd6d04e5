"""The container image of the agent: a Debian with the agent's package installed in it, made without an image hub."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO, Final

from devnet import images
from shipping.environment import ran

NAME: Final = "leasehold/agent"
CONFIGURATION: Final = {
    "Entrypoint": ["/usr/bin/leasehold-agent"],
    "Cmd": ["run"],
    "StopSignal": "SIGTERM",
    "Labels": {"org.opencontainers.image.title": "Leasehold agent"},
}
# What installing leaves and no container reads: logs, and settings that the host's own folder takes the place of.
_LEFT: Final = ("var/log", "var/cache", "var/lib/dpkg/status-old", "etc/leasehold")


def build_image(deb: Path, version: str, to: Path) -> Path:
    """Build the image into the folder `to`, as `docker load` reads it; the file. Needs root, for debootstrap."""
    made = to / f"leasehold-agent-image_{version}.tar.gz"
    with tempfile.TemporaryDirectory(prefix="leasehold-image-") as folder:
        root, layer, archive = (Path(folder, name) for name in ("root", "layer.tar", "image.tar"))
        images.unpacked(images.bare_host(), root)
        shutil.copyfile(deb, root / "agent.deb")
        ran("chroot", root, "dpkg", "--install", "/agent.deb")
        (root / "agent.deb").unlink()
        for left in _LEFT:
            _empty(root / left)
        at = f"--mtime=@{os.environ['SOURCE_DATE_EPOCH']}"
        order = ("--numeric-owner", "--sort=name", at, "--clamp-mtime")
        ran("tar", *order, "--directory", root, "--create", "--file", layer, ".")
        images.archive_of(layer, f"{NAME}:{version}", CONFIGURATION, archive)
        with open(archive, "rb") as plain, open(made, "wb") as file, _packed(file) as packed:
            shutil.copyfileobj(plain, packed, 1 << 20)
    return made


def _packed(file: BinaryIO) -> gzip.GzipFile:
    """Without a name and a time in its head."""
    return gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)


def _empty(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
        path.mkdir()
    else:
        path.unlink(missing_ok=True)

"""The Debian package of the agent: its environment, its unit, and what dpkg asks of it.

Two builds of one checkout are the same, byte by byte: files carry the time of SOURCE_DATE_EPOCH, and what would tell
the machine that built them is left out.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from shipping.environment import PREFIX, VERSION, lay_out, ran

ROOT: Final = Path(__file__).resolve().parents[2]
AGENT: Final = ROOT / "agent"
SCRIPTS: Final = ("postinst", "prerm", "postrm")
NEXT_PYTHON: Final = f"3.{int(VERSION.partition('.')[2]) + 1}"
# Where each file goes that is no program.
PLACES: Final = {
    AGENT / "leasehold-agent.service": "usr/lib/systemd/system/leasehold-agent.service",
    AGENT / "leasehold-sysctl.conf": "usr/lib/sysctl.d/60-leasehold.conf",
    AGENT / "leasehold-docker.conf": "usr/share/leasehold/leasehold-docker.conf",
    AGENT / "agent.toml.sample": "usr/share/leasehold/agent.toml.sample",
    ROOT / "LICENSE": "usr/share/doc/leasehold-agent/copyright",
}
CONTROL: Final = """\
Package: leasehold-agent
Version: {version}
Architecture: {architecture}
Maintainer: The Leasehold project <maintainers@leasehold.invalid>
Installed-Size: {kibibytes}
Depends: python3 (>= {python}), python3 (<< {next_python}), nftables, ca-certificates, e2fsprogs, mount
Recommends: docker.io | docker-ce, golang-github-containers-common
Section: admin
Priority: optional
Description: agent of a Leasehold provider's host
 Runs on this host what was paid for on the chain, in containers of its Docker
 engine, and stops what no longer is. It brings its own Python packages and
 fetches nothing when it is installed.
 .
 Upgrading and removing it leave running leases alone.
"""


def build_deb(wheel: Path, pins: Sequence[str], version: str, to: Path, *, offline: bool = False) -> Path:
    """Build the package into the folder `to`; the file. Needs SOURCE_DATE_EPOCH in the environment."""
    architecture = ran("dpkg", "--print-architecture").strip()
    made = to / f"leasehold-agent_{version}_{architecture}.deb"
    with tempfile.TemporaryDirectory(prefix="leasehold-deb-") as folder:
        root = Path(folder, "root")
        lay_out(root, wheel, pins, offline=offline)
        _beside(root)
        _control(root, version, architecture)
        _settle(root)
        ran("dpkg-deb", "--root-owner-group", "-Zgzip", "--build", root, made)
    return made


def _beside(root: Path) -> None:
    for source, place in PLACES.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, root / place)
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/leasehold-agent").symlink_to(PREFIX / "bin/leasehold-agent")


def _control(root: Path, version: str, architecture: str) -> None:
    files = sorted(_files(root))
    control = root / "DEBIAN"
    control.mkdir()
    for script in SCRIPTS:
        shutil.copyfile(AGENT / "debian" / script, control / script)
        (control / script).chmod(0o755)
    size = sum(path.stat().st_size for path in files) // 1024 + 1
    (control / "control").write_text(
        CONTROL.format(
            version=version,
            architecture=architecture,
            kibibytes=size,
            python=VERSION,
            next_python=NEXT_PYTHON,
        )
    )
    sums = (f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n" for path in files)
    (control / "md5sums").write_text("".join(sums))  # what `dpkg --verify` compares


def _files(root: Path) -> Iterator[Path]:
    return (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())


def _settle(root: Path) -> None:
    """Modes that do not depend on who builds, and one time for all."""
    at = int(os.environ["SOURCE_DATE_EPOCH"])
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        os.utime(path, (at, at), follow_symlinks=False)

"""The files below /opt/leasehold: a virtual environment that stands on the system's Python and needs no network.

It is laid out by hand, since one that `venv` makes holds the path at which it was made, and the Python that made it.
Wheels with compiled parts fit one minor version of Python: the package depends on the one that built it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

PREFIX: Final = Path("/opt/leasehold")
VERSION: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
_COMMAND = f"""\
#!{PREFIX}/bin/python3 -I
import sys

from leasehold_agent.__main__ import main

sys.exit(main())
"""
_CONFIGURATION = f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {VERSION}\n"
# Where the wheel came from, on the machine that installed it.
_OF_THIS_MACHINE = ("direct_url.json", "uv_cache.json", "uv_build.json", "REQUESTED")


class NotBuilt(RuntimeError):
    """Something could not be packaged; the text is what the tool said."""


def ran(*command: str | Path, environment: dict[str, str] | None = None) -> str:
    """What a tool said. Raises NotBuilt."""
    done = subprocess.run(
        command, env={**os.environ, **(environment or {})}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise NotBuilt(f"{' '.join(map(str, command))}: {done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stdout


def uv(*arguments: str | Path, offline: bool) -> None:
    """uv, as setup has installed it. offline: what setup has fetched must do."""
    ran(os.environ["LEASEHOLD_UV"], *arguments, "--quiet", *(("--offline",) if offline else ()))


def lay_out(root: Path, wheel: Path, pins: Sequence[str], *, offline: bool = False) -> None:
    """Make the environment of the agent below `root`, as it is to lie on a host."""
    place = root / PREFIX.relative_to("/")
    packages = place / "lib" / f"python{VERSION}" / "site-packages"
    listed = root.parent / "pins.txt"
    listed.write_text("".join(f"{pin}\n" for pin in pins))
    install = ("pip", "install", "--no-deps", "--link-mode", "copy", "--no-compile-bytecode")
    where = ("--python", sys.executable, "--target", packages)
    uv(*install, *where, "--requirement", listed, wheel, offline=offline)
    for left in ("bin", "share", ".lock"):
        _remove(packages / left)
    for noted in packages.glob("*.dist-info"):
        _forget_this_machine(noted)
    _write(place / "pyvenv.cfg", _CONFIGURATION)
    _write(place / "bin/leasehold-agent", _COMMAND, 0o755)
    (place / "bin/python3").symlink_to("/usr/bin/python3")


def _forget_this_machine(noted: Path) -> None:
    for name in _OF_THIS_MACHINE:
        (noted / name).unlink(missing_ok=True)
    record = noted / "RECORD"
    kept = [line for line in record.read_text().splitlines() if _is_there(noted.parent, line)]
    record.write_text("".join(f"{line}\n" for line in kept))


def _is_there(packages: Path, line: str) -> bool:
    return (packages / line.split(",")[0].strip('"')).exists()


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)

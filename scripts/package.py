"""Builds the agent's Debian package and container image into dist/.

    python scripts/package.py [--offline] [deb] [image]

Neither needs an image hub; the image's Debian comes by debootstrap, which needs root. Both are the same for the same
checkout: their files carry the time of its commit, or of SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Final

from shipping.container import build_image
from shipping.deb import build_deb
from shipping.environment import NotBuilt, uv
from shipping.pins import asked_for, pinned

ROOT: Final = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", help="deb, or image with it; by default both")
    parser.add_argument("--to", type=Path, default=ROOT / "dist", help="the folder for what is built")
    parser.add_argument("--offline", action="store_true", help="use what setup has fetched")
    asked = parser.parse_args()
    os.environ.setdefault("SOURCE_DATE_EPOCH", _time_of_commit())
    asked.to.mkdir(parents=True, exist_ok=True)
    try:
        deb = the_deb(asked.to, offline=asked.offline)
        print(deb)
        if not asked.what or "image" in asked.what:
            print(build_image(deb, version(), asked.to))
    except NotBuilt as error:
        sys.exit(str(error))


def the_deb(to: Path, packaged: str | None = None, *, offline: bool = False) -> Path:
    """Build wheel and package of this checkout into `to`. packaged: the package's version, if not the project's."""
    with tempfile.TemporaryDirectory(prefix="leasehold-wheel-") as folder:
        uv("build", "--wheel", "--out-dir", folder, ROOT, offline=offline)
        (wheel,) = Path(folder).glob("*.whl")
        pins = pinned(asked_for(wheel, "agent"), ROOT / "requirements.lock")
        return build_deb(wheel, pins, packaged or version(), to, offline=offline)


def version() -> str:
    """The project's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def _time_of_commit() -> str:
    git = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()

"""A Debian of its own, as a host's owner finds it: files, packages, mounts. Network and processes are this machine's.

There is no systemd in it, and none could be started here: `systemctl` is the stand-in of `service.py`, which starts and
stops what a unit's `ExecStart` says. Needs root.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from devnet import images, service
from devnet.patience import patient
from devnet.steward import steward

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_UNITS: Final = Path("run/units")
_MOUNTS: Final = """\
set -e
mount --rbind /dev "$1/dev"
mount --rbind /sys "$1/sys"
mount -t proc proc "$1/proc"
root=$1; shift
for shared in "$@"; do
  mkdir -p "$root$shared"
  mount --rbind "$shared" "$root$shared"
done
exec chroot "$root" sh -c 'echo mounted; exec sleep infinity'
"""


class BareHost:
    """A context manager. shared: folders of this machine that are at the same place in there."""

    def __init__(self, folder: Path, *shared: Path, environment: Mapping[str, str] | None = None) -> None:
        self.root = folder / "root"
        self._shared = shared
        self.environment = {"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8", **(environment or {})}
        self.environment[service.PLACE] = f"/{_UNITS}"
        self._holder: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        images.unpacked(images.bare_host(), self.root)
        for made in (self.root / _UNITS, self.root / "run/systemd/system"):  # by which scripts know systemd
            made.mkdir(parents=True)
        there = "/usr/local/lib/service.py"
        shutil.copyfile(service.__file__, self.root / there[1:])
        service.put_stand_ins(self.root / "usr/local/bin", "/usr/bin/python3", there)
        places = [str(self.root), *map(str, self._shared)]
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", _MOUNTS, "sh", *places],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        steward().process(self._holder.pid)
        assert self._holder.stdout is not None
        if self._holder.stdout.readline() != "mounted\n":
            self._end()
            raise RuntimeError("the bare host's file systems could not be mounted")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(subprocess.SubprocessError):
            self.run("systemctl", "stop", "leasehold-agent")
        self._end()

    def _end(self) -> None:
        if self._holder is not None:
            self._holder.kill()
            with self._holder:
                pass

    @property
    def around(self) -> tuple[str, ...]:
        """What runs a command in there."""
        assert self._holder is not None
        return ("nsenter", f"--target={self._holder.pid}", "--mount", "--root", "--wd")

    def run(self, *command: str, timeout: float = patient(120)) -> subprocess.CompletedProcess[str]:
        """Run a command in there as root, whatever its exit code."""
        return subprocess.run(
            [*self.around, *command],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def __call__(self, *command: str) -> str:
        """What the command says on either stream, in there. Raises AssertionError unless it exits with 0."""
        done = self.run(*command)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def answer(self, *command: str) -> str:
        """What the command prints, in there. Raises AssertionError unless it exits with 0."""
        done = self.run(*command)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
        return done.stdout

    def start(self, unit: str) -> None:
        """`systemctl enable --now`, and what was started ends with this process."""
        self("systemctl", "enable", "--now", unit)
        self.entrust(unit)

    def entrust(self, unit: str) -> int:
        """The process of a unit that runs, which ends with this one."""
        pid = int((self.root / _UNITS / f"{unit}.pid").read_text())
        with contextlib.suppress(ProcessLookupError):
            steward().process(pid)
        return pid

    def journal(self, unit: str) -> str:
        """What the unit has said."""
        log = self.root / _UNITS / f"{unit}.log"
        return log.read_text() if log.is_file() else ""

"""`systemctl` and `journalctl` for a machine without systemd: as much of them as installing the agent takes.

They take a unit's `ExecStart` and `Environment` at their word and no more of it. What a unit's process says goes to a
file beside its process id, in `$STAND_IN_UNITS`.
"""

from __future__ import annotations

import os
import select
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

UNITS = Path("/etc/systemd/system")
OF_PACKAGES = Path("/usr/lib/systemd/system")
PLACE = "STAND_IN_UNITS"


def put_stand_ins(folder: Path, python: str = sys.executable, this: str = __file__) -> None:
    """Writes both commands into a folder, for a shell's PATH. python, this: where it and this file are for them."""
    for command in ("systemctl", "journalctl"):
        script = folder / command
        script.write_text(f'#!/bin/sh\nexec {python} {this} {command} "$@"\n')
        script.chmod(0o755)


def stop(place: Path, unit: str) -> None:
    """Ends the unit's process, if it runs, and waits until it has ended."""
    try:
        pid = int((place / f"{unit}.pid").read_text())
        handle = os.pidfd_open(pid)
    except (OSError, ValueError):
        return
    signal.pidfd_send_signal(handle, signal.SIGTERM)
    select.select([handle], [], [])
    os.close(handle)
    (place / f"{unit}.pid").unlink()


def _runs(place: Path, unit: str) -> bool:
    try:
        handle = os.pidfd_open(int((place / f"{unit}.pid").read_text()))
    except (OSError, ValueError):
        return False
    ended, _, _ = select.select([handle], [], [], 0)
    os.close(handle)
    return not ended


def _settings(unit: str, key: str) -> Iterator[str]:
    file = next(path for folder in (UNITS, OF_PACKAGES) if (path := folder / f"{unit}.service").is_file())
    for line in file.read_text().splitlines():
        name, equals, value = line.partition("=")
        if equals and name == key:
            yield value


def _start(place: Path, unit: str) -> None:
    (command,) = _settings(unit, "ExecStart")
    given = dict(value.split("=", 1) for value in _settings(unit, "Environment"))
    program, *arguments = shlex.split(command)
    with open(os.devnull) as nothing, open(place / f"{unit}.log", "ab") as log:
        streams = [
            (os.POSIX_SPAWN_DUP2, file.fileno(), number) for number, file in enumerate((nothing, log, log))
        ]
        environment = {**os.environ, **given}
        pid = os.posix_spawnp(program, [program, *arguments], environment, file_actions=streams, setsid=True)
    (place / f"{unit}.pid").write_text(str(pid))


def main(command: str, *arguments: str) -> int:
    place = Path(os.environ[PLACE])
    words = [word.removesuffix(".service") for word in arguments if not word.startswith("-")]
    if command == "journalctl":
        print((place / f"{words[-1]}.log").read_text(), end="")
        return 0
    verb, *units = words
    if verb == "is-active":
        print("active" if (well := all(_runs(place, unit) for unit in units)) else "inactive")
        return 0 if well else 3
    for unit in units:
        if verb in ("disable", "stop", "restart"):
            stop(place, unit)
        if verb in ("enable", "start", "restart"):
            _start(place, unit)
    return 0 if verb in ("enable", "disable", "start", "stop", "restart", "daemon-reload") else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

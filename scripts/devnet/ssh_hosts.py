"""A stand-in for the command `ssh`: hosts are folders, whose `answer` a shell reads, with what was typed in `$1`."""

from __future__ import annotations

import os
from pathlib import Path

_SSH = """\
#!/bin/sh
for word; do target=$command; command=$word; done
printf '%s\\n' "$*" >> "$SSH_STAND_IN/$target/asked"
env > "$SSH_STAND_IN/$target/environment"
exec sh "$SSH_STAND_IN/$target/answer" "$command"
"""


class Hosts:
    """Hosts below a folder. program: the stand-in; environment: what it has to find, and who is to find it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "hosts"
        programs = folder / "programs"
        for made in (self._folder, programs):
            made.mkdir()
        self.program = programs / "ssh"
        self.program.write_text(_SSH)
        self.program.chmod(0o755)
        self.environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "SSH_STAND_IN": str(self._folder),
        }

    def answer(self, target: str, script: str) -> None:
        """What a shell does on that host whatever is asked; `$1` is what was typed."""
        folder = self._folder / target
        folder.mkdir(exist_ok=True)
        (folder / "answer").write_text(script)

    def describes(self, target: str, machine_file: Path) -> None:
        """The host prints that machine.json, and `done` to all else."""
        self.answer(target, f'case "$1" in *describe*) cat {machine_file};; *) echo done;; esac')

    def asked(self, target: str) -> list[str]:
        """What the stand-in was called with, for that host."""
        file = self._folder / target / "asked"
        return file.read_text().splitlines() if file.exists() else []

    def saw(self, target: str) -> dict[str, str]:
        """The environment that the stand-in had last."""
        lines = (self._folder / target / "environment").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

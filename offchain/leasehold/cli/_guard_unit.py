"""The unit by which systemd runs a guard with nobody logged in, and beside it what nobody else is to read.

Addresses of nodes often hold a key. A command line is seen by everybody on a computer, and a unit lies where its reader
puts it, so that they stand in a file of the home for its owner alone.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from leasehold.cli._command import Invocation
from leasehold.files import write_private

_UNIT = """\
[Unit]
Description=Leasehold guard
Wants=network-online.target
After=network-online.target

[Service]
{environment}ExecStart={command}
Restart=always
RestartSec=10
UMask=0077
NoNewPrivileges=yes
ProtectSystem=full

[Install]
WantedBy=default.target
"""
"""Only the system's own folders are shut to it: a run's results go where whoever began it said, /tmp among these."""


def unit_of(call: Invocation) -> str:
    """The unit of a guard that is called as `call` was, by whatever folder systemd calls it from."""
    environment = f"EnvironmentFile={_specifier(str(_environment(call)))}\n"
    return _UNIT.format(command=" ".join(map(_quoted, _words(call))), environment=environment)


def keep_environment(call: Invocation) -> Path:
    """Write the addresses that the unit's process reads, for the owner alone; where they stand. Raises OSError."""
    path = _environment(call)
    rpc = (
        ",".join(rpc.replace(",", "%2C") for rpc in call.settings.rpc)
        .replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("$", "\\$")
        .replace("`", "\\`")
    )
    write_private(path, f'LEASEHOLD_RPC="{rpc}"\n')
    return path


def _environment(call: Invocation) -> Path:
    return _absolute(call.settings.home) / "guard" / "unit.env"


def _specifier(text: str) -> str:
    return text.replace("%", "%%")


def _words(call: Invocation) -> list[str]:
    """What systemd starts: this command, with all that was said before and behind its name."""
    settings = call.settings
    command = shutil.which("leasehold") or str(Path(sys.argv[0]).absolute())
    words = [command, "--home", str(_absolute(settings.home))]
    if settings.deployment is not None:
        words += ["--deployment", str(_absolute(settings.deployment))]
    words += ["--ipfs", settings.ipfs, "guard", "run", "--wallet", call.chosen().name]
    if call.password_file is not None:
        words += ["--password-file", str(_absolute(call.password_file))]
    return words + (["--for-account", call.account] if call.account is not None else [])


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()


def _quoted(word: str) -> str:
    """As systemd reads it."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if set(escaped) & set(" \t'\"\\;") else escaped

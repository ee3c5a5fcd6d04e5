"""Which settings file is read: the first of three places that has one, the same for the unit and at the prompt.

    $LEASEHOLD_AGENT_CONFIG          named for this once, so it has to be there
    $LEASEHOLD_HOME/agent.toml       a person's own; without that variable ~/.config/leasehold/agent.toml
    /etc/leasehold/agent.toml        the host's

What is nearer wins, and one file is the whole of it: `docs/decisions/0200-one-agent-toml.md` says why.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from leasehold.errors import SettingsError

VARIABLE: Final = "LEASEHOLD_AGENT_CONFIG"
NAME: Final = "agent.toml"
OF_THE_HOST: Final = Path("/etc/leasehold") / NAME


def settings_file() -> Path | None:
    """The file that is read, if there is one.

    Raises:
        SettingsError: the one that was named is not there, or a place may not be looked at.
    """
    if named := os.environ.get(VARIABLE):
        if not _there(Path(named)):
            raise SettingsError(f"{VARIABLE} names {named}, which is not there: write it, or name another.")
        return Path(named)
    return next((path for path in places() if _there(path) and not another_owns(path)), None)


def config_file() -> Path:
    """The file that is read or, where there is none, the one to write."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else settings_file() or OF_THE_HOST


def places() -> tuple[Path, ...]:
    """Where a file is looked for while none is named, the nearest first."""
    own = _own_folder()
    return (own / NAME, OF_THE_HOST) if own else (OF_THE_HOST,)


def another_owns(path: Path) -> bool:
    """Whether a file in a home is somebody else's: then it is passed over.

    `su` and some settings of `sudo` leave the caller's HOME to root. Whoever wrote the file there would choose which
    engine root's agent talks to, and where it keeps its keys.
    """
    if path == OF_THE_HOST or os.environ.get("LEASEHOLD_HOME"):
        return False
    return path.stat().st_uid != os.geteuid()


def _own_folder() -> Path | None:
    if home := os.environ.get("LEASEHOLD_HOME"):
        return Path(home)
    try:
        return Path.home() / ".config" / "leasehold"
    except RuntimeError:  # no HOME, and an account that no list names
        return None


def _there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError as error:
        raise not_yours(path) from error
    return True


def not_yours(path: Path) -> SettingsError:
    """Of a file that this account may not read: it may hold addresses that are paid for, and is root's alone."""
    return SettingsError(
        f"{path} may not be read by this account: give the command as its owner, with `sudo`."
    )

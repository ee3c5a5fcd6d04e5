"""With which shell a session begins: the image's own where it has one, else the one that the host has lent.

What an image has is not known before something has looked inside, and that is a program that runs there.
"""

from __future__ import annotations

from leasehold_agent.store import HELPER_MOUNT

_FIRST_FOUND = 'for s in "$SHELL" /bin/bash /bin/zsh /bin/sh; do [ -x "$s" ] && exec "$s" -l; done; '
_LENT = f"exec {HELPER_MOUNT} sh"


def login_shell(lent: bool) -> list[str]:
    """What a session without a command runs. lent: the host's shell is in the container."""
    if lent:
        return [HELPER_MOUNT, "sh", "-c", f"{_FIRST_FOUND}{_LENT} -l"]
    return ["/bin/sh", "-c", f"{_FIRST_FOUND}exec /bin/sh -l"]


def shell_command(text: str, lent: bool) -> list[str]:
    """What runs `text`, a line for a shell."""
    if lent:
        script = f'[ -x /bin/sh ] && exec /bin/sh -c "$1"; {_LENT} -c "$1"'
        return [HELPER_MOUNT, "sh", "-c", script, "sh", text]
    return ["/bin/sh", "-c", text]

"""How a file is written: whole or not at all, and where it is private, for its owner alone.

Every file that Leasehold keeps is written here, the agent's too. A process that dies, or a power cut, leaves the old
file or the new one, never a part. But for `replace_file`, what was written is on the disk when the function returns,
even if the power fails then.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

__all__ = ["make_private", "replace_file", "write_private", "write_whole"]

_PRIVATE_FILE, _PRIVATE_FOLDER = 0o600, 0o700
_SHARED_FILE = 0o644


def write_private(path: Path, data: bytes | str) -> None:
    """Write a file that its owner alone may read, in place of what it held. Folders that are missing become private.

    Raises:
        OSError: it cannot be written; what it held is still there.
    """
    path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
    with _draft(path, data, _PRIVATE_FILE) as draft:
        draft.replace(path)
    _keep_names(path.parent)


def make_private(path: Path, data: bytes | str) -> None:
    """The same for a file that must not be there yet, such as a key's.

    Raises:
        FileExistsError: it is there, and is left as it was. OSError: it cannot be written.
    """
    path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
    with _draft(path, data, _PRIVATE_FILE) as draft:
        os.link(draft, path)
    _keep_names(path.parent)


def write_whole(path: Path, data: bytes | str) -> None:
    """Write a file that others may read, in place of what it held. Raises OSError as `write_private`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _draft(path, data, _SHARED_FILE) as draft:
        draft.replace(path)
    _keep_names(path.parent)


def replace_file(path: Path, data: bytes | str, *, mode: int = _PRIVATE_FILE, forced: bool = True) -> None:
    """Write a file that has just this mode, in place of what it held, in a folder that must be there: where that comes
    and goes, a late writer does not make it again. A power cut may bring back what it held.

    forced: wait for the disk. Without, a power cut may leave anything there: only for what is checked when it is read,
    and can be had again.

    Raises:
        FileNotFoundError: the folder is gone. OSError: it cannot be written; what it held is still there.
    """
    with _draft(path, data, mode, masked=False, forced=forced) as draft:
        draft.replace(path)


@contextlib.contextmanager
def _draft(
    path: Path, data: bytes | str, mode: int, *, masked: bool = True, forced: bool = True
) -> Iterator[Path]:
    """The data on the disk beside `path`, under a name that nobody else has; gone afterwards unless it was renamed.

    masked: the process's umask takes from the mode. forced: it is on the disk indeed.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            if not masked:
                os.fchmod(file.fileno(), mode)
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            if forced:
                os.fsync(file.fileno())
        yield draft
    finally:
        draft.unlink(missing_ok=True)  # a full disk is not filled further by what was tried


def _keep_names(folder: Path) -> None:
    """What the folder's files are called is on the disk, as what they hold is already."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

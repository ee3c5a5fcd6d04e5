"""How a file is written: whole or not at all, and where it is private, for its owner alone.

Every file that Leasehold keeps is written here. A process that dies leaves the old file or the new one, never a part;
what was written is on the disk when the function returns, even if the power fails then.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

__all__ = ["make_private", "write_private", "write_whole"]

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


def make_private(path: Path, data: bytes | str) -> None:
    """The same for a file that must not be there yet, such as a key's.

    Raises:
        FileExistsError: it is there, and is left as it was. OSError: it cannot be written.
    """
    path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
    with _draft(path, data, _PRIVATE_FILE) as draft:
        os.link(draft, path)


def write_whole(path: Path, data: bytes | str) -> None:
    """Write a file that others may read, in place of what it held. Raises OSError as `write_private`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _draft(path, data, _SHARED_FILE) as draft:
        draft.replace(path)


@contextlib.contextmanager
def _draft(path: Path, data: bytes | str, mode: int) -> Iterator[Path]:
    """The data on the disk beside `path`, under a name that nobody else has; gone afterwards unless it was renamed."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        yield draft
    finally:
        draft.unlink(missing_ok=True)  # a full disk is not filled further by what was tried
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

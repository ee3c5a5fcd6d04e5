"""Room on the state folder's disk that nobody else gets: a file that is there to be given up.

The index, the nonces and the notes need a little room for all that the agent does. Where a host's disk fills up, by
whatever fills it, the file goes and what the agent owes goes on; it is made again once there is room.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from pathlib import Path

import sqlalchemy.exc
import structlog

_log = structlog.get_logger("leasehold_agent")
_SIZE, _PART = 64 << 20, 8
DISK_TROUBLE = (OSError, sqlite3.Error, sqlalchemy.exc.SQLAlchemyError)
"""What is raised where files and databases cannot be written now and perhaps can be in a moment."""


class DiskReserve:
    """The file: 64 MiB of the file system that `path` lies on, or an eighth of a small one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._given_up = False

    def mend(self) -> None:
        """Give the file up where little is free, make it where much is. Never raises."""
        with contextlib.suppress(OSError):
            state = os.statvfs(self._path.parent)
            free, size = state.f_bavail * state.f_frsize, min(_SIZE, state.f_blocks * state.f_frsize // _PART)
            held = self._path.exists()
            if held and free < size // 4:
                self._path.unlink()
                self._given_up = True
                _log.error(
                    "disk", problem="The disk of the state folder is full: the agent lives on its reserve."
                )
            elif not held and free > 2 * size:
                self._make(size)
                if self._given_up:
                    _log.info("disk", problem=None)
                self._given_up = False

    def _make(self, size: int) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, size)
        except OSError as error:
            self._path.unlink(missing_ok=True)
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EOPNOTSUPP):
                raise
        finally:
            os.close(descriptor)

"""Log lines: for people on a terminal, one JSON object a line elsewhere."""

from __future__ import annotations

import contextlib
import logging
import shutil
import sys
from typing import TextIO, cast

import structlog


class _Unfailing:
    """A file for log lines: one that cannot be written, for a full disk, a reader that left, or a file that is closed,
    is lost.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._file.flush()


def configure_logs(to: TextIO | None = None) -> None:
    """Lines for people on a terminal, one JSON object a line elsewhere. to: by default standard output."""
    file = to or sys.stdout
    renderer: structlog.types.Processor = structlog.processors.JSONRenderer()
    if file.isatty() and shutil.get_terminal_size().columns:
        renderer = structlog.dev.ConsoleRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            renderer,
        ],
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _Unfailing(file))),
    )
    logging.getLogger("asyncssh").setLevel(logging.WARNING)

"""Log lines that cannot be written are lost, and nothing else is."""

from __future__ import annotations

import io

import structlog

from leasehold_agent._logs import configure_logs


class Full(io.StringIO):
    """A file on a disk that is full."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def test_a_line_is_json_where_nobody_sits() -> None:
    file = io.StringIO()
    configure_logs(file)
    structlog.get_logger("leasehold_agent").info("serving", machine=7)
    assert '"event": "serving"' in file.getvalue()


def test_what_cannot_be_written_is_no_error() -> None:
    configure_logs(Full())
    structlog.get_logger("leasehold_agent").info("serving")
    closed = io.StringIO()
    configure_logs(closed)
    closed.close()
    structlog.get_logger("leasehold_agent").info("serving")

"""The frames of an exec stream over a WebSocket.

Binary frames carry data behind one byte that names the stream. Text frames are JSON: first `{"command",
"tty", "env", "size"}` from the client, then `{"resize": [rows, columns]}` and `{"eof": true}`; `{"exit":
n}` ends the stream.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ._errors import BadCall

STDIN, STDOUT, STDERR = 0, 1, 2
MAX_FRAME = 256 * 1024
"""Longest frame that either side accepts, in bytes."""
CHUNK = 64 * 1024
"""Longest piece of data that either side sends in one frame, in bytes."""

Rows = Annotated[int, Field(ge=1, le=9999)]
Argument = Annotated[str, Field(max_length=128 * 1024, pattern=r"^[^\x00]*$")]
Name = Annotated[str, Field(max_length=256, pattern=r"^[^\x00=]+$")]


class ExecStart(BaseModel):
    """What to run. `size` is (rows, columns), for a terminal."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    command: Annotated[list[Argument], Field(min_length=1, max_length=4096)]
    tty: bool = False
    env: Annotated[dict[Name, Argument], Field(max_length=256)] = {}
    size: Annotated[tuple[Rows, Rows], Field(strict=False)] | None = None


class ExecControl(BaseModel):
    """A text frame of a running stream: one of its fields."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    resize: Annotated[tuple[Rows, Rows], Field(strict=False)] | None = None
    eof: bool = False
    exit: int | None = None


def parse_start(text: str) -> ExecStart:
    """The first frame. Raises `BadCall`."""
    try:
        return ExecStart.model_validate_json(text)
    except ValidationError as error:
        raise BadCall(f"The first frame does not say what to run: {_first(error)}.") from None


def parse_control(text: str) -> ExecControl:
    """A later text frame. Raises `BadCall`."""
    try:
        return ExecControl.model_validate_json(text)
    except ValidationError as error:
        raise BadCall(f"A control frame cannot be read: {_first(error)}.") from None


def _first(error: ValidationError) -> str:
    # Without the input: it may hold what its sender would not have in a log.
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]

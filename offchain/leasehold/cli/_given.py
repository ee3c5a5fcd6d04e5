"""Variables and secrets as they are given at the prompt: written out, from the environment, or from a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from leasehold.market import InvalidInput

_MOST: Final = 1 << 20


def parse_variable(text: str) -> tuple[str, str]:
    """A variable and its value, which without one is what it has here: `NAME=VALUE`, `NAME`. Raises InvalidInput."""
    name, equals, value = text.partition("=")
    return name, value if equals else _set_here(name, f"write {name}=VALUE, or set it before.")


def read_variables(files: Sequence[Path]) -> dict[str, str]:
    """Those of all files, the later ones' in place of the earlier ones'. A line is `NAME=VALUE` as it stands, without
    quotes, or `NAME`; what begins with `#` is none. Raises InvalidInput.
    """
    return dict(variable for file in files for variable in _in_file(file))


def read_secret(text: str) -> tuple[str, str]:
    """Out of a file, `NAME=@FILE`, or the environment, `NAME`: what stands on a command line can be seen by whoever
    else uses the computer. Raises InvalidInput.
    """
    name, equals, file = text.partition("=")
    if not equals:
        return name, _set_here(name, f"set it before, or write --secret {name}=@FILE.")
    return name, _read(Path(file.removeprefix("@")), f"name the file of secret {name}.")


def _in_file(file: Path) -> Iterator[tuple[str, str]]:
    for line in _read(file, "name another file with --env-file.").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield parse_variable(line.lstrip())


def _set_here(name: str, advice: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise InvalidInput(f"{name or 'A variable without a name'} is not set here: {advice}")
    return value


def _read(file: Path, advice: str) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(_MOST + 1)
        if len(content) > _MOST:
            raise InvalidInput(f"{file}: it is larger than {_MOST >> 20} MiB; {advice}")
        return content.decode()
    except OSError as error:
        raise InvalidInput(f"{error.filename}: {error.strerror}; {advice}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file}: it is no text in UTF-8; write it as base64 first.") from error

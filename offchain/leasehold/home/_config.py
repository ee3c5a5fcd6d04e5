"""`config.toml`, a person's settings: what stands there stays, but for what is set anew."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from leasehold.errors import SettingsError
from leasehold.files import write_private


def read_config(home: Path) -> dict[str, object]:
    """The settings of a home; none where there is no file. Raises SettingsError."""
    path = home / "config.toml"
    try:
        return tomllib.loads(path.read_text()) if path.is_file() else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path} cannot be read ({error})", "correct it, or move it away.") from error


def write_config(home: Path, changes: Mapping[str, object]) -> Path:
    """Set these, and leave the rest. Raises SettingsError, OSError."""
    path = home / "config.toml"
    write_private(path, as_toml({**read_config(home), **changes}))
    return path


def as_toml(document: Mapping[str, object]) -> str:
    """Texts, numbers, truths and lists of those, a line each, then the tables. JSON writes them as TOML does."""
    return "\n".join(_lines(document, ())) + "\n"


def _lines(table: Mapping[str, object], place: tuple[str, ...]) -> Iterator[str]:
    for key, value in table.items():
        if not isinstance(value, Mapping):
            yield f"{_key(key)} = {json.dumps(value, ensure_ascii=False)}"
    for key, value in table.items():
        if isinstance(value, Mapping):
            below = (*place, key)
            yield ""
            yield f"[{'.'.join(map(_key, below))}]"
            yield from _lines(value, below)


def _key(word: str) -> str:
    return word if re.fullmatch(r"[A-Za-z0-9_-]+", word) else json.dumps(word, ensure_ascii=False)

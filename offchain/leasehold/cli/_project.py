"""`leasehold.toml`: what a project's run is, beside its code. What is typed wins over it."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import leasehold
from leasehold.errors import LeaseholdError, SettingsError

FILE: Final = "leasehold.toml"


@dataclass(frozen=True)
class Project:
    """The file's keys, with `-` where a name has `_`. workload: a table of the workload's fields, or a file. code: the
    folder that goes in; places are relative to the file. The rest as the options of `leasehold run`.
    """

    name: str | None = None
    workload: Mapping[str, object] | Path | None = None
    code: Path | None = None
    command: tuple[str, ...] | None = None
    search: str | None = None
    gpu: str | None = None
    share: int | None = None
    spot: bool | None = None
    max_price: str | None = None
    allow_unverified: bool | None = None
    step: int | None = None
    at_most: int | None = None
    budget: str | None = None
    start_within: int | None = None
    gone_after: int | None = None
    close_when: str | None = None
    results: Path | None = None


def load_project(folder: Path) -> Project:
    """What the file in that folder says; nothing where there is none.

    Raises:
        SettingsError: with the first key that is wrong, by name.
    """
    path = folder / FILE
    try:
        said = tomllib.loads(path.read_text())
    except FileNotFoundError:
        return Project()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path} cannot be read ({error})", "correct it.") from error
    read: dict[str, Any] = {_known(path, key): _read(path, key, value) for key, value in said.items()}
    return Project(**read)


def _known(path: Path, key: str) -> str:
    keys = {field.name.replace("_", "-"): field.name for field in fields(Project)}
    if key not in keys:
        near = difflib.get_close_matches(key, keys, 1)
        advice = f"did you mean `{near[0]}`?" if near else f"it may have {', '.join(keys)}."
        raise SettingsError(f"{path} has no key `{key}`", advice)
    return keys[key]


def _read(path: Path, key: str, value: object) -> object:
    try:
        return _READERS[key.replace("-", "_")](path.parent, value)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"{path}: `{key}` is wrong", f"it should be {error}.") from error
    except LeaseholdError as error:
        raise SettingsError(f"{path}: `{key}` is wrong", str(error)) from error


def _text(folder: Path, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text")
    return value


def _amount(folder: Path, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError("an amount, such as 2.5")
    return str(value)


def _flag(folder: Path, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false")
    return value


def _words(folder: Path, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise TypeError("a list of texts, a word of the command each")
    return tuple(value)


def _place(folder: Path, value: object) -> Path:
    return folder / Path(_text(folder, value)).expanduser()


def _seconds(folder: Path, value: object) -> int:
    return leasehold.parse_duration(_text(folder, value)) if not isinstance(value, int) else value


def _share(folder: Path, value: object) -> int:
    return leasehold.parse_share(str(value))


def _workload(folder: Path, value: object) -> object:
    return value if isinstance(value, dict) else _place(folder, value)


_READERS: Final[Mapping[str, Callable[[Path, object], Any]]] = {
    "name": _text,
    "workload": _workload,
    "code": _place,
    "command": _words,
    "search": _text,
    "gpu": _text,
    "share": _share,
    "spot": _flag,
    "max_price": _amount,
    "allow_unverified": _flag,
    "step": _seconds,
    "at_most": _seconds,
    "budget": _amount,
    "start_within": _seconds,
    "gone_after": _seconds,
    "close_when": _text,
    "results": _place,
}

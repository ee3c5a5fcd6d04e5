"""The command line's settings: one validated object, read once when a command starts.

What stands before the command wins over the environment (`LEASEHOLD_…`), which wins over
`$LEASEHOLD_HOME/config.toml`. Every prompt waits for this, so that no library is imported for it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from leasehold.cli._completion import DEFAULT_HOME
from leasehold.cli._options import Globals
from leasehold.errors import SettingsError

GUARD = "guard"
"""The table of `config.toml` that says what a guard does."""


@dataclass(frozen=True)
class Settings:
    """Where things are.

    deployment: the pool's file. rpc: addresses of nodes, the preferred first (with commas between, in the
    environment). ws: of a WebSocket. ipfs: multiaddr of one's own Kubo node. wallet: name of the usual one.
    documents_timeout: seconds to wait for one machine's document. docker_config: what `docker login` writes.
    """

    home: Path = DEFAULT_HOME
    deployment: Path | None = None
    rpc: tuple[str, ...] = ("http://127.0.0.1:8545",)
    ws: str | None = None
    ipfs: str = "/ip4/127.0.0.1/tcp/5001"
    wallet: str | None = None
    password: str | None = field(default=None, repr=False)
    docker_config: Path = Path("~/.docker/config.json")
    documents_timeout: float = 10.0


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("it should be a text")
    return value


def _place(value: object) -> Path:
    return Path(value if isinstance(value, Path) else _text(value)).expanduser()


def _texts(value: object) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not parts:
        raise ValueError("it should be one text, or several")
    return tuple(_text(part).strip() for part in parts)


def _seconds(value: object) -> float:
    try:
        seconds = float(value) if isinstance(value, str | int | float) else 0.0
    except ValueError:
        raise ValueError("it should be a number") from None
    if not seconds > 0:
        raise ValueError("it should be a number greater than 0")
    return seconds


_READERS: Mapping[str, Callable[[object], object]] = {
    "home": _place,
    "deployment": _place,
    "docker_config": _place,
    "rpc": _texts,
    "documents_timeout": _seconds,
}
"""What reads a setting of that name; `_text` reads the others."""


def load_settings(given: Globals) -> Settings:
    """Read the settings.

    Raises:
        SettingsError: with the first that is wrong.
    """
    options = {
        "home": given.home,
        "deployment": given.deployment,
        "rpc": given.rpc or None,
        "ipfs": given.ipfs,
    }
    told = _environment() | {name: value for name, value in options.items() if value is not None}
    folder = _place(told.get("home", DEFAULT_HOME))
    settings = _read({"home": folder} | _file(folder / "config.toml") | told)
    if settings.home.exists() and not settings.home.is_dir():
        raise SettingsError(f"{settings.home} is no folder: name another with --home, or LEASEHOLD_HOME.")
    return settings


def _environment() -> dict[str, object]:
    """What the environment says; an empty text says nothing."""
    said = {name.upper(): value for name, value in os.environ.items() if value}
    names = [(setting.name, f"LEASEHOLD_{setting.name.upper()}") for setting in fields(Settings)]
    return {name: said[variable] for name, variable in names if variable in said}


def _file(path: Path) -> dict[str, object]:
    try:
        said = tomllib.loads(path.read_text()) if path.is_file() else {}
        said.pop(GUARD, None)  # a guard reads that by itself
        return said
    except (tomllib.TOMLDecodeError, OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"config.toml cannot be read ({error}): correct it.") from error


def _read(values: Mapping[str, object]) -> Settings:
    known = {setting.name for setting in fields(Settings)}
    read: dict[str, Any] = {}
    for name, value in values.items():
        try:
            if name not in known:
                raise ValueError("there is no such field")
            read[name] = _READERS.get(name, _text)(value)
        except ValueError as error:
            raise SettingsError(
                f"The setting `{name}` is wrong ({error}): correct LEASEHOLD_{name.upper()} or config.toml."
            ) from error
    return Settings(**read)

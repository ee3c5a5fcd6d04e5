"""A person's settings: one validated object of what he has said, and of the rest what his `config.toml` says.

settings = read_settings({"home": "~/lease", "rpc": "http://127.0.0.1:8545"})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from leasehold.errors import SettingsError
from leasehold.home._config import read_config

DEFAULT_HOME: Final = Path("~/.config/leasehold")
GUARD: Final = "guard"
"""The table of `config.toml` that says what a guard does."""


@dataclass(frozen=True)
class Settings:
    """Where things are.

    deployment: the pool's file. rpc: addresses of nodes, the preferred first (with commas between, in the
    environment). ws: of a WebSocket. ipfs: multiaddr of one's own Kubo node. wallet: name of the usual one.
    documents_timeout: seconds to wait for one machine's document. docker_config: what `docker login` writes. gasless:
    the address of a gateway that sends what the wallet signs, where the wallet has no coin for gas; most_fee: whole
    tokens that it may take for one transaction.
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
    gasless: str | None = None
    most_fee: str | None = None


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


def read_settings(told: Mapping[str, object]) -> Settings:
    """told: what wins over the file, by the settings' names; texts are read as the file's are.

    Raises:
        SettingsError: with the first that is wrong.
    """
    folder = _place(told.get("home", DEFAULT_HOME))
    written = read_config(folder)
    written.pop(GUARD, None)  # a guard reads that by itself
    return _read({"home": folder, **written, **told})


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

"""The command line's settings: one validated object, read once when a command starts.

What stands before the command wins over the environment (`LEASEHOLD_…`), which wins over
`$LEASEHOLD_HOME/config.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from leasehold.cli._completion import DEFAULT_HOME
from leasehold.cli._options import Globals
from leasehold.errors import SettingsError
from leasehold.fields import in_words


def _listed(value: object) -> object:
    return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value


def _expanded(value: object) -> object:
    return Path(value).expanduser() if isinstance(value, str | Path) else value


Location = Annotated[Path, BeforeValidator(_expanded)]


class Settings(BaseSettings):
    """Where things are.

    deployment: the pool's file. rpc: addresses of nodes, the preferred first (with commas between, in the
    environment). ws: of a WebSocket. ipfs: multiaddr of one's own Kubo node. wallet: name of the usual one.
    documents_timeout: seconds to wait for one machine's document.
    """

    model_config = SettingsConfigDict(env_prefix="LEASEHOLD_", extra="forbid", env_ignore_empty=True)

    home: Location = Field(default=DEFAULT_HOME, validate_default=True)
    deployment: Location | None = None
    rpc: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed), Field(min_length=1)] = (
        "http://127.0.0.1:8545",
    )
    ws: str | None = None
    ipfs: str = "/ip4/127.0.0.1/tcp/5001"
    wallet: str | None = None
    password: SecretStr | None = None
    documents_timeout: Annotated[float, Field(gt=0)] = 10.0

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Given, environment, file: in this order."""
        home = init_settings().get("home") or env_settings().get("home") or DEFAULT_HOME
        file = TomlConfigSettingsSource(settings_cls, Path(str(home)).expanduser() / "config.toml")
        return init_settings, env_settings, file


def load_settings(given: Globals) -> Settings:
    """Read the settings.

    Raises:
        SettingsError: with the first that is wrong.
    """
    named: Mapping[str, object] = {
        "home": given.home,
        "deployment": given.deployment,
        "rpc": given.rpc or None,
        "ipfs": given.ipfs,
    }
    try:
        settings = Settings(**{name: value for name, value in named.items() if value is not None})  # type: ignore[arg-type]  # validated inside
        if settings.home.exists() and not settings.home.is_dir():
            raise SettingsError(f"{settings.home} is no folder: name another with --home, or LEASEHOLD_HOME.")
        return settings
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = ".".join(map(str, first["loc"]))
        raise SettingsError(
            f"The setting `{name}` is wrong ({in_words(first['msg'])}): correct LEASEHOLD_{name.upper()} or "
            "config.toml."
        ) from error
    except (tomllib.TOMLDecodeError, OSError) as error:
        raise SettingsError(f"config.toml cannot be read ({error}): correct it.") from error

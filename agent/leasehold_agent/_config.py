"""The agent's settings: one validated object, read once at start.

From the environment (`LEASEHOLD_AGENT_…`), then `$LEASEHOLD_AGENT_CONFIG` or `$LEASEHOLD_HOME/agent.toml` (by
default `~/.config/leasehold/agent.toml`), then the defaults below.
"""

from __future__ import annotations

import os
from ipaddress import IPv4Network, IPv6Network, ip_address
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from leasehold.errors import SettingsError

Port = Annotated[int, Field(ge=1, le=65_535)]
Seconds = Annotated[int, Field(ge=0)]
ByteCount = Annotated[int, Field(ge=0)]
Network = IPv4Network | IPv6Network
GIB = 1 << 30
DAY = 86_400


class AgentSettings(BaseSettings):
    """Everything a provider may decide. Times are seconds, sizes bytes."""

    model_config = SettingsConfigDict(env_prefix="LEASEHOLD_AGENT_", extra="forbid", frozen=True)

    state_dir: Path = Path("/var/lib/leasehold")
    deployment: Path | None = None
    rpc: tuple[str, ...] = ()
    ws: str | None = None
    confirmations: Annotated[int, Field(ge=0)] = 12
    tick_seconds: Annotated[float, Field(gt=0)] = 3.0

    owner: Annotated[str, Field(pattern=r"^(0x[0-9a-fA-F]{40})?$")] = ""
    """The provider whose machines this host serves, and nobody else's; empty: whom `describe --owner` named."""

    docker: str = "unix:///var/run/docker.sock"
    engine_netns: Path | None = None
    """The engine's network namespace, where it is not the agent's own (rootless engines, the demo's)."""
    ipfs: str = "/ip4/127.0.0.1/tcp/5001"

    public_host: str = ""
    """Name or address under which renters reach this host; empty: the address of its default route."""
    ports_host: str = ""
    """Where published ports answer, if elsewhere than `public_host`."""
    listen: str = "0.0.0.0"
    api_port: Port = 8701
    ssh_port: Port = 8702
    endpoints: tuple[str, ...] = ()
    metrics_port: Port | None = None
    first_port: Port = 20_000
    last_port: Port = 20_999
    country: Annotated[str, Field(max_length=64)] | None = None

    cpu_units: Annotated[int, Field(ge=1, le=8)] | None = None
    """Equal units that a host without a GPU sells; by default one for every two cores."""
    memory_reserve: ByteCount = GIB
    """Memory that is never sold."""
    disk_reserve: ByteCount = 2 * GIB
    """Free space below which no dataset, image or container is accepted."""
    pids_limit: Annotated[int, Field(ge=16)] = 4_096
    output_limit: ByteCount = 64 * GIB
    dataset_cache: ByteCount = 200 * GIB

    egress: Literal["internet", "none"] = "internet"
    """The most that any tenant may reach."""
    egress_deny: tuple[Network, ...] = ()
    dns: tuple[str, ...] = ("1.1.1.1", "9.9.9.9")

    fetch_seconds: Seconds = 120
    """The longest wait for a sealed workload or the first byte of a dataset."""
    start_margin: Seconds = 20
    """How long before the start window closes a lease that is not ready is declined."""
    retention_min: Seconds = DAY
    retention_max: Seconds = 10 * DAY

    @field_validator("dns")
    @classmethod
    def _addresses(cls, servers: tuple[str, ...]) -> tuple[str, ...]:
        for server in servers:
            ip_address(server)
        return servers

    @model_validator(mode="after")
    def _ranges(self) -> AgentSettings:
        if self.first_port > self.last_port:
            raise ValueError("first_port is above last_port")
        if self.retention_min > self.retention_max:
            raise ValueError("retention_min is above retention_max")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        file = TomlConfigSettingsSource(settings_cls, toml_file=config_file())
        return init_settings, env_settings, file


def config_file() -> Path:
    """Where the settings file is looked for."""
    if named := os.environ.get("LEASEHOLD_AGENT_CONFIG"):
        return Path(named)
    home = os.environ.get("LEASEHOLD_HOME")
    return (Path(home) if home else Path.home() / ".config" / "leasehold") / "agent.toml"


def load_settings() -> AgentSettings:
    """Read the settings. Raises SettingsError with the first field that is wrong."""
    try:
        return AgentSettings()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "settings"
        raise SettingsError(
            f"{where}: {first['msg']}; correct it in {config_file()} or LEASEHOLD_AGENT_{where.upper()}."
        ) from error

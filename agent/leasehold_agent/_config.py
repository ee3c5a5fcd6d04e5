"""The agent's settings: one validated object, read once at start.

From the environment (`LEASEHOLD_AGENT_…`), then the one file that `_config_file` finds, then the defaults below. What
stands below a setting is its text in `docs/reference/agent.toml.md` and in the sample, which `python
scripts/agent_settings.py` writes: each has one.
"""

from __future__ import annotations

import json
import tomllib
from ipaddress import IPv4Network, IPv6Network, ip_address
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import pydantic_settings
from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from leasehold.errors import SettingsError
from leasehold.fields import in_words
from leasehold.market import InvalidInput, parse_cells, parse_tenants
from leasehold_agent._config_file import config_file, not_yours, settings_file
from leasehold_agent.host import (
    BLOCK_BITS,
    LEASE_NETWORKS,
    HostEgress,
    Hours,
    MaintenanceWindow,
    Policy,
    egress_of,
    parse_hours,
    parse_windows,
)


def _listed(value: object) -> object:
    """A list as TOML and JSON have it, or with commas between: `http://a:8545,http://b:8545`."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            raise ValueError("it is no JSON list; commas between will do, too") from None
    return tuple(part.strip() for part in value.split(",") if part.strip())


Texts = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]
Port = Annotated[int, Field(ge=1, le=65_535)]
Seconds = Annotated[int, Field(ge=0)]
ByteCount = Annotated[int, Field(ge=0)]
Network = IPv4Network | IPv6Network
GIB = 1 << 30
_PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
DAY = 86_400
_SLOWEST = 65_536


class AgentSettings(BaseSettings):
    """Everything a provider may decide. Times are seconds, sizes bytes."""

    model_config = SettingsConfigDict(
        env_prefix="LEASEHOLD_AGENT_", extra="forbid", frozen=True, use_attribute_docstrings=True
    )

    state_dir: Path = Path("/var/lib/leasehold")
    """The folder with the operator's key, the certificate and what leases left. Back up its keys; one agent has it."""
    deployment: Annotated[Path | None, Field(examples=["/etc/leasehold/pool.json"])] = None
    """The pool's deployment file, which whoever made the pool publishes. The agent needs it."""
    rpc: Annotated[Texts, Field(examples=[["https://one.example/key", "https://two.example/key"]])] = ()
    """Nodes of the pool's chain, the preferred first. The agent needs one; of two, of different people, neither alone
    can have a lease ended.
    """
    ws: Annotated[str | None, Field(examples=["wss://one.example/key"])] = None
    """A node's WebSocket, over which news of leases comes sooner than by asking."""
    confirmations: Annotated[int, Field(ge=0)] = 12
    """Blocks that must lie upon a lease's end before what it left is deleted."""
    tick_seconds: Annotated[float, Field(gt=0)] = 3.0
    """Seconds between two looks at chain and containers; news wake the agent earlier."""

    owner: Annotated[str, Field(pattern=r"^(0x[0-9a-fA-F]{40})?$", examples=["0x" + 40 * "0"])] = ""
    """The provider whose machines this host serves, and nobody else's; empty: whom `describe --owner` named."""

    docker: str = "unix:///var/run/docker.sock"
    """The Docker engine's address, which no other agent uses."""
    engine_netns: Annotated[Path | None, Field(examples=["/run/netns/engine"])] = None
    """The engine's network namespace, where it is not the agent's own (rootless engines, the demo's)."""
    ipfs: str = "/ip4/127.0.0.1/tcp/5001"
    """The API of the host's own IPFS node, as a multiaddr. Nobody else should reach it."""

    reach: Literal["auto", "direct", "libp2p"] = "auto"
    """How renters reach this host: at its address, or through its IPFS node, which needs no open port here and must be
    on this host with `Experimental.Libp2pStreamMounting`. auto: both where they are there, but no address of a private
    network that `public_host` does not name.
    """
    libp2p_api_port: Port = 8703
    """Of the loopback, where the IPFS node leads callers of the API."""
    libp2p_ssh_port: Port = 8704
    """Of the loopback, where the IPFS node leads callers of SSH."""

    public_host: Annotated[str, Field(examples=["gpu1.example.org"])] = ""
    """Name or address under which renters reach this host; empty: the address of its default route."""
    ports_host: Annotated[str, Field(examples=["203.0.113.7"])] = ""
    """Where published ports answer, if elsewhere than `public_host`."""
    listen: str = "0.0.0.0"
    """The address of this host at which API and SSH listen."""
    api_port: Port = 8701
    """TCP port of the HTTPS API: what renters must reach."""
    ssh_port: Port = 8702
    """TCP port of SSH and SFTP into leases: what renters must reach."""
    endpoints: Annotated[Texts, Field(examples=[["https://gpu1.example.org:8701"]])] = ()
    """Addresses of the API as renters are told them, where `public_host` and `api_port` do not make them up: behind a
    router that maps another port.
    """
    first_port: Port = 20_000
    """The first port, TCP and UDP, of those that leases may publish."""
    last_port: Port = 20_999
    """The last port of those that leases may publish."""
    country: Annotated[str | None, Field(max_length=64, examples=["IS"])] = None
    """Where the host stands, as renters search for it."""

    contact_every: Annotated[int, Field(ge=1)] = 300
    """How often at most the contact document is made anew, where images, datasets or addresses have changed."""

    cpu_units: Annotated[int | None, Field(ge=1, le=8, examples=[4])] = None
    """Equal units that a host without a GPU sells; by default one for every two cores."""
    isolation: Literal["auto", "whole", "mig", "mps", "time-slice"] = "auto"
    """By what cards are sold in parts: by `mig`, where it is enabled on them, or not at all (`whole`). `auto`: by MIG
    where all cards of the machine have it. `mps`: tenants compute on a card side by side, with limits of its memory
    that hold from driver 615 on, and that bind whoever keeps to them before. `time-slice`: tenants who ask for it by
    name compute on a card in turns, and nothing limits how much of its memory each takes.
    """
    mps_dir: Path = Path("/run/leasehold")
    """Where MPS has its sockets; in memory, so that a reboot takes them away."""
    card_rest: Annotated[int, Field(ge=10)] = 600
    """Seconds for which a card that was ill has to be well before it is for sale again, each time twice as long; its
    leases hear after a tenth of that."""
    memory_reserve: ByteCount = GIB
    """Memory that is never sold."""
    disk_reserve: ByteCount = 2 * GIB
    """Free space below which no dataset, image or container is accepted."""
    pids_limit: Annotated[int, Field(ge=16)] = 4_096
    """The most processes and threads that a lease may have at once; a small share gets fewer."""
    output_limit: ByteCount = 64 * GIB
    """The most that is packed of one lease's outputs."""
    image_limit: ByteCount = 32 * GIB
    """The most that one image may come to, unpacked, its archive counted."""
    code_cache: ByteCount = 20 * GIB
    """The most that tenants' folders of code may keep of the disk; one lease may be given half of it. It goes after a
    week in which nobody wanted it, or earlier where there is no room."""
    dataset_cache: ByteCount = 200 * GIB
    """The most that fetched datasets may keep of the disk, those in use among them."""

    registries: Texts = (
        "docker.io",
        "ghcr.io",
        "quay.io",
        "gcr.io",
        "nvcr.io",
        "public.ecr.aws",
        "mcr.microsoft.com",
        "registry.gitlab.com",
    )
    """Where the engine may fetch images from, as they stand in front of an image's name. An address, a port or a host
    of one's own network must stand here just so.
    """
    registry_logins: Texts = ()
    """Those of them whose images come by the engine owner's own `docker login`, for every tenant. It is used for no
    other: a tenant chose the name, and what lies there for its owner alone would be anybody's who knows it."""
    images_allow: Texts = ()
    """Patterns (`*`, `?`) of the images that run here, such as `docker.io/library/*`, `ipfs:*`, `sha256:*` (those that
    the host has); empty: all that are not denied."""
    images_deny: Texts = ()
    """Patterns of those that do not, whatever is allowed: `ghcr.io/acme/miner`, `*@sha256:…`."""

    hours: Texts = ()
    """When cells are sold, such as `Mon-Fri 22:00-08:00` and `Sat-Sun`; empty: always. Leases that run are let be."""
    hours_zone: str = "UTC"
    """The time zone of `hours`, such as `Europe/Berlin`."""
    hours_cells: str = "all"
    """What the hours are for: GPUs, or cells of them, such as `0` or `1:0-3`."""
    hours_lead: Seconds = 0
    """How long before the hours end nothing new is sold: the longest lease, for all to be over by then that are not
    extended.
    """

    tenants: Annotated[str, Field(examples=["ended>=1 rejected<10"])] = ""
    """Terms that the chain's record of a tenant must meet, as in `leasehold provider tenants`; a lease of anybody else
    is declined, with its full refund. Everybody begins without a record. By default everybody is taken.
    """
    maintenance: Texts = ()
    """When this host will be worked on, such as `2026-12-01T02:00Z/2026-12-01T03:30Z`: announced to renters, and no
    lease is started that would reach into it.
    """

    lease_bandwidth: Annotated[int | None, Field(ge=65_536, examples=[12_500_000])] = None
    """Bytes a second that one lease may have of SSH, logs and exec together, each way counted; by default as many as
    `egress_up` lets out of it."""

    egress: Policy = "internet"
    """The most that any tenant may reach: the `internet`, `none` of it, or what a home can lend of its line
    (`residential`): no mail, few new addresses a minute, so many bytes a second. Renters see it before they pay."""
    egress_refused_ports: Annotated[
        tuple[Port, ...] | None, NoDecode, BeforeValidator(_listed), Field(examples=[[25, 465, 587]])
    ] = None
    """Ports that no tenant may reach at any address. By default none; `residential`: 25, 465, 587, 2525."""
    egress_destinations: Annotated[int | None, Field(ge=0, examples=[60])] = None
    """How many addresses and ports, that it has not gone to for five minutes, a lease may go to in a minute; 0: as many
    as it likes. By default that; `residential`: 60."""
    egress_down: Annotated[int | None, Field(examples=[6_250_000])] = None
    """Bytes a second that reach a lease by its network; 0: as many as come. By default that; `residential`:
    6,250,000."""
    egress_up: Annotated[int | None, Field(examples=[1_250_000])] = None
    """Bytes a second that leave it; 0: as many as go. By default that; `residential`: 1,250,000."""
    egress_deny: Annotated[
        tuple[Network, ...], NoDecode, BeforeValidator(_listed), Field(examples=[["198.51.100.0/24"]])
    ] = ()
    """Networks that no tenant may reach, beside private ones and the host's own, which nobody may."""
    connections_limit: Annotated[int, Field(ge=16)] = 4_096
    """The most connections that a lease may have open at once; the kernel remembers some 262,144 for all."""
    dns: Texts = ("1.1.1.1", "9.9.9.9")
    """Resolvers of leases that may reach the internet, as addresses."""
    lease_networks: Annotated[tuple[IPv4Network, ...], NoDecode, BeforeValidator(_listed)] = LEASE_NETWORKS
    """Private ranges out of which each lease's network gets 16 addresses. What the host has a route to, and what the
    engine has given out, is passed over."""

    idle_job: Annotated[Path | None, Field(examples=["/etc/leasehold/idle.toml"])] = None
    """A workload of the owner's own for each card that nobody leases and that is not out of sale: as a tenant's file,
    and fenced as a tenant's. It is killed at once, without grace and with all that it has written, when a lease comes.
    """

    speed_peer: str = ""
    """A peer elsewhere (`leasehold-agent peer`) against which the host measures how fast it is, and which tries whether
    its ports can be reached; nothing is measured without one."""

    metrics_port: Port | None = None
    """Where Prometheus reads, at `/metrics`, what cards and leases do; without it, nowhere."""
    metrics_listen: str = "127.0.0.1"
    """The address of that port. It asks nobody who he is."""

    answer_cost: Annotated[int, Field(ge=1)] = 10**17
    """Wei of the chain's coin that an answer to a challenge may cost at most where another transaction of the operator
    stands in front of it and has to be outbid. What a machine's stake is worth is the measure.
    """

    close_for_tenant: bool = True
    """Whether a lease whose job is done is closed for its tenant, who has signed that beforehand. The operator pays the
    gas, once for each lease.
    """
    close_after: Seconds = 60
    """How long a lease is billed at least before it is: so much rent pays for the gas."""
    close_cost: Annotated[int, Field(ge=0)] = 10**15
    """Wei of the chain's coin that closing a lease for its tenant may cost at most; where gas is dearer, it waits."""

    fetch_seconds: Seconds = 120
    """The longest wait for a sealed workload or the first byte of a dataset."""
    start_margin: Seconds = 20
    """How long before the start window closes a lease that is not ready is declined."""
    retention_min: Seconds = DAY
    """How long what a lease left is kept in any case where nobody needs the room."""
    retention_max: Seconds = 10 * DAY
    """The longest that it is kept; between the two, for as long as the lease was billed."""
    reading_seconds: Seconds = 3_600
    """For how long in all the files of one lease that is over can be read by SSH, SFTP and exec, which nobody pays for
    any more; 0: not at all. Its log and its results are given as long as it is kept.
    """
    reading_limit: ByteCount = 16 * GIB
    """The most that a lease may have written for its files to be read so once it is over: a copy is made of it."""

    @property
    def hardware_dir(self) -> Path:
        """Where what machines were described as is kept."""
        return self.state_dir / "hardware"

    @property
    def host_egress(self) -> HostEgress:
        """The host's own policy, with what its owner chose otherwise."""
        return egress_of(
            self.egress,
            connections=self.connections_limit,
            refused_ports=self.egress_refused_ports,
            destinations=self.egress_destinations,
            down=self.egress_down,
            up=self.egress_up,
        )

    @property
    def line_bandwidth(self) -> int | None:
        """Bytes a second of SSH, logs and exec: who may send so much by his own network gets no more around it."""
        return self.host_egress.pace.up if self.lease_bandwidth is None else self.lease_bandwidth

    @field_validator("egress_down", "egress_up")
    @classmethod
    def _carries(cls, rate: int | None) -> int | None:
        if rate and rate < _SLOWEST:
            raise ValueError(f"less than {_SLOWEST} bytes a second carries nothing; 0 is no limit")
        return rate

    @field_validator("dns")
    @classmethod
    def _addresses(cls, servers: tuple[str, ...]) -> tuple[str, ...]:
        for server in servers:
            ip_address(server)
        return servers

    @field_validator("speed_peer")
    @classmethod
    def _address(cls, url: str) -> str:
        parts = urlsplit(url)
        if url and (parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0):
            raise ValueError("it is no address such as http://203.0.113.5:8703")
        return url

    @field_validator("lease_networks")
    @classmethod
    def _private(cls, networks: tuple[IPv4Network, ...]) -> tuple[IPv4Network, ...]:
        for network in networks:
            if not any(network.subnet_of(private) for private in _PRIVATE):
                raise ValueError(f"{network} is no private range (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16)")
            if network.prefixlen > BLOCK_BITS:
                raise ValueError(f"{network} is smaller than the /{BLOCK_BITS} that one lease needs")
        if not networks:
            raise ValueError("name at least one range")
        return networks

    @field_validator("hours")
    @classmethod
    def _spans(cls, hours: tuple[str, ...]) -> tuple[str, ...]:
        parse_hours(hours, "UTC")
        return hours

    @field_validator("hours_zone")
    @classmethod
    def _zone(cls, zone: str) -> str:
        parse_hours((), zone)
        return zone

    @field_validator("tenants")
    @classmethod
    def _readable_terms(cls, terms: str) -> str:
        try:
            parse_tenants(terms)
        except InvalidInput as error:
            raise ValueError(str(error)) from None
        return terms

    @field_validator("maintenance")
    @classmethod
    def _windows(cls, windows: tuple[str, ...]) -> tuple[str, ...]:
        parse_windows(windows)
        return windows

    @field_validator("hours_cells")
    @classmethod
    def _named(cls, cells: str) -> str:
        try:
            parse_cells(cells, 8)
        except InvalidInput as error:
            raise ValueError(str(error)) from None
        return cells

    @property
    def maintenance_windows(self) -> tuple[MaintenanceWindow, ...]:
        """The windows that are announced, in order."""
        return parse_windows(self.maintenance)

    @property
    def sale_hours(self) -> Hours:
        """The hours in which cells are sold."""
        return parse_hours(self.hours, self.hours_zone)

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
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=settings_file())


def load_settings() -> AgentSettings:
    """Read the settings. Raises SettingsError with the first field that is wrong."""
    try:
        return AgentSettings()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "settings"
        if first["type"] == "extra_forbidden":
            raise SettingsError(
                f"{where}: there is no such setting; take it out of {config_file()}."
            ) from error
        raise SettingsError(
            f"{where}: {in_words(first['msg'])}; correct it in {config_file()} or LEASEHOLD_AGENT_{where.upper()}."
        ) from error
    except PermissionError as error:
        raise not_yours(config_file()) from error
    except (tomllib.TOMLDecodeError, OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{config_file()} cannot be read ({error}): correct it.") from error
    except pydantic_settings.SettingsError as error:
        raise SettingsError(f"A setting cannot be read ({error}): correct it in the environment.") from error

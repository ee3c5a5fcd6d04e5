"""What a gateway is started with: one object, read once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from leasehold.chain import SCHEMA, Deployment, Signer
from leasehold.gateway._sign_in_origins import check_origins, check_sign_in_origins
from leasehold.guarding import MailServer

DEFAULT_RPC: Final = ("http://127.0.0.1:8545",)
DEFAULT_IPFS: Final = "/ip4/127.0.0.1/tcp/5001"


@dataclass(frozen=True)
class GaslessSettings:
    """How a gateway sends for renters without gas money.

    signer: a key with gas money and nothing else; it is this gateway's alone. coin_price: token units for one coin of
    the chain, by which fees are reckoned. payee: the account whose ledger they go to; the key's, where none is named.
    most_price: wei for a unit of gas above which nothing is sent. daily_loss: wei that what reverts may cost in a day.
    """

    signer: Signer
    coin_price: int
    payee: str | None = None
    most_price: int = 100 * 10**9
    daily_loss: int = 2 * 10**16


@dataclass(frozen=True)
class GatewaySettings:
    """One gateway of one pool.

    home: the folder for documents, and for the index where no database is named. database: SQLAlchemy's URL of the
    index. rpc: nodes of the chain, the preferred first. ws: WebSocket addresses of nodes that announce heads; without
    one the head is asked for. ipfs: multiaddr of the gateway's own Kubo node. origins: of pages elsewhere that may read
    the gateway's answers. dapp: the folder of the dApp's built files, served at `/`. proxies: networks of reverse
    proxies, whose word on who calls is believed. documents_timeout: seconds for one machine's document. most_live: live
    connections altogether, and most_live_each: of one address. calls: of one address in a minute, on average.

    sites: origins at which browsers open the gateway itself, to sign in there; the loopback where none is named.
    agents_in: networks, beside the internet, in which agents are called. gasless: how it sends for renters without gas
    money, if it does. mail: the server that takes letters with alerts, if they go out by letter. alerts_to: `HOST:PORT`
    of webhooks and ntfy servers to which alerts go beside those of the internet. sign_in_origins: of pages elsewhere
    that may read the answers and sign in; none by itself.

    Raises:
        SettingsError: an origin of `origins` or `sign_in_origins` is none; one of the latter is everybody's.
    """

    deployment: Deployment
    home: Path
    database: str | None = None
    rpc: tuple[str, ...] = DEFAULT_RPC
    ws: tuple[str, ...] = ()
    ipfs: str = DEFAULT_IPFS
    origins: tuple[str, ...] = ()
    dapp: Path | None = None
    proxies: tuple[str, ...] = ()
    documents_timeout: float = 10.0
    most_live: int = 2_000
    most_live_each: int = 64
    calls: int = 1_200
    sites: tuple[str, ...] = ()
    agents_in: tuple[str, ...] = ()
    gasless: GaslessSettings | None = None
    sign_in_origins: tuple[str, ...] = ()
    mail: MailServer | None = None
    alerts_to: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_origins(self.origins)
        check_sign_in_origins(self.sign_in_origins, self.sites)

    @property
    def database_url(self) -> str:
        """Where the index is. Each form of it has its file."""
        return self.database or f"sqlite:///{self.home / f'gateway-{SCHEMA}.db'}"

    @property
    def state_url(self) -> str:
        """Where sessions, uploads and signatures are: what no chain gives back, and no form of the index takes away."""
        if self.database is not None and not self.database.startswith("sqlite"):
            return self.database
        return f"sqlite+aiosqlite:///{self.home / 'gateway-state.db'}"

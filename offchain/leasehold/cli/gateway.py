"""`leasehold gateway`: the pool for browsers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from leasehold.cli._command import ANSWERS, PASSWORD_FILE, Invocation, shared
from leasehold.cli._options import option
from leasehold.cli._run import LoopFactory
from leasehold.errors import SettingsError

if TYPE_CHECKING:
    from leasehold.gateway import GaslessSettings
    from leasehold.guarding import MailServer


@dataclass(frozen=True)
class GaslessOptions:
    """With which key a gateway sends for renters without gas money, and for how much."""

    gasless_wallet: Annotated[
        str | None,
        option("--gasless-wallet NAME", "Send for renters without gas money, with this wallet's gas money."),
    ] = None
    coin_price: Annotated[
        str | None,
        option(
            "--coin-price AMOUNT", "What one of the chain's coins is worth in the pool's token, for that."
        ),
    ] = None
    fees_to: Annotated[
        str | None, option("--fees-to ADDRESS", "Into whose ledger its fees go; else that wallet's.")
    ] = None

    async def settings(self, call: Invocation) -> GaslessSettings | None:
        """As the gateway takes it. Raises SettingsError, WalletError, InvalidAmount, InvalidInput."""
        if self.gasless_wallet is None:
            if self.coin_price is not None or self.fees_to is not None:
                raise SettingsError("--coin-price and --fees-to are of --gasless-wallet", "name the wallet.")
            return None
        if self.coin_price is None:
            raise SettingsError("--gasless-wallet takes a price", "say --coin-price, such as 2500.")
        from leasehold.client import parse_address
        from leasehold.gateway import GaslessSettings
        from leasehold.market import parse_amount

        payee = None if self.fees_to is None else parse_address(self.fees_to)
        price = parse_amount(self.coin_price, call.deployment.token_decimals)
        if not price:
            raise SettingsError("A coin that is worth nothing pays for no gas", "name its price.")
        wallet = call.known_wallet(self.gasless_wallet)
        signer = await call.home.keystore.unlock(wallet.name, call.password(wallet.name))
        return GaslessSettings(signer, price, payee)


@dataclass(frozen=True)
class AlertOptions:
    """How a gateway tells renters of their leases, beside webhooks and ntfy of the internet."""

    mail_server: Annotated[
        str | None,
        option("--mail-server HOST[:PORT]", "Tell of leases by letter, too, by way of this mail server."),
    ] = None
    mail_from: Annotated[str | None, option("--mail-from ADDRESS", "Whose letters they are, for that.")] = (
        None
    )
    mail_tls: Annotated[
        str | None,
        option(
            "--mail-tls WORD", "starttls (as long as nothing is said), tls, or none on this computer alone."
        ),
    ] = None
    mail_user: Annotated[
        str | None, option("--mail-user NAME", "Who signs in to the mail server, if anybody does.")
    ] = None
    mail_password_file: Annotated[
        Path | None, option("--mail-password-file FILE", "The file that holds the password for that.")
    ] = None
    alerts_to: Annotated[
        list[str] | None,
        option(
            "--alerts-to HOST:PORT",
            "A webhook's or ntfy server's place that is told of leases beside the internet's; several times.",
        ),
    ] = None

    def server(self) -> MailServer | None:
        """As the gateway takes it. Raises SettingsError."""
        others = (self.mail_from, self.mail_tls, self.mail_user, self.mail_password_file)
        if self.mail_server is None:
            if any(other is not None for other in others):
                raise SettingsError("The other options of mail are of --mail-server", "name the server.")
            return None
        from pydantic import ValidationError

        from leasehold.guarding import MailServer

        if self.mail_from is None:
            raise SettingsError("--mail-server takes a sender", "say --mail-from, such as gate@example.org.")
        host, _, port = self.mail_server.partition(":")
        table = {
            "host": host,
            "port": port or None,
            "sender": self.mail_from,
            "tls": self.mail_tls or "starttls",
            "user": self.mail_user,
            "password": None if self.mail_password_file is None else {"file": self.mail_password_file},
        }
        try:
            return MailServer.model_validate(table)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            why = str(first["msg"]).removeprefix("Value error, ")
            place = " ".join(map(str, first["loc"])) or "mail"
            raise SettingsError(
                f"The mail server's settings are wrong ({place}: {why[:1].lower()}{why[1:]})", "correct them."
            ) from None

    def places(self) -> tuple[str, ...]:
        """As the gateway takes them. Raises SettingsError."""
        return tuple(f"{host}:{port}" for host, port in map(_place, self.alerts_to or ()))


def _loop() -> LoopFactory | None:
    """The gateway's own, unless its packages are not here, which the command says."""
    try:
        from leasehold.gateway import loop_factory  # here: help does without
    except ModuleNotFoundError:
        return None
    return loop_factory()


@shared(ANSWERS | PASSWORD_FILE, "run", loop=_loop)
async def run_gateway(
    call: Invocation,
    listen: Annotated[
        str,
        option("--listen HOST:PORT", "Where it listens; a reverse proxy with a certificate goes before it."),
    ] = "127.0.0.1:8088",
    database: Annotated[
        str | None,
        option(
            "--database URL", "Where its index is: sqlite:///FILE or postgresql://…; else a file of the home."
        ),
    ] = None,
    origin: Annotated[
        list[str] | None, option("--origin URL", "A page elsewhere that may read the answers; several times.")
    ] = None,
    dapp: Annotated[
        Path | None,
        option("--dapp FOLDER", "The dApp's built files, served at /; else those of this package."),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        option("--proxy NETWORK", "Reverse proxies whose word on who calls is believed; several times."),
    ] = None,
    site: Annotated[
        list[str] | None,
        option("--site URL", "Where browsers open the gateway, to sign in there; else at the loopback."),
    ] = None,
    sign_in_origin: Annotated[
        list[str] | None,
        option(
            "--sign-in-origin URL", "A page elsewhere that may sign in and read the answers; several times."
        ),
    ] = None,
    agents_in: Annotated[
        list[str] | None,
        option(
            "--agents-in NETWORK", "A network beside the internet in which agents are called; several times."
        ),
    ] = None,
    ws: Annotated[
        list[str] | None, option("--ws URL", "A node that announces blocks by WebSocket; several times.")
    ] = None,
    gasless: GaslessOptions = GaslessOptions(),  # frozen
    alerts: AlertOptions = AlertOptions(),  # frozen
) -> None:
    """Serve the pool to browsers until somebody ends it: search, leases, live updates. It holds no key but, if told to,
    one of gas money.

    Of the options before the command, `--rpc` names the chain's nodes, `--ipfs` its own Kubo node, and `--home` the
    folder of its files.
    """
    try:
        from leasehold.gateway import GatewaySettings, packaged_dapp, serve  # here: help does without
    except ModuleNotFoundError as error:
        raise SettingsError("The gateway's packages are not here", "install leasehold[gateway].") from error
    host, asked = _place(listen)
    settings = GatewaySettings(
        deployment=call.deployment,
        home=call.settings.home.expanduser(),
        database=database,
        rpc=call.settings.rpc,
        ws=tuple(ws or ()),
        ipfs=call.settings.ipfs,
        origins=tuple(origin or ()),
        dapp=dapp or packaged_dapp(),
        proxies=tuple(proxy or ()),
        documents_timeout=call.settings.documents_timeout,
        sites=tuple(site or ()),
        agents_in=tuple(agents_in or ()),
        gasless=await gasless.settings(call),
        sign_in_origins=tuple(sign_in_origin or ()),
        mail=alerts.server(),
        alerts_to=alerts.places(),
    )
    call.out.if_interrupted = "Interrupted: the gateway serves nobody any more."

    def listening(port: int) -> None:
        where = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        call.out.answer({"listening": where})
        call.out.say(f"The gateway listens at {where}.")

    await serve(settings, host, asked, listening)


def _place(text: str) -> tuple[str, int]:
    """Host and port, as they are typed. Raises SettingsError."""
    host, _, port = text.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and int(port[:6]) < 65_536):
        raise SettingsError(f"`{text}` is no place", "write it as 127.0.0.1:8088.")
    return host.removeprefix("[").removesuffix("]"), int(port)

"""The parts of a gateway beside the index: who is signed in, the ways to agents, and what it keeps for accounts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Final

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine
from starlette.requests import HTTPConnection

from leasehold.chain import Sender
from leasehold.client import PoolClient
from leasehold.errors import LeaseholdError, SettingsError
from leasehold.gateway._alerting import Alerting
from leasehold.gateway._alerting import router as alerted
from leasehold.gateway._extending import Extending
from leasehold.gateway._following import kept_up
from leasehold.gateway._gas_costs import GasLosses, GasPricing
from leasehold.gateway._gas_key import GasKey
from leasehold.gateway._gasless import Gasless
from leasehold.gateway._gasless import router as gasless
from leasehold.gateway._gateway import Gateway
from leasehold.gateway._gateway_tables import create_tables, state_engine
from leasehold.gateway._gathering import Gathering
from leasehold.gateway._gathering import router as gathered
from leasehold.gateway._handing_out import MOST_AT_ONCE as RESULTS_AT_ONCE
from leasehold.gateway._handing_out import HandingOut, Published
from leasehold.gateway._handing_out import router as handed_out
from leasehold.gateway._held_purses import HeldPurses
from leasehold.gateway._keeping import QUOTA, SMALL_QUOTA, AccountPins
from leasehold.gateway._lines import Lines
from leasehold.gateway._places import Places
from leasehold.gateway._purses import Purses
from leasehold.gateway._purses import router as extended
from leasehold.gateway._recipients import Recipients
from leasehold.gateway._refusals import AgentSilent, Busy, NotHere
from leasehold.gateway._relaying import Relay
from leasehold.gateway._relaying import router as relayed
from leasehold.gateway._rpc import RpcProxy
from leasehold.gateway._rpc import router as chain
from leasehold.gateway._signing_in import SigningIn
from leasehold.gateway._signing_in import router as sessions
from leasehold.gateway._terminals import router as terminals
from leasehold.gateway._uploading import MOST_AT_ONCE as UPLOADS_AT_ONCE
from leasehold.gateway._uploading import KuboStore, Uploading
from leasehold.gateway._uploading import router as uploaded
from leasehold.gateway._uploads import Uploads
from leasehold.gateway._watching import ASKING_SECONDS, FundOf, Watching, Ways
from leasehold.guarding import AlertReach
from leasehold.market import AgentLine, Contact, Dialling, dialled, dialled_alone, parse_document

SWEEP_SECONDS: Final = 600.0
routers_of_parts: Final = (
    sessions,
    relayed,
    terminals,
    uploaded,
    handed_out,
    chain,
    gathered,
    gasless,
    extended,
    alerted,
)
_log = structlog.get_logger("leasehold.gateway")


@asynccontextmanager
async def parts_of(gateway: Gateway) -> AsyncIterator[Mapping[type, object]]:
    """The parts by their kind; none where the gateway is only read from. Raises SettingsError."""
    client, settings = gateway.client, gateway.settings
    if client is None:
        yield {}
        return
    async with AsyncExitStack() as closing:
        engine = state_engine(settings.state_url)
        closing.push_async_callback(engine.dispose)
        await create_tables(engine)
        dialling = _dialling(gateway)
        lines = _lines(gateway, client, dialling)
        closing.push_async_callback(lines.close)
        signing_in = SigningIn(
            engine,
            origins=settings.sites,
            elsewhere=settings.sign_in_origins,
            chain_id=gateway.deployment.chain_id,
            is_authorized=client.accounts.is_authorized,
        )
        uploading = _uploading(gateway, client, engine)
        closing.push_async_callback(uploading.uploads.close)
        sweeping = asyncio.create_task(kept_up(gateway, "sweep", lambda: _sweep(uploading)))
        closing.push_async_callback(_ended, sweeping)
        relay, proxy = Relay(lines, caller_of=visitor_of), RpcProxy(client.rpc, caller_of=visitor_of)
        is_authorized = client.accounts.is_authorized
        gathering = Gathering(engine, gateway.deployment, client.rpc, is_authorized, caller_of=visitor_of)
        handing_out = _handing_out(gateway, client, dialling)
        parts: list[object] = [signing_in, relay, uploading, handing_out, proxy, gathering]
        fund_of: FundOf | None = None
        if (gas := _gas(gateway, client)) is not None:
            sending = gas.gasless(client)
            closing.push_async_callback(sending.close)
            held = HeldPurses(engine, gateway.deployment.controller)
            extending = gas.extending(gateway, client, held)
            extends = asyncio.create_task(kept_up(gateway, "purses", extending.keep))
            closing.push_async_callback(extending.close)
            closing.push_async_callback(_ended, extends)
            purses = gas.purses(client, held, extending)
            parts += [sending, purses]
            fund_of = purses.fund_of
        recipients = Recipients(engine)
        ways = Ways(AlertReach(frozenset(settings.alerts_to)), settings.mail)
        watching = _watching(gateway, recipients, ways, lines, fund_of)
        watches = asyncio.create_task(kept_up(gateway, "alerts", watching.keep))
        closing.push_async_callback(watching.close)
        closing.push_async_callback(_ended, watches)
        parts.append(_alerting(gateway, recipients, ways))
        yield {type(part): part for part in parts}


@dataclass(frozen=True)
class _Gas:
    """What sends for others: one key, by whose sender all goes. What may be lost a day is counted for each use."""

    sender: Sender
    payee: str
    pricing: GasPricing
    daily_loss: int

    def gasless(self, client: PoolClient) -> Gasless:
        sender, payee = self.sender, self.payee
        return Gasless(
            client.rpc, client.pool, sender, payee, self.pricing, self._losses(), caller_of=visitor_of
        )

    def extending(self, gateway: Gateway, client: PoolClient, held: HeldPurses) -> Extending:
        index, key = gateway.index, self._key(client)
        return Extending(
            client.rpc,
            client.pool,
            held,
            key,
            self.pricing,
            self._losses(),
            elected=lambda: index.elected or not index.shared,
        )

    def purses(self, client: PoolClient, held: HeldPurses, extending: Extending) -> Purses:
        key, payee, pricing = self._key(client), self.payee, self.pricing
        return Purses(client.rpc, client.pool, held, extending, key, payee, pricing, caller_of=visitor_of)

    def _key(self, client: PoolClient) -> GasKey:
        return GasKey(client.rpc, self.sender, self.pricing)

    def _losses(self) -> GasLosses:
        return GasLosses(self.daily_loss, time.monotonic)


def _gas(gateway: Gateway, client: PoolClient) -> _Gas | None:
    """`None` where its operator has given it no key for that."""
    settings = gateway.settings.gasless
    if settings is None:
        return None
    sender = Sender(client.rpc, settings.signer, max_fee=settings.most_price)
    pricing = GasPricing(settings.coin_price, settings.most_price)
    return _Gas(sender, settings.payee or sender.address, pricing, settings.daily_loss)


def _watching(
    gateway: Gateway, recipients: Recipients, ways: Ways, lines: Lines, fund_of: FundOf | None
) -> Watching:
    index = gateway.index

    async def asks(machine: int) -> bool | None:
        try:
            async with (
                asyncio.timeout(ASKING_SECONDS),
                lines.to(machine) as line,
                line.asked("GET", b"/v1/health", {}, silence=ASKING_SECONDS),
            ):
                return True
        except Busy:
            return None
        except (LeaseholdError, TimeoutError, OSError):
            return False

    return Watching(
        index,
        gateway.market,
        gateway.money,
        recipients,
        ways,
        asks,
        fund_of=fund_of,
        elected=lambda: index.elected or not index.shared,
    )


def _alerting(gateway: Gateway, recipients: Recipients, ways: Ways) -> Alerting:
    async def has_leased(account: str) -> bool:
        return bool(await gateway.index.leases_page(tenant=account, limit=1))

    return Alerting(recipients, ways, has_leased, caller_of=visitor_of, sites=gateway.settings.sites)


def visitor_of(connection: HTTPConnection) -> str:
    """What a caller is counted as, which the outermost of the application has worked out."""
    return str(connection.scope["visitor"])


def _uploading(gateway: Gateway, client: PoolClient, engine: AsyncEngine) -> Uploading:
    store = KuboStore(client.ipfs)

    async def quota_of(account: str) -> int:
        funds = await asyncio.gather(client.pool.balance_of(account), client.token.balance(account))
        return QUOTA if any(funds) or await gateway.index.leases(tenant=account, live=True) else SMALL_QUOTA

    keeping = AccountPins(engine, store, quota_of, time.time)
    uploads = Uploads(engine, gateway.settings.home / "uploads", keeping, store, time.time)
    return Uploading(store, keeping, uploads, Places(UPLOADS_AT_ONCE), visitor_of)


async def _sweep(uploading: Uploading) -> None:
    """Removes what has expired, for ever."""
    while True:
        try:
            await uploading.uploads.sweep()
            await uploading.keeping.sweep()
        except (LeaseholdError, OSError, SQLAlchemyError) as error:  # the next time, then
            _log.warning("gateway.sweep", error=str(error))
        await asyncio.sleep(SWEEP_SECONDS)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _dialling(gateway: Gateway) -> Dialling:
    try:
        return Dialling(tuple(ip_network(text, strict=False) for text in gateway.settings.agents_in))
    except ValueError as error:
        raise SettingsError(
            f"A network of agents cannot be read: {error}", "write one as 10.0.0.0/8."
        ) from error


def _handing_out(gateway: Gateway, client: PoolClient, dialling: Dialling) -> HandingOut:
    async def published(lease: int) -> Published | None:
        record = await gateway.index.lease(lease)
        if record is None or record.result_cid is None:
            return None
        return Published(record.lease.machine, record.result_cid)

    async def brought_near(machine: int) -> None:
        with suppress(LeaseholdError):  # others may have it as well
            contact, _ = await _contact_of(gateway, machine)
            for address in dialled(dialled_alone(contact, dialling)):
                with suppress(LeaseholdError):
                    await client.ipfs.swarm_connect(address)
                    break

    places = Places(RESULTS_AT_ONCE)
    return HandingOut(client.ipfs, published, brought_near, places, visitor_of)


def _lines(gateway: Gateway, client: PoolClient, dialling: Dialling) -> Lines:
    operators: dict[int, str] = {}

    async def contact_of(machine: int) -> Contact:
        contact, operators[machine] = await _contact_of(gateway, machine)
        return contact

    def make(machine: int, contact: Contact) -> AgentLine:
        return AgentLine.through(client.ipfs, contact, operators[machine], dialling)

    return Lines(contact_of, make)


async def _contact_of(gateway: Gateway, machine: int) -> tuple[Contact, str]:
    """A machine's contact document, and its operator. Raises NotHere, AgentSilent."""
    record = await gateway.index.machine(machine)
    if record is None:
        raise NotHere(f"There is no machine {machine}", "look for it in the list.")
    try:
        raw = await gateway.documents.get(record.contact)
        contact = parse_document(Contact, raw, f"The contact document of machine {machine}")
    except LeaseholdError as error:
        raise AgentSilent(error.problem, error.advice) from error
    return contact, record.machine.operator

"""The parts of a gateway beside the index: who is signed in, the ways to agents, and what it keeps for accounts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from ipaddress import ip_network
from typing import Final

from sqlalchemy.ext.asyncio import create_async_engine
from starlette.requests import HTTPConnection

from leasehold.client import PoolClient
from leasehold.errors import LeaseholdError, SettingsError
from leasehold.gateway._gateway import Gateway
from leasehold.gateway._gateway_tables import create_tables
from leasehold.gateway._lines import Lines
from leasehold.gateway._refusals import AgentSilent, NotHere
from leasehold.gateway._relaying import Relay
from leasehold.gateway._relaying import router as relayed
from leasehold.gateway._signing_in import SigningIn
from leasehold.gateway._signing_in import router as sessions
from leasehold.gateway._terminals import router as terminals
from leasehold.market import AgentLine, Contact, Dialling, parse_document

routers_of_parts: Final = (sessions, relayed, terminals)


@asynccontextmanager
async def parts_of(gateway: Gateway) -> AsyncIterator[Mapping[type, object]]:
    """The parts by their kind; none where the gateway is only read from. Raises SettingsError."""
    client, settings = gateway.client, gateway.settings
    if client is None:
        yield {}
        return
    async with AsyncExitStack() as closing:
        engine = create_async_engine(settings.state_url)
        closing.push_async_callback(engine.dispose)
        await create_tables(engine)
        lines = _lines(gateway, client)
        closing.push_async_callback(lines.close)
        signing_in = SigningIn(
            engine,
            origins=settings.sites,
            chain_id=gateway.deployment.chain_id,
            is_authorized=client.accounts.is_authorized,
        )
        parts = (signing_in, Relay(lines, caller_of=visitor_of))
        yield {type(part): part for part in parts}


def visitor_of(connection: HTTPConnection) -> str:
    """What a caller is counted as, which the outermost of the application has worked out."""
    return str(connection.scope["visitor"])


def _lines(gateway: Gateway, client: PoolClient) -> Lines:
    try:
        dialling = Dialling(tuple(ip_network(text, strict=False) for text in gateway.settings.agents_in))
    except ValueError as error:
        raise SettingsError(
            f"A network of agents cannot be read: {error}", "write one as 10.0.0.0/8."
        ) from error
    operators: dict[int, str] = {}

    async def contact_of(machine: int) -> Contact:
        record = await gateway.index.machine(machine)
        if record is None:
            raise NotHere(f"There is no machine {machine}", "look for it in the list.")
        operators[machine] = record.machine.operator
        try:
            raw = await gateway.documents.get(record.contact)
            return parse_document(Contact, raw, f"The contact document of machine {machine}")
        except LeaseholdError as error:
            raise AgentSilent(error.problem, error.advice) from error

    def make(machine: int, contact: Contact) -> AgentLine:
        return AgentLine.through(client.ipfs, contact, operators[machine], dialling)

    return Lines(contact_of, make)

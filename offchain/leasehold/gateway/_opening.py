"""What a gateway opens: the pool without a wallet, the index, and the tasks beside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from leasehold.chain import Indexer
from leasehold.client import connect
from leasehold.gateway._documents import Documents
from leasehold.gateway._facts import ChainFacts
from leasehold.gateway._figures import Figures
from leasehold.gateway._following import ask_scores, follow, hear, keep_market, kept_up, tell_owner
from leasehold.gateway._gateway import Gateway
from leasehold.gateway._hub import Hub
from leasehold.gateway._market import Market
from leasehold.gateway._places import Places
from leasehold.gateway._settings import GatewaySettings
from leasehold.home import Home


@asynccontextmanager
async def opened(settings: GatewaySettings) -> AsyncIterator[Gateway]:
    """A gateway that follows its chain. Raises WrongChain, RpcUnavailable, SettingsError."""
    home = Home(settings.home)
    home.path.mkdir(parents=True, exist_ok=True, mode=0o700)
    connecting = connect(
        settings.deployment,
        rpc=settings.rpc,
        ipfs=settings.ipfs,
        home=home,
        sends=False,
        documents_timeout=settings.documents_timeout,
    )
    async with connecting as client, Indexer(settings.database_url, settings.deployment) as index:
        documents = Documents(home.documents, client.ipfs, client.money, settings.documents_timeout)
        facts, hub = ChainFacts(client), Hub()
        market = Market(index, documents, facts, hub)
        live = Places({"all": settings.most_live, "caller": settings.most_live_each})
        gateway = Gateway(settings, index, market, documents, facts, hub, Figures(index), live, client)
        async with asyncio.TaskGroup() as tasks:
            works: dict[str, Callable[[], Awaitable[None]]] = {
                "follow": lambda: follow(gateway, client),
                "hear": lambda: hear(gateway),
                "market": lambda: keep_market(gateway),
                "documents": lambda: documents.fetching(market.came),
                "scores": lambda: ask_scores(gateway),
                "owner": lambda: tell_owner(gateway),
            }
            working = [tasks.create_task(kept_up(gateway, name, work)) for name, work in works.items()]
            yield gateway
            for task in working:
                task.cancel()

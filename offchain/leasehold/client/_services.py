"""What is offered to a pool beside machines: announced in its Directory, listed, and used where somebody names it.

await pool.carry_out(AnnounceService(service_document("ipfs", ("/dns4/node.example/tcp/4001",), peer_id=…)))
for seen in await services_of(pool, "ipfs"): print(seen.record.account, seen.document)
await meet_service(pool, account, "ipfs")            one's own node goes next to that one
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from leasehold.chain import ServiceRecord
from leasehold.client._address import parse_address
from leasehold.client._errors import NothingToDo
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.client._tenant_errors import NoSuchService, ServiceUnreachable
from leasehold.errors import DatasetError
from leasehold.market import (
    DocumentCache,
    Json,
    MarketError,
    ServiceDocument,
    parse_document,
)

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

NOWHERE = bytes(32)


@dataclass(frozen=True)
class AnnounceService(Request["ServiceAnnounced"]):
    """Say in the pool's Directory that the account serves it. Its document is kept on one's own IPFS node."""

    document: ServiceDocument

    async def plan(self, client: PoolClient) -> ServicePlan:
        digest = sha256(self.document.encoded).digest()
        if await _announced(client, self.document.kind) == digest:
            raise NothingToDo
        return ServicePlan(client, self.document.kind, digest, self.document)


@dataclass(frozen=True)
class EndService(Request["ServiceAnnounced"]):
    """Say that it does no longer."""

    kind: str

    async def plan(self, client: PoolClient) -> ServicePlan:
        if await _announced(client, self.kind) is None:
            raise NoSuchService(client.account, self.kind)
        return ServicePlan(client, self.kind, NOWHERE, None)


@dataclass(frozen=True)
class ServicePlan(Plan["ServiceAnnounced"]):
    """What would be announced. document: `None` where the service ends."""

    client: PoolClient
    kind: str
    digest: bytes
    document: ServiceDocument | None

    def to_json(self) -> dict[str, Json]:
        return {
            "account": self.client.account,
            "kind": self.kind,
            "document": self.document.model_dump(mode="json") if self.document else None,
        }

    async def steps(self) -> AsyncIterator[Step]:
        peer = b""
        if self.document is not None:
            await self.client.ipfs.put_block(self.document.encoded)
            peer = (self.document.peer_id or "").encode()
        directory = await self.client.pool.directory()
        yield ServiceAnnounced(await directory.announce(self.kind, self.digest, peer), self.kind)


@dataclass(frozen=True)
class ServiceAnnounced(Sent):
    """The Directory says so."""

    kind: str


@dataclass(frozen=True)
class ServiceSeen:
    """A service that somebody offers. document: what he says of it, or `None`, and `missing` why."""

    record: ServiceRecord
    document: ServiceDocument | None
    missing: str = ""

    def to_json(self) -> dict[str, Json]:
        """For a program."""
        return {
            "account": self.record.account,
            "kind": self.record.kind,
            "since": self.record.at,
            "endpoints": list(self.document.endpoints) if self.document else None,
            "peer_id": self.document.peer_id if self.document else None,
            "note": self.document.note if self.document else None,
            "missing": self.missing or None,
        }


async def services_of(client: PoolClient, kind: str | None = None) -> list[ServiceSeen]:
    """What is on offer in the pool, by account and kind. Anybody announces anything. Raises ChainError."""
    records = await (await client.index(again=True)).services(kind=kind)
    cache = DocumentCache(client.home.documents, client.ipfs, timeout=client.documents_timeout)
    answers = await cache.get_all([record.endpoint for record in records])
    return [_seen(record, answer) for record, answer in zip(records, answers, strict=True)]


async def meet_service(client: PoolClient, account: str, kind: str = "ipfs") -> str:
    """Bring one's own IPFS node next to the one that an account has announced; gives the address that answered.

    Raises:
        NoSuchService, MarketError: its document cannot be had. ServiceUnreachable.
    """
    address = parse_address(account)
    offered = [seen for seen in await services_of(client, kind) if seen.record.account == address]
    if not offered:
        raise NoSuchService(address, kind)
    (seen,) = offered
    for place in seen.document.dialled if seen.document else ():
        try:
            await client.ipfs.swarm_connect(place)
        except DatasetError:
            continue
        return place
    raise ServiceUnreachable(address, kind)


async def _announced(client: PoolClient, kind: str) -> bytes | None:
    """The digest of what the account has announced of that kind, as the index has it."""
    records = await (await client.index(again=True)).services(kind=kind)
    return next((record.endpoint for record in records if record.account == client.account), None)


def _seen(record: ServiceRecord, answer: bytes | MarketError) -> ServiceSeen:
    if isinstance(answer, MarketError):
        return ServiceSeen(record, None, str(answer))
    try:
        document = parse_document(ServiceDocument, answer, "The service's document")
    except MarketError as error:
        return ServiceSeen(record, None, str(error))
    if document.kind != record.kind:
        return ServiceSeen(record, None, "Its document is of another kind: ask its provider.")
    return ServiceSeen(record, document)

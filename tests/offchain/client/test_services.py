"""Services are announced, listed, ended, and met where somebody names them."""

from __future__ import annotations

from hashlib import sha256
from typing import cast

import pytest

from devnet.pool import PoolChain
from leasehold.client import NothingToDo, PoolClient
from leasehold.errors import AgentError, DatasetUnavailable
from leasehold.market import InvalidInput
from leasehold.services import AnnounceService, EndService, meet_service, service_document, services_of

from .conftest import Blocks, Opening

PEER = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
NODE = "/dns4/node.example/tcp/4001"
OTHER = "/ip4/192.0.2.7/udp/4001/quic-v1"


class Node(Blocks):
    """One's own node, and where it finds somebody."""

    def __init__(self, *answering: str) -> None:
        super().__init__()
        self.answering = answering

    async def swarm_connect(self, address: str) -> None:
        if address not in self.answering:
            raise DatasetUnavailable("nobody")


def node(client: PoolClient, *answering: str) -> Node:
    made = Node(*answering)
    made.kept = cast(Blocks, client._ipfs).kept
    client._ipfs = made  # type: ignore[assignment]  # as far as it is used
    return made


async def test_a_node_is_announced_found_and_met(chain: PoolChain, opened: Opening) -> None:
    mine, theirs = await opened(1), await opened(2)
    document = service_document("ipfs", (NODE, OTHER), peer_id=PEER, note="a disk full of models")
    await mine.carry_out(AnnounceService(document))
    with pytest.raises(NothingToDo):
        await mine.plan(AnnounceService(document))
    node(theirs, f"{OTHER}/p2p/{PEER}").kept = cast(Blocks, mine._ipfs).kept
    (seen,) = await services_of(theirs)
    assert (seen.record.account, seen.record.kind, seen.document) == (mine.account, "ipfs", document)
    assert seen.record.peer_id == PEER.encode()
    assert await services_of(theirs, "gateway") == []
    assert await meet_service(theirs, mine.account) == f"{OTHER}/p2p/{PEER}", "the first does not answer"
    await mine.carry_out(EndService("ipfs"))
    assert await services_of(theirs) == []
    with pytest.raises(InvalidInput, match="has announced no ipfs"):
        await meet_service(theirs, mine.account)
    with pytest.raises(InvalidInput, match="has announced no ipfs"):
        await mine.plan(EndService("ipfs"))


async def test_one_that_is_not_there_is_said_to_be_that(chain: PoolChain, opened: Opening) -> None:
    mine = await opened(1)
    node(mine)
    await mine.carry_out(AnnounceService(service_document("seed", (NODE,), peer_id=PEER)))
    with pytest.raises(AgentError, match="does not answer where it says to be"):
        await meet_service(mine, mine.account, "seed")


async def test_what_is_announced_and_is_no_such_document(chain: PoolChain, opened: Opening) -> None:
    mine = await opened(1)
    directory = await chain.pool(1).directory()
    document = service_document("seed", (NODE,), peer_id=PEER)
    await mine.ipfs.put_block(document.encoded)
    await mine.ipfs.put_block(b"{}")
    await directory.announce("ipfs", sha256(document.encoded).digest())
    await directory.announce("gateway", sha256(b"{}").digest())
    await directory.announce("access", b"\1" * 32)
    told = {seen.record.kind: seen.missing for seen in await services_of(mine)}
    assert "another kind" in told["ipfs"]
    assert "kind" in told["gateway"]
    assert "could not be fetched" in told["access"]

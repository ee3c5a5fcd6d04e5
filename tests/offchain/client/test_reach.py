"""By which ways a machine answers before it joins: at its address, through its IPFS node, or by none yet."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from devnet.kubo import Kubo
from devnet.local_leases import LocalLeases
from devnet.serving import CHAIN, CONTROLLER, Chain, Clock, certificate, serve_context
from leasehold.chain import LocalSigner
from leasehold.chain.typed import Domain
from leasehold.datasets import Ipfs, Streams, stream_address
from leasehold.market.wire import agent_stream
from leasehold.provider import ReachFound, find_reach
from leasehold_agent.api import ApiServer

OPERATOR = LocalSigner(b"\3" * 32)
PROTOCOL = agent_stream(OPERATOR.address)
NOBODY = "https://127.0.0.1:1"


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Kubo, Kubo]]:
    folder = tmp_path_factory.mktemp("nodes")
    with Kubo(folder / "here") as here, Kubo(folder / "there") as there:
        here.connect(there)
        yield here, there


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[tuple[ApiServer, int]]:
    folder, root = tmp_path / "agent", tmp_path / "leases"
    folder.mkdir()
    root.mkdir()
    context = serve_context(folder, LocalLeases(root), OPERATOR, Clock(), Chain(set()))
    api = await ApiServer.open(context)
    yield api, await api.start("127.0.0.1", 0)
    await api.close()


def machine(api: ApiServer, node: Kubo, *endpoints: str, **fields: object) -> Any:
    contact = {
        "version": 1,
        "endpoints": list(endpoints),
        "certificate": api.api.context.tls_certificate.read_text(),
        "age_recipient": "age1qqqq",
        "peer_id": node.peer_id,
        **fields,
    }
    return SimpleNamespace(contact=contact, operator=OPERATOR.address)


async def test_each_way_is_tried(
    server: tuple[ApiServer, int], nodes: tuple[Kubo, Kubo], tmp_path: Path
) -> None:
    (api, port), (here, there) = server, nodes
    address, behind = f"https://127.0.0.1:{port}", stream_address(there.peer_id, PROTOCOL)
    async with Ipfs(here.api) as own, Ipfs(there.api) as ipfs:
        client: Any = SimpleNamespace(ipfs=own, domain=Domain(CHAIN, CONTROLLER))

        async def found(*endpoints: str, **fields: object) -> ReachFound:
            return await find_reach(client, machine(api, there, *endpoints, **fields))

        not_yet = await found(address, behind)
        assert (not_yet.direct, not_yet.through_node) == (True, False)
        await Streams(ipfs).mount(PROTOCOL, api.open_back_door(0))
        assert await found(address, behind) == ReachFound(True, True, (address,))
        assert await found(NOBODY, behind) == ReachFound(False, True, (NOBODY,))
        assert await found(behind) == ReachFound(None, True)
        assert await found(NOBODY) == ReachFound(False, None, (NOBODY,))
        other, _ = certificate(tmp_path)  # somebody else's server at that address
        for wrong in (other.read_text(), "none at all"):
            assert await found(address, behind, certificate=wrong) == ReachFound(False, False, (address,))
        await Streams(ipfs).unmount(PROTOCOL)
        assert (await own.command("p2p/ls"))[0]["Listeners"] is None


@pytest.mark.parametrize(
    ("reach", "said"),
    [
        (ReachFound(True, True, (NOBODY,)), "at its address, and through its IPFS node"),
        (ReachFound(True, None, (NOBODY,)), "at its address"),
        (ReachFound(True, False, (NOBODY,)), "at its address"),
        (ReachFound(None, True), "through its IPFS node alone, which takes renters a node of their own"),
        (
            ReachFound(False, True, (NOBODY,)),
            f"through its IPFS node alone, which takes renters a node of their own; nothing answers at {NOBODY}",
        ),
        (ReachFound(False, None, (NOBODY,)), f"not yet: start its agent, and see that {NOBODY} is open to the world"),
        (
            ReachFound(False, False, (NOBODY,)),
            f"not yet: start its agent, and see that {NOBODY} is open to the world, or that its IPFS node is found",
        ),
        (
            ReachFound(None, False),
            "not yet: start its agent, and see that its IPFS node and yours find one another",
        ),
        (ReachFound(None, None), "not yet: its contact document names no way; describe the host again"),
    ],
)  # fmt: skip
def test_what_is_said(reach: ReachFound, said: str) -> None:
    assert reach.sentence == said

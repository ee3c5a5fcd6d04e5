"""What a machine says that a lease left behind, held to what its tenant asked for."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from devnet.kubo import Kubo
from devnet.patience import patient
from devnet.pool import PoolChain
from leasehold import Rent, format_lease
from leasehold.chain import cid_to_bytes
from leasehold.client import PoolClient, TenantLease, published_results
from leasehold.datasets import FilePart, FolderPart, Ipfs, Part
from leasehold.provider import AskedTerms, Join
from leasehold.workload import ResultsUnasked

from .conftest import Opening

RENTER, PROVIDER, OPERATOR, STRANGER = 1, 2, 3, 4
JOB = {
    "version": 1,
    "kind": "batch",
    "image": "sha256:" + "0" * 64,
    "egress": "none",
    "outputs": [{"path": "/out", "public": True}],
}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubo]:
    with Kubo(tmp_path_factory.mktemp("node")) as node:
        yield node


@pytest.fixture
async def ipfs(node: Kubo) -> AsyncIterator[Ipfs]:
    async with Ipfs(node.api, timeout=patient(10)) as ipfs:
        yield ipfs


@pytest.fixture
async def renter(opened: Opening, machine_file: Path, chain: PoolChain, ipfs: Ipfs) -> PoolClient:
    """Who has a lease that left behind what its machine's owner likes."""
    provider = await opened(PROVIDER)
    await provider.carry_out(await provider.plan(Join(machine_file, AskedTerms(price="1"))), approve=True)
    client = await opened(RENTER)
    client._ipfs = provider._ipfs
    rent = Rent(
        client.workload(JOB), seconds=3_600, allow_unverified=True, without_agent=True, share=8, wait=False
    )
    await client.carry_out(rent, approve=True)
    client._ipfs = ipfs
    return client


LEASE = 1 << 16


async def publish(chain: PoolChain, ipfs: Ipfs, *outputs: str, more: bool = False) -> None:
    """As its operator: these paths, each a file, and perhaps what the list does not name."""
    entries = [
        {"path": path, "name": str(number), "public": True, "size": 1} for number, path in enumerate(outputs)
    ]
    parts: list[Part] = [FolderPart("r")]
    for number, path in enumerate(outputs):
        parts += [FolderPart(f"r/{number}"), FilePart(f"r/{number}/{Path(path).name}", [b"x"])]
    parts += [FilePart("r/more", [b"x"])] if more else []
    listed = {"version": 1, "lease": format_lease(LEASE), "outputs": entries}
    cid = await ipfs.add_stream(
        [*parts, FilePart("r/manifest.json", [json.dumps(listed).encode()])], pin=False
    )
    operator = chain.pool(OPERATOR)
    await operator.start(LEASE, bytes(32))
    await operator.publish_result(LEASE, cid_to_bytes(cid))


async def test_a_machine_names_no_output_that_its_tenant_did_not(
    renter: PoolClient, chain: PoolChain, ipfs: Ipfs, tmp_path: Path
) -> None:
    """Into a project's folder it would write the sources that are run there next."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text("mine")
    await publish(chain, ipfs, "/out", "/train.py")
    lease = TenantLease(renter, LEASE)
    with pytest.raises(ResultsUnasked, match=r"/train\.py, and the workload asked for /out:"):
        await lease.results(project, identity="", force=True)
    assert (project / "train.py").read_text() == "mine"
    await lease.results(project, identity="", force=True, only=["/out"])
    assert (project / "out").read_text() == "x"
    assert (project / "train.py").read_text() == "mine"


async def test_what_it_published_is_kept_on_ones_node(
    renter: PoolClient, chain: PoolChain, ipfs: Ipfs, tmp_path: Path
) -> None:
    await publish(chain, ipfs, "/out")
    fetched = await TenantLease(renter, LEASE).results(tmp_path / "results", identity="")
    assert fetched.unpinned is None
    assert await ipfs.is_pinned(fetched.cid)


async def test_ones_node_keeps_nothing_that_no_list_names(
    renter: PoolClient, chain: PoolChain, ipfs: Ipfs, tmp_path: Path
) -> None:
    """It would cost a machine's owner a link, and its tenant all that the link leads to."""
    await publish(chain, ipfs, "/out", more=True)
    fetched = await TenantLease(renter, LEASE).results(tmp_path / "results", identity="")
    assert "does not name (more)" in (fetched.unpinned or "")
    assert not await ipfs.is_pinned(fetched.cid)


async def test_who_did_not_hand_it_over_knows_of_no_outputs(
    renter: PoolClient, opened: Opening, chain: PoolChain, ipfs: Ipfs
) -> None:
    await publish(chain, ipfs, "/out")
    assert (await published_results(renter, LEASE)).outputs == ("/out",)
    assert (await published_results(await opened(STRANGER), LEASE)).outputs is None

"""A market that has been used for a month: played by the contracts' own calls, it ends now and is of every kind."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from devnet.burst import BurstRefused, Sending, bursts
from devnet.catalogue import CARDS, offered
from devnet.contracts import deploy_fast
from devnet.crowd import Crowd
from devnet.used_market import UsedMarket, aged_chain
from leasehold.chain import Deployment, Lease, LeaseState, Machine, MachineStatus, Pool, Rpc
from leasehold.market import Contact, Hardware, canonical, parse_document


def test_the_catalogue_is_the_same_each_time_and_its_documents_are_read() -> None:
    machines = list(offered())
    assert machines == list(offered())
    assert [machine.number for machine in machines] == list(range(1, len(machines) + 1))
    assert {machine.card for machine in machines} == set(CARDS)
    for machine in machines:
        hardware = parse_document(Hardware, canonical(machine.hardware()), "hardware")
        assert len(hardware.gpus) == machine.gpus
        contact = parse_document(Contact, canonical(machine.contact("age1" + "q" * 58, "", 1)), "contact")
        assert contact.operator.endswith("no agent answers")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A month, on a chain without anything else; what is left of it in Python's hands."""
    with aged_chain() as chain:
        path = deploy_fast(chain.url, tmp_path_factory.mktemp("used") / "deployments")
        world: Any = SimpleNamespace(anvil=chain, deployment=path, facts=json.loads(path.read_text()))
        crowd = Crowd(world)
        with bursts(chain) as burst:
            market = UsedMarket(crowd, burst, random.Random(7))
            market.pass_by(chain.timestamp + 10, int(time.time()))
        yield SimpleNamespace(chain=chain, crowd=crowd, market=market, deployment=Deployment.load(path))


@pytest.mark.slow
def test_a_month_ends_now_with_machines_and_leases_of_every_kind(played: Any) -> None:
    assert 0 <= time.time() - played.chain.timestamp < 600

    async def read() -> tuple[list[Machine], list[Lease], list[int]]:
        async with Rpc([played.chain.url]) as rpc:
            pool = Pool(rpc, played.deployment)
            machines = [await pool.machine_of(number) for number in played.market.machines]
            leases = [await pool.lease_of(number << 16) for number in range(1, await pool.slot_count() + 1)]
            reputation = await pool.reputation()
            return (
                machines,
                leases,
                [await reputation.score_of(account) for account in played.crowd.providers],
            )

    machines, leases, scores = asyncio.run(read())
    assert {MachineStatus.VERIFIED, MachineStatus.UNVERIFIED} == {machine.status for machine in machines}
    assert any(machine.down for machine in machines)
    assert any(machine.delisted for machine in machines)
    assert any(machine.withheld for machine in machines)
    assert any(machine.terms.spot_price for machine in machines)
    assert {LeaseState.ACTIVE, LeaseState.ENDED, LeaseState.CANCELLED} == {lease.state for lease in leases}
    assert len(set(scores)) > 5
    lately = [
        document["issued_at"]
        for document in map(json.loads, played.crowd.documents.values())
        if "issued_at" in document and document["issued_at"] > played.chain.timestamp - 86_400
    ]
    assert len(lately) >= len(machines)  # agents are heard of, as where they run
    assert max(lately) <= played.chain.timestamp
    for machine in machines:  # what Python believes to be leased is leased
        assert machine.leased == played.market.machines[machine.id].leased


@pytest.mark.slow
def test_what_a_contract_refuses_is_raised(played: Any) -> None:
    crowd = played.crowd
    stranger = crowd.tenants[0]
    with bursts(played.chain) as burst, pytest.raises(BurstRefused, match="reverted"):
        burst.send([crowd.to_pool(stranger, "delist", 1)], played.chain.timestamp + 5)
    with bursts(played.chain) as burst:
        assert burst.send([Sending(stranger, stranger, b"")], played.chain.timestamp + 5) == [[]]

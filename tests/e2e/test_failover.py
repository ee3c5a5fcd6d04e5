"""A lease with a standby whose machine goes dark: outage on the chain, failover, and the other agent takes over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devnet import images
from devnet.account import TOKEN, Account
from devnet.engine import Engine
from devnet.site import Site, make_site
from devnet.tenant import Tenant
from devnet.world import World
from leasehold.chain import (
    Challenged,
    FailedOver,
    FaultFiled,
    FaultKind,
    LeaseClosed,
    LeaseState,
    MachineWentDown,
    OutageOpened,
    backup_digest,
    cost,
    format_lease,
    parse_lease,
)
from leasehold.errors import ContractError
from leasehold.workload import digest

HOUR = 3_600
PRICE = 24 * 10**17
CHALLENGE_WINDOW = 600


@pytest.fixture
def sites(world: World) -> Iterator[tuple[Site, Site]]:
    """Two machines of two providers, each with an engine and an agent of its own."""
    with (
        make_site(world, tick_seconds=0.5) as first,
        Engine() as engine,
    ):
        images.load(engine.url, images.tiny())
        with make_site(world, engine=engine, tick_seconds=0.5) as second:
            yield first, second


@pytest.mark.slow
def test_a_lease_whose_agent_is_stopped_fails_over_to_its_backup(sites: tuple[Site, Site]) -> None:
    first, second = sites
    anvil = first.world.anvil
    tenant, anyone = Tenant(first), Account(first.world)

    # The tenant hands the second agent what it would run, before there is a lease; IPFS has nothing of it.
    dataset = tenant.dataset("an answer")
    sealed = tenant.sealed(dataset)
    standby = second.seal(tenant.workload(dataset, environment={"ROUND": "standby"}))
    second.until(lambda: second.serves)
    second.agent(lambda agent: agent.put_workload(standby), tenant.signer)
    named = (second.machine, 1, 0, digest(standby))
    lease = tenant.open(sealed, backup=backup_digest(*named), duration=6 * HOUR)
    number = parse_lease(lease)
    first.until(lambda: tenant.lease(number).state is LeaseState.ACTIVE)
    began = tenant.lease(number).start

    # An hour in, its agent is gone. While nobody has shown that on the chain, nobody moves the lease.
    anvil.advance(HOUR)
    first.host.kill()
    with pytest.raises(ContractError, match="not down"):
        anyone.pool(lambda pool: pool.failover(number, *named))

    # The tenant asks for a sign of life and gets none, so anyone may say that the machine is down.
    tenant.deposit(5)
    tenant.faults(lambda faults: faults.challenge(first.machine, number))
    (asked,) = first.here(Challenged)
    assert asked.log.timestamp is not None
    with pytest.raises(ContractError):
        anyone.faults(lambda faults: faults.prove(first.machine))
    anvil.advance(CHALLENGE_WINDOW + 1)
    fault, _ = anyone.faults(lambda faults: faults.prove(first.machine))
    (opened,) = first.here(OutageOpened)
    assert (opened.kind, opened.from_) == (FaultKind.CHALLENGED, asked.log.timestamp)
    assert [event.from_ for event in first.here(MachineWentDown)] == [opened.from_]

    # Whoever sends it, the standby gets what the tenant named and what was left, at its own price.
    backup, _ = anyone.pool(lambda pool: pool.failover(number, *named))
    (moved,) = first.events(FailedOver, lease)
    (closed,) = first.events(LeaseClosed, lease)
    assert moved.backup == backup
    used = cost(PRICE, 8, opened.from_ - began)
    assert closed.paid + closed.fee == used  # up to the outage and not a second more
    after = tenant.lease(backup)
    assert (after.machine, after.tenant) == (second.machine, tenant.address)

    # The second agent starts it from what it was handed, and the tenant pays for both what each was worth.
    second.until(lambda: tenant.lease(backup).state is LeaseState.ACTIVE)
    (container,) = second.containers(format_lease(backup))
    assert "ROUND=standby" in container["Config"]["Env"]
    assert container["State"]["Running"]

    # The first agent comes back: it stops what it no longer has, and ends the outage without being asked.
    assert any(each["State"]["Running"] for each in first.containers(lease))
    first.host.start()
    first.until(lambda: not any(each["State"]["Running"] for each in first.containers(lease)))
    first.until(lambda: first.here(FaultFiled))
    (filed,) = first.here(FaultFiled)
    assert (filed.fault, filed.machine, filed.bps) == (fault, first.machine, 400)
    assert not tenant.pool(lambda pool: pool.machine_of(first.machine)).down

    tenant.pool(lambda pool: pool.close(backup))
    (ended,) = second.events(LeaseClosed, format_lease(backup))
    assert tenant.wealth() == 10_000 * TOKEN - used - ended.paid - ended.fee

"""Chains that change their past: a lease that vanishes, one that comes back, one that was another chain's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from devnet.other_chain import another_chain, transactions
from devnet.site import GENESIS, LABEL, Site, make_site
from devnet.tenant import Tenant
from devnet.world import Host, World
from leasehold.chain import LeaseClosed, LeaseStarted, LeaseState, ResultPublished, parse_lease


@pytest.fixture(scope="module")
def chain(world: World) -> Iterator[World]:
    """A chain whose past may be changed without anybody else's being lost."""
    with another_chain(world) as made:
        yield made


@pytest.fixture(scope="module")
def site(chain: World) -> Iterator[Site]:
    with make_site(chain, tick_seconds=0.5) as made:
        yield made


@pytest.fixture
def tenant(site: Site) -> Tenant:
    return Tenant(site)


@pytest.fixture
def first(world: World) -> Iterator[Site]:
    """The first machine of a new chain."""
    with another_chain(world) as made, make_site(made, tick_seconds=0.5) as site:
        yield site


def close(tenant: Tenant, lease: str) -> None:
    """Gives the machine back, and waits until the container has stopped and its results are published: what the agent
    sends for one test's lease would else fall among the blocks that the next one counts.
    """
    tenant.pool(lambda pool: pool.close(parse_lease(lease)))
    tenant.site.until(lambda: pid(tenant.site, lease) == 0 and tenant.site.events(ResultPublished, lease))


def rent(tenant: Tenant, answer: str = "an answer") -> tuple[str, int]:
    """A lease that runs, and the number of the block before it."""
    sealed = tenant.sealed(tenant.dataset(answer))
    before = tenant.site.world.anvil.block_number
    lease = tenant.open(sealed)
    tenant.site.until(lambda: is_running(tenant, lease))
    return lease, before


def is_running(tenant: Tenant, lease: str) -> bool:
    return state(tenant, lease) is LeaseState.ACTIVE and pid(tenant.site, lease) != 0


def state(tenant: Tenant, lease: str) -> LeaseState:
    return tenant.lease(parse_lease(lease)).state


def pid(site: Site, lease: str) -> int:
    """The container's process, 0 while it is stopped or there is none."""
    return next((int(each["State"]["Pid"]) for each in mine(site, lease)), 0)


def mine(site: Site, lease: str) -> list[dict[str, Any]]:
    """The lease's containers. Raises unless there is at most one."""
    found = site.containers(lease)
    assert len(found) <= 1
    return found


def inside(site: Site, lease: str, command: str) -> str:
    with site.world.engine.client() as client:
        (container,) = mine(site, lease)
        return str(client.containers.get(container["Id"]).exec_run(["sh", "-c", command]).output.decode())


@pytest.mark.slow
def test_a_lease_that_a_reorganisation_takes_and_gives_back(site: Site, tenant: Tenant) -> None:
    """Its container stops, and starts again with its data; `start` is sent again, since that too was undone."""
    anvil = site.world.anvil
    lease, before = rent(tenant)
    inside(site, lease, "echo precious > /kept")
    opened = transactions(anvil, before)[:1]
    depth = anvil.block_number - before
    anvil.reorg(depth)
    site.until(lambda: pid(site, lease) == 0)
    assert not site.events(LeaseStarted, lease)

    anvil.reorg(depth, opened)
    site.until(lambda: is_running(tenant, lease))
    assert inside(site, lease, "cat /kept") == "precious\n"
    assert len(site.events(LeaseStarted, lease)) == 1
    close(tenant, lease)
    (closed,) = site.events(LeaseClosed, lease)
    assert isinstance(closed, LeaseClosed)
    assert closed.paid + closed.fee + closed.refunded == tenant.lease(parse_lease(lease)).deposit


@pytest.mark.slow
def test_a_lease_that_a_reorganisation_takes_for_good(chain: World) -> None:
    """Nothing of it is left once the blocks that lack it are deep enough."""
    with make_site(chain, tick_seconds=0.5, retention_min=0, retention_max=0, confirmations=3) as site:
        tenant = Tenant(site)
        lease, before = rent(tenant)
        (container,) = mine(site, lease)
        chain.anvil.reorg(chain.anvil.block_number - before)
        site.until(lambda: pid(site, lease) == 0)
        assert len(mine(site, lease)) == 1
        chain.anvil.mine(3)
        site.until(lambda: not mine(site, lease))
        with chain.engine.client() as client:
            labels = [f"{key}={container['Config']['Labels'][key]}" for key in (GENESIS, LABEL)]
            site.until(lambda: not client.networks.list(filters={"label": labels}))


@pytest.mark.slow
def test_a_reorganisation_that_takes_only_the_start(site: Site, tenant: Tenant) -> None:
    """It is sent again, and the container does not notice."""
    anvil = site.world.anvil
    lease, before = rent(tenant)
    process = pid(site, lease)
    opened = transactions(anvil, before)[:1]
    (undone,) = site.events(LeaseStarted, lease)
    anvil.reorg(anvil.block_number - before, opened)
    site.until(lambda: is_running(tenant, lease))
    (started,) = site.events(LeaseStarted, lease)
    assert started.log.block_hash != undone.log.block_hash
    assert pid(site, lease) == process
    close(tenant, lease)


@pytest.mark.slow
def test_a_reorganisation_that_gives_the_lease_to_somebody_else(site: Site, tenant: Tenant) -> None:
    """The same id is another's now: who gets it finds nothing of who had it before, and pays for nothing of it."""
    anvil, other = site.world.anvil, Tenant(site)
    lease, before = rent(tenant)
    inside(site, lease, "echo secret > /kept")
    former = mine(site, lease)[0]["Id"]
    sealed = other.sealed(other.dataset("another answer"))
    (undone,) = site.events(LeaseStarted, lease)
    anvil.reorg(anvil.block_number - before)
    assert other.open(sealed) == lease
    site.until(lambda: state(other, lease) is LeaseState.ACTIVE)
    # His bill has begun, and not before his own container ran.
    (container,) = mine(site, lease)
    assert container["Id"] != former
    assert container["State"]["Pid"] != 0
    (started,) = site.events(LeaseStarted, lease)
    assert started.log.tx_hash != undone.log.tx_hash
    assert "secret" not in inside(site, lease, "cat /kept; cat /results/answer")
    assert inside(site, lease, "cat /results/answer") == "another answer"
    close(other, lease)


@pytest.mark.slow
def test_a_lease_of_an_earlier_chain_is_never_adopted(world: World, first: Site) -> None:
    """Same host, same state folder, same addresses, same machine, same lease id: only the genesis differs."""
    lease, _ = rent(Tenant(first), "of the first chain")
    process, old = pid(first, lease), first.world.facts
    first.host.kill()
    with another_chain(world) as second, contextlib.ExitStack() as undo:
        assert second.facts["controller"] == old["controller"]
        assert second.facts["genesis"] != old["genesis"]
        again = moved(first, second)
        undo.enter_context(second.running(again.host))
        newcomer = Tenant(again)
        again.host.wait_for(lambda line: line.get("event") == "serving")
        assert [pid(first, lease), again.machine] == [process, first.machine]

        same, _ = rent(newcomer, "of the second chain")
        assert same == lease
        both = {old["genesis"], second.facts["genesis"]}
        labels = [each["Config"]["Labels"] for site in (first, again) for each in site.containers(lease)]
        assert [label[LABEL] for label in labels] == [labels[0][LABEL]] * 2
        assert {label[GENESIS] for label in labels} == both
        assert inside(again, lease, "cat /results/answer") == "of the second chain"
        assert pid(again, lease) != process

        close(newcomer, lease)
        assert inside(first, lease, "cat /results/answer") == "of the first chain"
        assert pid(first, lease) == process


@pytest.mark.slow
def test_an_agent_sent_to_another_chain_says_so_and_waits(world: World, first: Site) -> None:
    """A deployment file of one chain and the RPC address of another: nothing is touched. It may be a node that somebody
    is setting up, and a machine whose agent has ended costs stake.
    """
    first.host.kill()
    with another_chain(world) as second:
        lost = with_settings(first.host, rpc=f'["{second.anvil.url}"]', ws=second.anvil.ws_url)
        with world.running(lost):
            lost.wait_for(lambda line: line.get("event") == "waiting" and "chain" in str(line.get("problem")))


def moved(site: Site, world: World) -> Site:
    """The site's host on another chain, registered there anew."""
    provider = world.party(f"{site.provider.name}-again", world.provider_ipfs)
    owner = provider("wallet", "new", provider.name)["address"]
    world.fund(owner, tokens=10_000)
    host = with_settings(
        site.host,
        rpc=f'["{world.anvil.url}"]',
        ws=world.anvil.ws_url,
        deployment=str(world.deployment),
        owner=owner,
    )
    joined = provider("provider", "join", str(host.describe()), "--price", "2.40", "--approve", "--yes")
    return replace(site, world=world, provider=provider, host=host, machine=joined["machine"])


def with_settings(host: Host, **settings: str) -> Host:
    """The same host, whose agent is told something else."""
    changed = {f"LEASEHOLD_AGENT_{name.upper()}": value for name, value in settings.items()}
    return Host(host.name, host.folder, {**host.environment, **changed}, host.nursery)

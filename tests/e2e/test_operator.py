"""What the owner of a host does beside a running agent: look, stop selling, take the machine back, buy gas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from devnet.site import Site, make_site
from devnet.tenant import Tenant
from devnet.world import World
from leasehold.chain import LeaseOpened, LeaseTerminated, Machine, cost, parse_lease
from leasehold.errors import ContractError

pytestmark = pytest.mark.slow

PRICE = 24 * 10**17


@pytest.fixture(scope="module")
def site(world: World) -> Iterator[Site]:
    with make_site(world, tick_seconds=0.5) as made:
        made.host.wait_for(lambda line: line.get("event") == "serving")
        made.until((made.host.folder / "state" / "status.json").exists)
        yield made


@pytest.fixture
def tenant(site: Site) -> Iterator[Tenant]:
    """Somebody who finds the whole machine for sale, and leaves it free."""
    tenant = Tenant(site)
    if machine(tenant).withheld:
        said(site, "drain", "--undo")
        said(site, "pause", "--undo")
    yield tenant
    for opened in site.events(LeaseOpened):
        assert isinstance(opened, LeaseOpened)
        if opened.tenant == tenant.address and tenant.lease(opened.lease).state.live:
            tenant.pool(lambda pool, lease=opened.lease: pool.close(lease))


def machine(tenant: Tenant) -> Machine:
    return tenant.pool(lambda pool: pool.machine_of(tenant.site.machine))


def rent(tenant: Tenant, duration: int = 3_600) -> str:
    lease = tenant.open(tenant.sealed(tenant.dataset("an answer")), duration=duration)
    tenant.site.until(lambda: tenant.lease(parse_lease(lease)).state.name == "ACTIVE")
    return lease


def status(site: Site) -> dict[str, Any]:
    done = site.host.run("status", "--json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def phases(site: Site) -> dict[str, str]:
    return {each["lease"]: each["phase"] for each in status(site)["leases"]}


def said(site: Site, *arguments: str) -> str:
    """What a command prints, on one line however wide the terminal."""
    done = site.host.run(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return " ".join(done.stdout.split())


def test_status_shows_machines_leases_and_gas(site: Site, tenant: Tenant) -> None:
    lease = rent(tenant)
    site.until(lambda: phases(site).get(lease) == "running")
    shown = status(site)
    assert shown["current"]
    assert [each["machine"] for each in shown["machines"]] == [site.machine]
    assert lease in phases(site)
    assert "AGE-SECRET-KEY" not in json.dumps(shown)
    table = said(site, "status")
    assert f"{lease} │ {site.machine} │ running" in table
    assert "does not run" not in table


def test_status_before_the_agent_has_ever_run(site: Site) -> None:
    other = site.world.host(f"{site.host.name}-unused")
    done = other.run("status")
    assert done.returncode == 1
    assert "leasehold-agent run" in done.stderr


def test_drain_sells_nothing_new_and_leaves_what_runs(site: Site, tenant: Tenant) -> None:
    lease = rent(tenant)
    assert "takes no new leases" in said(site, "drain")
    assert machine(tenant).withheld == 0xFF
    tenant.pool(lambda pool: pool.extend(parse_lease(lease), 600))
    assert len(site.containers(lease)) == 1
    tenant.pool(lambda pool: pool.close(parse_lease(lease)))
    said(site, "drain", "--wait")
    sealed = tenant.sealed(tenant.dataset("nobody will run this"))
    with pytest.raises(ContractError):
        tenant.open(sealed)
    assert "takes new leases again" in said(site, "drain", "--undo")
    assert machine(tenant).withheld == 0
    rent(tenant)


def test_pause_gives_the_machine_back_and_says_what_the_rest_would_cost(site: Site, tenant: Tenant) -> None:
    site.until(lambda: set(phases(site).values()) <= {"ended"})
    assert "the host is yours" in said(site, "pause")
    assert "takes new leases again" in said(site, "pause", "--undo")
    site.world.anvil.advance(4_000)  # the chain's clock is the one that counts, and not the host's
    lease = rent(tenant, 7_200)
    site.until(lambda: phases(site).get(lease) == "running")

    asked = site.world.anvil.timestamp
    answer = json.loads(said(site, "pause", "--json"))
    assert answer["machines"] == [site.machine]
    (shown,) = answer["leases"]
    assert shown["lease"] == lease
    assert machine(tenant).withheld == 0xFF
    assert f"leasehold provider terminate {lease}" in said(site, "pause")

    site.provider("wallet", "deposit", "10", "--approve", "--yes")
    site.provider("provider", "terminate", lease, "--yes")
    (terminated,) = site.events(LeaseTerminated, lease)
    assert isinstance(terminated, LeaseTerminated)
    since = terminated.log.timestamp - asked
    assert shown["penalty"] - cost(PRICE, 8, since) - 1 <= terminated.penalty <= shown["penalty"]
    assert terminated.penalty > 0
    assert tenant.lease(parse_lease(lease)).noticed


def test_an_operator_short_of_gas_is_told_so_in_time(site: Site) -> None:
    """At the agent's start and in `status`, with the address to fund; an agent with enough says nothing."""
    site.until(lambda: status(site)["gas"])
    gas = status(site)["gas"]
    assert gas["warning"] is None
    site.host.kill()
    anvil, operator = site.world.anvil, gas["operator"]
    before = int(anvil.request("eth_getBalance", operator, "latest"), 16)
    anvil.request("anvil_setBalance", operator, hex(gas["gas_price"] * 154_000 * 3))
    try:
        since = len(site.host.steps)
        site.host.start()
        warned = site.host.wait_for(lambda line: line.get("event") == "gas", since=since)
        assert warned.get("level") == "error"
        assert operator in warned.get("problem")
        site.until(lambda: (status(site)["gas"] or {}).get("warning"))
        assert operator in said(site, "status")
    finally:
        anvil.request("anvil_setBalance", operator, hex(before))

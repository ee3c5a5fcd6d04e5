"""The addresses that leases' networks get: many, small, and nobody else's."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from ipaddress import IPv4Network

import pytest

from devnet.engine import Engine as DevEngine
from leasehold_agent._config import AgentSettings
from leasehold_agent._errors import NetworkError
from leasehold_agent.engine import Engine
from leasehold_agent.host import AddressBlocks
from leasehold_agent.host._subnets import free_block

RANGE = IPv4Network("10.99.0.0/16")


def test_more_fit_than_an_engine_gives_out_by_itself() -> None:
    taken = set[IPv4Network]()
    for _ in range(200):
        taken.add(free_block([RANGE], taken))
    assert len(taken) == 200
    assert all(block.subnet_of(RANGE) and block.num_addresses == 16 for block in taken)


@pytest.mark.parametrize(
    ("taken", "first"),
    [
        ((), "10.99.0.0/28"),
        (("10.99.0.0/30",), "10.99.0.16/28"),
        (("10.99.0.20/32",), "10.99.0.0/28"),
        (("10.99.0.0/28", "10.99.0.20/32"), "10.99.0.32/28"),
        (("10.99.0.0/17",), "10.99.128.0/28"),
        (("10.98.0.0/15",), "172.30.0.0/28"),
        (("10.0.0.0/8", "172.30.0.0/24"), "172.30.1.0/28"),
    ],
)
def test_what_is_in_use_is_passed_over(taken: tuple[str, ...], first: str) -> None:
    ranges = [RANGE, IPv4Network("172.30.0.0/16")]
    assert free_block(ranges, [IPv4Network(each) for each in taken]) == IPv4Network(first)


def test_where_none_is_left_it_says_what_to_set() -> None:
    with pytest.raises(NetworkError, match="lease_networks"):
        free_block([RANGE], [IPv4Network("10.0.0.0/8")])


@pytest.mark.parametrize("wrong", ["203.0.113.0/24", "10.0.0.0/29", ""])
def test_only_private_ranges_are_given_out(wrong: str) -> None:
    with pytest.raises(ValueError, match="lease_networks"):
        AgentSettings.model_validate({"lease_networks": [wrong] if wrong else []})


@pytest.fixture
def a_route(docker_engine: DevEngine) -> Iterator[IPv4Network]:
    """Of the host's own, into the middle of the range."""
    network = "10.99.7.0/27"
    route = docker_engine.in_netns("ip", "route", "add", network, "dev", "uplink")
    subprocess.run(route, check=True)
    yield IPv4Network(network)
    subprocess.run([*route[:-4], "delete", network], check=True)


async def test_a_network_meets_nothing_of_the_host(docker_engine: DevEngine, a_route: IPv4Network) -> None:
    wide = IPv4Network("10.99.7.0/26")
    engine = Engine(docker_engine.url, AddressBlocks([wide], docker_engine.netns))
    names = ["lht-net-1", "lht-net-2"]
    try:
        for number, name in enumerate(names):
            await engine.ensure_network(name, f"lh-test{number}", {"a": "b"})
            await engine.ensure_network(name, f"lh-test{number}", {"a": "b"})
        with docker_engine.client() as client:
            made = {
                IPv4Network(client.api.inspect_network(name)["IPAM"]["Config"][0]["Subnet"]) for name in names
            }
        assert made == {IPv4Network("10.99.7.32/28"), IPv4Network("10.99.7.48/28")}
        with pytest.raises(NetworkError, match="lease_networks"):
            await engine.ensure_network("lht-net-3", "lh-test3", {"a": "b"})
        await engine.remove_network(names[0])
        await engine.ensure_network("lht-net-3", "lh-test3", {"a": "b"})
    finally:
        for name in (*names, "lht-net-3"):
            await engine.remove_network(name)
        engine.close()

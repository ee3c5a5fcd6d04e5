"""What a stranger's document can have us call: the internet, and nothing that only we can reach."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_network

import pytest

from leasehold.market import Dialling
from leasehold.market.wire import AgentUnreachable


def named(*addresses: str) -> Dialling:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return addresses

    return Dialling(resolve=resolve)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.5.5",
        "192.168.1.1",
        "100.64.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "169.254.169.254",
        "198.18.0.1",
        "192.0.2.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:8.8.8.8",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a00:1",
        "2002:7f00:1::",
        "2001:0:7f00:1::",
        "fe80::1",
        "fe80::1%1",
        "fec0::1",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "2001:db8::1",
        "no address",
        "",
    ],
)
async def test_what_is_not_the_internet_is_not_called(address: str) -> None:
    assert not Dialling().allows(address)
    with pytest.raises(AgentUnreachable):
        await named(address).addresses("https://agent.example:8443")


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700:4700::1111"])
async def test_the_internet_is_called(address: str) -> None:
    assert await named(address).addresses("https://agent.example:8443/") == (
        "agent.example:8443",
        address,
        8443,
    )


async def test_one_bad_address_among_good_ones_is_enough() -> None:
    """Whoever has two may have the second called when the first is down."""
    with pytest.raises(AgentUnreachable):
        await named("8.8.8.8", "127.0.0.1").addresses("https://agent.example")
    with pytest.raises(AgentUnreachable):
        await named("8.8.8.8", "::1").addresses("https://agent.example")


async def test_a_name_is_resolved_once_and_the_address_is_what_is_called() -> None:
    answers = iter([["8.8.8.8"], ["127.0.0.1"]])

    async def rebinding(host: str, port: int) -> Sequence[str]:
        return next(answers)

    assert (await Dialling(resolve=rebinding).addresses("https://agent.example"))[1] == "8.8.8.8"


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://8.8.8.8",
        "https://8.8.8.8:22",
        "https://8.8.8.8:80",
        "https://8.8.8.8:0",
        "https://8.8.8.8:65536",
        "https://8.8.8.8:-1",
        "https://8.8.8.8/latest/meta-data",
        "https://8.8.8.8?x",
        "https://8.8.8.8#x",
        "https://user@8.8.8.8",
        "https://127.0.0.1#@8.8.8.8",
        "https://8.8.8.8\\@127.0.0.1",
        "https://8.8.8.8 .example",
        "https://[8.8.8.8",
        "https://",
        "https://%31%32%37.0.0.1",
        "https://ｅxample",
        "gopher://8.8.8.8",
        "/p2p/12D3/x/leasehold",
    ],
)
async def test_an_endpoint_is_an_address_of_https_and_no_more(endpoint: str) -> None:
    with pytest.raises(AgentUnreachable):
        await named("8.8.8.8").addresses(endpoint)


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f000001", "localhost", "017700000001"])
async def test_other_spellings_of_the_loopback_lead_nowhere(host: str) -> None:
    with pytest.raises(AgentUnreachable):
        await Dialling().addresses(f"https://{host}:8443")


async def test_a_name_without_an_address_is_told_so() -> None:
    async def nothing(host: str, port: int) -> Sequence[str]:
        raise OSError("no such name")

    with pytest.raises(AgentUnreachable, match="no address"):
        await Dialling(resolve=nothing).addresses("https://agent.example")


def test_a_network_that_the_operator_names_is_called_but_never_what_gives_credentials() -> None:
    lan = Dialling(tuple(map(ip_network, ("10.0.0.0/8", "127.0.0.0/8", "0.0.0.0/0", "::/0"))))
    assert lan.allows("10.1.2.3")
    assert lan.allows("127.0.0.1")
    assert lan.allows("fd12::1")
    for address in (
        "169.254.169.254",
        "fd00:ec2::254",
        "100.100.100.200",
        "0.0.0.0",
        "::ffff:169.254.169.254",
    ):
        assert not lan.allows(address)

"""What a host's owner lets any lease do on his network: what each policy comes to, and how it is told. From inside a
container it is tried in `test_isolation.py`.
"""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from leasehold.datasets import Ipfs
from leasehold.market import _dialling, canonical, parse_document
from leasehold.market._documents import Contact
from leasehold_agent._config import AgentSettings
from leasehold_agent.checks._parts import judge_egress
from leasehold_agent.documents import contact_document
from leasehold_agent.host import HostPolicy, LeasePace, LeasePolicy, load_identity
from leasehold_agent.host._firewall import PRIVATE_V4, PRIVATE_V6, render, render_counts


def settings(**values: Any) -> AgentSettings:
    return AgentSettings.model_validate({"public_host": "gpu.example.org", "reach": "direct", **values})


def test_a_home_lends_little_of_its_line() -> None:
    home = settings(egress="residential").host_egress
    assert {25, 465, 587} <= set(home.refused_ports)
    assert None not in (home.pace.destinations, home.pace.down, home.pace.up)
    assert settings(egress="residential").line_bandwidth == home.pace.up, "nor by SSH"


@pytest.mark.parametrize("policy", ["internet", "none"])
def test_elsewhere_nothing_is_counted_that_nobody_asked_for(policy: str) -> None:
    plain = settings(egress=policy, connections_limit=99)
    assert plain.host_egress.pace == LeasePace(99)
    assert plain.host_egress.refused_ports == ()
    assert plain.line_bandwidth is None


def test_each_part_may_be_chosen_otherwise() -> None:
    chosen = settings(
        egress="residential",
        egress_refused_ports="25,25",
        egress_destinations=0,
        egress_down=70_000,
        egress_up=0,
    )
    assert chosen.host_egress.refused_ports == (25,)
    assert chosen.host_egress.pace == LeasePace(4_096, None, 70_000, None)
    assert settings(egress_up=70_000).host_egress.pace.up == 70_000
    assert settings(egress="residential", lease_bandwidth=1 << 20).line_bandwidth == 1 << 20
    with pytest.raises(ValueError, match="carries nothing"):
        settings(egress_up=100)


def test_refused_ports_come_before_a_tenants_own_rules() -> None:
    text = render([LeasePolicy("lh-a", "internet")], HostPolicy(refused_ports=(25, 587)))
    forward = text.split("chain forward {", 1)[1]
    assert "tcp dport { 25, 587 } drop" in forward
    assert forward.index("udp dport { 25, 587 } drop") < forward.index("vmap")
    assert "dport {" not in render([], HostPolicy())


def test_what_is_not_limited_is_not_counted() -> None:
    plain = render_counts(LeasePace(16))
    assert "ct count over 16" in plain
    assert not any(word in plain for word in ("known", "destinations", "bytes"))
    full = render_counts(LeasePace(16, 5, 1 << 20, 1 << 21))
    assert "limit rate over 5/minute burst 10 packets" in full
    assert "oifname limit rate over 1048576 bytes/second burst 524288 bytes" in full
    assert "iifname limit rate over 2097152 bytes/second" in full
    assert "burst 131072 bytes" in render_counts(LeasePace(16, None, 65_536)), (
        "a packet as the kernel hands it on"
    )


@pytest.mark.parametrize(
    ("values", "address", "state"),
    [
        ({}, "192.168.1.7", "warning"),
        ({}, "100.64.0.9", "warning"),
        ({}, "1.1.1.1", "ok"),
        ({"egress": "internet"}, "192.168.1.7", "ok"),
        ({"egress": "residential"}, "192.168.1.7", "ok"),
    ],
)
def test_what_is_proposed_to_whom(values: dict[str, object], address: str, state: str) -> None:
    finding = judge_egress(settings(**values), address)
    assert finding.state == state
    assert ("residential" in finding.text) is (state == "warning" or "residential" in values.values())


async def test_it_stands_in_the_contact_document(tmp_path: Path) -> None:
    """In bits, as what was measured."""
    chosen = settings(state_dir=tmp_path, egress="residential", egress_up=2_500_000)
    async with Ipfs("/ip4/127.0.0.1/tcp/1") as ipfs:
        made = await contact_document(chosen, load_identity(tmp_path), ipfs, images=[], datasets=[])
    told = parse_document(Contact, canonical(made), "It").egress
    assert told is not None
    assert (told.policy, told.up, told.destinations) == ("residential", 20_000_000, 60)
    assert "20 Mbit/s up" in told.words


def test_what_no_gateway_calls_no_lease_reaches() -> None:
    """Where clouds hand a host's secrets to whatever runs on it, and what a router turns into such an address."""
    refused = [ip_network(network) for network in (*PRIVATE_V4, *PRIVATE_V6)]
    for network in (*_dialling._NEVER, *_dialling._CARRIERS):
        assert any(
            isinstance(network, type(other)) and network.subnet_of(other)  # type: ignore[arg-type]
            for other in refused
        ), network

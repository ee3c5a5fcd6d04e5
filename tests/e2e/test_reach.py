"""A host that nobody can connect to: its own IPFS node has called the renter's, and everything goes through that."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from devnet import images
from devnet.engine import Engine
from devnet.kubo import Kubo
from devnet.patience import patient
from devnet.relay import Relay
from devnet.site import Site
from devnet.world import Host, World, free_port
from leasehold.chain import LocalSigner
from leasehold.chain.typed import Domain
from leasehold.datasets import Ipfs
from leasehold.market import AgentClient, agent_tunnel

WEB = "exec busybox httpd -f -p 8000 -h /tmp/w"
UNTIL_TOLD = "echo up; until [ -e /tmp/told ]; do sleep 0.1; done"
pytestmark = pytest.mark.slow

CLOSED = """
table inet closed {
  chain input {
    type filter hook input priority -200; policy accept;
    iifname "uplink" ct state established,related accept
    iifname "uplink" counter drop
  }
  chain forward {
    type filter hook forward priority -200; policy accept;
    iifname "uplink" ct state new counter drop
  }
}
"""
"""As a router does it: what was asked for from inside comes in, and nothing else."""


@dataclass
class Natted(Site):
    """A site behind such a router, and the node that its renter has."""

    near: Kubo
    behind: Kubo


@pytest.fixture(scope="module")
def natted(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Natted]:
    folder = tmp_path_factory.mktemp("natted")
    with ExitStack() as stack:
        engine = stack.enter_context(Engine(folder / "engine"))
        images.load(engine.url, images.tiny())
        subprocess.run(engine.in_netns("nft", "-f", "-"), input=CLOSED, text=True, check=True)
        chain = stack.enter_context(Relay(int(world.anvil.url.rpartition(":")[2]), engine.gateway))
        near = stack.enter_context(Kubo(folder / "near", swarm_host=engine.gateway))
        near.connect(world.provider_ipfs)
        behind = Kubo(folder / "behind", swarm_host=engine.address)
        engine.within(behind.start)
        stack.callback(behind.stop)
        (there,) = near.addresses
        engine.within(lambda: behind.call("swarm/connect", there))
        provider = world.party("provider-natted", world.provider_ipfs)
        renter = world.party("renter-natted", near)
        addresses = [party.wallet(party.name) for party in (provider, renter)]
        for address in addresses:
            world.fund(address, tokens=10_000)
        renter("wallet", "approve", "unlimited", "--yes")
        host = at_home(world, engine, behind, chain, addresses[0])
        described = engine.within(host.describe)
        joined = provider("provider", "join", str(described), "--price", "2.40", "--approve", "--yes")
        site = Natted(world, provider, renter, host, joined["machine"], engine, near, behind)
        stack.callback(host.kill)
        engine.within(host.start)
        host.serving()
        host.wait_for(lambda line: line.get("event") == "mounts" and line.get("problem") is None)
        yield site


def at_home(world: World, engine: Engine, node: Kubo, chain: Relay, owner: str) -> Host:
    host = world.host(
        "host-natted",
        engine,
        owner=owner,
        ipfs=node.api,
        rpc=[chain.url],
        ws=chain.ws_url,
        public_host="",
        ports_host="",
        listen="0.0.0.0",
    )
    host.nursery = None
    return host


def test_the_host_finds_out_that_only_its_node_leads_to_it(natted: Natted) -> None:
    contact = natted.contact
    assert contact.endpoints == (
        f"/p2p/{natted.behind.peer_id}/x/leasehold/agent/1/{natted.operator.address.lower()}",
    )
    assert contact.ssh is not None
    assert contact.ssh.host is None
    for name in ("API_PORT", "SSH_PORT"):
        port = int(natted.host.environment[f"LEASEHOLD_AGENT_{name}"])
        with pytest.raises(TimeoutError):
            socket.create_connection((natted.engine.address, port), timeout=1)
    swarm = int(natted.engine.within(lambda: natted.behind.addresses)[0].split("/")[4])
    with pytest.raises(TimeoutError):
        socket.create_connection((natted.engine.address, swarm), timeout=1)


def test_it_is_rented_used_and_closed(natted: Natted, tmp_path: Path) -> None:
    renter = natted.renter
    key = tmp_path / "id"
    command = ["sh", "-c", f"mkdir -p /tmp/w; echo served >/tmp/w/index.html; echo begun; {WEB}"]
    lease = natted.rent(command=command, ssh_keys=[renter.keygen(key)])
    assert len(natted.containers(lease)) == 1

    logs = renter.popen("logs", "-f", lease)
    assert logs.stdout is not None
    assert logs.stdout.readline() == "begun\n"
    logs.send_signal(signal.SIGINT)
    logs.communicate(timeout=patient(60))
    done = renter.run("exec", lease, "--", "sh", "-c", "cat; exit 7", stdin="from outside\n")
    assert (done.stdout, done.returncode) == ("from outside\n", 7), done.stderr

    done = renter.run("ssh", lease, "-i", str(key), "--", "echo from inside; exit 9")
    assert (done.stdout, done.returncode) == ("from inside\n", 9), done.stderr
    done = renter.run("ssh", lease, "--", "echo by the wallet")  # its key alone, which no workload names
    assert (done.stdout, done.returncode) == ("by the wallet\n", 0), done.stderr
    copy_files(natted, lease, key, tmp_path)
    look_at_port(natted, lease, key)

    assert natted.near.call("p2p/ls")["Listeners"] is None  # every way is taken back
    renter("close", lease, "--yes")
    done = renter.run("ssh", lease, "--", "true")
    assert done.returncode == 255, done.stdout
    natted.until(lambda: not [c for c in natted.containers(lease) if c["State"] == "running"])


async def test_an_address_that_swallows_everything_is_left_after_a_while(natted: Natted) -> None:
    """Nothing comes back from there, not even a refusal."""
    port = natted.host.environment["LEASEHOLD_AGENT_API_PORT"]
    swallows = f"https://{natted.engine.address}:{port}"
    contact = natted.contact.model_copy(update={"endpoints": (swallows, *natted.contact.endpoints)})
    operator, facts = natted.operator.address, natted.world.facts
    domain = Domain(facts["chain_id"], facts["controller"])
    async with Ipfs(natted.near.api) as ipfs:
        tunnel = agent_tunnel(ipfs, contact, operator)
        signer = LocalSigner(b"\1" * 32)
        async with AgentClient(contact, domain, natted.machine, operator, signer, tunnel=tunnel) as agent:
            assert (await agent.machine()).machines == [natted.machine]
            assert agent._ways[0] is tunnel


def copy_files(natted: Natted, lease: str, key: Path, folder: Path) -> None:
    """By `scp` and `sftp`, with what `ssh --print` says."""
    printed = natted.renter("ssh", lease, "-i", str(key), "--print")
    target = printed["command"][-1]
    body = os.urandom(1_000_003)
    (folder / "f").write_bytes(body)
    run([*printed["copy"], "-q", str(folder / "f"), f"{target}:/tmp/f"], folder)
    script = "get /tmp/f back\nls /tmp\n"
    listed = run(["sftp", *printed["copy"][1:], "-b", "-", target], folder, script)
    assert (folder / "back").read_bytes() == body
    assert "/tmp/f" in listed


def look_at_port(natted: Natted, lease: str, key: Path) -> None:
    port = free_port()
    process = natted.renter.popen(
        "ssh", lease, "-i", str(key), "-L", f"127.0.0.1:{port}:localhost:8000", "--", UNTIL_TOLD
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        with socket.create_connection(("127.0.0.1", port), timeout=patient(30)) as web:
            web.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert b"served" in web.makefile("rb").read()
    finally:
        natted.renter.run("exec", lease, "--", "touch", "/tmp/told")
        said, _ = process.communicate(timeout=patient(60))
    assert process.returncode == 0, said


def run(command: list[str], folder: Path, script: str = "") -> str:
    done = subprocess.run(
        command, input=script, capture_output=True, text=True, cwd=folder, timeout=patient(60), check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

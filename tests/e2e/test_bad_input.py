"""What people get wrong, and what the world gets wrong for them: one sentence, an exit code, and nothing lost."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from devnet.anvil import Anvil
from devnet.patience import patient
from devnet.site import Site, make_site
from devnet.tenant import Tenant
from devnet.world import BIN, Host, Party, World
from leasehold.chain import (
    LeaseCancelled,
    LeaseDeclined,
    LeaseOpened,
    LeaseRejected,
    LeaseState,
    format_lease,
    parse_lease,
)
from leasehold.datasets import new_identity, recipient_of
from leasehold.workload import load_workload, seal

from .test_reorg import another_chain

pytestmark = pytest.mark.slow

WAITING = re.compile(
    r"^(Reading|Waiting|Looking|Fetching|Asking).*(\(\d+ s\)|, for \d+ s)$"
)  # what a loaded machine makes one wait for
NOBODY_HAS = "bafkreiaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
NO_SUCH_IMAGE = "sha256:" + "0" * 64
HOUR = 24 * 10**17
BOUND = patient(
    60
)  # seconds in which a machine has to decline, where it would otherwise wait for half an hour


@pytest.fixture(scope="module")
def site(world: World) -> Iterator[Site]:
    with make_site(world, fetch_seconds=3) as made:
        yield made


@pytest.fixture(scope="module")
def moved(world: World) -> Iterator[Site]:
    """A site on a chain of its own, whose time a test may move."""
    with another_chain(world) as chain, make_site(chain, tick_seconds=0.5) as made:
        yield made


# ------------------------------------------------------------------------------------------------- what is checked


def holdings(site: Site, account: str) -> int:
    """Token units in an account's wallet and in its ledger."""
    data = "0x70a08231" + account[2:].lower().rjust(
        64, "0"
    )  # balanceOf(address), of the token and of the pool
    calls = [{"to": site.world.facts[name], "data": data} for name in ("token", "controller")]
    return sum(int(site.world.anvil.request("eth_call", call, "latest"), 16) for call in calls)


def address(party: Party) -> str:
    return _address(party.home)


@functools.cache
def _address(home: Path) -> str:
    (keystore,) = (home / "keys").glob("*.json")
    return "0x" + str(json.loads(keystore.read_text())["address"]).removeprefix("0x")


@contextlib.contextmanager
def nothing_lost(site: Site, account: str | None = None) -> Iterator[None]:
    """The account ends with what it had, to the unit, the provider with no more, and no penalty is counted."""
    account = account or address(site.renter)
    before, opened = holdings(site, account), set(leases(site))
    yield
    assert holdings(site, account) == before
    for lease in set(leases(site)) - opened:
        assert not site.events(LeaseRejected, lease)
        (event,) = [each for kind in (LeaseDeclined, LeaseCancelled) for each in site.events(kind, lease)]
        assert isinstance(event, LeaseDeclined | LeaseCancelled)
        assert event.refunded == HOUR


def leases(site: Site) -> list[str]:
    """The leases ever opened on the site's machine."""
    return [
        format_lease(each.lease)
        for each in site.events(LeaseOpened)
        if isinstance(each, LeaseOpened) and each.machine == site.machine
    ]


def sentence(done: subprocess.CompletedProcess[str], code: int, *says: str) -> None:
    """The command ended with that code and, at the end, with one sentence that says all this."""
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    last = done.stderr.strip().splitlines()[-1]
    for each in says:
        assert each in last


def says_all(text: object, words: Sequence[str]) -> bool:
    return all(word in str(text) for word in words)


def refused(site: Site, party: Party, code: int, *says: str, arguments: tuple[str, ...]) -> None:
    """The command is refused with one sentence, before anything is sent."""
    before = leases(site)
    done = party.run(*arguments, timeout=BOUND)
    sentence(done, code, *says)
    said = [line for line in done.stderr.strip().splitlines() if not WAITING.search(line)]
    assert len(said) == 1, done.stderr
    assert leases(site) == before


# --------------------------------------------------------------------------------- what only the machine finds out

DECLINES: dict[str, tuple[dict[str, object], str]] = {
    "unknown image": ({"image": NO_SUCH_IMAGE}, "the machine does not have the image and could not get it"),
    "dataset nobody has": (
        {"datasets": [{"cid": NOBODY_HAS, "path": "/data"}]},
        "nobody whom the machine can reach has one of the datasets",
    ),
    "never ready": ({"readiness": {"command": ["false"], "timeout": 1}}, "did not become ready in time"),
}


@pytest.mark.parametrize(("fields", "says"), DECLINES.values(), ids=DECLINES.keys())
def test_declined_in_bounded_time(site: Site, fields: dict[str, object], says: str) -> None:
    with nothing_lost(site):
        done = site.renter.run(*site.rent_arguments(**fields), timeout=BOUND)
    assert done.returncode == 10, done.stdout + done.stderr
    lease = leases(site)[-1]
    sentence(done, 10, f"Machine {site.machine} declined lease {lease} and 2.4 TUSD were refunded", says)
    site.until(lambda: not site.containers(lease))


def test_a_full_disk(site: Site) -> None:
    with nothing_lost(site), restarted(site, LEASEHOLD_AGENT_DISK_RESERVE=str(1 << 50)):
        done = site.renter.run(*site.rent_arguments(), timeout=BOUND)
        sentence(done, 10, "2.4 TUSD were refunded", "the machine's disk has no room")


@contextlib.contextmanager
def restarted(site: Site, **environment: str) -> Iterator[None]:
    """The site's agent, started again with other settings; afterwards with its own."""
    usual = site.host
    usual.kill()
    changed = Host(usual.name, usual.folder, {**usual.environment, **environment}, usual.nursery)
    try:
        with site.world.running(changed):
            site.host = changed
            changed.wait_for(lambda line: line.get("event") == "serving")
            yield
    finally:
        site.host = usual
        since = len(usual.steps)
        usual.start()
        usual.wait_for(lambda line: line.get("event") == "serving", since=since)


def test_a_host_port_that_another_lease_has(site: Site) -> None:
    halves = ("--share", "1/2")
    wish = {"ports": [{"container": 80, "host": 20_500}]}
    first = site.rent(*halves, **wish)
    account = address(site.renter)
    before = holdings(site, account)
    done = site.renter.run(*site.rent_arguments(*halves, **wish), timeout=BOUND)
    sentence(done, 10, "1.2 TUSD were refunded", "a host port that it asks for is taken")
    assert holdings(site, account) == before
    (kept,) = site.containers(first)
    assert kept["State"] == "running" or kept["State"]["Running"]
    site.renter("close", first, "--yes")


def test_a_host_port_that_another_process_has(site: Site) -> None:
    with nothing_lost(site), listening(site.world) as port:
        wish = {"ports": [{"container": 80, "host": port}]}
        done = site.renter.run(*site.rent_arguments(**wish), timeout=BOUND)
        sentence(done, 10, "2.4 TUSD were refunded", "a host port that it asks for is taken")


@contextlib.contextmanager
def listening(world: World) -> Iterator[int]:
    """A process of the engine's host that listens on a port of the range for leases; the port."""
    script = (
        "import socket,sys\n"
        "for port in range(20_900, 21_000):\n"
        "    try: s = socket.create_server(('0.0.0.0', port)); break\n"
        "    except OSError: pass\n"
        "print(port, flush=True); sys.stdin.read()"
    )
    command = world.engine.in_netns(sys.executable, "-c", script)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.communicate()


def test_sealed_to_another_machines_key(site: Site) -> None:
    """As after a change of the machine's key that the renter did not see."""
    tenant = Tenant(site)
    party = site.world.party(f"mistaken-{site.machine}")
    (party.home / "key").write_text(tenant.key)
    party("wallet", "new", "tenant", "--key-file", str(party.home / "key"))
    workload = load_workload({"version": 1, "image": site.tiny, "command": ["true"]})
    sealed = seal(workload, recipient_of(new_identity()))
    site.agent(
        lambda agent: agent.put_workload(sealed), tenant.signer
    )  # IPFS might take longer than it has here
    with nothing_lost(site, tenant.address):
        lease = tenant.open(sealed, deliver=False)
        site.until(lambda: tenant.lease(parse_lease(lease)).state is LeaseState.CANCELLED)
    shown = party.run("show", lease)
    assert "the agent could not open or read the workload: rent again" in " ".join(shown.stdout.split())


# ------------------------------------------------------------------------------------- refused before it is sent


def test_a_workload_over_a_mebibyte(site: Site) -> None:
    with nothing_lost(site):
        wish = site.rent_arguments(env={"TEXT": "x" * (1 << 20)})
        refused(site, site.renter, 6, "1048576", arguments=wish)
        # Under the limit as a file, over it once it is sealed.
        nearly = site.rent_arguments(env={"TEXT": "x" * ((1 << 20) - 300)})
        done = site.renter.run(*nearly, timeout=BOUND)
        sentence(done, 6, "1048576")


def test_an_unknown_field_of_the_workload(site: Site) -> None:
    with nothing_lost(site):
        refused(site, site.renter, 6, "immage", arguments=site.rent_arguments(immage="x"))


def test_a_wrong_password(site: Site) -> None:
    forgetful = replace(site.renter, environment={**site.renter.environment, "LEASEHOLD_PASSWORD": "wrong"})
    with nothing_lost(site):
        refused(site, forgetful, 5, "password", arguments=site.rent_arguments())


def test_a_price_above_the_maximum(site: Site) -> None:
    with nothing_lost(site):
        says = ("asks 2.4 TUSD an hour and your maximum is 2.39 TUSD",)
        refused(site, site.renter, 9, *says, arguments=site.rent_arguments("--max-price", "2.39"))


def test_no_allowance_and_no_money(site: Site) -> None:
    party = site.world.party(f"cautious-{site.machine}")
    account = party.wallet("cautious")
    site.world.fund(account)
    with nothing_lost(site, account):
        refused(site, party, 9, "2.4 TUSD", "get", arguments=site.rent_arguments())
    site.world.fund(account, tokens=5)
    with nothing_lost(site, account):
        refused(site, party, 9, "run `leasehold wallet approve 2.4`", arguments=site.rent_arguments())


def test_terms_that_change_while_the_renter_reads_them(site: Site) -> None:
    command = [each for each in site.rent_arguments() if each != "--yes"]
    with (
        nothing_lost(site),
        subprocess.Popen(
            [str(BIN / "leasehold"), *command],
            env=dict(site.renter.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        try:
            assert process.stderr is not None
            read_until(process.stderr.fileno(), b"into escrow and rent?")
            site.provider("provider", "terms", str(site.machine), "--max", "6d", "--yes")
            out, err = process.communicate(b"y\n", timeout=BOUND)
        finally:
            process.kill()
    done = subprocess.CompletedProcess(command, process.returncode, out.decode(), err.decode())
    sentence(done, 4, "have changed (now revision 2): look at them and rent again")


def read_until(descriptor: int, wanted: bytes) -> None:
    seen, deadline = b"", time.monotonic() + BOUND
    while wanted not in seen:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        chunk = os.read(descriptor, 4_096) if ready else b""
        assert chunk, f"{wanted!r} never came: {seen!r}"
        seen += chunk


@pytest.mark.parametrize("chain_id", [1_337, 31_337])
def test_an_rpc_on_the_wrong_chain(site: Site, chain_id: int) -> None:
    """Another chain, and another history of the same development chain. People are told, and agents, which wait: it may
    be a node that somebody is setting up, and a machine whose agent has ended costs stake.
    """
    with Anvil(chain_id=chain_id) as stranger, nothing_lost(site):
        lost = replace(site.renter, environment={**site.renter.environment, "LEASEHOLD_RPC": stranger.url})
        says = ("31337", str(chain_id)) if chain_id != 31_337 else ("another",)
        refused(site, lost, 3, *says, arguments=site.rent_arguments())
        host = site.world.host(f"{site.host.name}-{chain_id}", rpc=[stranger.url], ws=stranger.ws_url)
        with site.world.running(host):
            host.wait_for(lambda line: line.get("event") == "waiting" and says_all(line.get("problem"), says))
        assert int(stranger.request("eth_blockNumber"), 16) == 0  # nothing was sent there either


# -------------------------------------------------------------------------------------------- past the start window


def test_never_ready_until_the_start_window_closes(moved: Site) -> None:
    """The workload would be waited for much longer than the renter has to wait for the machine."""
    patience = {"readiness": {"command": ["false"], "timeout": 3_600}}
    with nothing_lost(moved):
        lease = str(moved.renter(*moved.rent_arguments("--no-wait", **patience))["lease"])
        # Before that step another reason would be told: a container that is being made is not waited for yet.
        moved.host.wait_for(lambda line: line.get("step") == "ready" and line.get("lease") == lease)
        moved.world.anvil.advance(1_790)
        moved.until(lambda: moved.events(LeaseDeclined, lease))
    (event,) = moved.events(LeaseDeclined, lease)
    assert isinstance(event, LeaseDeclined)
    assert event.reason.rstrip(b"\0") == b"not-ready"


def test_a_machine_whose_agent_is_dead(moved: Site) -> None:
    with nothing_lost(moved):
        moved.host.kill()
        before = leases(moved)
        with moved.renter.popen(*moved.rent_arguments("--without-agent")) as waiting:
            try:
                moved.until(lambda: len(leases(moved)) > len(before))
                lease = leases(moved)[-1]
                moved.world.anvil.advance(1_801)
                said, _ = waiting.communicate(timeout=BOUND)
            finally:
                waiting.kill()
        assert waiting.returncode == 10, said
        told = said.strip().splitlines()[-1]
        assert (
            f"Lease {lease} was not started in time: take 2.4 TUSD back with `leasehold close {lease}`"
            in told
        )
        moved.renter("close", lease, "--yes")
    assert moved.events(LeaseCancelled, lease)
    with nothing_lost(moved):
        refused(moved, moved.renter, 9, "recover", arguments=moved.rent_arguments())
    # Once it is back it says so by itself, and takes leases again.
    moved.host.start()
    moved.host.serving()
    moved.until(
        lambda: not moved.provider("provider", "status")["machines"][0]["state"].startswith("stalled")
    )
    running = moved.rent()
    moved.renter("close", running, "--yes")

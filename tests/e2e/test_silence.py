"""Whatever a tenant or a stranger tries, the machine gives its signs of life, and the other tenants are served.

A challenge that is not answered costs the provider stake, of which the tenants get half: so each of these would pay its
author. The agent has 1,024 descriptors, and its state folder lies on a small disk that is full. What is asserted while
an attack still stands: that it bites, that the answer is on the chain, that no container of another lease was touched,
and that another tenant's requests are answered. How long that took, and how long before the attack, is printed: it is
the machine's to say, and the test counts attempts. The attacks are in `devnet.attacks_of_strangers` and
`devnet.attacks_of_tenants`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from devnet.attack import Begin, Ground, Tally, attacked
from devnet.attacks_of_strangers import (
    STRANGERS,
    half_a_header,
    handshakes_without_end,
    silent_logins,
    the_whole_machine_without_end,
)
from devnet.attacks_of_tenants import (
    TENANTS,
    commands_that_never_end,
    its_own_disk_full,
    leases_that_cannot_start,
    log_without_end,
    logs_that_are_followed,
    output_without_end,
    processor,
    the_disk_full,
    uploads_that_no_lease_claims,
)
from devnet.patience import patient
from devnet.site import make_site
from devnet.tenant import Tenant
from devnet.world import World
from leasehold.chain import Answered, Challenged, FaultFiled, LeaseState, format_lease, parse_lease
from leasehold.errors import LeaseholdError

from .test_reorg import another_chain

# The attackers' process begins as a copy of this one, in which nothing but the forking thread goes on.
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
DAY = 86_400
CHALLENGE_WINDOW = 600
DESCRIPTORS = 1_024
DISK = 64 << 20
ACCOMPLICES = 4
EVERYTHING = (*STRANGERS, *TENANTS)
AT_ONCE = (
    *STRANGERS[:10],
    uploads_that_no_lease_claims,
    logs_that_are_followed,
    commands_that_never_end,
    output_without_end,
    processor,
    log_without_end,
    its_own_disk_full,
    leases_that_cannot_start,
    the_disk_full,
)
STRONGEST = (
    silent_logins,
    half_a_header,
    the_whole_machine_without_end,
    handshakes_without_end,
    commands_that_never_end,
    output_without_end,
    processor,
    the_disk_full,
)
MOST_ATTEMPTS = patient(1)
AT_WORK = "mkdir -p /results; touch /ready; while :; do sleep 1 & wait $!; done"
AT_THEIR_SERVICE = "truncate -s 64M /large; nc -lk -p 9000 -e sleep 600 & " + AT_WORK


@pytest.fixture(scope="module")
def ground(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    settings: dict[str, Any] = {"tick_seconds": 0.5, "disk_reserve": 0, "fetch_seconds": 20}
    with contextlib.ExitStack() as undo:
        # Of its own, for it moves the time by days, and what a host signs is good for a week.
        chain = undo.enter_context(another_chain(world))
        site = undo.enter_context(make_site(chain, "--max", "30d", **settings))
        site.host.kill()
        disk = undo.enter_context(on_a_small_disk(site.host.folder / "state"))
        undo.callback(site.host.kill)
        site.host.descriptors = DESCRIPTORS
        site.host.start()
        key = tmp_path_factory.mktemp("keys") / "thief"
        public = site.renter.keygen(key)
        site.renter.keygen(key.with_name("stranger"))
        tenant, thief = Tenant(site), Tenant(site)
        lease = a_lease(tenant, program=AT_WORK)
        # What has ended by its own attack comes back for the next.
        thiefs = a_lease(
            thief, program=AT_THEIR_SERVICE, egress="internet", ssh_keys=[public], restart="always"
        )
        accomplices = [Tenant(site) for _ in range(ACCOMPLICES)]
        thief.deposit(1_000)
        yield Ground(site, tenant, lease, thief, thiefs, accomplices, key, disk)


def a_lease(tenant: Tenant, **fields: Any) -> int:
    sealed = tenant.site.seal(tenant.workload(tenant.dataset("an answer"), **fields))
    lease = parse_lease(tenant.open(sealed, share=2, duration=25 * DAY))
    tenant.site.until(partial(_active, tenant, lease))
    return lease


def _active(tenant: Tenant, lease: int) -> bool:
    return tenant.lease(lease).state is LeaseState.ACTIVE


@contextlib.contextmanager
def on_a_small_disk(folder: Path) -> Iterator[Path]:
    """Moves a folder to a file system of its own."""
    aside = folder.with_name("aside")
    folder.rename(aside)
    folder.mkdir(mode=0o700)
    options = f"size={DISK},mode=700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
    try:
        # The agent's reserve is as large as the disk is, and is made anew.
        shutil.copytree(
            aside, folder, dirs_exist_ok=True, symlinks=True, ignore=shutil.ignore_patterns("reserve")
        )
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def challenge(ground: Ground) -> Challenged:
    """The next one, a day after the last. The leases are paid for a day more, or the last attacks would meet none."""
    ground.site.world.anvil.advance(DAY + 1)
    for tenant, lease in ((ground.tenant, ground.lease), (ground.thief, ground.thiefs_lease)):
        tenant.pool(lambda pool, lease=lease: pool.extend(lease, DAY + 1))
    ground.thief.faults(lambda faults: faults.challenge(ground.site.machine, ground.thiefs_lease))
    return ground.site.here(Challenged)[-1]


def answer_to(ground: Ground, asked: Challenged) -> Answered | None:
    found = [answer for answer in ground.site.here(Answered) if answer.challenge == asked.challenge]
    return found[0] if found else None


def container_of(ground: Ground, lease: int) -> tuple[str, str]:
    """Which it is, and when it was started."""
    (found,) = ground.site.containers(format_lease(lease))
    assert found["State"]["Running"], found["State"]
    return found["Id"], found["State"]["StartedAt"]


@dataclass(frozen=True)
class Service:
    """How the honest tenant was served: each time with a new connection. seconds: of each request that was answered,
    with all that were not before it. attempts: the most that one of them took.
    """

    seconds: list[float]
    attempts: int

    def __str__(self) -> str:
        return f"{median(self.seconds):.2f} s, at most {max(self.seconds):.2f} s and {self.attempts} attempts"


def served(ground: Ground, times: int = 5) -> Service:
    """Asks for the honest tenant's lease, so many times one after the other."""
    found = [_asked(ground) for _ in range(times)]
    return Service([seconds for seconds, _ in found], max(attempts for _, attempts in found))


def _asked(ground: Ground) -> tuple[float, int]:
    began = time.monotonic()
    for attempt in range(1, MOST_ATTEMPTS + 1):
        try:
            status = ground.site.agent(lambda agent: agent.status(ground.lease), ground.tenant.signer)
        except LeaseholdError as error:  # whatever refuses him now must not refuse him for good
            last = error
            continue
        assert status.phase == "running"
        return time.monotonic() - began, attempt
    raise AssertionError(f"the other tenant is not served: {last!r}")


def toothless(attacks: Sequence[Begin], tally: Tally) -> list[str]:
    """Those that have not yet done what they are about. Many at once shut one another out: then each has tried."""
    found, sign = tally.read(), "bit" if len(attacks) == 1 else "tried"
    return [each.__name__ for each in attacks if not found.get(each.__name__, {}).get(sign)]


def withstood(ground: Ground, attacks: Sequence[Begin], folder: Path) -> None:
    before, filed = container_of(ground, ground.lease), len(ground.site.here(FaultFiled))
    agent, alone = ground.site.host.process, served(ground)
    assert agent is not None
    with attacked(ground, attacks, folder / "tally.json") as tally:
        try:
            with contextlib.suppress(TimeoutError):
                ground.site.until(lambda: not toothless(attacks, tally), 180)
            assert toothless(attacks, tally) == []
            asked = challenge(ground)
            answer = ground.site.until(lambda: answer_to(ground, asked), 300)
            beside = served(ground)
            assert container_of(ground, ground.lease) == before
        finally:
            for attack, met in sorted(tally.read().items()):
                print(f"  {attack}: {met}")
            print(f"  the agent has {memory(agent.pid)} MiB")
    at = [block_time(ground, event.log.block_number) for event in (asked, answer)]
    print(
        f"{len(attacks)} attacks: answered after {at[1] - at[0]} s of {CHALLENGE_WINDOW}; another tenant was served"
    )
    print(f"  after {beside}; before the attack {alone}")
    assert at[1] - at[0] <= CHALLENGE_WINDOW // 10
    assert len(ground.site.here(FaultFiled)) == filed
    assert agent is ground.site.host.process
    assert agent.poll() is None, ground.site.host.tail()


def memory(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


def block_time(ground: Ground, number: int) -> int:
    block = ground.site.world.anvil.request("eth_getBlockByNumber", hex(number), False)
    return int(block["timestamp"], 16)


@pytest.mark.slow
def test_the_strongest_at_once(ground: Ground, tmp_path: Path) -> None:
    withstood(ground, STRONGEST, tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("attack", EVERYTHING, ids=lambda attack: attack.__name__)
def test_one_by_one(ground: Ground, attack: Begin, tmp_path: Path) -> None:
    withstood(ground, (attack,), tmp_path)


@pytest.mark.deep
def test_many_at_once(ground: Ground, tmp_path: Path) -> None:
    withstood(ground, AT_ONCE, tmp_path)


@pytest.mark.deep
def test_all_at_once(ground: Ground, tmp_path: Path) -> None:
    withstood(ground, EVERYTHING, tmp_path)

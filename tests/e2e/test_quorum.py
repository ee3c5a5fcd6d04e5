"""Five validators in processes of their own find an agent dark, attest the outage, and its tenants are compensated."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from devnet.account import TOKEN, Account
from devnet.patience import patient
from devnet.site import Site, make_site
from devnet.steward import steward
from devnet.tenant import Tenant
from devnet.world import World
from leasehold.chain import (
    Compensated,
    FaultExecuted,
    FaultFiled,
    FaultKind,
    LeaseClosed,
    LeaseState,
    OutageApplied,
    OutageOpened,
    cost,
    format_lease,
    parse_lease,
)
from leasehold.errors import ContractError

from .test_reorg import another_chain

HOUR, DAY = 3_600, 86_400
PRICE = 24 * 10**17
SEAT, STAKE = 550, 100 * TOKEN  # a seat's price and the tenth that a fine takes first
CELLS = 8
BURNT = "0x000000000000000000000000000000000000dEaD"
SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture(scope="module")
def site(world: World) -> Iterator[Site]:
    """On a chain of its own: it moves the time by days, and what a host signs is good for a week."""
    with another_chain(world) as chain, make_site(chain, tick_seconds=0.5) as made:
        yield made


@dataclass
class Process:
    """A validator that runs."""

    seat: int
    account: Account
    popen: subprocess.Popen[str]
    said: list[dict[str, Any]] = field(default_factory=list)

    def until(self, event: str) -> dict[str, Any]:
        """What it says of that; blocks until it does."""
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            self.said.append(json.loads(line))
            if self.said[-1]["event"] == event:
                return self.said[-1]
        raise AssertionError(f"seat {self.seat} ended without `{event}`: {self.said}")

    def end(self) -> int:
        """Its exit code; what it had to say goes to `said`."""
        assert self.popen.stdout is not None
        self.said += [json.loads(line) for line in self.popen.stdout]
        return self.popen.wait(patient(60))


@contextlib.contextmanager
def validators(site: Site, accounts: dict[int, Account]) -> Iterator[list[Process]]:
    """One process for each seat, all asking the site's agent."""
    world = site.world
    board = world.folder / "board"
    board.mkdir()
    contact = world.folder / "contact.json"
    contact.write_text(json.dumps(json.loads((site.host.folder / "machine.json").read_text())["contact"]))
    common = {
        "rpc": world.anvil.url,
        "deployment": world.deployment,
        "machine": site.machine,
        "contact": contact,
        "board": board,
    }
    arguments = [text for name, value in common.items() for text in (f"--{name}", str(value))]
    with contextlib.ExitStack() as stack:
        started = []
        for seat, account in accounts.items():
            popen = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "devnet.validator", *arguments, "--seat", str(seat)],
                    env={**os.environ, "PYTHONPATH": str(SCRIPTS), "LEASEHOLD_VALIDATOR_KEY": account.key},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            steward().process(popen.pid)
            stack.callback(popen.send_signal, signal.SIGKILL)
            started.append(Process(seat, account, popen))
        yield started


@pytest.mark.slow
def test_a_quorum_attests_an_outage_and_its_tenants_are_compensated(site: Site) -> None:
    anvil = site.world.anvil
    seats = dict(_join(Account(site.world, tokens=SEAT)) for _ in range(5))
    anvil.advance(3 * DAY + 1)  # until seats have matured

    # Two tenants: half of a unit, and a quarter.
    half, quarter = Tenant(site), Tenant(site)
    leases = {tenant: _rent(tenant, share) for tenant, share in ((half, 4), (quarter, 2))}
    began = {tenant: tenant.lease(lease).start for tenant, lease in leases.items()}

    with validators(site, seats) as processes:
        # As long as the agent answers nobody signs anything.
        for process in processes:
            process.until("alive")
        assert not list((site.world.folder / "board").iterdir())

        # It is gone. All five find out for themselves: dark is it from the first block after that. One sends what all
        # have signed.
        site.host.kill()
        for process in processes:
            process.until("missed")
        anvil.mine()
        for process in processes:
            process.until("dark")
        assert [process.end() for process in processes] == [0] * 5
        (sent,) = [say for process in processes for say in process.said if say["event"] == "attested"]
        assert sent["seats"] == sorted(seats)
    fault = sent["fault"]
    (opened,) = site.here(OutageOpened)
    latest = max(say["since"] for process in processes for say in process.said if say["event"] == "dark")
    assert (opened.fault, opened.kind, opened.from_) == (fault, FaultKind.ATTESTED, latest)
    assert half.pool(lambda pool: pool.machine_of(site.machine)).down_since == latest

    # Two hours later the agent is back and says so. The outage costs 8 % of the stake: proven, and short of two days.
    anvil.advance(2 * HOUR)
    site.host.start()
    site.until(lambda: site.here(FaultFiled))
    (filed,) = site.here(FaultFiled)
    slash = STAKE * 800 // 10_000
    assert (filed.fault, filed.from_, filed.bps, filed.amount) == (fault, latest, 800, slash)
    outage = filed.to - filed.from_
    assert outage >= 2 * HOUR

    # Anyone has it taken off the bills, which registers what each has lost. Nobody can be quicker and close first.
    anyone = Account(site.world)
    anyone.faults(lambda faults: faults.apply_outage(fault, list(leases.values())))
    parts = {half: slash // 2 * 4 // CELLS, quarter: slash // 2 * 2 // CELLS}
    registered = {event.lease: event.part for event in site.events(OutageApplied) if event.fault == fault}
    assert registered == {leases[tenant]: part for tenant, part in parts.items()}
    with pytest.raises(ContractError):
        anyone.faults(lambda faults: faults.execute(fault))

    # Once the provider can no longer appeal: of half of it to each tenant what he had of the machine, a tenth to who
    # attested it, and the rest to nobody.
    anvil.advance(2 * DAY + 1)
    owner, burnt = half.ledger(anvil.accounts[0].address), half.ledger(BURNT)
    anyone.faults(lambda faults: faults.execute(fault))
    (executed,) = site.here(FaultExecuted)
    pot, reported = sum(parts.values()), slash // 10
    rest = slash - pot - reported
    assert (executed.pot, executed.reported, executed.rest) == (pot, reported, rest)
    assert half.ledger(BURNT) - burnt == rest
    assert half.ledger(anvil.accounts[0].address) == owner
    assert half.pool(lambda pool: pool.machine_of(site.machine)).stake == STAKE - slash

    # Anyone has the tenth credited, by what each seat cost: here to all alike.
    quorum = anyone.faults(lambda faults: faults.fault_of(fault)).reporter
    signers = anyone.committee(lambda committee: committee.signers(quorum, 0))
    assert [signer.seat for signer in signers] == sorted(seats)
    anyone.committee(lambda committee: committee.pay_quorum(signers))
    assert {account.ledger() for account in seats.values()} == {reported // 5}

    # Compensation and bill, to the unit: the outage is not paid for.
    anyone.faults(lambda faults: faults.compensate(fault, list(leases.values())))
    paid = {event.tenant: event.amount for event in site.events(Compensated) if event.fault == fault}
    assert paid == {tenant.address: amount for tenant, amount in parts.items()}
    for tenant, cells in ((half, 4), (quarter, 2)):
        number = leases[tenant]
        anyone.pool(lambda pool, lease=number: pool.close(lease))
        (closed,) = site.events(LeaseClosed, format_lease(number))
        used = cost(PRICE, cells, closed.end - began[tenant] - outage)
        assert closed.paid + closed.fee == used
        assert tenant.wealth() == 10_000 * TOKEN - used + parts[tenant]
        assert tenant.lease(number).state is LeaseState.ENDED


def _join(account: Account) -> tuple[int, Account]:
    account.deposit(SEAT)
    seat, _ = account.committee(lambda committee: committee.join(1))
    return seat, account


def _rent(tenant: Tenant, share: int) -> int:
    sealed = tenant.sealed(tenant.dataset("an answer"))
    lease = parse_lease(tenant.open(sealed, share=share, duration=12 * HOUR))
    tenant.site.until(lambda: tenant.lease(lease).state is LeaseState.ACTIVE)
    return lease

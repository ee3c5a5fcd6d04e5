"""The same as test_group.py, typed: three people with a computer each, who send each other files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from devnet.site import Site, make_site
from devnet.world import Party, World
from leasehold.chain import LeaseClosed, LeaseOpened, LeaseStarted, LeaseTransferred, cost, format_lease

from .test_bad_input import address

pytestmark = pytest.mark.slow

PRICE = 24 * 10**17
NAMES = ("ada", "grace", "edsger")


@pytest.fixture(scope="module")
def site(world: World) -> Iterator[Site]:
    with make_site(world, tick_seconds=0.5) as made:
        yield made


@dataclass
class Lab:
    """Three people who have agreed that two of them are a group."""

    people: dict[str, Party]
    address: str
    folder: Path

    def propose(self, who: str, *command: str) -> Path:
        """The file that a command writes instead of sending."""
        path = self.folder / f"proposal-{len(list(self.folder.iterdir()))}.json"
        self.people[who](*command, "--as-group", "lab", "--proposal", str(path))
        return path

    def signed(self, path: Path, *signers: str) -> list[str]:
        """The files in which those approve it, each on a computer of their own."""
        files = []
        for name in signers:
            files.append(str(path.with_suffix(f".{name}")))
            self.people[name]("group", "approve", str(path), "--output", files[-1], "--yes")
        return files

    def agree(self, path: Path, *signers: str, by: str) -> Any:
        """Signed by those, carried out by somebody, `by` name."""
        return self.people[by]("group", "execute", str(path), *self.signed(path, *signers), "--yes")


@pytest.fixture(scope="module")
def lab(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    people = {name: site.world.party(name) for name in NAMES}
    addresses = {name: party.wallet(name) for name, party in people.items()}
    made = set()
    for name, party in people.items():
        site.world.fund(addresses[name])
        signers = [part for address in addresses.values() for part in ("--signer", address)]
        made.add(str(party("group", "create", "lab", "--threshold", "2", *signers)["address"]))
    (address,) = made  # each has computed the same, and asked nobody
    site.renter("wallet", "deposit", "20", "--to", address, "--yes")
    return Lab(people, address, tmp_path_factory.mktemp("lab"))


def wish(site: Site) -> list[str]:
    """What a group's member types to propose renting the machine."""
    return [each for each in site.rent_arguments("--no-wait") if each != "--yes"]


def rented(site: Site, lab: Lab, proposal: Path, *signers: str) -> int:
    """The lease that comes of it, once it runs."""
    lab.agree(proposal, *signers, by="edsger")
    opened = [event for event in site.events(LeaseOpened) if event.tenant == lab.address][-1]
    site.until(lambda: site.events(LeaseStarted, format_lease(opened.lease)))
    return opened.lease


def units(lab: Lab, name: str) -> int:
    """Token units in the group's ledger, as its members are told."""
    return int(Decimal(lab.people["ada"]("group", "show", name)["ledger"]) * 10**18)


def test_two_of_three_people_rent_a_machine_and_use_it(site: Site, lab: Lab) -> None:
    had = units(lab, "lab")
    rental = lab.propose("ada", *wish(site))
    alone = lab.people["edsger"].run("group", "execute", str(rental), "--yes")
    assert alone.returncode != 0
    lease = format_lease(rented(site, lab, rental, "ada", "grace"))

    # Two signatures once, and Ada's computer may talk to the agent for the group.
    assert lab.people["ada"].run("exec", lease, "--as-group", "lab", "--", "true").returncode != 0
    session = lab.folder / "session.json"
    lab.people["ada"]("group", "session", "lab", "--proposal", str(session))
    lab.agree(session, "grace", "edsger", by="ada")
    done = lab.people["ada"].run("exec", lease, "--as-group", "lab", "--", "sh", "-c", "echo inside; exit 7")
    assert (done.stdout, done.returncode) == ("inside\n", 7)

    lab.agree(lab.propose("grace", "close", lease), "ada", "grace", by="edsger")
    (started,), (closed,) = site.events(LeaseStarted, lease), site.events(LeaseClosed, lease)
    used = cost(PRICE, 8, closed.end - started.start)
    assert closed.paid + closed.fee == used
    assert units(lab, "lab") == had - used


def test_a_signer_is_replaced_under_a_running_lease(site: Site, lab: Lab) -> None:
    lease = format_lease(rented(site, lab, lab.propose("ada", *wish(site)), "ada", "grace"))
    (container,) = site.containers(lease)
    left = units(lab, "lab")

    # Edsger goes and Barbara comes: another address, whose group accepts the lease before the old one gives it away.
    barbara = site.world.party("barbara")
    comes = barbara.wallet("barbara")
    lab.people["barbara"] = barbara
    change = ("group", "rotate", "lab", "lab2", "--replace", f"{address(lab.people['edsger'])}={comes}")
    acceptance, rotation = lab.folder / "acceptance.json", lab.folder / "rotation.json"
    lab.people["ada"](*change, "--proposal", str(acceptance))
    files = lab.signed(acceptance, "ada", "barbara")
    accepted = lab.folder / "accepted.json"
    lab.people["ada"]("group", "execute", str(acceptance), *files, "--output", str(accepted))
    lab.people["ada"](*change[:4], "--acceptance", str(accepted), "--proposal", str(rotation))
    lab.agree(rotation, "ada", "grace", by="edsger")
    (given,) = site.events(LeaseTransferred, lease)
    known = {each["name"]: each["address"] for each in lab.people["ada"]("group", "list")}
    assert (given.from_, given.to) == (lab.address, known["lab2"])
    assert (units(lab, "lab"), units(lab, "lab2")) == (0, left)

    # The agent hears the new group and no longer the old one; what runs has not noticed.
    for signers, name, says in ((("grace", "edsger"), "lab", False), (("grace", "barbara"), "lab2", True)):
        session = lab.folder / f"session-{name}.json"
        lab.people["ada"]("group", "session", name, "--proposal", str(session))
        lab.agree(session, *signers, by="ada")
        done = lab.people["ada"].run("exec", lease, "--as-group", name, "--", "echo", "inside")
        assert (done.returncode == 0, done.stdout) == (says, "inside\n" if says else "")
    (later,) = site.containers(lease)
    assert (later["Id"], later["State"]["Running"]) == (container["Id"], True)

    # What Edsger might still sign with the old group is worth nothing to the lease.
    close = lab.folder / "close.json"
    lab.people["ada"]("close", lease, "--as-group", "lab2", "--proposal", str(close))
    lab.agree(close, "barbara", "grace", by="edsger")
    site.until(lambda: not any(each["State"]["Running"] for each in site.containers(lease)))


def test_a_proposal_that_was_overtaken_is_renewed_and_strayed_tokens_are_rescued(
    site: Site, lab: Lab
) -> None:
    site.renter("wallet", "deposit", "5", "--to", lab.address, "--yes")
    overtaken = lab.propose("ada", *wish(site))
    grace = address(lab.people["grace"])
    lab.agree(lab.propose("grace", "wallet", "withdraw", "1", "--to", grace), "ada", "grace", by="edsger")
    late = lab.people["ada"].run("group", "approve", str(overtaken), "--yes")
    assert (late.returncode, "another proposal with its nonce" in late.stderr) == (12, True)
    again = lab.folder / "again.json"
    lab.people["ada"]("group", "renew", str(overtaken), "--unordered", "--output", str(again))
    lease = rented(site, lab, again, "edsger", "grace")
    lab.agree(lab.propose("ada", "close", format_lease(lease)), "ada", "edsger", by="ada")

    # Somebody sends tokens to the group's address instead of its ledger. Two signatures bring them back.
    site.world.fund(lab.address, gas_wei=0, tokens=3)
    assert lab.people["ada"]("group", "show", "lab")["strayed"] == "3"
    path = lab.folder / "rescue.json"
    lab.people["ada"]("group", "rescue", "lab", "all", "--to", grace, "--proposal", str(path))
    lab.agree(path, "ada", "edsger", by="grace")
    assert lab.people["ada"]("group", "show", "lab")["strayed"] == "0"
    assert lab.people["grace"]("wallet", "balance")["wallet"] == "4"

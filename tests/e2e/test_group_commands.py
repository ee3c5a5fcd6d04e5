"""The same as test_group.py, typed: three people with a computer each, who send each other files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from devnet.site import Site, make_site
from devnet.world import Party, World
from leasehold.chain import LeaseClosed, LeaseOpened, LeaseStarted, cost, format_lease

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

    def agree(self, path: Path, *signers: str, by: str) -> Any:
        """Signed by those on their own computers, carried out by somebody, `by` name."""
        files = []
        for name in signers:
            files.append(str(path.with_suffix(f".{name}")))
            self.people[name]("group", "approve", str(path), "--output", files[-1], "--yes")
        return self.people[by]("group", "execute", str(path), *files, "--yes")


@pytest.fixture(scope="module")
def lab(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    people = {name: site.world.party(name) for name in NAMES}
    addresses = {name: str(party("wallet", "new", name)["address"]) for name, party in people.items()}
    made = set()
    for name, party in people.items():
        site.world.fund(addresses[name])
        signers = [part for address in addresses.values() for part in ("--signer", address)]
        made.add(str(party("group", "create", "lab", "--threshold", "2", *signers)["address"]))
    (address,) = made  # each has computed the same, and asked nobody
    site.renter("wallet", "deposit", "20", "--to", address, "--yes")
    return Lab(people, address, tmp_path_factory.mktemp("lab"))


def test_two_of_three_people_rent_a_machine_and_use_it(site: Site, lab: Lab) -> None:
    wish = [each for each in site.rent_arguments("--no-wait") if each != "--yes"]
    rental = lab.propose("ada", *wish)
    alone = lab.people["edsger"].run("group", "execute", str(rental), "--yes")
    assert alone.returncode != 0
    lab.agree(rental, "ada", "grace", by="edsger")
    (opened,) = [event for event in site.events(LeaseOpened) if event.tenant == lab.address]
    lease = format_lease(opened.lease)
    site.until(lambda: site.events(LeaseStarted, lease))

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
    shown = lab.people["edsger"]("group", "show", "lab")
    assert round(float(shown["ledger"]) * 10**18) == pytest.approx(20 * 10**18 - used, abs=10**6)

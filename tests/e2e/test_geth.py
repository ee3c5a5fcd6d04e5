"""The whole path of the command line on geth, with a block every two seconds.

What Anvil does not have: a transaction waits for its block while others of the same account are sent, a call sees the
pending state or the last block's, fees move, and nothing can be told the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from devnet import images
from devnet.geth import Geth, binary
from devnet.site import Site, make_site
from devnet.world import Party, World
from leasehold.chain import Answered, LeaseClosed, LeaseOpened, LeaseStarted, Rated, cost, format_lease

from .test_bad_input import address, holdings

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(binary() is None, reason="`scripts/setup geth` has not been run"),
]

TOKEN, HOUR, CELLS = 10**18, 3_600, 8
PRICE = 24 * 10**17  # token units an hour
PROGRAM = "echo computed; mkdir -p /outputs; echo forty-two > /outputs/answer; touch /ready; exec sleep 3600"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with World(tmp_path_factory.mktemp("geth") / "world", chain=Geth()) as world:
        images.load(world.engine.url, images.tiny())
        with make_site(world) as site:  # wallets, approvals, `provider join`, the agent
            yield site


def units(amount: str) -> int:
    """Token units, of an amount as people read it."""
    return int(Decimal(amount) * TOKEN)


def rent(site: Site) -> Any:
    """Rents for an hour, and waits until it runs."""
    fields = {
        "command": ["sh", "-c", PROGRAM],
        "outputs": [{"path": "/outputs"}],
        "readiness": {"command": ["test", "-e", "/ready"]},
    }
    return site.renter(*site.rent_arguments(**fields))


def stops(site: Site, lease: str) -> None:
    site.until(lambda: not [each for each in site.containers(lease) if each["State"]["Running"]])


def test_from_the_search_to_the_last_withdrawal(site: Site, tmp_path: Path) -> None:
    renter, provider = site.renter, site.provider
    had = [holdings(site, address(party)) for party in (renter, provider)]
    (found,) = renter("machines", "price<3")
    assert found["id"] == site.machine

    lease = str(rent(site)["lease"])
    assert renter("show", lease)["state"] == "active"
    assert [each["id"] for each in renter("leases")] == [lease]
    done = renter.run("exec", lease, "--", "sh", "-c", "echo from inside; exit 7")
    assert (done.stdout, done.returncode) == ("from inside\n", 7)
    assert renter.run("logs", lease).stdout == "computed\n"

    renter("extend", lease, "30m", "--yes")
    status = provider("provider", "status")
    assert [each["id"] for each in status["leases"]] == [lease]
    renter("close", lease, "--yes")
    (started,), (closed,) = site.events(LeaseStarted, lease), site.events(LeaseClosed, lease)
    assert closed.paid + closed.fee == cost(PRICE, CELLS, closed.end - started.start)
    assert closed.paid + closed.fee + closed.refunded == PRICE + PRICE // 2
    stops(site, lease)

    renter("results", lease, str(tmp_path / "results"))
    (answer,) = (tmp_path / "results").rglob("answer")
    assert answer.read_text() == "forty-two\n"
    renter("rate", lease, "5", "--comment", "as it should be", "--yes")
    (rated,) = site.events(Rated, lease)
    assert rated.stars == 5

    for party, command in ((renter, ("wallet",)), (provider, ("provider",))):
        assert party(*command, "withdraw", "all", "--yes")["ledger"] == "0"
        assert units(party("wallet", "balance")["ledger"]) == 0
    assert holdings(site, address(renter)) == had[0] - closed.paid - closed.fee
    assert holdings(site, address(provider)) == had[1] + closed.paid


def test_a_challenge_is_answered_in_time(site: Site) -> None:
    """The agent reads the time of blocks that come every two seconds, and answers before they have gone far."""
    lease = str(rent(site)["lease"])
    asked = site.renter("challenge", str(site.machine), "--approve", "--yes")
    assert asked["lease"] == lease
    site.until(lambda: site.here(Answered))
    assert site.renter("faults", str(site.machine)) == []
    site.renter("close", lease, "--yes")
    stops(site, lease)


def test_what_one_wallet_sends_at_once_happens_once_each(site: Site) -> None:
    """Four commands of one account wait for the same block: each has a nonce of its own."""
    renter = site.renter
    before = units(renter("wallet", "balance")["ledger"])
    with ThreadPoolExecutor(4) as people:
        sent = list(people.map(lambda _: renter("wallet", "deposit", "1", "--yes"), range(4)))
    assert len(sent) == 4
    assert units(renter("wallet", "balance")["ledger"]) == before + 4 * TOKEN


def test_two_of_two_rent_and_close(site: Site, tmp_path: Path) -> None:
    people = {name: site.world.party(name) for name in ("ada", "grace")}
    signers = [party.wallet(name) for name, party in people.items()]
    for party, each in zip(people.values(), signers, strict=True):
        site.world.fund(each)
        chosen = [part for signer in signers for part in ("--signer", signer)]
        group = str(party("group", "create", "lab", "--threshold", "2", *chosen)["address"])
    site.renter("wallet", "deposit", "10", "--to", group, "--yes")

    wish = [each for each in site.rent_arguments("--no-wait") if each != "--yes"]
    agree(people, tmp_path / "rent.json", *wish)
    (opened,) = [event for event in site.events(LeaseOpened) if event.tenant == group]
    lease = format_lease(opened.lease)
    site.until(lambda: site.events(LeaseStarted, lease))
    agree(people, tmp_path / "close.json", "close", lease)
    (started,), (closed,) = site.events(LeaseStarted, lease), site.events(LeaseClosed, lease)
    used = cost(PRICE, CELLS, closed.end - started.start)
    assert units(people["ada"]("group", "show", "lab")["ledger"]) == 10 * TOKEN - used
    stops(site, lease)


def agree(people: dict[str, Party], path: Path, *command: str) -> None:
    """One proposes, both sign, the other carries it out."""
    people["ada"](*command, "--as-group", "lab", "--proposal", str(path))
    files = []
    for name, party in people.items():
        files.append(str(path.with_suffix(f".{name}")))
        party("group", "approve", str(path), "--output", files[-1], "--yes")
    people["grace"]("group", "execute", str(path), *files, "--yes")

"""Gangs, spot leases, standbys, offers and what an earlier lease had, at the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from leasehold.chain import LeaseState

from .conftest import Cli, Host, Pool
from .people import add_wallets, join_another, tampered
from .test_rent import IMAGE, RENT, balance, lease_of

OPEN = (*RENT, "--no-wait", "--json")


@pytest.mark.slow
def test_a_gang_opens_whole_or_not_at_all(market: Cli, host: Host, pool: Pool) -> None:
    second = join_another(market, host, operator=8)
    quote = market(*RENT, "--gang", "2", "--dry-run", "--json", wallet="renter").json
    assert (quote["machines"], quote["together"], quote["deposit"]) == ([1, second], "10", "5")
    told = market(*OPEN, "--gang", "2", "--label", "project=x", "--label", "run=1", wallet="renter").json
    labelled = market("name", "--json", wallet="renter").json
    assert [(each["kind"], each["labels"]) for each in labelled] == [
        ("lease", {"project": "x", "run": "1"})
    ] * 2
    assert [each["lease"] for each in told["leases"]] == ["1", "2"]
    leases = [lease_of(pool, int(each["number"])) for each in told["leases"]]
    assert [each.machine for each in leases] == [1, second]
    assert balance(market)["wallet"] == "999990"
    refused = market(*OPEN, "--gang", "3", wallet="renter", ok=False)
    assert refused.code == 9
    assert "Only 2 of the 3 machines" in refused.err
    named = market(*OPEN, "-m", "1", "-m", str(second), wallet="renter").json
    assert len(named["leases"]) == 2
    assert market(*OPEN, "--label", "project", wallet="renter", ok=False).code == 2
    names = next((market.home / "names").iterdir())
    kept = names.read_text()
    names.write_text("{")
    damaged = market(*OPEN, "--label", "project=x", wallet="renter", ok=False)
    assert (damaged.code, "is damaged" in damaged.err) == (2, True)
    names.write_text(kept)
    full = market(*OPEN, "-m", "1", "-m", str(second), wallet="renter", ok=False)
    assert full.code == 9
    assert balance(market)["wallet"] == "999980"
    assert market(*OPEN, "--gang", "2", "--backup", "2", wallet="renter", ok=False).code == 2
    assert market(*OPEN, "-m", "1", "-m", "1", wallet="renter", ok=False).code == 2


def test_a_spot_lease_costs_the_spot_price_where_there_is_one(market: Cli, pool: Pool) -> None:
    refused = market(*OPEN, "--spot", wallet="renter", ok=False)
    assert refused.code == 9
    assert "sells no spot leases" in refused.err
    market("provider", "terms", "1", "--spot-price", "1", "--yes", wallet="provider")
    shown = market(*RENT, "--spot", "--dry-run", wallet="renter").out
    assert "may end it with notice" in shown
    assert "of penalty" not in shown
    told = market(*OPEN, "--spot", wallet="renter").json
    assert (told["spot"], told["price"], told["deposit"]) == (True, "1", "2")
    assert lease_of(pool, int(told["number"])).spot


@pytest.mark.slow
def test_a_standby_gets_the_same_workload(market: Cli, host: Host, pool: Pool) -> None:
    from leasehold.chain import backup_digest

    second = join_another(market, host, operator=8)
    told = market(*OPEN, "--machine", "1", "--backup", str(second), wallet="renter").json
    assert told["backup"] == second
    lease = lease_of(pool, int(told["number"]))
    assert lease.backup != bytes(32)
    workload = next(each for each in (market.home / "workloads").iterdir())
    assert lease.backup == backup_digest(second, 1, 0, bytes.fromhex(workload.name))
    own = market(*OPEN, "--machine", "1", "--backup", "1", wallet="renter", ok=False)
    assert "no standby for itself" in own.err
    assert market(*OPEN, "--machine", "1", "--backup", "99", wallet="renter", ok=False).code == 9


@pytest.mark.slow
def test_an_earlier_lease_is_rented_again_in_its_slot(market: Cli, host: Host, pool: Pool) -> None:
    first = market(*OPEN, "--share", "1/2", wallet="renter").json
    live = market("rent", "--for", "1h", "--again", "1", "--yes", wallet="renter", ok=False)
    assert "leasehold extend 1" in live.err
    host.start()
    market("close", "1", "--yes", wallet="renter")
    again = ("rent", "--for", "1h", "--again", "1", "--allow-unverified", "--no-wait", "--yes", "--json")
    told = market(*again, wallet="renter").json
    assert (told["lease"], told["cells"], told["duration"]) == ("1.1", 4, 3_600)
    assert int(told["number"]) == int(first["number"]) + 1
    (mine,) = market("leases", "--json", wallet="renter").json
    assert mine["id"] == "1.1"
    assert len(list((market.home / "workloads").iterdir())) == 1  # the same bytes
    rented = market(*again, wallet="renter", ok=False)
    assert "has lease 1.1 by now" in rented.err
    assert "leasehold show 1.1" in rented.err
    assert "only its tenant" in market(*again[:4], "1.1", *again[5:], wallet="provider", ok=False).err
    elsewhere = market(*again[:4], "1.1", *again[5:], "--machine", "2", wallet="renter", ok=False)
    assert elsewhere.code == 2
    host.start()
    market("close", "1.1", "--yes", wallet="renter")
    for kept in (market.home / "workloads").iterdir():
        kept.unlink()
    ran = market(*again[:4], "1.1", *again[5:], wallet="renter")
    assert "is not on this computer" in ran.err
    assert ran.json["lease"] == "1.2"


@pytest.fixture
def offer(market: Cli, pool: Pool, tmp_path: Path) -> Path:
    """Half the listed price for the renter, after it asked for that."""
    request, path = tmp_path / "request.json", tmp_path / "offer.json"
    market(
        "request-quote",
        "1",
        "--for",
        "2h",
        "--price",
        "1.25",
        "--note",
        "please",
        "-o",
        str(request),
        wallet="renter",
    )
    market("offer", "sign", "--request", str(request), "-o", str(path), "--yes", wallet="provider")
    return path


def test_terms_that_a_provider_signs_are_rented_at_once(market: Cli, offer: Path, pool: Pool) -> None:
    (listed,) = market("offer", "list", "--json", wallet="provider").json
    assert (listed["state"], listed["price"], listed["duration"]) == ("open", "1.25", 7_200)
    rent = (
        "rent",
        "--image",
        IMAGE,
        "--allow-unverified",
        "--offer",
        str(offer),
        "--no-wait",
        "--yes",
        "--json",
    )
    add_wallets(market, pool)
    stranger = market(*rent, wallet="ada", ok=False)
    assert stranger.code == 12
    assert "alone" in stranger.err
    told = market(*rent, wallet="renter").json
    assert (told["price"], told["deposit"], told["duration"]) == ("1.25", "2.5", 7_200)
    assert lease_of(pool, int(told["number"])).state is LeaseState.OPENED
    used = market(*rent, wallet="renter", ok=False)
    assert used.code == 12
    assert "was used" in used.err
    (after,) = market("offer", "list", "--json", wallet="provider").json
    assert after["state"] == "used by lease 1"


@pytest.mark.slow
def test_an_offer_is_refused_when_it_is_exceeded_late_changed_or_cancelled(
    market: Cli, offer: Path, pool: Pool
) -> None:
    rent = ("rent", "--image", IMAGE, "--allow-unverified", "--no-wait", "--yes")
    longer = market(*rent, "--offer", str(offer), "--for", "3h", wallet="renter", ok=False)
    assert longer.code == 2
    assert "1 GPU for 2h at most" in longer.err
    assert market(*rent, "--offer", str(offer), "-m", "2", wallet="renter", ok=False).code == 2
    cheaper = tampered(offer, lambda each: each["message"].update(price=1))
    forged = market(*rent, "--offer", str(cheaper), wallet="renter", ok=False)
    assert forged.code == 4
    foreign = tampered(offer, lambda each: each.update(chain=1))
    assert market(*rent, "--offer", str(foreign), wallet="renter", ok=False).code == 12
    market("offer", "cancel", str(offer), "--yes", wallet="provider")
    cancelled = market(*rent, "--offer", str(offer), wallet="renter", ok=False)
    assert "cancelled it" in cancelled.err
    assert "leave it out" in market("offer", "cancel", str(offer), "--yes", wallet="provider", ok=False).err
    again = offer.with_name("again.json")
    sign = ("offer", "sign", "-m", "1", "--for", "1h", "--price", "1", "-o", str(again), "--yes")
    market(*sign, wallet="provider")
    pool.anvil.advance(2 * 86_400)
    assert "stood until" in market(*rent, "--offer", str(again), wallet="renter", ok=False).err
    market(*sign, wallet="provider")
    market("provider", "terms", "1", "--price", "3", "--yes", wallet="provider")
    assert market(*rent, "--offer", str(again), wallet="renter", ok=False).code == 4
    assert [each["state"] for each in market("offer", "list", "--json", wallet="provider").json] == [
        "used or cancelled", "expired", "open",
    ]  # fmt: skip
    assert "belongs to" in market(*sign, wallet="renter", ok=False).err
    assert market("offer", "sign", "-m", "1", "--for", "1h", "--yes", wallet="provider", ok=False).code == 2

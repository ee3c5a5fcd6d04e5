"""Renting from another's ledger, at the command line: delegates, their caps, and leases that are kept going."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leasehold.chain import Lease, LeaseState
from leasehold.client import Keeping, decide

from .chain_calls import unmined
from .conftest import Cli, Host, Pool
from .people import add_wallets
from .test_rent import IMAGE, lease_of

RENT = ("rent", "--for", "1h", "--image", IMAGE, "--allow-unverified", "--no-wait", "--yes", "--json")


@pytest.fixture
def lab(market: Cli, pool: Pool) -> dict[str, str]:
    """The renter lets ada spend 6 tokens a day of the 20 in its ledger. Returns addresses."""
    people = add_wallets(market, pool)
    people["renter"] = pool.anvil.accounts[1].address
    market("wallet", "deposit", "20", "--yes", wallet="renter")
    cap = ("--cap", "6", "--period", "1d", "--expires", "3d", "--yes")
    market("delegate", "set", people["ada"], *cap, wallet="renter")
    return people


@pytest.mark.slow
def test_a_delegate_rents_up_to_its_cap_from_the_others_ledger(
    market: Cli, lab: dict[str, str], pool: Pool, host: Host
) -> None:
    for_renter = ("--for-account", lab["renter"])
    told = market(*RENT, *for_renter, wallet="ada").json
    lease = lease_of(pool, int(told["number"]))
    assert lease.tenant == lab["renter"]
    (listed,) = market("delegate", "list", "--json", wallet="renter").json
    assert (listed["spent"], listed["left"], listed["cap"]) == ("2.5", "3.5", "6")
    assert market("delegate", "list", "--json", wallet="ada").json == [listed]
    assert "you" in market("delegate", "list", wallet="ada").out
    half = ("rent", "--for", "2h", "--share", "1/2", *RENT[3:], *for_renter)
    market(*half, wallet="ada")
    over = market(*half, wallet="ada", ok=False)
    assert over.code == 4
    assert "would have spent 7.5 TUSD of the 6 TUSD it may" in over.err
    market("close", "1", *for_renter, "--yes", wallet="ada")
    assert (
        market("delegate", "list", "--json", wallet="renter").json[0]["spent"] == "5"
    )  # no refund offsets it
    host.start()
    pool.anvil.advance(86_400)
    market(*half, wallet="ada")
    stranger = market(*RENT, *for_renter, wallet="grace", ok=False)
    assert stranger.code == 4
    gang = market(*RENT, "--gang", "2", *for_renter, wallet="ada", ok=False)
    assert "one lease at a time" in gang.err
    market("delegate", "revoke", lab["ada"], "--yes", wallet="renter")
    assert market("delegate", "list", "--json", wallet="renter").json == []
    revoked = market("extend", "2", "1h", *for_renter, "--yes", wallet="ada", ok=False)
    assert revoked.code == 4
    assert f"ask for `leasehold delegate set {lab['ada']}" in revoked.err
    assert market(*RENT, *for_renter, wallet="ada", ok=False).code == 4
    assert "no delegate" in market("delegate", "revoke", lab["ada"], "--yes", wallet="renter", ok=False).err


@pytest.mark.slow
def test_what_cannot_be_a_delegate_is_said(market: Cli, lab: dict[str, str]) -> None:
    cap = ("--cap", "1", "--yes")
    assert (
        "wrong checksum" in market("delegate", "set", "0x" + "aB" * 20, *cap, wallet="renter", ok=False).err
    )
    assert market("delegate", "set", lab["renter"], *cap, wallet="renter", ok=False).code == 2
    assert market("delegate", "set", lab["ada"], "--cap", "0", "--yes", wallet="renter", ok=False).code == 2
    mistyped = market("close", "1", "--for-account", "ada", wallet="ada", ok=False)
    assert mistyped.code == 2
    assert "is no account's address" in mistyped.err
    both = ("--for-account", lab["renter"], "--as-group", "lab")
    assert "not both" in market("close", "1", *both, wallet="ada", ok=False).err
    dry = market("delegate", "set", lab["grace"], "--cap", "1", "--dry-run", "--json", wallet="renter").json
    assert dry["dry_run"]
    assert len(market("delegate", "list", "--json", wallet="renter").json) == 1
    assert "ledger" in market(*RENT, "--for-account", lab["grace"], wallet="ada", ok=False).err


@pytest.mark.slow
def test_a_delegate_keeps_a_lease_going_once_however_often_it_is_asked(
    market: Cli, lab: dict[str, str], pool: Pool, host: Host
) -> None:
    keep = ("auto-extend", "1", "--by", "1h", "--before", "30m", "--at-most", "150m", "--once", "--yes", "--json",
            "--for-account", lab["renter"])  # fmt: skip
    market(*RENT, wallet="renter")
    unstarted = market(*keep, wallet="ada", ok=False)
    assert "has not started" in unstarted.err
    host.start()
    assert market(*keep, wallet="ada").json["extended"] == 0
    pool.anvil.advance(2_400)
    dry = market(*keep, "--dry-run", wallet="ada").json
    assert (dry["would_extend"], dry["cost"]) == (3_600, "2.5")
    with unmined(pool, lab["ada"]):
        waiting = market(*keep, wallet="ada")
        assert waiting.json["extended"] == 0
        assert "still under way" in waiting.err
    first = market(*keep, wallet="ada").json
    assert first["extended"] == 3_600
    assert market(*keep, wallet="ada").json["extended"] == 0
    pool.anvil.advance(3_600)
    last = market(*keep, wallet="ada").json
    assert last["extended"] == 1_800  # of its life there was no more to give
    pool.anvil.advance(1_800)
    bound = market(*keep, wallet="ada")
    assert bound.json["extended"] == 0
    assert "as long as it was to be kept" in bound.err
    market("delegate", "set", lab["ada"], "--cap", "0.1", "--yes", wallet="renter")
    longer = [*keep[:7], "9h", *keep[8:]]
    refused = market(*longer, wallet="ada", ok=False)
    assert refused.code == 4
    assert "of the 0.1 TUSD it may" in refused.err
    assert "not extended any more" in refused.err


def test_what_is_decided_about_a_lease() -> None:
    lease = Lease(
        1 << 16, "0x", 1, 0x01FF, LeaseState.ACTIVE, False, False, 1_000, 4_600, 10, 1, 1, 1, 0, bytes(32)
    )
    keeping = Keeping(before=600, step=3_600, until=10_000)
    assert decide(lease, keeping, 2_000).at == 4_000
    assert decide(lease, keeping, 2_000).seconds == 0
    assert decide(lease, keeping, 4_000).seconds == 3_600
    assert decide(replace(lease, end=8_000), keeping, 7_900).seconds == 2_000
    for other in (
        replace(lease, end=10_000),
        replace(lease, noticed=True),
        replace(lease, state=LeaseState.ENDED),
        replace(lease, end=3_000),
    ):
        assert (decide(other, keeping, 4_000).seconds, decide(other, keeping, 4_000).at) == (0, 0)
    assert decide(replace(lease, state=LeaseState.OPENED), keeping, 1_000).at == 1_600

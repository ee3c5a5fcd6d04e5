"""Leases that change their size or their machine, and ratings, on Anvil."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from leasehold.chain import Keystore
from leasehold.datasets import new_identity, recipient_of

from .conftest import PASSWORD, Cli, Host, Pool, served, signer_of

IMAGE = "sha256:" + "ab" * 32
RENTER, PROVIDER, OPERATOR = "renter", "provider", "operator"
WISH = ("--image", IMAGE, "--allow-unverified", "--yes", "--json")


def add_wallet(cli: Cli, pool: Pool, name: str, account: int) -> str:
    """A wallet of one of Anvil's accounts; returns its address."""
    key = bytes.fromhex(pool.anvil.accounts[account].key.removeprefix("0x"))
    asyncio.run(Keystore(cli.home / "keys", iterations=2).new(name, PASSWORD, key=key))
    return pool.anvil.accounts[account].address


@pytest.fixture
def lease(market: Cli, host: Host) -> str:
    """A running lease of half a GPU for two hours, whose trial is over."""
    opened = market("rent", "--for", "2h", "--share", "1/2", *WISH, "--no-wait", wallet=RENTER).json
    host.start()
    shown: str = opened["lease"]
    host.pool.anvil.advance(1_200)
    return shown


@pytest.fixture
def second(market: Cli, host: Host, tmp_path: Path, pool: Pool) -> int:
    """Another machine of the same provider, whose operator is Anvil's account 4, at 2 an hour."""
    described = json.loads(host.path.read_text())
    served(described, pool, signer_of(pool, 4))
    described["contact"]["age_recipient"] = recipient_of(new_identity())
    path = tmp_path / "second.json"
    path.write_text(json.dumps(described))
    joined = market(
        "provider", "join", str(path), "--price", "2", "--approve", "--yes", "--json", wallet=PROVIDER
    ).json
    number: int = joined["machine"]
    return number


@pytest.mark.slow
def test_a_share_grows_and_shrinks_for_what_was_said(market: Cli, lease: str, pool: Pool) -> None:
    dry = market("resize", lease, "1", "--dry-run", "--json", wallet=RENTER)
    assert "1/2 becomes 1" in dry.err
    assert float(dry.json["charged"]) == pytest.approx(1.25 * 6_000 / 3_600, rel=0.01)
    assert float(dry.json["pays"]) == pytest.approx(1.25 * 1_200 / 3_600, rel=0.02)
    assert (dry.json["hourly_before"], dry.json["hourly"]) == ("1.25", "2.5")
    grown = market("resize", lease, "1", "--yes", "--json", wallet=RENTER).json
    assert grown["cells"] == 8
    pool.anvil.advance(1_800)
    (listed,) = market("leases", "--json", wallet=RENTER).json
    assert float(listed["used"]) == pytest.approx((1_200 * 1.25 + 1_800 * 2.5) / 3_600, rel=0.02)
    shrunk = market("resize", lease, "1/8", "--yes", "--json", wallet=RENTER).json
    assert float(shrunk["refunded"]) == pytest.approx(2.5 * 7 / 8 * 4_200 / 3_600, rel=0.02)
    assert "has that share already" in market("resize", lease, "1/8", "--yes", wallet=RENTER, ok=False).err
    assert "no room" in market("resize", lease, "3", "--yes", wallet=RENTER, ok=False).err
    market("wallet", "approve", "0", "--yes", wallet=RENTER)
    market("wallet", "withdraw", "all", "--yes", wallet=RENTER)
    refused = market("resize", lease, "2", "--yes", wallet=RENTER, ok=False)
    assert "leasehold wallet approve" in refused.err
    market("resize", lease, "2", "--yes", "--approve", wallet=RENTER)
    closed = market("close", lease, "--yes", "--json", wallet=RENTER).json
    assert closed["state"] == "ended"


def test_a_trial_has_to_be_over_before_a_resize(market: Cli, host: Host) -> None:
    market("rent", "--for", "2h", *WISH, "--no-wait", wallet=RENTER)
    host.start()
    assert "trial" in market("resize", "1", "2", "--yes", wallet=RENTER, ok=False).err


def test_moving_closes_and_opens_in_one_transaction(market: Cli, lease: str, second: int) -> None:
    same = market("move", lease, "1", *WISH, wallet=RENTER, ok=False)
    assert "on machine 1 already" in same.err
    dry = market("move", lease, str(second), *WISH, "--dry-run", wallet=RENTER).json
    assert (dry["closed"], dry["machine"], dry["cells"], dry["price"]) == (lease, second, 4, "2")
    assert dry["from_wallet_at_most"] == "0"
    before = float(market("wallet", "balance", "--json", wallet=RENTER).json["wallet"])
    moved = market("move", lease, str(second), *WISH, "--for", "1h", wallet=RENTER).json
    assert moved["delivered_by"] == "ipfs"
    (listed,) = market("leases", "--json", wallet=RENTER).json
    assert (listed["id"], listed["machine"], listed["state"]) == (moved["lease"], second, "opened")
    assert market("show", lease, "--json", wallet=RENTER).json["state"] == "ended"
    assert float(market("wallet", "balance", "--json", wallet=RENTER).json["wallet"]) == before
    unknown = market("move", moved["lease"], "7", *WISH, wallet=RENTER, ok=False)
    assert "no machine 7" in unknown.err


@pytest.mark.slow
def test_a_lease_of_a_machine_that_is_down_fails_over(
    market: Cli, second: int, host: Host, pool: Pool
) -> None:
    add_wallet(market, pool, OPERATOR, 3)
    wish = ("--for", "2h", "--machine", "1", "--backup", str(second), *WISH, "--no-wait")
    lease = market("rent", *wish, wallet=RENTER).json["lease"]
    host.start()
    replaced = market(
        "set-workload", lease, "--image", IMAGE, "--yes", "--json", "--", "sleep", "1", wallet=RENTER
    )
    assert replaced.json["lease"] == lease  # what runs now is not what the standby runs
    pool.anvil.advance(1_800)
    early = market("failover", lease, "--yes", wallet=RENTER, ok=False)
    assert "not down" in early.err
    market("provider", "report", "1", "--yes", wallet=OPERATOR)
    pool.anvil.advance(600)
    assert "(machine down)" in market("leases", wallet=RENTER).out
    assert f"`leasehold failover {lease}`" in market("show", lease, wallet=RENTER).out
    dry = market("failover", lease, "--dry-run", "--json", wallet=RENTER)
    assert dry.json["machine"] == second
    assert float(dry.json["used"]) == pytest.approx(1.25, rel=0.01)
    assert "down since" in dry.err
    over = market("failover", lease, "--yes", "--json", wallet=PROVIDER).json  # anyone may
    (listed,) = market("leases", "--json", wallet=RENTER).json
    assert (listed["id"], listed["machine"], listed["tenant"]) == (
        over["lease"],
        second,
        pool.anvil.accounts[1].address,
    )


def test_a_lease_without_a_standby_says_what_to_do(market: Cli, lease: str) -> None:
    refused = market("failover", lease, "--yes", wallet=RENTER, ok=False)
    assert refused.code == 2
    assert "leasehold move" in refused.err


def test_an_ended_lease_is_rated_once(market: Cli, lease: str) -> None:
    early = market("rate", lease, "5", "--yes", wallet=RENTER, ok=False)
    assert "only a lease that has ended" in early.err
    market("close", lease, "--yes", wallet=RENTER)
    rated = market("rate", lease, "4", "--comment", "fast disks", "--yes", "--json", wallet=RENTER).json
    assert rated["stars"] == 4
    assert rated["comment"].startswith("baf")
    again = market("rate", lease, "4", "--yes", wallet=RENTER, ok=False)
    assert "rated once" in again.err

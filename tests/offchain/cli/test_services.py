"""Services are announced and listed, and tenants looked up, at the command line."""

from __future__ import annotations

import pytest

from .conftest import Cli, Pool

PEER = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"


@pytest.mark.slow
def test_a_service_is_announced_listed_and_ended(market: Cli, pool: Pool) -> None:
    at = ("--at", "/ip4/127.0.0.1/tcp/9")
    refused = market("services", "announce", "ipfs", *at, "--yes", wallet="renter", ok=False)
    assert "found by its peer" in refused.err
    market("services", "announce", "ipfs", *at, "--peer", PEER, "--note", "models", "--yes", wallet="renter")
    (told,) = market("services", "--json").json
    account = pool.anvil.accounts[1].address
    assert (told["account"], told["kind"], told["peer_id"], told["note"]) == (account, "ipfs", PEER, "models")
    assert "models" in market("services").out
    assert "does not answer where it says to be" in market("services", "connect", account, ok=False).err
    market("services", "end", "ipfs", "--yes", wallet="renter")
    assert "Nothing is announced" in market("services").out + market("services").err
    assert "see `leasehold services`" in market("services", "connect", account, ok=False).err


@pytest.mark.slow
def test_tenants_are_found_by_their_record(market: Cli, pool: Pool) -> None:
    market(
        "rent", "--for", "1h", "--image", "sha256:" + "ab" * 32, "--allow-unverified", "--no-wait", "--yes",
        wallet="renter",
    )  # fmt: skip
    (told,) = market("provider", "tenants", "leases<1", "--json").json
    assert (told["account"], told["paid"]) == (pool.anvil.accounts[1].address, "0")
    assert market("provider", "tenants", "ended>=1", "--json").json == []
    wrong = market("provider", "tenants", "endd>=1", ok=False)
    assert "did you mean 'ended'" in wrong.err
    assert len(wrong.err.strip().splitlines()) == 1

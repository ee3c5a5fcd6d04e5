"""`leasehold pool`: the table of powers, parameters, licences, another pool, on Anvil."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Cli, Host, Kubo, Pool
from .people import add_wallets
from .test_moving import PROVIDER, RENTER, WISH, add_wallet

OWNER = "owner"


@pytest.fixture
def owned(cli: Cli, pool: Pool) -> Cli:
    """The command line with the pool owner's wallet, too."""
    add_wallet(cli, pool, OWNER, 0)
    return cli


@pytest.fixture
def without_lens(cli: Cli, tmp_path: Path) -> Cli:
    """The same pool, whose deployment file names no lens."""
    known = json.loads(cli.deployment.read_text())
    del known["lens"]
    cli.deployment = tmp_path / "bare.json"
    cli.deployment.write_text(json.dumps(known))
    return cli


@pytest.mark.slow
def test_the_table_of_powers_is_read_from_the_chain(owned: Cli, pool: Pool) -> None:
    owner = pool.anvil.accounts[0].address
    table = owned("pool", "trust", "--json").json
    assert (table["owner"], table["treasury"], table["arbiter"]) == (owner, owner, owner)
    assert (table["paused"], table["gated"], table["proposed"], table["pending_owner"]) == (
        False,
        False,
        None,
        None,
    )
    assert table["params"]["bond"] == "5"
    takes = {each["who"]: each["takes_at_most"] for each in table["powers"]}
    assert "50 % in seven days" in takes["owner, arbiter and validators together"]
    shown = owned("pool", "trust").out
    for said in (owner, "lets a wrong slash stand", "Nothing is proposed", "how to leave first"):
        assert said in shown
    assert "3 %" in owned("pool", "show").out
    successor = pool.anvil.accounts[2].address
    owned("pool", "hand-over", successor, "--yes", wallet=OWNER)
    owned("pool", "gate", "--on", "--yes", wallet=OWNER)
    after = owned("pool", "trust", "--json").json
    assert (after["pending_owner"], after["gated"]) == (successor, True)
    assert "becomes the owner by accepting" in owned("pool", "trust").out
    owned("pool", "accept", "--yes", wallet=PROVIDER)
    owned("pool", "treasury", owner, "--yes", wallet=PROVIDER)
    assert owned("pool", "trust", "--json").json["owner"] == successor


def test_without_a_lens_the_table_says_the_same(owned: Cli, without_lens: Cli, pool: Pool) -> None:
    owned("pool", "propose", "fee_bps=2%", "--yes", wallet=OWNER)
    bare = without_lens("pool", "trust", "--json").json
    without_lens.deployment = pool.path
    assert without_lens("pool", "trust", "--json").json == bare


def test_rules_that_are_about_to_change_are_not_accepted_unread(owned: Cli, market: Cli, pool: Pool) -> None:
    """A transaction accepts what is in force when it is mined, and may wait."""
    in_force = owned("pool", "propose", "fee_bps=2%", "--yes", "--json", wallet=OWNER).json["in_force_at"]
    terms = ("provider", "terms", "1", "--price", "3", "--yes")
    pool.anvil.advance(in_force - 3_000 - pool.anvil.timestamp)
    refused = market(*terms, wallet=PROVIDER, ok=False)
    assert refused.code == 9
    assert "version 2 of the pool's rules comes into force" in refused.err
    pool.anvil.advance(in_force - pool.anvil.timestamp)
    market(*terms, wallet=PROVIDER)


@pytest.mark.slow
def test_parameters_are_proposed_with_their_difference_and_inside_their_bounds(
    owned: Cli, pool: Pool
) -> None:
    for wrong, said in (
        ("fee_bps=11%", "0 % to 10 %"),
        ("unstake_delay=1d", "all four windows together"),
        ("committee_size=4", "odd, 3 to 15"),
        ("bond=101", "at most 100 TUSD"),
        ("fee=1", "is no parameter"),
        ("fee_bps", "write NAME=VALUE"),
        ("fee_bps=3%", "changes nothing"),
    ):
        refused = owned("pool", "propose", wrong, "--yes", wallet=OWNER, ok=False)
        assert refused.code == 2
        assert said in refused.err
    change = ("pool", "propose", "fee_bps=2.5%", "unstakeDelay=21d")
    dry = owned(*change, "--dry-run", wallet=RENTER)
    assert "2.5 %" in dry.out
    assert "3 %" in dry.out
    assert owned(*change, "--yes", wallet=RENTER, ok=False).code == 4
    made = owned(*change, "--yes", "--json", wallet=OWNER).json
    assert made["version"] == 2
    assert [each["name"] for each in made["changes"]] == ["fee_bps", "unstake_delay"]
    assert "already proposed" in owned("pool", "propose", "bond=6", "--yes", wallet=OWNER, ok=False).err
    waiting = owned("pool", "params", "--json").json
    assert (waiting["version"], waiting["proposed"]["in_force_at"]) == (1, made["in_force_at"])
    assert "Proposed as version 2" in owned("pool", "params").out
    owned("pool", "cancel", "--yes", wallet=OWNER)
    assert "nothing to cancel" in owned("pool", "cancel", "--yes", wallet=OWNER, ok=False).err
    again = owned(*change, "--yes", "--json", wallet=OWNER).json
    pool.anvil.advance(2 * 86_400 + 1)
    now = owned("pool", "params", "--json").json
    assert (now["version"], now["proposed"], now["params"]["fee_bps"]) == (again["version"], None, 250)
    assert owned("pool", "params", "1", "--json").json["params"]["fee_bps"] == 300
    assert "no version 9" in owned("pool", "params", "9", ok=False).err


def test_a_gated_pool_asks_for_a_licence(owned: Cli, pool: Pool, host: Host, kubo: Kubo) -> None:
    owned.ipfs = kubo.api
    provider = pool.anvil.accounts[2].address
    join = ("provider", "join", str(host.path), "--price", "1", "--approve", "--yes")
    owned("pool", "gate", "--yes", wallet=OWNER)
    assert "no licence" in owned(*join, wallet=PROVIDER, ok=False).err
    assert "no account's address" in owned("pool", "licence", "0x12", "--yes", wallet=OWNER, ok=False).err
    assert "Would ask" in owned("pool", "licence", provider, "--dry-run", wallet=OWNER).out
    owned("pool", "licence", provider, "--until", "2040-12-31", "--yes", wallet=OWNER)
    (issued,) = owned("pool", "licences", "--json").json
    assert (issued["account"], issued["kind"], issued["valid"]) == (provider, "provider", True)
    owned(*join, wallet=PROVIDER)
    owned("pool", "licence", provider, "--revoke", "--yes", wallet=OWNER)
    assert owned("pool", "licences", provider, "--json").json[0]["valid"] is False
    assert "no longer" in owned("pool", "licences").out
    owned("pool", "gate", "--off", "--yes", wallet=OWNER)


def test_fees_are_collected_for_the_treasury_by_anyone(market: Cli, pool: Pool, host: Host) -> None:
    add_wallet(market, pool, OWNER, 0)
    assert "No fee is due" in market("pool", "collect", "--yes", wallet=RENTER).out
    market("rent", "--for", "2h", *WISH, "--no-wait", wallet=RENTER)
    host.start()
    pool.anvil.advance(3_600)
    market("close", "1", "--yes", wallet=RENTER)
    dry = market("pool", "collect", "--dry-run", "--json", wallet=RENTER).json
    assert (dry["treasury"], dry["providers"]) == (pool.anvil.accounts[0].address, 1)
    before = float(market("wallet", "balance", "--json", wallet=OWNER).json["ledger"])
    done = market("pool", "collect", "--yes", "--json", wallet=RENTER).json
    assert done["amount"] == dry["amount"]
    after = float(market("wallet", "balance", "--json", wallet=OWNER).json["ledger"])
    assert after - before == pytest.approx(float(done["amount"]))
    assert float(done["amount"]) == pytest.approx(2.5 * 0.03, rel=0.01)
    assert market("pool", "collect", "--yes", "--json", wallet=RENTER).json["amount"] == "0"


def test_a_paused_pool_lets_everybody_out(market: Cli, pool: Pool, host: Host) -> None:
    add_wallet(market, pool, OWNER, 0)
    market("rent", "--for", "2h", *WISH, "--no-wait", wallet=RENTER)
    host.start()
    market("pool", "pause", "--yes", wallet=OWNER)
    assert "paused" in market("pool", "show").out
    refused = market("rent", "--for", "2h", *WISH, "--no-wait", wallet=RENTER, ok=False)
    assert "takes no new leases" in refused.err
    market("close", "1", "--yes", wallet=RENTER)
    market("pool", "resume", "--yes", wallet=OWNER)
    market("rent", "--for", "2h", *WISH, "--no-wait", wallet=RENTER)


def test_another_pool_is_made_and_can_be_used(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "mine.json"
    dry = cli("pool", "create", "fee_bps=0", "--dry-run", "--json", wallet=RENTER).json
    assert dry["params"]["fee_bps"] == 0
    make = ("pool", "create", "fee_bps=0", "--out", str(target), "--yes")
    made = cli(*make, "--json", wallet=RENTER).json
    assert json.loads(target.read_text()) == made["deployment"]
    assert "exists already" in cli(*make, wallet=RENTER, ok=False).err
    cli.deployment = target
    cli.home = tmp_path / "another home"
    table = cli("pool", "trust", "--json").json
    assert (table["controller"], table["owner"]) == (made["controller"], dry["owner"])
    assert table["params"]["fee_bps"] == 0
    assert cli("machines", "--json").json == []


@pytest.mark.slow
def test_a_group_owns_a_pool(owned: Cli, pool: Pool, tmp_path: Path) -> None:
    people = add_wallets(owned, pool)
    signers = [part for name in ("ada", "grace") for part in ("--signer", people[name])]
    group = owned("group", "create", "lab", "--threshold", "2", *signers, "--json").json["address"]
    owned("pool", "hand-over", group, "--yes", wallet=OWNER)
    for number, command in enumerate((("accept",), ("propose", "fee_bps=1%"), ("pause",))):
        path = tmp_path / f"{number}.json"
        told = owned(
            "pool", *command, "--as-group", "lab", "--proposal", str(path), "--json", wallet="ada"
        ).json
        assert told["account"] == group
        for name in ("ada", "grace"):
            owned("group", "approve", str(path), "--add", "--yes", wallet=name)
        owned("group", "execute", str(path), "--yes", wallet="barbara")
    table = owned("pool", "trust", "--json").json
    assert (table["owner"], table["pending_owner"], table["paused"]) == (group, None, True)
    assert table["proposed"]["changes"] == [{"name": "fee_bps", "before": 300, "after": 100}]

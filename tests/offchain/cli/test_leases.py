"""A lease's life at the command line, on Anvil, and its results, on Kubo."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pyrage
import pytest

from devnet.kubo import Kubo
from leasehold.chain import LocalSigner, Rpc, Sender, cid_to_bytes, parse_lease
from leasehold.chain import Pool as Binding
from leasehold.datasets import Ipfs, new_identity, recipient_of
from leasehold.workload import WorkloadOutput, pack_outputs

from .conftest import PASSWORD, Cli, Host, Pool
from .people import add_wallets

IMAGE = "sha256:" + "ab" * 32
RENTER, PROVIDER = "renter", "provider"


@pytest.fixture
def lease(market: Cli, host: Host) -> str:
    """A running lease of one whole GPU for two hours."""
    wish = ("--for", "2h", "--image", IMAGE, "--output", "/out", "--public")
    wish = (*wish, "--allow-unverified", "--no-wait", "--yes", "--json")
    opened = market("rent", *wish, wallet=RENTER).json
    host.start()
    shown: str = opened["lease"]
    return shown


@pytest.mark.slow
def test_a_lease_is_listed_and_shown_with_its_bill(market: Cli, lease: str, pool: Pool) -> None:
    pool.anvil.advance(1_800)
    (listed,) = market("leases", "--json", wallet=RENTER).json
    assert (listed["id"], listed["state"], listed["machine"], listed["cells"]) == ("1", "active", 1, 8)
    assert 1.2 < float(listed["used"]) < 1.4
    assert float(listed["used"]) + float(listed["unused"]) == pytest.approx(5)
    assert "active" in market("leases", wallet=RENTER).out
    shown = market("show", lease, wallet=RENTER)
    assert "2.5 TUSD per GPU-hour" in shown.out
    assert "no certificate" in shown.out or "agent" in shown.out
    document = market("show", lease, "--json", wallet=RENTER).json
    assert document["agent"] is None
    assert document["result"] is None
    assert market("leases", "--json", wallet=PROVIDER).json == []
    assert "no running lease" in market("leases", wallet=PROVIDER).out


@pytest.mark.slow
def test_extending_costs_what_was_said(market: Cli, lease: str) -> None:
    dry = market("extend", lease, "1h", "--dry-run", "--json", wallet=RENTER).json
    assert dry["cost"] == "2.5"
    extended = market("extend", lease, "1h", "--yes", "--json", wallet=RENTER).json
    assert extended["cost"] == "2.5"
    (listed,) = market("leases", "--json", wallet=RENTER).json
    assert listed["deposit"] == "7.5"
    assert listed["end"] == extended["end"]
    market("wallet", "approve", "0", "--yes", wallet=RENTER)
    refused = market("extend", lease, "1h", "--yes", wallet=RENTER, ok=False)
    assert refused.code == 9
    assert "leasehold wallet approve 2.5" in refused.err
    market("extend", lease, "1h", "--yes", "--approve", wallet=RENTER)
    beyond = market("extend", lease, "7d", "--yes", "--approve", wallet=RENTER, ok=False)
    assert beyond.code == 4


def test_paying_for_anothers_lease_says_what_he_may_do_with_it(market: Cli, lease: str) -> None:
    assert "keep no more in the ledger" not in market("extend", lease, "1h", "--yes", wallet=RENTER).err
    market("wallet", "approve", "100", "--yes", wallet=PROVIDER)
    assert "keep no more in the ledger" in market("extend", lease, "1h", "--yes", wallet=PROVIDER).err


def test_closing_pays_for_the_seconds_and_returns_the_rest(market: Cli, lease: str, pool: Pool) -> None:
    pool.anvil.advance(3_600)
    said = market("close", lease, "--dry-run", wallet=RENTER).out
    assert "come back" in said
    closed = market("close", lease, "--yes", "--json", wallet=RENTER).json
    assert closed["state"] == "ended"
    paid, fee, refunded = (float(closed[name]) for name in ("paid", "fee", "refunded"))
    assert paid + fee + refunded == pytest.approx(5)
    assert paid + fee == pytest.approx(2.5, rel=0.01)
    assert market("wallet", "balance", "--json", wallet=RENTER).json["ledger"] == closed["refunded"]
    again = market("close", lease, "--yes", wallet=RENTER, ok=False)
    assert again.code == 2
    assert "is ended already" in again.err
    assert market("leases", "--json", wallet=RENTER).json == []
    assert market("leases", "--all", "--json", wallet=RENTER).json[0]["state"] == "ended"
    shown = market("show", lease, wallet=RENTER).out
    assert "settled" in shown


@pytest.mark.slow
def test_rejecting_inside_the_trial_keeps_the_hold_fee(market: Cli, lease: str, pool: Pool) -> None:
    pool.anvil.advance(300)
    assert "Rejecting lease 1 costs" in market("reject", lease, "--dry-run", wallet=RENTER).out
    rejected = market("reject", lease, "--yes", "--json", wallet=RENTER).json
    assert rejected["state"] == "rejected"
    assert float(rejected["refunded"]) == pytest.approx(5 - 2.5 * 300 / 3_600 / 2, rel=0.01)


def test_a_dry_run_needs_no_key(market: Cli, lease: str, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("not the password\n")
    close = ("close", lease, "--password-file", str(wrong))
    told = market(*close, "--dry-run", "--json", wallet=RENTER).json
    assert (told["lease"], told["dry_run"], float(told["used"]) + float(told["unused"])) == (lease, True, 5)
    for more in (("reject", lease), ("wallet", "approve", "1"), ("wallet", "deposit", "1")):
        assert market(*more, "--password-file", str(wrong), "--dry-run", "--json", wallet=RENTER).json[
            "dry_run"
        ]
    assert "password" in market(*close, "--yes", wallet=RENTER, ok=False).err


@pytest.mark.slow
def test_only_the_tenant_closes_and_unknown_leases_are_said(market: Cli, lease: str) -> None:
    stranger = market("close", lease, "--yes", wallet=PROVIDER, ok=False)
    assert stranger.code == 4
    unknown = market("show", "77", wallet=RENTER, ok=False)
    assert unknown.code == 4
    assert "no lease 77" in unknown.err
    assert "is not a lease" in market("show", "x", wallet=RENTER, ok=False).err


def test_a_workload_is_replaced(market: Cli, lease: str) -> None:
    replaced = market(
        "set-workload", lease, "--image", IMAGE, "--yes", "--json", "--", "sleep", "1", wallet=RENTER
    ).json
    assert replaced["delivered_by"] == "ipfs"
    assert replaced["transaction"].startswith("0x")


@pytest.mark.slow
def test_the_provider_collects_gives_notice_and_sees_it_all(market: Cli, lease: str, pool: Pool) -> None:
    early = market("provider", "claim", "--yes", "--json", wallet=PROVIDER).json
    assert early["claimed"] == early["closed"] == []
    pool.anvil.advance(3_600)
    status = market("provider", "status", "--json", wallet=PROVIDER).json
    assert float(status["claimable"]) > 1.8
    assert status["leases"][0]["id"] == lease
    assert "to claim" in market("provider", "status", wallet=PROVIDER).out
    claimed = market("provider", "claim", "--yes", "--json", wallet=PROVIDER).json
    assert claimed["claimed"] == [lease]
    assert float(claimed["gained"]) > 1.8

    poor = market("provider", "terminate", lease, "--yes", wallet=PROVIDER)
    assert "penalty of 0 TUSD" in poor.out  # less time is left than the notice
    pool.anvil.advance(7_200)
    dry = market("provider", "claim", "--dry-run", "--json", wallet=PROVIDER)
    assert "past its end" in dry.err
    closed = market("provider", "claim", lease, "--yes", "--json", wallet=PROVIDER).json
    assert closed["closed"] == [lease]
    assert "There is nothing to collect" in market("provider", "claim", "--yes", wallet=PROVIDER).out
    over = market("provider", "terminate", lease, "--yes", wallet=PROVIDER, ok=False)
    assert over.code == 2


@pytest.mark.slow
def test_notice_that_the_ledger_cannot_pay_is_refused(market: Cli, host: Host) -> None:
    wish = ("--for", "1d", "--image", IMAGE, "--allow-unverified", "--no-wait", "--yes")
    market("rent", *wish, wallet=RENTER)
    host.start()
    refused = market("provider", "terminate", "1", "--yes", wallet=PROVIDER, ok=False)
    assert refused.code == 9
    assert "leasehold wallet deposit" in refused.err
    assert market("provider", "terminate", "1", "--yes", wallet=RENTER, ok=False).code == 9
    market("wallet", "deposit", "100", "--approve", "--yes", wallet=PROVIDER)
    dry = market("provider", "terminate", "1", "--dry-run", "--json", wallet=PROVIDER).json
    given = market("provider", "terminate", "1", "--yes", "--json", wallet=PROVIDER).json
    assert float(given["penalty"]) == pytest.approx(float(dry["penalty"]), rel=0.01)
    (listed,) = market("leases", "--json", wallet=RENTER).json
    assert listed["noticed"] is True
    assert "notice" in market("leases", wallet=RENTER).out


def publish(pool: Pool, kubo: Kubo, lease: str, root: Path, recipient: str) -> str:
    """What the machine's agent does at the end."""

    async def work() -> str:
        async with Ipfs(kubo.api) as ipfs:
            output = WorkloadOutput(path="/out", recipients=(recipient,))
            cid = await pack_outputs(root, [output], (), ipfs, lease=lease)
        async with Rpc([pool.anvil.url]) as rpc:
            sender = Sender(rpc, LocalSigner(pool.anvil.accounts[3].key), poll=0.01)
            await Binding(rpc, pool.deployment, sender).publish_result(parse_lease(lease), cid_to_bytes(cid))
        return cid

    return asyncio.run(work())


@pytest.mark.slow
def test_results_are_fetched_opened_and_remembered(
    market: Cli, lease: str, pool: Pool, kubo: Kubo, tmp_path: Path
) -> None:
    none = market("results", lease, str(tmp_path / "early"), "--wait", "0s", wallet=RENTER, ok=False)
    assert none.code == 9
    assert "no results" in none.err
    identity = new_identity()
    sealed = pyrage.passphrase.encrypt(identity.encode(), PASSWORD)
    (market.home / "keys" / "renter.age").write_bytes(sealed)
    (market.home / "keys" / "renter.pub").write_text(recipient_of(identity))
    root = tmp_path / "root"
    (root / "out").mkdir(parents=True)
    (root / "out" / "report.json").write_text('{"accuracy": 0.97}')
    cid = publish(pool, kubo, lease, root, recipient_of(identity))

    warned = market("close", lease, "--dry-run", wallet=RENTER)
    assert f"leasehold results {lease} DIR" in warned.err
    fetched = market("results", lease, str(tmp_path / "out"), "--json", wallet=RENTER).json
    assert fetched["cid"] == cid
    (report,) = (tmp_path / "out").rglob("report.json")
    assert "0.97" in report.read_text()
    assert "not fetched" not in market("close", lease, "--yes", wallet=RENTER).err
    again = market("results", lease, str(tmp_path / "out"), wallet=RENTER, ok=False)
    assert again.code == 7
    key = tmp_path / "key.txt"
    key.write_text(f"# made by hand\n{identity}\n")
    shown = market("results", lease, str(tmp_path / "out2"), "--identity", str(key), wallet=RENTER)
    assert "/out" in shown.out
    again = ("rent", "--for", "2h", "--again", lease, "--allow-unverified", "--no-wait", "--yes")
    market(*again, wallet=RENTER)
    renewed = market("results", lease, str(tmp_path / "out4"), "--identity", str(key), wallet=RENTER)
    assert "/out" in renewed.out, "its slot serves a later lease by now"
    key.write_text(new_identity())
    wrong = market("results", lease, str(tmp_path / "out3"), "--identity", str(key), wallet=RENTER, ok=False)
    assert wrong.code == 6
    missing = market("results", lease, str(tmp_path / "out3"), "--identity", "/none", wallet=RENTER, ok=False)
    assert missing.code == 5


def give(market: Cli, pool: Pool, lease: str, folder: Path) -> str:
    """The renter's lease becomes ada's; returns her address."""
    heir = add_wallets(market, pool)["ada"]
    acceptance = str(folder / "acceptance.json")
    market("accept-transfer", lease, "-o", acceptance, "--yes", wallet="ada")
    market("transfer", lease, heir, "--acceptance", acceptance, "--yes", wallet=RENTER)
    return heir


def written(root: Path, text: str) -> Path:
    """A container's root in which a workload left a report."""
    (root / "out").mkdir(parents=True)
    (root / "out" / "report").write_text(text)
    return root


@pytest.mark.slow
def test_a_former_tenant_is_told_at_once_that_no_results_will_come(
    market: Cli, lease: str, pool: Pool, tmp_path: Path
) -> None:
    heir = give(market, pool, lease, tmp_path)
    told = market("results", lease, str(tmp_path / "out"), "--wait", "1h", wallet=RENTER, ok=False)
    assert told.code == 9
    assert f"is {heir}'s since it was transferred" in told.err
    assert "it published nothing before" in told.err
    for waiting in ("ada", PROVIDER):  # hers may come, and a stranger may wait for what is public
        none = market("results", lease, str(tmp_path / "out"), "--wait", "0s", wallet=waiting, ok=False)
        assert "wait longer" in none.err


@pytest.mark.slow
def test_a_former_tenant_fetches_what_was_published_before(
    market: Cli, lease: str, pool: Pool, kubo: Kubo, tmp_path: Path
) -> None:
    mine, hers = new_identity(), new_identity()
    key = tmp_path / "key.txt"
    key.write_text(mine)
    first = publish(pool, kubo, lease, written(tmp_path / "mine", "mine"), recipient_of(mine))
    heir = give(market, pool, lease, tmp_path)
    ours = ("results", lease, "--identity", str(key), "--wait", "0s", "--json")
    assert market(*ours, str(tmp_path / "one"), wallet=RENTER).json["cid"] == first
    market("set-workload", lease, "--image", IMAGE, "--output", "/out", "--public", "--yes", wallet="ada")
    second = publish(pool, kubo, lease, written(tmp_path / "hers", "hers"), recipient_of(hers))
    fetched = market(*ours, str(tmp_path / "two"), wallet=RENTER)
    assert fetched.json["cid"] == first
    assert f"is {heir}'s since it was transferred" in fetched.err
    key.write_text(hers)
    assert market(*ours, str(tmp_path / "three"), wallet="ada").json["cid"] == second


def test_another_tenants_results_are_said_to_be_that(
    market: Cli, lease: str, pool: Pool, kubo: Kubo, tmp_path: Path
) -> None:
    """They may be public, or one person may have both wallets."""
    heir = give(market, pool, lease, tmp_path)
    market("set-workload", lease, "--image", IMAGE, "--output", "/out", "--public", "--yes", wallet="ada")
    identity = new_identity()
    cid = publish(pool, kubo, lease, written(tmp_path / "hers", "hers"), recipient_of(identity))
    key = tmp_path / "key.txt"
    key.write_text(identity)
    fetched = market("results", lease, str(tmp_path / "out"), "--identity", str(key), "--json", wallet=RENTER)
    assert fetched.json["cid"] == cid
    assert f"published for {heir}" in fetched.err

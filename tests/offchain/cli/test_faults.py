"""Machines that fail: reports, challenges, outages taken off bills, slashes, appeals, on Anvil."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from leasehold.cli import app
from leasehold.client import OUTAGE_SCALE

from .conftest import Cli, Host, Pool, served, signer_of
from .test_moving import OPERATOR, PROVIDER, RENTER, WISH, add_wallet

OWNER = "owner"
DAY = 86_400


@pytest.fixture
def leased(market: Cli, host: Host, pool: Pool) -> Cli:
    """A running lease of one whole GPU for a day, whose trial is over; wallets of the operator and the pool's owner."""
    add_wallet(market, pool, OPERATOR, 3)
    add_wallet(market, pool, OWNER, 0)
    market("rent", "--for", "1d", *WISH, "--no-wait", wallet=RENTER)
    host.start()
    pool.anvil.advance(3_600)
    return market


def completed(cli: Cli, words: str) -> list[str]:
    """What the shell is offered after these words."""
    line = f"leasehold {words}"
    env = {"_LEASEHOLD_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    return CliRunner(env={**cli.environment(), **env}).invoke(app, [], prog_name="leasehold").stdout.split()


def ledger(cli: Cli, wallet: str) -> float:
    return float(cli("wallet", "balance", "--json", wallet=wallet).json["ledger"])


def test_the_scale_that_an_operator_is_shown_is_the_contracts() -> None:
    source = (Path(__file__).parents[3] / "contracts/libraries/Slashing.sol").read_text()
    tiers = re.findall(r"return proven \? (\w+) : (\w+);", source)
    assert [(int(mine), 10_000 if proven == "BPS" else int(proven)) for proven, mine in tiers] == [
        (reported, proven) for _, reported, proven in OUTAGE_SCALE
    ]


@pytest.mark.slow
def test_an_outage_is_reported_ended_and_settled_from_the_command_line(leased: Cli, pool: Pool) -> None:
    assert (
        "`leasehold-agent report`"
        in leased("provider", "report", "1", "--yes", wallet=PROVIDER, ok=False).err
    )
    dry = leased("provider", "report", "1", "--dry-run", wallet=OPERATOR)
    assert "down for up to 7m" in dry.out
    assert "4 TUSD (2 % of the stake; 4 % if proven by others)" in dry.out
    reported = leased("provider", "report", "1", "--yes", "--json", wallet=OPERATOR).json
    assert reported["fault"] == 1
    assert (
        "down already (fault 1)" in leased("provider", "report", "1", "--yes", wallet=OPERATOR, ok=False).err
    )
    (duty,) = leased("provider", "status", "--json", wallet=PROVIDER).json["duties"]
    assert (duty["machine"], duty["what"]) == (1, "recover")
    pool.anvil.advance(3 * 3_600)
    (running,) = leased("faults", "--json").json
    assert (running["state"], running["kind"], running["to"]) == ("running", "self-reported", None)
    assert "There is nothing to settle now" in leased("compensate", "--yes", wallet=RENTER).out

    back = leased("provider", "recover", "1", "--yes", "--json", wallet=PROVIDER).json
    assert (back["state"], back["bps"], back["amount"]) == ("filed", 400, "8")
    assert "not stalled" in leased("provider", "recover", "1", "--yes", wallet=PROVIDER, ok=False).err
    assert "Fault 1 will cost 8 TUSD (4 % of the stake)" in leased("provider", "status", wallet=PROVIDER).err
    dry = leased("compensate", "--dry-run", "--json", wallet=RENTER).json
    assert [step["step"] for step in dry["steps"]] == ["apply"]
    applied = leased("compensate", "--yes", "--json", wallet=RENTER).json
    assert [step["step"] for step in applied["steps"]] == ["apply"]
    (listed,) = leased("leases", "--json", wallet=RENTER).json
    assert float(listed["used"]) == pytest.approx(2.5, rel=0.02)  # one hour of the four
    assert "may appeal until" in leased("fault", "1").out

    pool.anvil.advance(2 * DAY + 1)
    settled = leased("compensate", "1", "--yes", "--json", wallet=RENTER).json
    assert [step["step"] for step in settled["steps"]] == ["execute", "compensate"]
    assert settled["gained"] == "2"  # half of the machine was his: half of the tenants' half
    assert ledger(leased, RENTER) == 2
    shown = leased("fault", "1", "--json").json
    assert (shown["state"], shown["to_tenants"], shown["rest"]) == ("executed", "2", "6")
    assert shown["losses"][0]["credited"] == "2"
    assert "burnt 6 TUSD" in leased("fault", "1").out
    assert "1 " in leased("fault", "1").out
    assert "executed" in leased("faults", "1").out
    assert "has not failed" in leased("faults", "2").out
    for words, offered in (
        ("fault ", "1"),
        ("show ", "1"),
        ("provider recover ", "1"),
        ("pool propose fee", "fee_bps="),
    ):
        assert completed(leased, words) == [offered]
    assert completed(leased, "validator exit ") == completed(leased, "validator draw ") == []
    assert leased("fault", "9", ok=False).code == 4


def test_an_outage_is_taken_off_the_bill_before_the_lease_ends(leased: Cli, pool: Pool) -> None:
    leased("provider", "report", "1", "--yes", wallet=OPERATOR)
    pool.anvil.advance(4 * 3_600)
    leased("provider", "recover", "1", "--yes", wallet=OPERATOR)
    assert "Outage 1 is taken off its bill first" in leased("close", "1", "--dry-run", wallet=RENTER).out
    closed = leased("close", "1", "--yes", "--json", wallet=RENTER).json
    assert float(closed["paid"]) + float(closed["fee"]) == pytest.approx(
        2.5, rel=0.02
    )  # one hour of the five
    assert leased("fault", "1", "--json").json["losses"][0]["part"] == "2"


@pytest.mark.slow
def test_a_provider_gives_an_outages_time_back_to_have_his_cells(leased: Cli, pool: Pool) -> None:
    pool.anvil.advance(21 * 3_600)
    leased("provider", "report", "1", "--yes", wallet=OPERATOR)
    pool.anvil.advance(600)
    leased("provider", "recover", "1", "--yes", wallet=OPERATOR)
    pool.anvil.advance(3 * 3_600)  # past the lease's end
    held = leased("provider", "claim", "--yes", "--json", wallet=PROVIDER)
    assert "held for their tenants by an outage: 1. --forgo closes them now" in held.err
    assert held.json["closed"] == []
    closed = leased("provider", "claim", "--forgo", "--yes", "--json", wallet=PROVIDER).json
    assert closed["closed"] == ["1"]
    # All day but ten minutes, less the fee.
    assert ledger(leased, PROVIDER) == pytest.approx(2.5 * (24 - 1 / 6) * 0.97, rel=1e-3)


@pytest.mark.slow
def test_an_outage_that_lasts_is_filed_by_anybody_and_goes_on(leased: Cli, pool: Pool) -> None:
    leased("provider", "report", "1", "--yes", wallet=OPERATOR)
    pool.anvil.advance(120 * 3_600 + 1)
    assert "anybody may file it" in leased("fault", "1").out
    filed = leased("compensate", "1", "--yes", "--json", wallet=RENTER).json
    assert [step["step"] for step in filed["steps"]] == ["roll", "apply"]
    faults = {each["fault"]: each for each in leased("faults", "1", "--json").json}
    assert (faults[1]["state"], faults[1]["bps"]) == ("filed", 5_000)
    assert (faults[2]["state"], faults[2]["from"]) == ("running", faults[1]["to"])
    pool.anvil.advance(2 * DAY + 1)
    settled = leased("compensate", "1", "--everyone", "--yes", "--json", wallet=PROVIDER).json
    assert [step["step"] for step in settled["steps"]] == ["execute", "compensate"]
    # Half of 100 for all cells at all times: half of the cells, and the hours that were left of the lease.
    assert ledger(leased, RENTER) == pytest.approx(25 * 82_800 / (120 * 3_600), rel=0.01)


@pytest.mark.slow
def test_a_challenge_that_nobody_answers_shows_an_outage_and_pays_the_challenger(
    leased: Cli, pool: Pool
) -> None:
    poor = leased("challenge", "1", "--yes", wallet=PROVIDER, ok=False)
    assert "no running lease on machine 1" in poor.err
    stranger = leased("challenge", "1", "--lease", "1", "--dry-run", wallet=PROVIDER, ok=False)
    assert "Lease 1 is no running lease of yours" in stranger.err
    leased("wallet", "approve", "0", "--yes", wallet=RENTER)
    refused = leased("challenge", "1", "--yes", wallet=RENTER, ok=False)
    assert "leasehold wallet deposit --approve 5" in refused.err
    dry = leased("challenge", "1", "--dry-run", "--json", wallet=RENTER)
    assert dry.json["bond"] == "5"
    assert "10m to answer" in dry.err
    assert "is not challenged" in leased("prove", "1", wallet=RENTER, ok=False).err  # and nothing is asked
    put = leased("challenge", "1", "--yes", "--approve", "--json", wallet=RENTER).json
    assert (put["challenge"], put["lease"]) == (1, "1")
    assert "challenged until" in leased("provider", "report", "1", "--yes", wallet=OPERATOR, ok=False).err
    assert "challenged until" in leased("prove", "1", "--yes", wallet=RENTER, ok=False).err
    pool.anvil.advance(601)
    assert leased("prove", "1", "--yes", "--json", wallet=PROVIDER).json["fault"] == 1
    assert ledger(leased, RENTER) == 5
    pool.anvil.advance(300)
    leased("provider", "recover", "1", "--yes", wallet=PROVIDER)
    leased("compensate", "--yes", wallet=RENTER)
    pool.anvil.advance(2 * DAY + 1)
    dry = leased("compensate", "--dry-run", wallet=RENTER)
    assert "Would carry out fault 1" in dry.out
    settled = leased("compensate", "--yes", "--json", wallet=RENTER).json
    assert [step["step"] for step in settled["steps"]] == ["execute", "compensate"]
    assert (
        settled["gained"] == "2.8"
    )  # 4 % of 200: a quarter for half of the machine, a tenth for whoever asked


@pytest.mark.slow
def test_a_question_that_nobody_proved_is_over(leased: Cli, pool: Pool) -> None:
    leased("wallet", "deposit", "20", "--yes", wallet=RENTER)
    leased("challenge", "1", "--yes", wallet=RENTER)
    pool.anvil.advance(601)
    late = leased("provider", "answer", "1", "--yes", wallet=OPERATOR, ok=False)
    assert "for an hour after that anybody may prove it, then it is over" in late.err
    assert "anybody may prove it until" in leased("provider", "status", wallet=PROVIDER).err
    pool.anvil.advance(3_601)
    assert leased("provider", "status", "--json", wallet=PROVIDER).json["duties"] == []
    ended = leased("prove", "1", "--yes", "--json", wallet=PROVIDER)
    assert (ended.json["over"], ended.json["fault"]) == (True, None)
    assert "an hour has passed since" in ended.err
    assert ledger(leased, RENTER) == 20
    assert leased("faults", "--json").json == []


@pytest.mark.slow
def test_a_challenge_is_answered_by_the_operator_or_with_its_proof(leased: Cli, pool: Pool) -> None:
    assert "not challenged" in leased("provider", "answer", "1", "--yes", wallet=OPERATOR, ok=False).err
    leased("wallet", "deposit", "20", "--yes", wallet=RENTER)
    leased("challenge", "1", "--yes", wallet=RENTER)
    assert leased("provider", "answer", "1", "--yes", wallet=PROVIDER, ok=False).code == 9
    assert "is challenged until" in leased("provider", "status", wallet=PROVIDER).err
    answered = leased("provider", "answer", "1", "--yes", "--json", wallet=OPERATOR).json
    assert answered["challenge"] == 1
    assert ledger(leased, PROVIDER) == 0.5
    twice = leased("challenge", "1", "--yes", "--json", wallet=RENTER).json
    assert twice["bond"] == "10"
    leased("provider", "answer", "1", "--operator-wallet", OPERATOR, "--yes", wallet=PROVIDER)
    assert ledger(leased, PROVIDER) == 1.5
    assert leased("faults").out.strip() == "No machine has failed."


@pytest.mark.slow
@pytest.mark.parametrize(("ruling", "state", "bond"), [("--drop", "dropped", 5), ("--stands", "upheld", 0)])
def test_an_appeal_is_ruled_on(leased: Cli, pool: Pool, ruling: str, state: str, bond: float) -> None:
    leased("provider", "report", "1", "--yes", wallet=OPERATOR)
    pool.anvil.advance(600)
    leased("provider", "recover", "1", "--yes", wallet=OPERATOR)
    assert leased("provider", "appeal", "1", "--yes", wallet=RENTER, ok=False).code == 9
    dry = leased("provider", "appeal", "1", "--dry-run", "--json", wallet=PROVIDER)
    assert dry.json["bond"] == "5"
    leased("provider", "appeal", "1", "--yes", "--approve", wallet=PROVIDER)
    assert "may rule until" in leased("fault", "1").out
    assert "is appealed" in leased("provider", "appeal", "1", "--yes", wallet=PROVIDER, ok=False).err
    assert leased("pool", "rule", "1", ruling, "--yes", wallet=PROVIDER, ok=False).code == 4
    ruled = leased("pool", "rule", "1", ruling, "--yes", "--json", wallet=OWNER).json
    assert ruled["state"] == state
    assert ledger(leased, PROVIDER) == bond
    if state == "upheld":  # tenants have as long as without an appeal to register what they lost
        assert "tenants register what they lost until" in leased("fault", "1").out
        assert "execute it after that" in leased("pool", "execute", "1", "--yes", wallet=OWNER, ok=False).err
        pool.anvil.advance(2 * DAY + 1)
        assert leased("pool", "execute", "1", "--yes", "--json", wallet=OWNER).json["state"] == "executed"


def test_a_stall_is_ended_by_the_same_word(market: Cli, pool: Pool) -> None:
    market("rent", "--for", "1d", *WISH, "--no-wait", wallet=RENTER)
    pool.anvil.advance(1_801)
    market("close", "1", "--yes", wallet=RENTER)
    assert "stalled" in market("machines").out
    recovered = market("provider", "recover", "1", "--yes", "--json", wallet=PROVIDER).json
    assert recovered["fault"] is None
    assert "stalled" not in market("machines").out


def test_an_operators_key_and_documents_are_replaced(market: Cli, host: Host, pool: Pool) -> None:
    key = pool.anvil.accounts[5].address
    described = json.loads(host.path.read_text())
    served(described, pool, signer_of(pool, 5), pool.anvil.accounts[1].address)
    described["hardware"]["cpu"]["cores"] = 64
    host.path.write_text(json.dumps(described))
    rotate = ("provider", "operator", "1", str(host.path), "--yes", "--json")
    refused = market(*rotate, wallet=PROVIDER, ok=False)
    assert "leasehold-agent describe --owner" in refused.err  # it serves another
    served(described, pool, signer_of(pool, 5))
    host.path.write_text(json.dumps(described))
    other = market("provider", "update", "1", str(host.path), "--yes", wallet=PROVIDER, ok=False)
    assert "leasehold provider operator" in other.err
    done = market(*rotate, wallet=PROVIDER).json
    assert (done["operator"], done["before"]) == (key, pool.anvil.accounts[3].address)
    updated = market("provider", "update", "1", str(host.path), "--yes", "--json", wallet=PROVIDER)
    assert updated.json["changed"] == ["hardware", "contact"]
    assert updated.json["revision"] == 2
    assert "unverified" in updated.err
    (listed,) = market("machines", "--json").json
    assert listed["hardware"]["cpu"]["cores"] == 64
    assert (
        "Nothing has changed"
        in market("provider", "update", "1", str(host.path), "--yes", wallet=PROVIDER).out
    )

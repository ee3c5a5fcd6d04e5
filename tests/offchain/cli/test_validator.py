"""`leasehold validator`: seats, a whole verification, an attested outage, on Anvil."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from leasehold.chain import ZERO_ADDRESS
from leasehold.chain.typed import Outage
from leasehold.client import Gap

from .conftest import Cli, Host, Pool
from .test_moving import PROVIDER, RENTER, WISH, add_wallet

DAY = 86_400
VALIDATORS = tuple(f"validator{number}" for number in range(5))


@pytest.fixture
def seated(market: Cli, pool: Pool) -> Cli:
    """Five validators with a matured seat each: Anvil's accounts 4 to 8."""
    for number, name in enumerate(VALIDATORS):
        add_wallet(market, pool, name, 4 + number)
        market("validator", "stake", "--yes", "--approve", wallet=name)
    pool.anvil.advance(3 * DAY + 1)
    return market


def test_a_seat_is_staked_topped_up_and_left(market: Cli, pool: Pool) -> None:
    assert "Nobody has a seat" in market("validator", "list").out
    assert "You have no seat" in market("validator", "status", wallet=RENTER).out
    dry = market("validator", "stake", "--dry-run", "--json", wallet=RENTER)
    assert (dry.json["stake"], dry.json["from_wallet"]) == ("550", "550")
    assert "matures" in dry.err
    seat = market("validator", "stake", "--yes", "--json", wallet=RENTER).json
    assert seat["seat"] == 1
    assert market("wallet", "balance", "--json", wallet=RENTER).json["ledger"] == "0"
    assert "nothing is missing" in market("validator", "top-up", "1", "--yes", wallet=RENTER, ok=False).err
    assert "matures" in market("validator", "leave", "1", "--yes", wallet=RENTER, ok=False).err
    assert "no seat 9" in market("validator", "leave", "9", "--yes", wallet=RENTER, ok=False).err
    pool.anvil.advance(3 * DAY + 1)
    listed = market("validator", "list", "--json").json
    assert (listed["matured"], listed["quorum"]["seats"], listed["seats"][0]["matured"]) == (1, 1, True)
    assert "Quorum: none now, for it takes 5 validators" in market("validator", "list").out
    assert "has not begun to leave" in market("validator", "exit", "1", "--yes", wallet=RENTER, ok=False).err
    assert market("validator", "leave", "1", "--yes", wallet=PROVIDER, ok=False).code == 4
    market("validator", "leave", "1", "--yes", wallet=RENTER)
    assert "leaving" in market("validator", "status", wallet=RENTER).out
    assert "locked until" in market("validator", "exit", "1", "--yes", wallet=RENTER, ok=False).err
    pool.anvil.advance(21 * DAY + 1)
    market("validator", "exit", "1", "--yes", wallet=PROVIDER)
    assert market("wallet", "balance", "--json", wallet=RENTER).json["ledger"] == "550"
    assert market("validator", "list", "--json").json["seats"] == []


def requested(cli: Cli, pool: Pool) -> None:
    cli("validator", "request", "1", "--yes", wallet=RENTER)
    pool.anvil.mine()
    cli("validator", "draw", "1", "--yes", wallet=RENTER)


@pytest.mark.slow
def test_a_machine_is_verified_by_its_committee(seated: Cli, pool: Pool) -> None:
    assert "leasehold validator request" in seated("validator", "rounds").out
    dry = seated("validator", "request", "1", "--dry-run", "--json", wallet=RENTER)
    assert (dry.json["fee"], dry.json["revision"]) == ("5", 1)
    made = seated("validator", "request", "1", "--yes", "--json", wallet=RENTER).json
    assert made["round"] == 1
    pool.anvil.mine()
    status = seated("validator", "status", "--json", wallet=VALIDATORS[0]).json
    assert status["rounds"][0]["next"] == "draw"
    drawn = seated("validator", "draw", "1", "--yes", "--json", wallet=VALIDATORS[0]).json
    assert (drawn["reward"], sorted(drawn["seats"])) == ("0.25", [1, 2, 3, 4, 5])
    again = seated("validator", "draw", "1", "--yes", wallet=VALIDATORS[0], ok=False)
    assert "is drawn" in again.err

    commit = ("validator", "commit", "1")
    assert "has a score" in seated(*commit, "--pass", "--yes", wallet=VALIDATORS[0], ok=False).err
    other = seated(
        *commit, "--pass", "--score", "900", "--spec", "ab" * 32, "--yes", wallet=VALIDATORS[0], ok=False
    )
    assert "use --fail" in other.err
    assert (
        "no seat on the committee"
        in seated(*commit, "--pass", "--score", "1", "--yes", wallet=RENTER, ok=False).err
    )
    early = seated("validator", "reveal", "1", "--yes", wallet=VALIDATORS[0], ok=False)
    assert "takes reveals from" in early.err
    for name in VALIDATORS:
        committed = seated(*commit, "--pass", "--score", "900", "--yes", "--json", wallet=name).json
    files = sorted(Path(committed["folder"]).iterdir())
    assert len(files) == 5
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    assert (
        "has committed"
        in seated(*commit, "--pass", "--score", "900", "--yes", wallet=VALIDATORS[0], ok=False).err
    )

    pool.anvil.advance(4 * 3_600)
    duty = seated("validator", "status", "--json", wallet=VALIDATORS[0]).json["rounds"][0]
    assert duty["next"] == "reveal"
    for name in VALIDATORS[:4]:
        shown = seated("validator", "reveal", "1", "--yes", "--json", wallet=name).json
        assert shown["votes"][0]["score"] == 900
    assert (
        "nothing of yours" in seated("validator", "reveal", "1", "--yes", wallet=VALIDATORS[0], ok=False).err
    )
    lost = (
        files[0] if files[0].name == "1-5.json" else next(each for each in files if each.name == "1-5.json")
    )
    lost.rename(lost.with_suffix(".gone"))
    missing = seated("validator", "reveal", "1", "--yes", wallet=VALIDATORS[4], ok=False)
    assert "run this where you committed" in missing.err
    assert "runs until" in seated("validator", "finalize", "1", "--yes", wallet=RENTER, ok=False).err
    pool.anvil.advance(2 * 3_600)
    done = seated("validator", "finalize", "1", "--yes", "--json", wallet=RENTER).json
    assert (done["state"], done["score"]) == ("passed", 900)
    (machine,) = seated("machines", "--json").json
    assert machine["state"] == "verified"
    (finished,) = seated("validator", "rounds", "--json").json
    assert (finished["agreed"], finished["next"]) == (4, None)
    assert "nothing more" in seated("validator", "rounds").out
    seat = seated("validator", "list", "--json").json["seats"][4]
    assert (seat["stake"], seat["full"]) == ("500", "550")
    topped = seated("validator", "top-up", "5", "--yes", "--approve", "--json", wallet=VALIDATORS[4]).json
    assert topped["stake"] == "550"
    nothing = seated("validator", "false-hardware", "1", "--yes", wallet=RENTER, ok=False)
    assert "nothing to file" in nothing.err


@pytest.mark.slow
def test_a_commitment_that_was_never_mined_loses_nothing(seated: Cli, pool: Pool) -> None:
    """The first sending fails after its file was written; another verdict may follow, and the right one is revealed."""
    requested(seated, pool)
    balance = pool.anvil.request("eth_getBalance", pool.anvil.accounts[4].address, "latest")
    pool.anvil.request("anvil_setBalance", pool.anvil.accounts[4].address, "0x0")
    seated("validator", "commit", "1", "--pass", "--score", "700", "--yes", wallet=VALIDATORS[0], ok=False)
    pool.anvil.request("anvil_setBalance", pool.anvil.accounts[4].address, balance)
    seated("validator", "commit", "1", "--fail", "--spec", "cd" * 32, "--yes", wallet=VALIDATORS[0])
    kept = json.loads(next((seated.home / "votes").rglob("1-1.json")).read_text())
    assert [each["passed"] for each in kept] == [True, False]
    for name in VALIDATORS[1:3]:
        seated("validator", "commit", "1", "--fail", "--spec", "cd" * 32, "--yes", wallet=name)
    pool.anvil.advance(4 * 3_600)
    for name in VALIDATORS[:3]:
        seated("validator", "reveal", "1", "--yes", wallet=name)
    pool.anvil.advance(2 * 3_600)
    failed = seated("validator", "finalize", "1", "--yes", "--json", wallet=RENTER).json
    assert (failed["state"], failed["spec"]) == ("failed", "cd" * 32)
    filed = seated("validator", "false-hardware", "1", "--yes", "--json", wallet=RENTER).json
    (fault,) = seated("faults", "--json").json
    assert (fault["fault"], fault["kind"], fault["bps"]) == (filed["fault"], "false hardware", 5_000)


@pytest.mark.slow
def test_a_quorum_attests_an_outage_and_the_tenant_is_compensated(
    seated: Cli, pool: Pool, host: Host, tmp_path: Path
) -> None:
    seated("rent", "--for", "6d", *WISH, "--no-wait", wallet=RENTER)
    host.start()
    pool.anvil.advance(3_600)
    begin = pool.anvil.timestamp
    pool.anvil.advance(4 * 3_600)
    sign = ("validator", "attest", "sign", "1", "--from", str(begin))
    assert "no matured seat" in seated(*sign, "--yes", wallet=RENTER, ok=False).err
    assert "in the past" in seated(*sign, "--to", str(begin), "--yes", wallet=VALIDATORS[0], ok=False).err
    assert "is no time" in seated(*sign, "--to", "soon", "--yes", wallet=VALIDATORS[0], ok=False).err
    files = []
    for name in VALIDATORS:
        path = tmp_path / f"{name}.json"
        written = seated(*sign, "--out", str(path), "--yes", "--json", wallet=name).json
        assert len(written["seats"]) == 1
        files.append(str(path))

    few = seated("validator", "attest", "send", *files[:4], "--yes", wallet=RENTER, ok=False)
    assert few.code == 4
    assert "more than two thirds" in few.err
    dry = seated("validator", "attest", "send", *files[:4], "--dry-run", "--json", wallet=RENTER)
    assert (dry.json["enough"], dry.json["seats"], dry.json["needed_seats"]) == (False, [1, 2, 3, 4], 4)
    assert "4 of 5 matured seats have signed, of 4 validators" in dry.err
    forged = json.loads(Path(files[4]).read_text()) | {"validator": pool.anvil.accounts[9].address}
    Path(tmp_path / "forged.json").write_text(json.dumps(forged))
    warned = seated(
        "validator", "attest", "send", files[0], str(tmp_path / "forged.json"), "--dry-run", wallet=RENTER
    )
    assert "left out" in warned.err
    another = json.loads(Path(files[4]).read_text()) | {"to": begin + 60}
    Path(tmp_path / "other.json").write_text(json.dumps(another))
    mixed = seated(
        "validator",
        "attest",
        "send",
        files[0],
        str(tmp_path / "other.json"),
        "--dry-run",
        wallet=RENTER,
        ok=False,
    )
    assert "another outage" in mixed.err
    assert (
        "no signature file"
        in seated("validator", "attest", "send", str(host.path), wallet=RENTER, ok=False).err
    )

    sent = seated("validator", "attest", "send", *reversed(files), "--yes", "--json", wallet=RENTER).json
    assert (sent["fault"], sent["enough"]) == (1, True)
    pool.anvil.advance(3_600)
    ended = seated("provider", "recover", "1", "--yes", "--json", wallet=PROVIDER).json
    assert (ended["kind"], ended["bps"], ended["amount"]) == ("attested", 800, "16")
    seated("compensate", "--yes", wallet=RENTER)
    pool.anvil.advance(2 * DAY + 1)
    settled = seated("compensate", "--yes", "--json", wallet=RENTER).json
    assert [step["step"] for step in settled["steps"]] == ["execute", "compensate"]
    assert settled["gained"] == "4"
    assert "nothing coming" in seated("validator", "fine", "1", "--yes", wallet=RENTER, ok=False).err
    assert seated("validator", "collect", "1", "--dry-run", "--json", wallet=RENTER).json["amount"] == "1.6"
    paid = seated("validator", "collect", "1", "--yes", "--json", wallet=VALIDATORS[0]).json
    assert (paid["amount"], paid["seats"]) == ("1.6", [1, 2, 3, 4, 5])
    for name in VALIDATORS:  # a tenth of 16 among five
        assert seated("wallet", "balance", "--json", wallet=name).json["ledger"] == "0.32"
    assert "nothing coming" in seated("validator", "collect", "1", "--yes", wallet=RENTER, ok=False).err


@pytest.mark.slow
def test_what_the_arbiter_takes_back_costs_those_who_signed_it(
    seated: Cli, pool: Pool, tmp_path: Path
) -> None:
    add_wallet(seated, pool, "owner", 0)
    begin, end = pool.anvil.timestamp - 2 * 3_600, pool.anvil.timestamp - 3_600
    files = [tmp_path / f"{name}.json" for name in VALIDATORS]
    for name, path in zip(VALIDATORS, files, strict=True):
        words = ("--from", str(begin), "--to", str(end), "--out", str(path))
        seated("validator", "attest", "sign", "1", *words, "--yes", wallet=name)
    seated("validator", "attest", "send", *map(str, files), "--yes", wallet=RENTER)
    seated("provider", "appeal", "1", "--yes", "--approve", wallet=PROVIDER)
    seated("pool", "rule", "1", "--drop", "--yes", wallet="owner")
    assert seated("validator", "fine", "1", "--yes", "--json", wallet=RENTER).json["seats"] == [1, 2, 3, 4, 5]
    seats = seated("validator", "list", "--json").json["seats"]
    assert [each["stake"] for each in seats] == ["500"] * 5
    assert "to lose" in seated("validator", "fine", "1", "--yes", wallet=RENTER, ok=False).err


def test_a_late_word_reaches_as_far_back_as_the_scale() -> None:
    """Of a month that a machine was dark its last 120 hours and a second are filed."""
    month = 30 * 86_400
    word = Outage(account=ZERO_ADDRESS, machine=1, from_=1, to=month)
    assert Gap.of(word, []) == Gap(0, month - 120 * 3_600 - 1, month)
    hour = Outage(account=ZERO_ADDRESS, machine=1, from_=month - 3_600, to=month)
    assert Gap.of(hour, []) == Gap(0, month - 3_600, month)


@pytest.mark.parametrize(
    "when", ["now", "2h ago", "2027-01-02T03:04:05Z", "2027-01-02 03:04:05", "1800000000"]
)
def test_times_are_written_as_people_write_them(when: str) -> None:
    from leasehold.market import parse_time

    known = {"now": 7_300, "2h ago": 100, "1800000000": 1_800_000_000}
    assert parse_time(when, 7_300) == known.get(when, 1_798_859_045)

"""`leasehold wallet` for real: keystores on disk, tokens on Anvil."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyrage
import pytest

from devnet.anvil import Anvil
from devnet.patience import patient

from .conftest import PASSWORD, Cli, Pool


def test_a_new_wallet_has_a_keystore_and_an_age_key_under_one_password(cli: Cli, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("another one\n")
    made = cli("wallet", "new", "alice", "--password-file", str(secret), "--json")
    assert made.json["age_recipient"].startswith("age1")
    assert "Back up" in made.err
    keys = cli.home / "keys"
    assert (keys / "alice.json").stat().st_mode & 0o077 == 0
    assert (keys / "alice.age").stat().st_mode & 0o077 == 0
    opened = pyrage.passphrase.decrypt((keys / "alice.age").read_bytes(), "another one").decode()
    assert opened.startswith("AGE-SECRET-KEY-1")
    assert (
        made.json["address"] == json.loads(cli("wallet", "address", "-w", "alice", "--json").out)["address"]
    )
    again = cli("wallet", "new", "alice", "--password-file", str(secret), ok=False)
    assert again.code == 5


@pytest.mark.slow
def test_an_existing_key_can_be_taken_in(cli: Cli, pool: Pool, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(pool.anvil.accounts[3].key)
    made = cli("wallet", "new", "carol", "--key-file", str(key))
    assert pool.anvil.accounts[3].address in made.out
    key.write_text("0xnonsense")
    refused = cli("wallet", "new", "dave", "--key-file", str(key), ok=False)
    assert refused.code == 5
    assert "nonsense" not in refused.err


def test_wallets_are_listed_and_chosen(cli: Cli, pool: Pool) -> None:
    assert [each["name"] for each in cli("wallet", "list", "--json").json] == ["provider", "renter"]
    assert pool.anvil.accounts[1].address in cli("wallet", "list").out
    assert cli("wallet", "address", wallet="renter").out.strip() == pool.anvil.accounts[1].address
    several = cli("wallet", "address", ok=False)
    assert several.code == 5
    assert "--wallet" in several.err
    assert cli("wallet", "address", "--wallet", "nobody", ok=False).code == 5


def test_an_empty_home_says_how_to_begin(cli: Cli, tmp_path: Path) -> None:
    cli.home = tmp_path / "empty"
    assert "leasehold wallet new" in cli("wallet", "list").out
    assert "leasehold wallet new" in cli("wallet", "address", ok=False).err


def test_approve_deposit_and_withdraw_move_exact_amounts(cli: Cli) -> None:
    before = cli("wallet", "balance", "--json", wallet="renter").json
    assert before["wallet"] == "1000000"
    assert before["ledger"] == before["allowance"] == "0"
    assert before["token"] == "TUSD"

    refused = cli("wallet", "deposit", "10.5", "--yes", wallet="renter", ok=False)
    assert refused.code == 9
    assert "leasehold wallet approve 10.5" in refused.err

    cli("wallet", "approve", "20", "--yes", wallet="renter")
    moved = cli("wallet", "deposit", "10.5", "--yes", "--json", wallet="renter").json
    assert moved["ledger"] == "10.5"
    assert moved["transaction"].startswith("0x")
    after = cli("wallet", "balance", "--json", wallet="renter").json
    assert (after["wallet"], after["ledger"], after["allowance"]) == ("999989.5", "10.5", "9.5")
    assert "in the pool's ledger" in cli("wallet", "balance", wallet="renter").out

    too_much = cli("wallet", "withdraw", "11", "--yes", wallet="renter", ok=False)
    assert too_much.code == 9
    cli("wallet", "withdraw", "0.5", "--yes", wallet="renter")
    cli("wallet", "withdraw", "all", "--yes", wallet="renter")
    assert cli("wallet", "balance", "--json", wallet="renter").json["wallet"] == "1000000"
    assert cli("wallet", "withdraw", "all", "--yes", wallet="renter", ok=False).code == 9


def test_deposits_for_others_and_with_approval_in_one_go(cli: Cli, pool: Pool) -> None:
    other = pool.anvil.accounts[5].address
    for command in (("deposit", "3", "--approve"), ("withdraw", "1")):
        wrong = cli("wallet", *command, "--to", "lab", "--yes", wallet="renter", ok=False)
        assert (wrong.code, "no account's address" in wrong.err) == (2, True)
    said = cli("wallet", "deposit", "3", "--approve", "--to", other, "--yes", wallet="renter").out
    assert f"3 TUSD are in the ledger of {other}" in said
    assert cli("wallet", "balance", "--json", wallet="renter").json["ledger"] == "0"


def test_unlimited_approval_and_its_revocation(cli: Cli) -> None:
    cli("wallet", "approve", "unlimited", "--yes", wallet="renter")
    assert cli("wallet", "balance", "--json", wallet="renter").json["allowance"] == "unlimited"
    assert "any amount of TUSD" in cli("wallet", "balance", wallet="renter").out
    cli("wallet", "approve", "0", "--yes", wallet="renter")
    assert cli("wallet", "balance", "--json", wallet="renter").json["allowance"] == "0"


def test_nothing_moves_without_a_yes(cli: Cli) -> None:
    said_no = cli("wallet", "approve", "5", wallet="renter", typed="n\n", ok=False)
    assert said_no.code == 11
    nobody = cli("wallet", "approve", "5", wallet="renter", ok=False)
    assert nobody.code == 11
    assert "--yes" in nobody.err
    for dry in (("approve", "5"), ("deposit", "5", "--approve"), ("withdraw", "5")):
        ran = cli("wallet", *dry, "--dry-run", wallet="renter", ok=dry[0] != "withdraw")
        assert "Would" in ran.out or ran.code == 9
    assert cli("wallet", "balance", "--json", wallet="renter").json["allowance"] == "0"
    cli("wallet", "approve", "5", wallet="renter", typed="y\n")
    assert cli("wallet", "balance", "--json", wallet="renter").json["allowance"] == "5"


def test_a_deposit_beyond_the_wallet_is_refused_before_it_is_sent(cli: Cli) -> None:
    refused = cli("wallet", "deposit", "1000001", "--approve", "--yes", wallet="renter", ok=False)
    assert refused.code == 9
    assert "The wallet holds 1000000 TUSD" in refused.err


def test_the_wrong_password_opens_nothing(cli: Cli) -> None:
    cli.env["LEASEHOLD_PASSWORD"] = "wrong"
    refused = cli("wallet", "approve", "1", "--yes", wallet="renter", ok=False)
    assert refused.code == 5
    assert len(refused.err.strip().splitlines()) == 1


def test_a_password_can_be_typed(cli: Cli, tmp_path: Path) -> None:
    cli.env["LEASEHOLD_PASSWORD"] = ""
    cli("wallet", "approve", "1", "--yes", wallet="renter", typed=f"{PASSWORD}\n")
    nobody = cli("wallet", "approve", "1", "--yes", wallet="renter", ok=False)
    assert nobody.code == 5
    assert "--password-file" in nobody.err
    missing = cli(
        "wallet",
        "approve",
        "1",
        "--yes",
        "--password-file",
        str(tmp_path / "none"),
        wallet="renter",
        ok=False,
    )
    assert missing.code == 5


def test_where_nobody_types_the_prompts_line_is_ended_first(cli: Cli, tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **cli.environment("renter")}
    del environment["LEASEHOLD_PASSWORD"]
    command = [str(Path(sys.executable).with_name("leasehold")), "wallet", "new", "another"]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment,
        timeout=patient(60),
        check=False,
        start_new_session=True,  # without a terminal of the tests' own
    )
    assert done.returncode == 5
    assert b"\nThere is nobody to ask" in done.stderr


def test_another_chain_is_refused_before_any_password(cli: Cli, pool: Pool) -> None:
    cli.env["LEASEHOLD_PASSWORD"] = ""
    with Anvil(chain_id=1337) as stranger:
        cli.rpc = stranger.url
        refused = cli("wallet", "deposit", "1", "--yes", wallet="renter", ok=False)
    assert refused.code == 3
    assert "31337" in refused.err
    assert "1337" in refused.err
    assert "assword" not in refused.err
    with Anvil() as other_history:
        cli.rpc = other_history.url
        assert cli("wallet", "balance", wallet="renter", ok=False).code == 3


def test_no_node_no_pool_and_bad_settings_each_say_what_to_do(cli: Cli, tmp_path: Path) -> None:
    cli.rpc = "http://127.0.0.1:1"
    silent = cli("wallet", "balance", wallet="renter", ok=False)
    assert silent.code == 3
    cli.env["LEASEHOLD_DEPLOYMENT"] = ""
    unnamed = cli("wallet", "balance", wallet="renter", ok=False)
    assert unnamed.code == 2
    assert "--deployment" in unnamed.err
    cli.env["LEASEHOLD_DEPLOYMENT"] = str(tmp_path / "none.json")
    assert cli("wallet", "balance", wallet="renter", ok=False).code == 2
    (cli.home / "config.toml").write_text("walet = 'renter'\n")
    unknown = cli("wallet", "list", ok=False)
    assert unknown.code == 2
    assert "walet" in unknown.err
    (cli.home / "config.toml").write_text("not toml")
    assert cli("wallet", "list", ok=False).code == 2


def test_the_file_of_settings_is_read_and_options_win_over_it(cli: Cli, pool: Pool) -> None:
    (cli.home / "config.toml").write_text('wallet = "provider"\nrpc = ["http://127.0.0.1:1"]\n')
    cli.env["LEASEHOLD_RPC"] = ""
    assert cli("wallet", "address").out.strip() == pool.anvil.accounts[2].address
    assert cli("wallet", "balance", ok=False).code == 3
    cli("--rpc", pool.anvil.url, "wallet", "balance")
    cli("--rpc", "http://127.0.0.1:1", "--rpc", pool.anvil.url, "wallet", "balance")


@pytest.mark.parametrize("amount", ["0", "-1", "1e3", "0.0000000000000000001"])
def test_bad_amounts_end_with_2(cli: Cli, amount: str) -> None:
    assert cli("wallet", "deposit", "--yes", "--", amount, wallet="renter", ok=False).code == 2


@pytest.mark.slow
def test_a_wallet_is_held_open_for_a_while(cli: Cli) -> None:
    opened = cli("wallet", "unlock", "20m", "--json", wallet="renter").json
    assert 0 < opened["open_seconds"] <= 1200
    cli.env["LEASEHOLD_PASSWORD"] = "not the password"
    try:
        listed = {each["name"]: each["open_seconds"] for each in cli("wallet", "list", "--json").json}
        assert listed["renter"] > 0 == listed["provider"]
        cli("wallet", "approve", "20", "--yes", wallet="renter")
        assert cli("wallet", "unlock", "--yes", wallet="renter", ok=False).code == 2
        assert cli("wallet", "unlock", "13h", wallet="renter", ok=False).code == 2
    finally:
        assert cli("wallet", "lock", "--json").json == {"locked": ["renter"]}
    assert cli("wallet", "approve", "21", "--yes", wallet="renter", ok=False).code == 5
    assert "No wallet was open" in cli("wallet", "lock").out
    assert cli("wallet", "unlock", wallet="renter", ok=False).code == 5

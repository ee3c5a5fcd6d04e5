"""Two of three own a machine: every word of a provider's is a proposal, and the stake comes from the group's ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devnet.kubo import Kubo

from .conftest import Cli, Host, Pool, served, signer_of
from .people import add_wallets


@pytest.mark.slow
def test_a_group_stakes_a_machine_and_keeps_it(
    cli: Cli, host: Host, kubo: Kubo, pool: Pool, tmp_path: Path
) -> None:
    cli.ipfs = kubo.api
    people = add_wallets(cli, pool)
    signers = [part for name in ("ada", "grace", "edsger") for part in ("--signer", people[name])]
    group = cli("group", "create", "lab", "--threshold", "2", *signers, "--json").json["address"]

    def do(name: str, *command: str) -> None:
        path = tmp_path / f"{name}.json"
        cli(*command, "--as-group", "lab", "--proposal", str(path), "--json", wallet="ada")
        for each in ("ada", "edsger"):
            cli("group", "approve", str(path), "--add", "--yes", wallet=each)
        cli("group", "execute", str(path), "--yes", wallet="barbara")

    described = served(json.loads(host.path.read_text()), pool, signer_of(pool, 3), group)
    host.path.write_text(json.dumps(described))
    join = ("provider", "join", str(host.path), "--price", "2")
    poor = cli(*join, "--as-group", "lab", wallet="ada", ok=False)
    assert poor.code == 9
    cli("wallet", "deposit", "755", "--to", group, "--approve", "--yes", wallet="barbara")
    do("join", *join)
    (machine,) = cli("machines", "--json").json
    assert (machine["provider"], machine["stake"]) == (group, "200")
    do("terms", "provider", "terms", "1", "--price", "3")
    do("delist", "provider", "delist", "1")
    (machine,) = cli("machines", "--json").json
    assert (machine["delisted"], machine["terms"]["price"]) == (True, "3")

    do("seat", "validator", "stake")
    (seat,) = cli("validator", "list", "--json").json["seats"]
    assert seat["validator"] == group
    again = cli("validator", "stake", "--as-group", "lab", wallet="ada", ok=False)
    assert f"--to {group}" in again.err
    do("request", "wallet", "withdraw", "5", "--to", people["ada"])
    assert cli("group", "show", "lab", "--json").json["ledger"] == "0"

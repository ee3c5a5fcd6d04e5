"""`leasehold provider` for real: stake on Anvil, documents on Kubo."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from leasehold.chain import LocalSigner
from leasehold.market import canonical

from .conftest import Cli, Host, Kubo, Pool, served

PROVIDER = "provider"


def test_join_shows_what_it_takes_and_brings_and_then_does_it(
    cli: Cli, host: Host, kubo: Kubo, pool: Pool
) -> None:
    cli.ipfs = kubo.api
    dry = cli("provider", "join", str(host.path), "--price", "2.5", "--dry-run", "--json", wallet=PROVIDER)
    assert dry.json["stake"] == "200"
    assert dry.json["earns_hourly"] == "5"
    assert dry.json["earns_daily"] == "116.4"
    assert dry.json["lost_at_most"] == "100"
    assert float(dry.json["operator_gas"]) == 0  # Anvil's accounts have plenty
    for said in (
        "comes back",
        "14d after the machine retires",
        "can be lost",
        "50 % of the stake",
        "half leased",
    ):
        assert said in dry.err

    refused = cli("provider", "join", str(host.path), "--price", "2.5", "--yes", wallet=PROVIDER, ok=False)
    assert refused.code == 9
    assert "leasehold wallet approve 200" in refused.err

    joined = cli(
        "provider", "join", str(host.path), "--price", "2.5", "--approve", "--yes", "--operator-gas", "0.01",
        "--json", wallet=PROVIDER,
    ).json  # fmt: skip
    assert joined["machine"] == 1
    again = cli(
        "provider", "join", str(host.path), "--price", "2.5", "--approve", "--yes", wallet=PROVIDER, ok=False
    )
    assert again.code == 9
    assert "already serves machine 1" in again.err

    (listed,) = cli("machines", "--json").json
    assert listed["terms"]["price"] == "2.5"
    assert listed["hardware"]["gpus"][0]["model"] == "NVIDIA H100 80GB HBM3"
    assert listed["contact"]["location"]["country"] == "DE"
    described = json.loads(host.path.read_text())
    kept = cli.home / "documents" / f"{sha256(canonical(described['hardware'])).hexdigest()}.json"
    assert kept.read_bytes() == canonical(described["hardware"])


def test_the_operator_is_sent_gas_money(cli: Cli, host: Host, kubo: Kubo) -> None:
    cli.ipfs = kubo.api
    described = json.loads(host.path.read_text())
    served(described, host.pool, LocalSigner("0x" + "77" * 32))
    host.path.write_text(json.dumps(described))
    cli(
        "provider",
        "join",
        str(host.path),
        "--price",
        "1",
        "--approve",
        "--yes",
        "--gpus",
        "1",
        wallet=PROVIDER,
    )
    status = cli("provider", "status", "--json", wallet=PROVIDER).json
    assert float(status["machines"][0]["operator_gas"]) > 0
    assert status["machines"][0]["stake"] == "100"


@pytest.mark.slow
def test_bad_joins_name_what_is_wrong(cli: Cli, host: Host, kubo: Kubo) -> None:
    cli.ipfs = kubo.api
    file = str(host.path)
    join = ("provider", "join")
    assert cli(*join, file, "--yes", wallet=PROVIDER, ok=False).code == 2
    assert cli(*join, file + "x", "--price", "1", "--yes", wallet=PROVIDER, ok=False).code == 9
    for option, value in (("--min", "90"), ("--max", "300d"), ("--trial", "1h"), ("--until", "soon"), ("--price", "0"),
                          ("--until", "2020-01-01")):  # fmt: skip
        prices = () if option == "--price" else ("--price", "1")
        refused = cli(*join, file, *prices, option, value, "--yes", wallet=PROVIDER, ok=False)
        assert refused.code == 2, refused.err
    assert cli("provider", "status", "--json", wallet=PROVIDER).json["machines"] == []
    assert "join with" in cli("provider", "machines", wallet=PROVIDER).out


def test_terms_change_and_keep_what_is_not_given(market: Cli) -> None:
    dry = cli_terms(market, "--price", "3", "--dry-run")
    assert "3 TUSD an hour for a GPU" in dry
    said = cli_terms(market, "--price", "3", "--max", "2d", "--yes")
    assert "10m to 2d" in said
    (machine,) = market("provider", "machines", "--json", wallet=PROVIDER).json
    assert machine["terms"] | {"price": "3", "max_duration": 172_800, "trial": 600} == machine["terms"]
    assert machine["revision"] == 2
    assert market("provider", "terms", "1", "--yes", wallet="renter", ok=False).code == 9
    assert market("provider", "terms", "7", "--yes", wallet=PROVIDER, ok=False).code == 4


def cli_terms(market: Cli, *args: str) -> str:
    return market("provider", "terms", "1", *args, wallet=PROVIDER).out


@pytest.mark.slow
def test_a_machine_is_withheld_delisted_retired_and_unstaked(market: Cli, pool: Pool) -> None:
    def provider(*args: str, ok: bool = True) -> str:
        ran = market("provider", *args, "--yes", wallet=PROVIDER, ok=ok)
        return ran.out if ok else ran.err

    provider("withhold", "1", "0:0-3")
    (machine,) = market("machines", "--json").json
    assert (machine["withheld"], machine["free_cells"]) == ("0:0,0:1,0:2,0:3", 12)
    assert "names no cells" in provider("withhold", "1", "2", ok=False)
    provider("withhold", "1", "none")
    provider("delist", "1")
    assert "delisted" in market("machines").out
    provider("relist", "1")
    assert "not stalled" in provider("recover", "1", ok=False)
    assert "has not retired" in provider("unstake", "1", ok=False)
    provider("stake", "1", "50", "--approve")
    assert "has ~250 TUSD at stake" in provider("stake", "1", "0.000000000000000001", "--approve")
    provider("retire", "1")
    assert "locked until" in provider("unstake", "1", ok=False)
    pool.anvil.advance(15 * 86_400)
    provider("unstake", "1")
    assert market("wallet", "balance", "--json", wallet=PROVIDER).json["ledger"] == "250.000000000000000001"
    provider("withdraw", "all")
    assert market("wallet", "balance", "--json", wallet=PROVIDER).json["wallet"] == "1000000"
    assert market("machines", "--json").json == []
    assert market("machines", "--all", "--json").json[0]["state"] == "retired"

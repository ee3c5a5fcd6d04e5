"""`leasehold dataset` against a real IPFS node."""

from __future__ import annotations

from pathlib import Path

import pytest

from devnet.kubo import Kubo

from .conftest import Cli


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "digits"
    (made / "deep").mkdir(parents=True)
    (made / "a.csv").write_text("1,2,3\n" * 1_000)
    (made / "deep" / "b.bin").write_bytes(bytes(range(256)) * 64)
    return made


@pytest.fixture
def ipfs(cli: Cli, kubo: Kubo) -> Cli:
    cli.ipfs = kubo.api
    return cli


def test_a_folder_is_added_listed_pinned_and_fetched_back(ipfs: Cli, folder: Path, tmp_path: Path) -> None:
    added = ipfs("dataset", "add", str(folder), "--public", "--json").json
    assert added["encrypted"] is False
    assert added["size"] == 6_000 + 16_384
    cid = added["cid"]
    shown = ipfs("dataset", "add", "--public", str(folder))
    assert shown.out.strip() == cid
    assert f"--dataset {cid}:/data/NAME" in shown.err
    assert {each["name"] for each in ipfs("dataset", "ls", cid, "--json").json} == {"a.csv", "deep"}
    assert "a.csv" in ipfs("dataset", "ls", cid).out
    assert cid in [each["cid"] for each in ipfs("dataset", "ls", "--json").json]
    assert ipfs("dataset", "pin", cid, "--json").json == {"cid": cid, "pinned": True}
    out = tmp_path / "copy"
    ipfs("dataset", "get", cid, str(out))
    assert (out / "deep" / "b.bin").read_bytes() == (folder / "deep" / "b.bin").read_bytes()


def test_an_encrypted_folder_opens_with_the_key_that_was_kept(
    ipfs: Cli, folder: Path, tmp_path: Path
) -> None:
    added = ipfs("dataset", "add", str(folder), "--json").json
    assert added["encrypted"] is True
    keys = ipfs.home / "keys" / "datasets.json"
    assert keys.stat().st_mode & 0o077 == 0
    assert "sealed, key here" in ipfs("dataset", "ls").out
    out = tmp_path / "copy"
    ipfs("dataset", "get", added["cid"], str(out))
    assert (out / "a.csv").read_bytes() == (folder / "a.csv").read_bytes()
    keys.write_text("damaged")
    refused = ipfs("dataset", "get", added["cid"], str(tmp_path / "other"), ok=False)
    assert refused.code == 2
    assert "restore it" in refused.err


def test_a_node_that_does_not_run_and_a_bad_cid_are_said(cli: Cli, folder: Path) -> None:
    silent = cli("dataset", "add", str(folder), ok=False)
    assert silent.code == 7
    assert len(silent.err.strip().splitlines()) == 1
    assert cli("dataset", "pin", "nonsense", ok=False).code == 2


def test_a_folder_that_is_not_there(ipfs: Cli, tmp_path: Path) -> None:
    assert ipfs("dataset", "add", str(tmp_path / "none"), ok=False).code == 7


def test_one_file_is_a_dataset(ipfs: Cli, folder: Path, tmp_path: Path) -> None:
    added = ipfs("dataset", "add", str(folder / "a.csv"), "--json").json
    assert added["encrypted"] is True
    ipfs("dataset", "get", added["cid"], str(tmp_path / "copy"))
    assert (tmp_path / "copy" / "a.csv").read_bytes() == (folder / "a.csv").read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["a.csv", "deep"]


def test_what_is_removed_is_kept_no_more(ipfs: Cli, folder: Path) -> None:
    cid = ipfs("dataset", "add", str(folder), "--json").json["cid"]
    ipfs("dataset", "rm", cid)
    assert cid not in [each["cid"] for each in ipfs("dataset", "ls", "--json").json]
    assert ipfs("dataset", "rm", cid, "--forget-key", "--json").json["key_forgotten"]
    assert cid not in (ipfs.home / "keys" / "datasets.json").read_text()


def test_both_sealed_and_public(ipfs: Cli, folder: Path) -> None:
    assert ipfs("dataset", "add", str(folder), "--public", "--encrypt", ok=False).code == 2


def test_from_an_address(ipfs: Cli, folder: Path, tmp_path: Path) -> None:
    added = ipfs("dataset", "add", folder.as_uri(), "--public", "--json").json
    assert added["cid"] == ipfs("dataset", "add", str(folder), "--public", "--json").json["cid"]
    assert not list((ipfs.home / "fetched").iterdir())
    refused = ipfs("dataset", "add", "nosuch://bucket/x", ok=False)
    assert refused.code == 7
    assert len(refused.err.strip().splitlines()) == 1

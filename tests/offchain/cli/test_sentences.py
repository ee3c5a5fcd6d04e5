"""What used to be a traceback, a wrong sentence or a wrong code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from leasehold.cli._hints import said
from leasehold.cli.entering import Harmless
from leasehold.client import parse_address
from leasehold.market import Contact, DocumentInvalid, InvalidInput, dialled
from leasehold.market._documents import MachineFile

from .conftest import Cli, Host

LEASEHOLD = str(Path(sys.executable).with_name("leasehold"))


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("close", "abc"), 2, "is not a lease"),
        (("dataset", "ls", "badcid"), 2, "is not a CID"),
        (
            ("delegate", "set", "0x" + "0" * 40, "--cap", "1"),
            2,
            "the zero address, which is nobody's",
        ),
        (("wallet", "new", "x", "--key-file", "/nowhere"), 5, "/nowhere: No such file or directory"),
    ],
)
def test_what_is_wrong_is_named(cli: Cli, args: tuple[str, ...], code: int, says: str) -> None:
    refused = cli(*args, wallet="renter", ok=False)
    assert (refused.code, says in refused.err) == (code, True), refused.err


def test_a_home_that_is_a_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = cli("--home", str(tmp_path / "file"), "wallet", "list", ok=False)
    assert refused.code == 2
    assert "is no folder: name another with --home" in refused.err


def test_a_private_ssh_key_is_not_taken_for_a_public_one(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----\n"
    )
    wish = ("--for", "1h", "--image", "sha256:" + "ab" * 32, "--ssh-key", str(tmp_path / "key"))
    refused = cli("rent", *wish, wallet="renter", ok=False)
    assert refused.code == 2
    assert "That is a private key" in refused.err
    assert "b3Bl" not in refused.err


def test_nobody_is_told_to_ask_the_provider_of_ones_own_document(host: Host) -> None:
    host.path.write_text(host.path.read_text().replace('"cores": 48', '"cores": "many"'))
    with pytest.raises(DocumentInvalid, match="it should be a valid integer") as refused:
        MachineFile.load(host.path)
    assert said(refused.value).endswith("; write it anew with `leasehold-agent describe`.")


def test_addresses_with_a_checksum_are_read() -> None:
    with pytest.raises(InvalidInput, match="40 hex digits"):
        parse_address("0x12")


def test_an_output_that_takes_nothing_more_is_said_and_no_traceback() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [LEASEHOLD, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "The output: No space left on device; see to that and try again.\n"


def test_a_log_steers_no_terminal() -> None:
    harmless = Harmless()
    assert harmless.feed("gr\N{LATIN SMALL LETTER U WITH DIAERESIS}".encode()[:-1]) == b"gr"
    assert (
        harmless.feed(b"\xbc\x1b]52;c;cm0=\x07\r\n\tx")
        == "ü\N{REPLACEMENT CHARACTER}]52;c;cm0=\N{REPLACEMENT CHARACTER}\n\tx".encode()
    )


def test_only_the_machines_own_node_is_dialled() -> None:
    peer = "12D3KooWGrandePeerOfTheMachine"
    contact = Contact.model_validate(
        {
            "version": 1, "endpoints": [], "certificate": "", "age_recipient": "age1x", "peer_id": peer,
            "ipfs": [
                "/ip4/203.0.113.7/tcp/4001",
                f"/dns4/host.example/udp/4001/quic-v1/p2p/{peer}",
                "/ip4/203.0.113.7/tcp/4001/p2p/12D3KooWSomebodyElseAltogether",
                "/unix/var/run/docker.sock",
                f"/ip4/203.0.113.9/tcp/1/p2p/12D3KooWRelayOfSomebody00/p2p-circuit/p2p/{peer}",
                *["/ip4/203.0.113.8/tcp/1"] * 20,
            ],
        }
    )  # fmt: skip
    dials = dialled(contact)
    assert dials[:2] == (
        f"/ip4/203.0.113.7/tcp/4001/p2p/{peer}",
        f"/dns4/host.example/udp/4001/quic-v1/p2p/{peer}",
    )
    assert len(dials) == 8
    assert all(each.endswith(f"/p2p/{peer}") and each.count("/p2p/") == 1 for each in dials)

"""Two of three rent and pay, at the command line, against the real contracts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from devnet.safe import make_safe
from leasehold.chain import Rpc

from .conftest import Cli, Pool, signer_of
from .people import add_wallets, tampered


@dataclass
class Lab:
    """A group of three at one command line, two of whom have to sign."""

    cli: Cli
    people: dict[str, str]
    address: str
    folder: Path

    def propose(self, name: str, *command: str) -> Path:
        """The proposal that a command writes for the group."""
        path = self.folder / f"{name}.json"
        told = self.cli(*command, "--as-group", "lab", "--proposal", str(path), "--json", wallet="ada").json
        assert told["proposal"] == str(path)
        return path

    def signed(self, path: Path, *names: str) -> list[str]:
        """Signature files of these signers."""
        made = []
        for name in names:
            made.append(str(path.with_suffix(f".{name}")))
            self.cli("group", "approve", str(path), "--output", made[-1], "--yes", wallet=name)
        return made

    def run(self, path: Path, *names: str) -> Any:
        """Have these sign, and a stranger to the group execute."""
        signatures = self.signed(path, *names)
        return self.cli("group", "execute", str(path), *signatures, "--yes", "--json", wallet="barbara").json

    def ledger(self) -> str:
        found: str = self.cli("group", "show", "lab", "--json").json["ledger"]
        return found


@pytest.fixture
def lab(cli: Cli, pool: Pool, tmp_path: Path) -> Lab:
    people = add_wallets(cli, pool)
    signers = [part for name in ("ada", "grace", "edsger") for part in ("--signer", people[name])]
    made = cli("group", "create", "lab", "--threshold", "2", *signers, "--json").json
    cli("wallet", "deposit", "10", "--to", made["address"], "--approve", "--yes", wallet="barbara")
    return Lab(cli, people, made["address"], tmp_path)


def test_a_group_is_known_by_what_it_is_and_deploys_nothing(lab: Lab) -> None:
    shown = lab.cli("group", "show", "lab", "--json").json
    assert (shown["ledger"], shown["leases"], shown["deployed"]) == ("10", 0, False)
    assert shown["signers"] == sorted(shown["signers"], key=str.lower)
    (listed,) = lab.cli("group", "list", "--json").json
    assert listed["address"] == lab.address
    signers = ("--signer", lab.people["ada"], "--signer", lab.people["grace"])
    again = lab.cli("group", "create", "pair", "-t", "2", *signers, "--json").json
    other = lab.cli(
        "group", "create", "pair2", "-t", "2", *signers, "--salt", "0x" + "11" * 32, "--json"
    ).json
    assert len({lab.address, again["address"], other["address"]}) == 3
    assert "is another group already" in lab.cli("group", "create", "lab", "-t", "1", *signers, ok=False).err
    assert "named twice" in lab.cli("group", "create", "x", "-t", "1", *signers, *signers, ok=False).err
    assert lab.cli("group", "create", "x", "-t", "3", *signers, ok=False).code == 2
    assert (
        "wrong checksum" in lab.cli("group", "create", "x", "-t", "1", "-s", "0x" + "aB" * 20, ok=False).err
    )
    assert "There is no group 'nobody'" in lab.cli("group", "show", "nobody", ok=False).err


def test_two_signatures_pay_out_of_the_ledger_and_one_does_not(lab: Lab) -> None:
    path = lab.propose("pay", "wallet", "withdraw", "4", "--to", lab.people["barbara"])
    seen = lab.cli("group", "approve", str(path), "--dry-run", wallet="ada")
    for said in ("Controller.withdraw", "4 TUSD", lab.people["barbara"], "your wallet barbara", "leaves the ledger",
                 "it holds 10 TUSD", "2 of 3", "group lab", "digest"):  # fmt: skip
        assert said in seen.out, said
    one = lab.signed(path, "ada")
    refused = lab.cli("group", "execute", str(path), *one, "--yes", wallet="barbara", ok=False)
    assert refused.code == 12
    assert "1 of the 2 signatures" in refused.err
    assert lab.people["grace"] in refused.err
    assert lab.ledger() == "10"
    two = lab.signed(path, "edsger")
    done = lab.cli("group", "execute", str(path), *one, *two, "--yes", "--json", wallet="barbara").json
    assert done["leaves_ledger"] == "4"
    assert lab.ledger() == "6"
    replay = lab.cli("group", "execute", str(path), *one, *two, "--yes", wallet="barbara", ok=False)
    assert replay.code == 12
    assert "executed" in replay.err
    assert lab.ledger() == "6"


@pytest.mark.slow
def test_signatures_may_travel_inside_the_proposal(lab: Lab) -> None:
    path = lab.propose("pay", "wallet", "withdraw", "1", "--to", lab.people["ada"])
    lab.cli("group", "approve", str(path), "--add", "--yes", wallet="ada")
    lab.cli("group", "approve", str(path), "--add", "--yes", wallet="grace")
    lab.cli("group", "execute", str(path), "--yes", wallet="barbara")
    assert lab.ledger() == "9"


def test_who_is_no_signer_and_what_was_tampered_with_is_refused(lab: Lab) -> None:
    path = lab.propose("pay", "wallet", "withdraw", "1", "--to", lab.people["ada"])
    stranger = lab.cli("group", "approve", str(path), "--yes", wallet="barbara", ok=False)
    assert stranger.code == 12
    assert "is no signer of this group" in stranger.err
    signatures = lab.signed(path, "ada", "grace")

    def redirect(document: Any) -> None:
        call = document["messages"][0]["calls"][0]
        call["data"] = call["data"].replace(lab.people["ada"][2:].lower(), lab.people["edsger"][2:].lower())

    other = tampered(path, redirect)
    refused = lab.cli("group", "execute", str(other), *signatures, "--yes", wallet="barbara", ok=False)
    assert refused.code == 12
    assert "signs something else" in refused.err

    def another_group(document: Any) -> None:
        document["group"]["threshold"] = 1

    assert (
        "do not sign it"
        in lab.cli("group", "approve", str(tampered(path, another_group)), wallet="ada", ok=False).err
    )

    def another_chain(document: Any) -> None:
        document["chain"] = 1

    assert (
        "chain 1"
        in lab.cli("group", "approve", str(tampered(path, another_chain)), wallet="ada", ok=False).err
    )

    def more(document: Any) -> None:
        document["messages"][0]["calls"][0]["data"] += "00"

    hidden = lab.cli("group", "approve", str(tampered(path, more)), wallet="ada", ok=False)
    assert "cannot be shown" in hidden.err
    signature = tampered(Path(signatures[0]), lambda each: each.update(signer=lab.people["grace"]))
    forged = lab.cli("group", "execute", str(path), str(signature), "--yes", wallet="barbara", ok=False)
    assert "does not hold" in forged.err
    path.write_text("{")
    assert lab.cli("group", "approve", str(path), wallet="ada", ok=False).code == 12


@pytest.mark.slow
def test_a_proposal_that_waited_too_long_is_proposed_again(lab: Lab, pool: Pool) -> None:
    path = lab.propose("pay", "wallet", "withdraw", "1", "--to", lab.people["ada"])
    signatures = lab.signed(path, "ada", "grace")
    pool.anvil.advance(8 * 86_400)
    late = lab.cli("group", "execute", str(path), *signatures, "--yes", wallet="barbara", ok=False)
    assert late.code == 12
    assert "leasehold group renew" in late.err
    again = lab.folder / "again.json"
    lab.cli("group", "renew", str(path), "--unordered", "--output", str(again), "--json")
    lab.cli("group", "execute", str(again), *lab.signed(again, "grace", "edsger"), "--yes", wallet="barbara")
    assert lab.ledger() == "9"


def test_a_group_pays_from_its_ledger_alone(lab: Lab) -> None:
    refused = lab.cli("wallet", "withdraw", "11", "--as-group", "lab", wallet="ada", ok=False)
    assert "holds 10 TUSD" in refused.err


@pytest.mark.slow
def test_tokens_that_were_sent_to_the_address_itself_come_back(lab: Lab, pool: Pool) -> None:
    from .chain_calls import send_tokens

    send_tokens(pool, 7, lab.address, 3)
    assert lab.cli("group", "show", "lab", "--json").json["strayed"] == "3"
    path = lab.folder / "rescue.json"
    to = lab.people["grace"]
    told = lab.cli("group", "rescue", "lab", "all", "--to", to, "--proposal", str(path), "--json").json
    assert [each["function"] for each in told["calls"]] == ["deployGroup", "rescue"]
    lab.cli("group", "execute", str(path), *lab.signed(path, "ada", "grace"), "--yes", wallet="barbara")
    shown = lab.cli("group", "show", "lab", "--json").json
    assert (shown["strayed"], shown["deployed"], shown["ledger"]) == ("0", True, "10")
    assert "0 TUSD lie" in lab.cli("group", "rescue", "lab", "all", ok=False).err


@pytest.mark.slow
def test_other_signers_take_the_ledger_over(lab: Lab) -> None:
    path = lab.folder / "rotate.json"
    told = lab.cli(
        "group", "rotate", "lab", "lab2", "--replace", f"{lab.people['edsger']}={lab.people['barbara']}",
        "--proposal", str(path), "--json",
    ).json  # fmt: skip
    assert [each["function"] for each in told["calls"]] == ["transfer"]
    lab.cli("group", "execute", str(path), *lab.signed(path, "ada", "grace"), "--yes", wallet="barbara")
    assert lab.ledger() == "0"
    after = lab.cli("group", "show", "lab2", "--json").json
    assert after["ledger"] == "10"
    assert lab.people["barbara"] in after["signers"]
    assert lab.people["edsger"] not in after["signers"]
    assert lab.cli("group", "rotate", "lab", "lab2", ok=False).code == 9
    ada, stranger = lab.people["ada"], "0x" + "12" * 20
    for wrong in (
        ("--replace", f"{stranger}={ada}"),
        ("--replace", ada),
        ("-t", "2"),
        ("-s", ada, "--replace", ada),
    ):
        assert lab.cli("group", "rotate", "lab", "lab3", *wrong, ok=False).code == 2, wrong


def test_proposals_in_a_row_wait_for_one_another_unless_told_otherwise(lab: Lab) -> None:
    first = lab.propose("first", "wallet", "withdraw", "1", "--to", lab.people["ada"])
    lab.run(lab.propose("other", "wallet", "withdraw", "2", "--to", lab.people["ada"]), "ada", "grace")
    late = lab.cli("group", "approve", str(first), "--yes", wallet="ada", ok=False)
    assert late.code == 12
    assert "another proposal with its nonce" in late.err

    def later(document: Any) -> None:
        document["messages"][0]["nonce"] += 2

    ahead = lab.cli("group", "approve", str(tampered(first, later)), "--dry-run", wallet="ada")
    assert "1 other proposals come first" in ahead.out


def test_a_group_that_provides_signs_offers_too(lab: Lab, pool: Pool) -> None:
    from leasehold.agreements import OfferFile, Proposal, read_file, write_file
    from leasehold.chain.typed import Group, Offer

    offer = Offer(
        account=lab.address,
        machine=1, revision=1, price=10**18, cells=8, duration=3_600, spot=True, tenant="0x" + "00" * 20,
        nonce=7, expires_at=1 << 40,
    )  # fmt: skip
    group = Group.of(2, [lab.people[name] for name in ("ada", "grace", "edsger")])
    path, made = lab.folder / "terms.json", lab.folder / "offer.json"
    write_file(path, Proposal("offer", pool.deployment, group, (offer,)).file())
    seen = lab.cli("group", "approve", str(path), "--dry-run", wallet="ada").out
    assert "per GPU-hour, spot" in seen
    lab.cli("group", "execute", str(path), *lab.signed(path, "ada", "grace"), "-o", str(made))
    written = read_file(made, OfferFile)
    assert (written.offer, written.provider) == (offer, lab.address)
    assert "Only calls" in lab.cli("group", "renew", str(path), ok=False).err


@pytest.mark.slow
def test_a_safe_acts_by_its_owners(cli: Cli, pool: Pool, tmp_path: Path) -> None:
    """By its address or by a name; from the proposal to the payment, and a key for the agents."""
    people = add_wallets(cli, pool)

    async def made() -> str:
        async with Rpc([pool.anvil.url]) as rpc:
            owners = [people[name] for name in ("ada", "grace", "edsger")]
            return await make_safe(rpc, signer_of(pool, 7), owners, 2)

    safe = asyncio.run(made())
    cli("wallet", "deposit", "10", "--to", safe, "--approve", "--yes", wallet="barbara")
    lab = Lab(cli, people, safe, tmp_path)
    path = tmp_path / "pay.json"
    pay = ("wallet", "withdraw", "4", "--to", people["barbara"], "--proposal", str(path))
    cli(*pay, "--as-safe", safe, "--json", wallet="ada")
    lab.run(path, "grace", "edsger")
    assert "no Safe that can act here" in cli(*pay, "--as-safe", people["ada"], wallet="ada", ok=False).err
    assert "not both" in cli(*pay, "--as-safe", safe, "--as-group", "lab", wallet="ada", ok=False).err
    told = cli("group", "safe", "lab", safe, "--json").json
    assert (told["address"], told["threshold"], told["safe"]) == (safe, 2, True)
    assert lab.ledger() == "6"
    session = tmp_path / "session.json"
    cli("group", "session", "lab", "--proposal", str(session))
    lab.run(session, "ada", "grace")
    assert any(safe.lower() in kept.name for kept in (cli.home / "sessions").iterdir())

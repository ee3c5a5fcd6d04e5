"""A group rents, uses, delegates, hands over and changes a signer, at the command line on the real contracts."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from leasehold.chain import LeaseState
from leasehold.chain.typed import Domain
from leasehold.market import SessionCache

from .conftest import Cli, Host, Pool
from .people import add_wallets, join_another, tampered
from .test_group import Lab
from .test_rent import IMAGE, lease_of

RENT = ("rent", "--for", "2h", "--image", IMAGE, "--allow-unverified", "--no-wait")


@pytest.fixture
def lab(market: Cli, pool: Pool, tmp_path: Path) -> Lab:
    people = add_wallets(market, pool)
    signers = [part for name in ("ada", "grace", "edsger") for part in ("--signer", people[name])]
    made = market("group", "create", "lab", "--threshold", "2", *signers, "--json").json
    market("wallet", "deposit", "20", "--to", made["address"], "--approve", "--yes", wallet="barbara")
    return Lab(market, people, made["address"], tmp_path)


@pytest.fixture
def lease(lab: Lab, host: Host) -> str:
    """A running lease of the group's."""
    path = lab.propose("rent", *RENT)
    told = lab.run(path, "ada", "grace")
    host.start()
    (shown,) = told["leases"]
    return str(shown)


@pytest.mark.slow
def test_a_group_rents_extends_and_closes(lab: Lab, host: Host, pool: Pool) -> None:
    path = lab.propose("rent", *RENT)
    seen = lab.cli("group", "approve", str(path), "--dry-run", wallet="grace")
    for said in (
        "Controller.open",
        "machine",
        "2h (7200 s)",
        "1 GPU (8 cells)",
        "5 TUSD at most; it holds 20 TUSD",
    ):
        assert said in seen.out, said
    assert lab.cli("leases", "--as-group", "lab", "--json", wallet="ada").json == []
    told = lab.run(path, "ada", "grace")
    assert told["leases"] == ["1"]
    lease = lease_of(pool, int(told["numbers"][0]))
    assert lease.tenant == lab.address
    host.start()
    (listed,) = lab.cli("leases", "--as-group", "lab", "--json", wallet="edsger").json
    assert (listed["id"], listed["state"]) == ("1", "active")
    lab.run(lab.propose("extend", "extend", "1", "1h"), "grace", "edsger")
    assert lab.ledger() == "12.5"
    lab.run(lab.propose("close", "close", "1"), "ada", "edsger")
    assert lease_of(pool, lease.id).state is LeaseState.ENDED
    assert float(lab.ledger()) > 19.9
    lab.run(lab.propose("again", "rent", "--again", "1", "--for", "1h", "--allow-unverified"), "ada", "grace")
    (again,) = lab.cli("leases", "--as-group", "lab", "--json", wallet="ada").json
    assert again["id"] == "1.1"


@pytest.mark.slow
def test_a_gang_of_a_groups_is_one_proposal(lab: Lab, host: Host) -> None:
    join_another(lab.cli, host, operator=8)
    path = lab.propose("gang", *RENT, "--gang", "2")
    shown = lab.cli("group", "approve", str(path), "--dry-run", "--json", wallet="ada").json
    (multicall,) = shown["calls"]
    assert [each["function"] for each in multicall["inner"]] == ["open", "open"]
    assert shown["leaves_ledger"] == "10"
    assert lab.run(path, "ada", "grace")["leases"] == ["1", "2"]


@pytest.mark.slow
def test_what_the_ledger_cannot_pay_is_said_before_anybody_signs(lab: Lab) -> None:
    refused = lab.cli("rent", "--for", "20h", *RENT[3:], "--as-group", "lab", wallet="ada", ok=False)
    assert refused.code == 9
    assert f"leasehold wallet deposit 30 --to {lab.address}" in refused.err
    path = lab.propose("rent", *RENT)
    lab.run(lab.propose("out", "wallet", "withdraw", "18", "--to", lab.people["ada"]), "ada", "grace")
    anew = lab.folder / "anew.json"
    lab.cli("group", "renew", str(path), "--output", str(anew))
    late = lab.cli("group", "approve", str(anew), "--dry-run", wallet="ada").err
    assert "it would be refused" in late
    assert "may take 0 TUSD from the wallet and 3 TUSD are needed" in late


@pytest.mark.slow
def test_a_group_lets_a_student_rent_within_a_cap(lab: Lab) -> None:
    student = lab.people["barbara"]
    lab.run(
        lab.propose("delegate", "delegate", "set", student, "--cap", "6", "--period", "30d"), "ada", "grace"
    )
    (listed,) = lab.cli("delegate", "list", "--as-group", "lab", "--json", wallet="ada").json
    assert (listed["account"], listed["delegate"], listed["cap"]) == (lab.address, student, "6")
    lab.cli(*RENT, "--for-account", lab.address, "--yes", wallet="barbara")
    over = lab.cli(*RENT, "--for-account", lab.address, "--yes", wallet="barbara", ok=False)
    assert over.code == 4


@pytest.mark.slow
def test_a_signer_is_replaced_and_the_lease_runs_on(lab: Lab, lease: str, pool: Pool) -> None:
    accept, rotate = lab.folder / "accept.json", lab.folder / "rotate.json"
    change = (
        "group",
        "rotate",
        "lab",
        "lab2",
        "--replace",
        f"{lab.people['edsger']}={lab.people['barbara']}",
    )
    told = lab.cli(*change, "--proposal", str(accept), "--json").json
    assert told["kind"] == "acceptance"
    seen = lab.cli("group", "approve", str(accept), "--dry-run", wallet="barbara").out
    assert "lease 1" in seen
    assert "group lab2" in seen
    made = lab.folder / "accepted.json"
    lab.cli(
        "group", "execute", str(accept), *lab.signed(accept, "ada", "barbara"), "-o", str(made), wallet="ada"
    )
    anew = ("group", "rotate", "lab", "lab2", "--acceptance")
    other = tampered(made, lambda each: each.update(account=lab.people["ada"]))
    assert "have the new group make it" in lab.cli(*anew, str(other), ok=False).err
    late = tampered(made, lambda each: each.update(deadline=1))
    assert "make another" in lab.cli(*anew, str(late), ok=False).err
    fewer = tampered(made, lambda each: each.update(leases=["9"]))
    assert "not of lease 1" in lab.cli(*anew, str(fewer), ok=False).err
    told = lab.cli(
        "group", "rotate", "lab", "lab2", "--acceptance", str(made), "--proposal", str(rotate), "--json"
    ).json
    assert [each["function"] for each in told["calls"]] == ["transferLease", "transfer"]
    seen = lab.cli("group", "approve", str(rotate), "--dry-run", "--json", wallet="grace").json
    assert seen["leaves_ledger"] == "15"
    (besides,) = seen["besides"]
    assert "lease 1 goes to" in besides
    assert "5 TUSD of escrow" in besides
    lab.run(rotate, "ada", "grace")
    after = lab.cli("group", "show", "lab2", "--json").json
    assert (after["ledger"], after["leases"]) == ("15", 1)
    assert lab.cli("leases", "--as-group", "lab2", "--json", wallet="barbara").json[0]["id"] == lease
    assert lab.ledger() == "0"


@pytest.mark.slow
def test_a_lease_is_transferred_to_who_accepts_it(lab: Lab, lease: str, pool: Pool) -> None:
    accepted = lab.folder / "accepted.json"
    lab.cli("accept-transfer", lease, "-o", str(accepted), "--yes", wallet="barbara")
    give = ("transfer", lease, lab.people["barbara"], "--acceptance", str(accepted))
    assert "choose its wallet" in lab.cli(*give, "--yes", wallet="ada", ok=False).err
    wrong = lab.cli(
        "transfer", lease, lab.people["ada"], *give[3:], "--as-group", "lab", wallet="ada", ok=False
    )
    assert wrong.code == 12
    other = tampered(accepted, lambda each: each.update(leases=["7"]))
    assert lab.cli(*give[:4], str(other), "--as-group", "lab", wallet="ada", ok=False).code == 12
    path = lab.propose("give", *give)
    lab.run(path, "ada", "grace")
    assert lab.cli("leases", "--json", wallet="barbara").json[0]["id"] == lease
    back = lab.folder / "back.json"
    lab.cli("accept-transfer", lease, "--as-group", "lab", "--proposal", str(back), wallet="ada")
    group_accepts = lab.folder / "group-accepts.json"
    lab.cli(
        "group",
        "execute",
        str(back),
        *lab.signed(back, "ada", "edsger"),
        "-o",
        str(group_accepts),
        wallet="ada",
    )
    lab.cli("transfer", lease, lab.address, "--acceptance", str(group_accepts), "--yes", wallet="barbara")
    assert lab.cli("leases", "--as-group", "lab", "--json", wallet="ada").json[0]["id"] == lease
    pool.anvil.advance(8 * 86_400)
    assert (
        lab.cli("transfer", lease, lab.address, "--acceptance", str(accepted), wallet="ada", ok=False).code
        != 0
    )


@pytest.mark.slow
def test_a_session_of_the_groups_is_kept_where_it_was_proposed(lab: Lab, lease: str) -> None:
    silent = lab.cli("logs", lease, "--as-group", "lab", wallet="ada", ok=False)
    assert "leasehold group session lab" in silent.err
    path = lab.folder / "session.json"
    lab.cli("group", "session", "lab", "--proposal", str(path))
    assert "lease.exec" in lab.cli("group", "approve", str(path), "--dry-run", wallet="ada").out
    lab.cli("group", "execute", str(path), *lab.signed(path, "ada", "grace"))
    deployment = lab.cli.deployment
    from leasehold.chain import Deployment

    known = Deployment.load(deployment)
    domain = Domain(known.chain_id, known.controller)
    kept = asyncio.run(
        SessionCache(lab.cli.home / "sessions").kept(lab.address, domain, now=int(time.time()))
    )
    assert kept is not None
    assert kept.session_proof[0] == 3
    unreachable = lab.cli("logs", lease, "--as-group", "lab", wallet="ada", ok=False)
    assert unreachable.code == 8
    shared = lab.folder / "share.json"
    key = lab.cli("access", "key", "--json").json["key"]
    share = ("access", "share", lease, "--to", key, "--logs", "--as-group", "lab", "--proposal", str(shared))
    lab.cli(*share, wallet="ada")
    asked = lab.signed(shared, "ada", "grace")
    file = lab.cli("group", "execute", str(shared), *asked, "--json").json["file"]
    sessions = SessionCache(lab.cli.home / "sessions")
    still = asyncio.run(sessions.kept(lab.address, domain, now=int(time.time())))
    assert still == kept, "what is to look on takes nobody's place"
    lab.cli("access", "accept", file)
    assert {told["direction"] for told in lab.cli("access", "list", "--json").json} == {"given", "received"}
    elsewhere = lab.cli("group", "execute", str(path), *lab.signed(path, "ada", "grace"), ok=False)
    assert "where the session was proposed" in elsewhere.err

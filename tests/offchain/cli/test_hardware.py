"""A wallet in a Ledger at the command line: added, listed, and what it pays on Anvil, by the emulator of its app."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from devnet.hardware_app import LedgerApp, Screen
from devnet.hardware_emulator import LedgerEmulator
from leasehold.chain import LeaseState

from .conftest import Cli, Pool
from .test_rent import RENT, lease_of

RENTERS = "m/44'/60'/0'/0/1"
"""Anvil's second account, which is the renter's."""


@pytest.fixture
def ledger() -> Iterator[LedgerEmulator]:
    with LedgerEmulator() as emulator:
        yield emulator


def add(cli: Cli, ledger: LedgerEmulator, name: str = "vault", *more: str, ok: bool = True) -> str:
    """What was said for people."""
    ran = cli("wallet", "add-hardware", name, "--path", RENTERS, "--at", ledger.place, *more, ok=ok)
    return ran.out + ran.err


def test_a_ledgers_account_becomes_a_wallet(cli: Cli, ledger: LedgerEmulator, pool: Pool) -> None:
    address = pool.anvil.accounts[1].address
    said = add(cli, ledger)
    assert f"agree there only if it is {address}" in said
    assert ledger.app.screens == [Screen("address", (("Address", address),))]
    kept = json.loads((cli.home / "keys" / "vault.json").read_text())
    assert kept == {
        "address": address,
        "version": 1,
        "device": {"path": RENTERS, "at": ledger.place},
    }, "and no key"
    assert (cli.home / "keys" / "vault.json").stat().st_mode & 0o077 == 0
    listed = {wallet["name"]: wallet for wallet in cli("wallet", "list", "--json").json}
    assert (listed["vault"]["address"], listed["vault"]["device"]) == (address, RENTERS)
    assert listed["renter"]["device"] is None
    assert "in its device" in cli("wallet", "list").out
    assert cli("wallet", "address", wallet="vault").out.strip() == address
    assert cli("wallet", "balance", "--json", wallet="vault").json["wallet"] == "1000000"
    taken = cli("wallet", "add-hardware", "vault", "--at", ledger.place, ok=False)
    assert (taken.code, "already a wallet `vault`" in taken.err) == (5, True)
    assert len(ledger.app.screens) == 1, "nobody was asked"
    unlocked = cli("wallet", "unlock", wallet="vault", ok=False)
    assert (unlocked.code, "nothing can be unlocked" in unlocked.err) == (5, True)


@pytest.mark.slow
def test_renting_is_three_confirmations_and_then_two(market: Cli, ledger: LedgerEmulator, pool: Pool) -> None:
    """A session with the agents, once; a permit, which shows whom it lets take how much; and the transaction."""
    add(market, ledger)
    market("wallet", "approve", "0", "--yes", wallet="vault")
    before = len(ledger.app.screens)
    rented = market(*RENT, "--no-wait", "--approve", "--json", wallet="vault")
    session, permit, transaction = ledger.app.screens[before:]
    assert dict(session.shows)["account"].lower() == pool.anvil.accounts[1].address.lower()
    assert dict(permit.shows)["spender"].lower() == pool.deployment.controller.lower()
    assert dict(permit.shows)["value"] == str(5 * 10**18)
    assert dict(transaction.shows)["Chain"] == "31337"
    assert dict(transaction.shows)["Transaction hash"] in rented.err
    lease = lease_of(pool, int(rented.json["number"]))
    assert (lease.tenant, lease.state) == (pool.anvil.accounts[1].address, LeaseState.OPENED)
    before = len(ledger.app.screens)
    again = market(*RENT, "--no-wait", "--approve", "--json", wallet="vault").json
    assert [screen.kind for screen in ledger.app.screens[before:]] == ["fields", "transaction"]
    market("close", rented.json["lease"], again["lease"], "--yes", wallet="vault")
    market("wallet", "withdraw", "all", "--yes", wallet="vault")
    assert not any(lease_of(pool, int(told["number"])).state.live for told in (rented.json, again))
    left = market("wallet", "balance", "--json", wallet="vault").json
    assert (left["ledger"], float(left["wallet"]) > 999_999) == ("0", True), "all but a fee for holding"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("app", "says"),
    [
        ({"owner": lambda screen: False}, "declined on the Ledger"),
        ({"locked": True}, "enter its PIN"),
        ({"open": False}, "open the app on the device"),
        ({"blind": False}, "turn on blind signing"),
        ({"seed": "test " * 11 + "ball"}, "plug in the one with the wallet's seed"),
    ],
    ids=["declined", "locked", "closed", "blind", "another seed"],
)
def test_what_it_does_not_sign_is_not_sent(
    cli: Cli, ledger: LedgerEmulator, app: dict[str, object], says: str
) -> None:
    add(cli, ledger)
    ledger.app = LedgerApp(**app)  # type: ignore[arg-type]
    refused = cli("wallet", "approve", "7", "--yes", wallet="vault", ok=False)
    *_, last = refused.err.strip().splitlines()
    assert (refused.code, says in last) == (5, True), refused.err
    ledger.app = LedgerApp()
    assert cli("wallet", "balance", "--json", wallet="vault").json["allowance"] == "0"


def test_what_is_asked_before_a_device_is_there(cli: Cli, ledger: LedgerEmulator) -> None:
    for words, says in (
        (("--path", "44/60"), "write it such as --path"),
        (("--at", "tcp://192.168.0.9:9999"), "--at usb"),
        (("--at", "tcp://127.0.0.1:1"), "plug it in"),
    ):
        refused = cli("wallet", "add-hardware", "vault", *words, ok=False)
        (line,) = refused.err.strip().splitlines()
        assert (refused.code, says in line) == (5, True), line
    assert not (cli.home / "keys" / "vault.json").exists()
    assert not (cli.home / "keys" / "vault.age").exists()


def test_an_address_that_its_owner_does_not_confirm_is_not_kept(cli: Cli, ledger: LedgerEmulator) -> None:
    ledger.app.owner = lambda screen: False
    assert "declined on the Ledger" in add(cli, ledger, ok=False)
    assert [wallet["name"] for wallet in cli("wallet", "list", "--json").json] == ["provider", "renter"]
    assert not (cli.home / "keys" / "vault.age").exists()


@pytest.mark.slow
def test_a_doctor_asks_the_device(cli: Cli, ledger: LedgerEmulator) -> None:
    add(cli, ledger)
    well = {one["what"]: one for one in cli("doctor", "--json", wallet="vault", ok=False).json}["wallet"]
    assert (well["works"], "in a hardware wallet that answers" in well["said"]) == (True, True)
    ledger.app.locked = True
    ill = {one["what"]: one for one in cli("doctor", "--json", wallet="vault", ok=False).json}["wallet"]
    assert (ill["works"], ill["code"]) == (False, "device-locked")

"""Acting for other accounts, without a chain: what is shown of calls, what is offered to the shell, addresses."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import typer

from leasehold.agreements import FileRefused, ProposalFile, read_file
from leasehold.chain import Call, Pool
from leasehold.chain.typed import Group
from leasehold.cli._completion import known_groups, known_wallets
from leasehold.client import AsDelegate, CannotAct, Proposed, Proposing, parse_address
from leasehold.errors import SettingsError
from leasehold.home import Groups, SealedWorkloads
from leasehold.home._groups import AddressBook
from leasehold.market import InvalidInput
from leasehold.workload import digest

ADA, GRACE, POOL = "0x" + "1a" * 20, "0x" + "2b" * 20, "0x" + "33" * 20


class FakePool:
    """As much of a pool as acting asks for."""

    address = POOL
    deployment = SimpleNamespace(accounts="0x" + "44" * 20)

    async def contracts(self) -> dict[str, str]:
        return {POOL: "Controller"}


class Recorder:
    """A wallet's sender that keeps what it was given."""

    address = ADA

    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes]] = []

    async def send(self, to: str, data: bytes = b"", value: int = 0) -> Any:
        self.sent.append((to, data))


def test_a_groups_first_call_ends_the_verb_and_a_foreign_one_is_refused() -> None:
    proposing = Proposing(ADA, cast(Pool, FakePool()))
    with pytest.raises(Proposed) as proposed:
        asyncio.run(proposing.send(POOL, b"data"))
    assert proposed.value.calls == (Call(POOL, b"data"),)
    for to, value in (("0x" + "55" * 20, 0), (POOL, 1)):
        with pytest.raises(CannotAct, match="ledger alone"):
            asyncio.run(proposing.send(to, b"data", value))


def test_a_delegates_call_goes_through_accounts_and_to_the_pool_alone() -> None:
    wallet = Recorder()
    delegate = AsDelegate(wallet, GRACE, cast(Pool, FakePool()))
    asyncio.run(delegate.send(POOL, b"data"))
    ((to, data),) = wallet.sent
    assert to == FakePool.deployment.accounts
    assert bytes.fromhex(GRACE[2:]) in data
    assert b"data" in data
    with pytest.raises(CannotAct, match="nothing else"):
        asyncio.run(delegate.send(to, b"data"))


def test_addresses_are_checked_as_far_as_they_can_be() -> None:
    checksummed = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
    assert parse_address(checksummed) == parse_address(checksummed.lower()) == checksummed
    for wrong in (
        "0x70997970c51812dc3A010C7d01b50e0d17dc79C8",
        "0x" + "00" * 20,
        checksummed[2:],
        "ada",
        "0x12",
    ):
        with pytest.raises(InvalidInput):
            parse_address(wrong)


def test_the_address_book_says_when_it_is_damaged(tmp_path: Path) -> None:
    groups = Groups(tmp_path)
    assert groups.all() == {}
    group = Group.of(1, [ADA, GRACE])
    groups.add("pair", group)
    groups.add("pair", group)
    assert Groups(tmp_path).get("pair") == group
    assert groups.name_of(group) == "pair"
    assert groups.name_of(Group.of(2, [ADA, GRACE])) is None
    assert read_file(groups.path, AddressBook).groups["pair"].threshold == 1
    document = json.loads(groups.path.read_text())
    document["groups"]["pair"]["threshold"] = 3
    groups.path.write_text(json.dumps(document))
    with pytest.raises(SettingsError, match="damaged"):
        groups.all()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"leasehold": "offer"}', "[" * 100_000, '{"version": 1e999}']
)
def test_what_is_no_proposal_is_refused_in_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(text)
    with pytest.raises(FileRefused):
        read_file(path, ProposalFile)
    with pytest.raises(FileRefused):
        read_file(tmp_path / "missing", ProposalFile)


def test_sealed_workloads_are_kept_by_their_digest_and_the_oldest_go(tmp_path: Path) -> None:
    sealed = [bytes([number]) * 40 for number in range(70)]
    for each in sealed:
        SealedWorkloads(tmp_path).keep(each)
    kept = [each for each in sealed if SealedWorkloads(tmp_path).get(digest(each)) == each]
    assert len(kept) == 64
    path = tmp_path / "workloads" / digest(kept[0]).hex()
    path.write_bytes(b"something else")
    assert SealedWorkloads(tmp_path).get(digest(kept[0])) is None


def test_the_shell_is_offered_the_names_that_are_known(tmp_path: Path) -> None:
    context = cast(
        typer.Context, SimpleNamespace(find_root=lambda: SimpleNamespace(params={"home": tmp_path}))
    )
    assert known_groups(context, "") == known_wallets(context, "") == []
    for name in ("lab", "labour", "other"):
        Groups(tmp_path).add(name, Group.of(1, [ADA], bytes([len(name)]) * 32))
    assert known_groups(context, "lab") == ["lab", "labour"]
